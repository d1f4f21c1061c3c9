"""Draw plants and street objects."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import METAL, fill, limb, oval, path, rect, stroke

LEAF, LEAF_LIGHT, LEAF_DARK, LEAF_LINE = "#4d9c45", "#72b95f", "#37803a", "#24592a"


def _foliage(
    bumps: tuple[tuple[float, float, float], ...], lights: tuple[tuple[float, float, float], ...]
) -> str:
    return (
        "".join(fill(oval(x, y, r + 1), LEAF_LINE) for x, y, r in bumps)
        + "".join(fill(oval(x, y, r), LEAF) for x, y, r in bumps)
        + "".join(fill(oval(x, y, r), LEAF_LIGHT, opacity=0.75) for x, y, r in lights)
    )


# 96 x 150 pixels.
def tree(look: Appearance) -> str:
    trunk = (
        fill(path("M40 149.4Q43 120 41 86H56Q54 120 58 149.4Q49 146 40 149.4Z"), "#8b5e38", "#4c2f17")
        + limb("M48 104Q56 96 64 86M47 100Q40 92 33 88", "#8b5e38", "#4c2f17", 3.5)
        + stroke("M46 112Q47 130 45.5 142M51 106Q51 126 52.5 140", "#5f3c1f", 1.3)
    )
    bumps = (
        (20, 62, 19),
        (76, 62, 19),
        (26, 36, 20),
        (70, 36, 20),
        (48, 22, 21),
        (48, 58, 30),
        (32, 80, 16),
        (64, 80, 16),
    )
    return (
        trunk
        + _foliage(bumps, ((36, 22, 9), (58, 34, 10), (24, 46, 9), (44, 56, 10), (74, 56, 8)))
        + "".join(
            stroke(f"M{x} {y}q4 5 9 1", LEAF_DARK, 1.6)
            for x, y in ((30, 66), (56, 74), (62, 20), (14, 68), (66, 46), (40, 40))
        )
    )


# 80 x 54 pixels.
def bush(look: Appearance) -> str:
    bumps = (
        (14, 38, 13),
        (66, 38, 13),
        (24, 24, 15),
        (56, 24, 15),
        (40, 17, 16),
        (40, 38, 15.4),
        (28, 40, 13),
        (53, 40, 13),
    )
    base = fill(path("M4 46Q2 53.4 12 53.4H68Q78 53.4 76 46Z"), LEAF_DARK, LEAF_LINE)
    return (
        base
        + _foliage(bumps, ((34, 13, 6), (54, 20, 6), (20, 24, 6), (42, 32, 6), (66, 36, 5)))
        + "".join(
            stroke(f"M{x} {y}q3 4 7 1", LEAF_DARK, 1.4)
            for x, y in ((26, 34), (48, 40), (58, 28), (12, 40), (38, 22))
        )
        + "".join(
            fill(oval(x, y, 2.1), "#d83a3a", "#7f1717")
            for x, y in (
                (18, 34),
                (34, 28),
                (50, 30),
                (62, 42),
                (30, 44),
                (46, 12),
                (46, 48),
                (12, 46),
                (66, 30),
            )
        )
    )


# 24 x 44 pixels.
def flower(look: Appearance) -> str:
    t = look.tones
    petals = ((12, 4.6), (18.4, 8), (18.4, 15.6), (12, 19.2), (5.6, 15.6), (5.6, 8))
    return (
        stroke("M12 16V43.4", "#2c6425", 3)
        + stroke("M12 16V43.4", "#4f9d3f", 1.8)
        + fill(path("M12 36Q14 25 22.5 26Q22 35 12 38Z"), "#4f9d3f", "#2c6425")
        + fill(path("M12 40Q10 30 1.5 31Q2 40 12 42Z"), "#4f9d3f", "#2c6425")
        + "".join(fill(oval(x, y, 4.6), t.line) for x, y in petals)
        + "".join(fill(oval(x, y, 3.7), t.base) for x, y in petals)
        + fill(oval(12, 12, 4), "#7a4a16" if look.name in ("yellow", "orange") else "#f7c531", t.line)
    )


# 26 x 130 pixels.
def traffic_light(look: Appearance) -> str:
    lamps = (("#ff3b30", "#7a120c", 11), ("#f7b500", "#6e5200", 25), ("#22c55e", "#0c5a2a", 39))
    return (
        fill(rect(10.5, 48, 5, 78), "#54585f", "#24262a")
        + fill(rect(5, 124.5, 16, 4.9, 1), "#54585f", "#24262a")
        + fill(rect(2, 0.8, 22, 50, 5), "#2d3036", "#0e0f11")
        + "".join(
            fill(oval(13, y, 5.6), color, line) + fill(oval(11.4, y - 1.8, 1.7), "#ffffff", opacity=0.7)
            for color, line, y in lamps
        )
        + "".join(stroke(f"M6 {y - 4}Q13 {y - 9.5} 20 {y - 4}", "#0e0f11", 1.8) for _, _, y in lamps)
    )


# 36 x 54 pixels.
def fire_hydrant(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_plain_part(rect(2, 48, 32, 5.4, 1.5), "dark")
        + look.draw_part(rect(8, 17, 20, 32))
        + look.draw_part(rect(0.8, 25, 8, 10, 2), "dark")
        + look.draw_part(rect(27.2, 25, 8, 10, 2), "dark")
        + look.draw_plain_part(rect(5, 14, 26, 5, 2), "light")
        + look.draw_part(path("M8 14Q8 4 18 4Q28 4 28 14Z"))
        + look.draw_plain_part(rect(15, 0.6, 6, 4.4, 1), "dark")
        + fill(oval(18, 31, 6), t.dark, t.line)
        + fill(oval(18, 31, 3), METAL, t.line)
        + look.draw_plain_part(rect(6, 43, 24, 4, 1), "light")
        + fill(rect(11, 20, 2.2, 21, 1), "#ffffff", opacity=0.5)
    )
