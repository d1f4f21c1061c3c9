"""What lies behind the things: a room's wall and floor, or the sky with its weather and the ground.

Nothing here can be taken for a thing of the ontology: no trees, no windows, no boats.
"""

from __future__ import annotations

from pipeline.sample_world.things.ink import fill, mix, oval, path, rect, stroke
from pipeline.sample_world.world import HEIGHT, HORIZON, WIDTH

WALLS = {"kitchen": "#e3efe6", "living room": "#efe3cf", "bedroom": "#dcdcef", "office": "#dde5ea"}
FLOORS = {"kitchen": "#c9d3d2", "living room": "#c99f6b", "bedroom": "#d3b48e", "office": "#8193a6"}
SKIES = {
    "sunny": ("#7cc3f2", "#d6effc"),
    "cloudy": ("#a5b6c4", "#dbe2e7"),
    "rainy": ("#76848f", "#b1bcc4"),
    "snowy": ("#b4c2cd", "#e8edf1"),
}
GROUNDS = {"park": "#8cc66a", "street": "#8f9296", "beach": "#efd9a2", "farm": "#b9c763"}


def background(place: str, weather: str) -> str:
    """The picture without its things, as SVG elements of a picture WIDTH x HEIGHT."""
    if not weather:
        return _room(place)
    return _sky(weather) + _ground(place, weather) + _falling(weather)


def _band(top: float, bottom: float, color: str) -> str:
    return f'<path d="M0 {top}H{WIDTH}V{bottom}H0Z" fill="{color}"/>'


def _room(place: str) -> str:
    wall, floor = WALLS[place], FLOORS[place]
    base = _band(0, HORIZON, wall) + _band(HORIZON, HEIGHT, floor)
    board = (
        _band(HORIZON - 9, HORIZON, mix(wall, "#ffffff", 0.6))
        + _band(HORIZON - 1.5, HORIZON, mix(floor, "#000000", 0.35))
        + _band(HORIZON - 10, HORIZON - 9, mix(wall, "#000000", 0.18))
    )
    dark = mix(floor, "#000000", 0.12)
    if place == "kitchen":  # tiles on the wall and on the floor
        lines = (
            "M"
            + "M".join(f"0 {y}H{WIDTH}" for y in range(92, HORIZON - 10, 22))
            + "M"
            + "M".join(f"{x} 92V{HORIZON - 10}" for x in range(11, WIDTH, 22))
        )
        tiles = _band(92, HORIZON - 10, "#f3f8f4") + stroke(lines, "#cfdfd4", 1) + _band(88, 92, "#a9c9b4")
        rows = (HORIZON, 208, 231, 260, 296)
        floor_lines = (
            "M"
            + "M".join(f"0 {y}H{WIDTH}" for y in rows[1:])
            + "M"
            + "M".join(
                f"{WIDTH / 2 + x} {HORIZON}L{WIDTH / 2 + 2.4 * x} {HEIGHT}" for x in range(-216, 217, 36)
            )
        )
        return base + tiles + board + stroke(floor_lines, mix(floor, "#ffffff", 0.6), 1.4)
    if place == "office":  # carpet
        tufts = "M" + "M".join(
            f"{(x * 37 + y * 53) % WIDTH} {HORIZON + 6 + y * 12}h5" for y in range(12) for x in range(14)
        )
        return (
            base
            + _band(0, 10, mix(wall, "#000000", 0.08))
            + board
            + stroke(tufts, mix(floor, "#ffffff", 0.16), 1.6)
        )
    boards = (
        "M"
        + "M".join(f"0 {y}H{WIDTH}" for y in (204, 222, 245, 272, 303))
        + "M"
        + "M".join(
            f"{(x * 89 + row * 41) % WIDTH} {top}V{bottom}"
            for row, (top, bottom) in enumerate(
                ((190, 204), (204, 222), (222, 245), (245, 272), (272, 303), (303, 336))
            )
            for x in range(5)
        )
    )
    if place == "bedroom":  # a faintly striped wallpaper, a carpet edge
        paper = "".join(
            f'<path d="M{x} 0h14V{HORIZON - 10}h-14Z" fill="{mix(wall, "#ffffff", 0.35)}"/>'
            for x in range(7, WIDTH, 28)
        )
        rug = fill(oval(WIDTH / 2, 274, 190, 44), "#b9a9cf") + fill(oval(WIDTH / 2, 274, 176, 38), "#cabce0")
        return base + paper + board + stroke(boards, dark, 1) + rug
    panel = _band(0, 8, mix(wall, "#ffffff", 0.55)) + _band(8, 9.5, mix(wall, "#000000", 0.12))
    rug = (
        fill(oval(WIDTH / 2, 276, 178, 40), "#a9584a")
        + fill(oval(WIDTH / 2, 276, 164, 34), "#c98270")
        + fill(oval(WIDTH / 2, 276, 140, 27), "#b86b59")
    )
    return base + panel + board + stroke(boards, dark, 1) + rug


