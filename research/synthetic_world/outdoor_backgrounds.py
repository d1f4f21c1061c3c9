"""Draw outdoor backgrounds: a sky with its weather, and the ground of a park, street, beach or farm.

Nothing in them can be mistaken for an object of the ontology: there are no trees, windows or boats.
"""

from __future__ import annotations

from research.synthetic_world.drawings.svg_shapes import band, fill, mix_colors, oval, path, rect, stroke
from research.synthetic_world.scene_types import HEIGHT, HORIZON, WIDTH

# Colors at the top and at the horizon.
SKIES = {
    "sunny": ("#7cc3f2", "#d6effc"),
    "cloudy": ("#a5b6c4", "#dbe2e7"),
    "rainy": ("#76848f", "#b1bcc4"),
    "snowy": ("#b4c2cd", "#e8edf1"),
}
CLOUDS = {"cloudy": ("#f1f4f6", "#d9e0e5"), "rainy": ("#5d6873", "#6d7883"), "snowy": ("#dfe6eb", "#cfd8de")}
GROUNDS = {"park": "#8cc66a", "street": "#8f9296", "beach": "#efd9a2", "farm": "#b9c763"}
SNOW, SNOWY_ROAD = "#f2f5f8", "#a7adb3"
_RAYS = "M392 6V-4M392 78V88M356 42H346M428 42H438M366 16L359 9M418 16L425 9M366 68L359 75M418 68L425 75"


def draw_landscape(place: str, weather: str) -> str:
    """Draw an outdoor location without objects, as SVG elements of an image WIDTH x HEIGHT."""
    color = GROUNDS[place]
    if weather == "rainy":
        color = mix_colors(color, "#4a5560", 0.22)
    elif weather == "snowy":
        color = SNOWY_ROAD if place == "street" else SNOW
    ground = {"park": _park, "street": _street, "beach": _beach, "farm": _farm}[place]
    return _sky(weather) + ground(color, weather) + _precipitation(weather)


def _sky(weather: str) -> str:
    top, bottom = SKIES[weather]
    air = (
        f'<linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="{top}"/>'
        f'<stop offset="1" stop-color="{bottom}"/></linearGradient>{band(0, HORIZON, "url(#sky)")}'
    )
    if weather == "sunny":
        sun = (
            stroke(_RAYS, "#ffd84a", 4)
            + fill(oval(392, 42, 26), "#ffe27a")
            + fill(oval(392, 42, 22), "#ffcf33")
        )
        return air + sun + _cloud(86, 40, 0.9, "#ffffff") + _cloud(230, 62, 0.6, "#f4fafe")
    near, far = CLOUDS[weather]
    return (
        air
        + _cloud(60, 34, 1.5, near)
        + _cloud(190, 24, 1.3, far)
        + _cloud(310, 40, 1.6, near)
        + _cloud(410, 26, 1.4, far)
        + _cloud(126, 58, 1.1, near)
        + _cloud(250, 66, 0.9, far)
    )


def _cloud(x: float, y: float, size: float, color: str) -> str:
    return "".join(
        fill(oval(x + dx * size, y + dy * size, rx * size, ry * size), color)
        for dx, dy, rx, ry in ((0, 0, 26, 13), (-22, 4, 18, 9), (22, 4, 19, 9.5), (6, -8, 16, 11))
    )


