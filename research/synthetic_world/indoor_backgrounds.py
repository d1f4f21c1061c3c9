"""Draw indoor backgrounds: wall, skirting board and floor of a kitchen, living room, bedroom or office.

Nothing in them can be mistaken for an object of the ontology.
"""

from __future__ import annotations

from research.synthetic_world.drawings.svg_shapes import band, fill, mix_colors, oval, stroke
from research.synthetic_world.scene_types import HEIGHT, HORIZON, WIDTH

WALLS = {"kitchen": "#e3efe6", "living room": "#efe3cf", "bedroom": "#dcdcef", "office": "#dde5ea"}
FLOORS = {"kitchen": "#c9d3d2", "living room": "#c99f6b", "bedroom": "#d3b48e", "office": "#8193a6"}
# y coordinate at which the skirting board begins.
SKIRTING = HORIZON - 10


def draw_room(place: str) -> str:
    """Draw an interior without objects, as SVG elements of an image WIDTH x HEIGHT."""
    wall, floor = WALLS[place], FLOORS[place]
    on_wall, on_floor = {
        "kitchen": _tiles,
        "living room": _panelled,
        "bedroom": _papered,
        "office": _carpeted,
    }[place](wall, floor)
    board = (
        band(SKIRTING, SKIRTING + 1, mix_colors(wall, "#000000", 0.18))
        + band(SKIRTING + 1, HORIZON, mix_colors(wall, "#ffffff", 0.6))
        + band(HORIZON - 1.5, HORIZON, mix_colors(floor, "#000000", 0.35))
    )
    return band(0, HORIZON, wall) + band(HORIZON, HEIGHT, floor) + on_wall + board + on_floor


def _tiles(wall: str, floor: str) -> tuple[str, str]:
    joints = "".join(f"M0 {y}H{WIDTH}" for y in range(92, SKIRTING, 22)) + "".join(
        f"M{x} 92V{SKIRTING}" for x in range(11, WIDTH, 22)
    )
    on_wall = band(88, 92, "#a9c9b4") + band(92, SKIRTING, "#f3f8f4") + stroke(joints, "#cfdfd4", 1)
    seams = "".join(f"M0 {y}H{WIDTH}" for y in (208, 231, 260, 296)) + _floor_lines(range(-216, 217, 36), 2.4)
    return on_wall, stroke(seams, mix_colors(floor, "#ffffff", 0.6), 1.4)


def _panelled(wall: str, floor: str) -> tuple[str, str]:
    rug = (
        fill(oval(WIDTH / 2, 276, 178, 40), "#a9584a")
        + fill(oval(WIDTH / 2, 276, 164, 34), "#c98270")
        + fill(oval(WIDTH / 2, 276, 140, 27), "#b86b59")
    )
    cornice = band(0, 8, mix_colors(wall, "#ffffff", 0.55)) + band(8, 9.5, mix_colors(wall, "#000000", 0.12))
    return cornice, _boards(floor) + rug


def _papered(wall: str, floor: str) -> tuple[str, str]:
    stripes = "".join(f"M{x} 0h14V{SKIRTING}h-14Z" for x in range(7, WIDTH, 28))
    rug = fill(oval(WIDTH / 2, 274, 190, 44), "#b9a9cf") + fill(oval(WIDTH / 2, 274, 176, 38), "#cabce0")
    return f'<path d="{stripes}" fill="{mix_colors(wall, "#ffffff", 0.35)}"/>', _boards(floor) + rug


def _carpeted(wall: str, floor: str) -> tuple[str, str]:
    tufts = "".join(
        f"M{(x * 37 + y * 53) % WIDTH} {HORIZON + 6 + y * 12}h5" for y in range(12) for x in range(14)
    )
    return band(0, 10, mix_colors(wall, "#000000", 0.08)), stroke(
        tufts, mix_colors(floor, "#ffffff", 0.16), 1.6
    )


def _boards(floor: str) -> str:
    rows = (HORIZON, 204, 222, 245, 272, 303, HEIGHT)
    long = "".join(f"M0 {y}H{WIDTH}" for y in rows[1:-1])
    ends = "".join(
        f"M{(x * 89 + row * 41) % WIDTH} {rows[row]}V{rows[row + 1]}"
        for row in range(len(rows) - 1)
        for x in range(5)
    )
    return stroke(long + ends, mix_colors(floor, "#000000", 0.12), 1)


def _floor_lines(xs: range, spread: float) -> str:
    """Draw lines on the floor that run from the wall towards the viewer."""
    middle = WIDTH / 2
    return "".join(f"M{middle + x} {HORIZON}L{middle + spread * x} {HEIGHT}" for x in xs)