def _cloud(x: float, y: float, size: float, color: str) -> str:
    return "".join(
        fill(oval(x + dx * size, y + dy * size, rx * size, ry * size), color)
        for dx, dy, rx, ry in ((0, 0, 26, 13), (-22, 4, 18, 9), (22, 4, 19, 9.5), (6, -8, 16, 11))
    )


def _sky(weather: str) -> str:
    top, bottom = SKIES[weather]
    sky = (
        f'<linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="{top}"/>'
        f'<stop offset="1" stop-color="{bottom}"/></linearGradient>'
    ) + _band(0, HORIZON, "url(#sky)")
    if weather == "sunny":
        rays = "M" + "M".join(
            (
                "392 6V-4",
                "392 78V88",
                "356 42H346",
                "428 42H438",
                "366 16L359 9",
                "418 16L425 9",
                "366 68L359 75",
                "418 68L425 75",
            )
        )
        return (
            sky
            + stroke(rays, "#ffd84a", 4)
            + fill(oval(392, 42, 26), "#ffe27a")
            + fill(oval(392, 42, 22), "#ffcf33")
            + _cloud(86, 40, 0.9, "#ffffff")
            + _cloud(230, 62, 0.6, "#f4fafe")
        )
    tone = {
        "cloudy": ("#f1f4f6", "#d9e0e5"),
        "rainy": ("#5d6873", "#6d7883"),
        "snowy": ("#dfe6eb", "#cfd8de"),
    }[weather]
    return sky + "".join(
        _cloud(x, y, size, tone[i % 2])
        for i, (x, y, size) in enumerate(
            ((60, 34, 1.5), (190, 24, 1.3), (310, 40, 1.6), (410, 26, 1.4), (126, 58, 1.1), (250, 66, 0.9))
        )
    )