def _precipitation(weather: str) -> str:
    spots = [((i * 97 + 31 * (i // 7)) % WIDTH, (i * 61 + 17 * (i // 5)) % HEIGHT) for i in range(90)]
    if weather == "rainy":
        return stroke("".join(f"M{x} {y}l-4 13" for x, y in spots), "#d3e2ee", 1.5, 0.75)
    if weather == "snowy":
        return "".join(fill(oval(x, y, 1.6 + (i % 3) * 0.6), "#ffffff") for i, (x, y) in enumerate(spots))
    return ""


def _park(color: str, weather: str) -> str:
    """Draw grass with a path, and hills."""
    snowy = weather == "snowy"
    hills = path(f"M0 {HORIZON}V176Q90 156 190 172Q320 190 {WIDTH} 164V{HORIZON}Z")
    way = path(f"M206 {HORIZON}H232Q250 250 330 {HEIGHT}H150Q196 250 206 {HORIZON}Z")
    roots = [((x * 83 + y * 47) % WIDTH, HORIZON + 14 + y * 13) for y in range(11) for x in range(6)]
    grass = "".join(f"M{x} {y}l2 -5M{x + 4} {y}v-6M{x + 8} {y}l-2 -5" for x, y in roots)
    return (
        fill(hills, mix_colors(color, "#8fa6b8" if snowy else "#2f6a4a", 0.3))
        + band(HORIZON, HEIGHT, color)
        + fill(way, "#dfe4ea" if snowy else "#dcc79a")
        + stroke(grass, mix_colors(color, "#000000", 0.12), 1.5)
    )


def _street(color: str, weather: str) -> str:
    """Draw a road, a sidewalk, and the pale shapes of a town."""
    snowy = weather == "snowy"
    blocks = ((0, 118, 70), (70, 138, 58), (128, 104, 76), (204, 132, 66), (270, 112, 82), (352, 140, 96))
    town = "".join(
        fill(rect(x, y, w, HORIZON - y), mix_colors("#b9bfc8", "#ffffff", 0.2 + 0.1 * (i % 3)))
        for i, (x, y, w) in enumerate(blocks)
    )
    slabs = "".join(f"M{x} {HORIZON}L{x - 12} 224" for x in range(20, WIDTH + 20, 44))
    marks = "".join(f"M{x} 282h44l-5 7h-44Z" for x in range(10, WIDTH, 92))
    return (
        town
        + band(HORIZON, HEIGHT, color)
        + band(HORIZON, 226, "#e6eaee" if snowy else "#c6c3bc")
        + stroke(slabs, "#a9a69f", 1)
        + band(224, 230, "#fbfcfd" if snowy else "#f0eee8")
        + band(230, 233, "#74777b")
        + fill(path(marks), "#f3f1e6")
    )


def _beach(color: str, weather: str) -> str:
    """Draw sand, and the sea behind it."""
    waves = "".join(f"M{(x * 71 + y * 29) % WIDTH} {y}q7 -3 14 0" for y in (166, 173, 181) for x in range(6))
    foam = path(f"M0 {HORIZON + 10}V{HORIZON}{'q28 -5 56 0' + 't56 0' * 7}V{HORIZON + 10}Z")
    grains = "".join(
        f"M{(x * 61 + y * 37) % WIDTH} {HORIZON + 16 + y * 11}h2" for y in range(12) for x in range(9)
    )
    return (
        band(158, HORIZON + 6, "#3f9fc9" if weather == "sunny" else "#6d8b9d")
        + stroke(waves, "#d7eef7", 1.4, 0.8)
        + fill(foam, "#f4fbfd")
        + band(HORIZON + 5, HEIGHT, color)
        + stroke(grains, mix_colors(color, "#000000", 0.12), 1.6)
    )


def _farm(color: str, weather: str) -> str:
    """Draw a ploughed field, a fence on the horizon, and corn behind it."""
    corn = path(f"M0 {HORIZON}V178Q120 168 240 176T{WIDTH} 172V{HORIZON}Z")
    furrows = "".join(f"M{WIDTH / 2 + x} 202L{WIDTH / 2 + 2.6 * x} {HEIGHT}" for x in range(-210, 211, 42))
    posts = "".join(fill(rect(x, 166, 4.4, 30), "#a98a63", "#6b5334") for x in range(8, WIDTH, 48))
    rails = "".join(fill(rect(-4, y, WIDTH + 8, 3.4), "#bd9d74", "#6b5334") for y in (172, 182))
    return (
        fill(corn, mix_colors(color, "#ffffff", 0.3) if weather == "snowy" else "#d9b858")
        + band(HORIZON, HEIGHT, color)
        + stroke(furrows, mix_colors(color, "#000000", 0.12), 2)
        + posts
        + rails
    )