def _ground(place: str, weather: str) -> str:
    snow = weather == "snowy"
    color = GROUNDS[place]
    if weather == "rainy":
        color = mix(color, "#4a5560", 0.22)
    if snow:
        color = "#f2f5f8" if place != "street" else "#a7adb3"
    dark, light = mix(color, "#000000", 0.12), mix(color, "#ffffff", 0.3)
    ground = _band(HORIZON, HEIGHT, color)
    if place == "park":
        hills = path(f"M0 {HORIZON}V176Q90 156 190 172Q320 190 {WIDTH} 164V{HORIZON}Z")
        way = fill(
            path(f"M206 {HORIZON}H232Q250 250 330 {HEIGHT}H150Q196 250 206 {HORIZON}Z"),
            "#dfe4ea" if snow else "#dcc79a",
        )
        return (
            fill(hills, mix(color, "#2f6a4a" if not snow else "#8fa6b8", 0.3)) + ground + way + _tufts(dark)
        )
    if place == "street":
        walk = (
            _band(HORIZON, 226, "#e6eaee" if snow else "#c6c3bc")
            + stroke(
                "M" + "M".join(f"{x} {HORIZON}L{x - 12} 224" for x in range(20, WIDTH + 20, 44)), "#a9a69f", 1
            )
            + _band(224, 230, "#f0eee8" if not snow else "#fbfcfd")
            + _band(230, 233, "#74777b")
        )
        blocks = "".join(
            f'<path d="M{x} {y}H{x + w}V{HORIZON}H{x}Z" fill="{mix("#b9bfc8", "#ffffff", 0.2 + 0.1 * (i % 3))}"/>'
            for i, (x, y, w) in enumerate(
                ((0, 118, 70), (70, 138, 58), (128, 104, 76), (204, 132, 66), (270, 112, 82), (352, 140, 96))
            )
        )
        marks = "".join(f'<path d="M{x} 282h44l-5 7h-44Z" fill="#f3f1e6"/>' for x in range(10, WIDTH, 92))
        return blocks + ground + walk + marks
    if place == "beach":
        sea = _band(158, HORIZON + 6, "#3f9fc9" if weather == "sunny" else "#6d8b9d") + stroke(
            "M"
            + "M".join(
                f"{(x * 71 + y * 29) % WIDTH} {y}q7 -3 14 0" for y in (166, 173, 181) for x in range(6)
            ),
            "#d7eef7",
            1.4,
            0.8,
        )
        foam = fill(
            path(
                f"M0 {HORIZON + 10}V{HORIZON}Q28 {HORIZON - 5} 56 {HORIZON}T112 {HORIZON}T168 {HORIZON}T224 {HORIZON}T280 {HORIZON}T336 {HORIZON}T392 {HORIZON}T448 {HORIZON}V{HORIZON + 10}Z"
            ),
            "#f4fbfd",
        )
        grains = stroke(
            "M"
            + "M".join(
                f"{(x * 61 + y * 37) % WIDTH} {HORIZON + 16 + y * 11}h2" for y in range(12) for x in range(9)
            ),
            dark,
            1.6,
        )
        return sea + foam + _band(HORIZON + 5, HEIGHT, color) + grains
    field = (
        fill(path(f"M0 {HORIZON}V178Q120 168 240 176T{WIDTH} 172V{HORIZON}Z"), light if snow else "#d9b858")
        + ground
    )
    rails = "".join(fill(rect(x, 166, 4.4, 30), "#a98a63", "#6b5334") for x in range(8, WIDTH, 48)) + "".join(
        fill(rect(0, y, WIDTH, 3.4), "#bd9d74", "#6b5334") for y in (172, 182)
    )
    furrows = stroke(
        "M" + "M".join(f"{WIDTH / 2 + x} 202L{WIDTH / 2 + 2.6 * x} {HEIGHT}" for x in range(-210, 211, 42)),
        dark,
        2,
    )
    return field + furrows + rails


def _tufts(color: str) -> str:
    return stroke(
        "M"
        + "M".join(
            f"{(x * 83 + y * 47) % WIDTH} {HORIZON + 14 + y * 13}l2 -5M{(x * 83 + y * 47) % WIDTH + 4} {HORIZON + 14 + y * 13}l0 -6M{(x * 83 + y * 47) % WIDTH + 8} {HORIZON + 14 + y * 13}l-2 -5"
            for y in range(11)
            for x in range(6)
        ),
        color,
        1.5,
    )


def _falling(weather: str) -> str:
    spots = [((i * 97 + 31 * (i // 7)) % WIDTH, (i * 61 + 17 * (i // 5)) % HEIGHT) for i in range(90)]
    if weather == "rainy":
        return stroke("M" + "M".join(f"{x} {y}l-4 13" for x, y in spots), "#d3e2ee", 1.5, 0.75)
    if weather == "snowy":
        return "".join(fill(oval(x, y, 1.6 + (i % 3) * 0.6), "#ffffff") for i, (x, y) in enumerate(spots))
    return ""
