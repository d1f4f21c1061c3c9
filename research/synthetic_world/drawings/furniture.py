"""Draw furniture, seen from the front and slightly from above, so that it has a visible surface."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    GOLD,
    METAL,
    dots,
    fill,
    limb,
    path,
    poly,
    rect,
    stroke,
)


# 130 x 74 pixels.
def table(look: Appearance) -> str:
    # The legs are visible through the top.
    if look.material == "glass":
        t = look.tones
        legs = "".join(
            fill(rect(x, y, w, 73.4 - y, 1), color, t.line)
            for x, y, w, color in (
                (24, 4, 6, t.dark),
                (100, 4, 6, t.dark),
                (8, 12, 7, t.base),
                (115, 12, 7, t.base),
            )
        )
        glints = "".join(
            fill(poly(x, 1, x + 9, 1, x - 6, 15, x - 16, 15), "#ffffff", opacity=0.85) for x in (44, 60, 100)
        )
        top = poly(14, 0.6, 116, 0.6, 129.4, 15, 0.6, 15)
        return (
            legs
            + fill(top, "#bfe6ee", t.line, 0.55)
            + fill(top, t.base, opacity=0.6)
            + glints
            + fill(rect(0.6, 15, 128.8, 4, 1), t.base, t.line, 0.75)
            + stroke("M3 16.5H127", "#ffffff", 1.2, 0.8)
        )
    legs = "".join(
        look.draw_part(rect(x, 18, w, 55.4, 1), tone)
        for x, w, tone in ((24, 6, "dark"), (100, 6, "dark"), (6, 8, "base"), (116, 8, "base"))
    )
    return (
        look.draw_plain_part(rect(9, 19, 112, 9), "dark")
        + legs
        + look.draw_part(poly(14, 0.6, 116, 0.6, 129.4, 15, 0.6, 15), "light")
        + look.draw_part(rect(0.6, 15, 128.8, 6, 1))
    )


# 54 x 84 pixels.
def chair(look: Appearance) -> str:
    t = look.tones
    if look.material == "metal":
        return (
            limb("M10 82V8Q10 2 16 2H38Q44 2 44 8V82M5 82V56M49 82V56", METAL, "#5a6067", 2.4)
            + look.draw_part(rect(11, 8, 32, 20, 3))
            + look.draw_part(poly(11, 43, 43, 43, 49.4, 52, 4.6, 52), "light")
            + look.draw_part(rect(4.6, 52, 44.8, 4, 1.5))
        )
    if look.material == "plastic":
        return (
            "".join(
                look.draw_plain_part(poly(*p), "dark")
                for p in ((12, 50, 16, 50, 15, 83.4, 12, 83.4), (42, 50, 38, 50, 39, 83.4, 42, 83.4))
            )
            + look.draw_part(path("M11 48L8.5 12Q8 .6 20 .6H34Q46 .6 45.5 12L43 48Z"))
            + fill(rect(17, 13, 20, 5, 2.5), t.line)
            + look.draw_plain_part(
                path("M9 43H45Q51 43 51.5 50Q51.5 56 46 56H8Q2.5 56 2.5 50Q3 43 9 43Z"), "light"
            )
            + "".join(
                look.draw_plain_part(poly(*p))
                for p in ((5, 55, 11, 55, 8.5, 83.4, 4.5, 83.4), (49, 55, 43, 55, 45.5, 83.4, 49.5, 83.4))
            )
        )
    return (
        "".join(look.draw_part(rect(x, 44, 4.4, 39.4, 1), "dark") for x in (11, 38.6))
        + "".join(look.draw_part(rect(x, 0.6, 4.6, 46, 1.5)) for x in (9, 40.4))
        + "".join(look.draw_part(rect(10, y, 34, 7, 1.5)) for y in (4, 15, 26))
        + look.draw_part(poly(10, 43, 44, 43, 51.4, 52, 2.6, 52), "light")
        + look.draw_part(rect(2.6, 52, 48.8, 4.6, 1))
        + "".join(look.draw_part(rect(x, 56, 5.2, 27.4, 1)) for x in (4, 44.8))
        + stroke("M9 70H45", t.line, 2.6)
    )


# 150 x 78 pixels.
def couch(look: Appearance) -> str:
    return (
        "".join(fill(rect(x, 70, 7, 7.4, 1), "#5b3b22", "#2c1a0d") for x in (12, 131))
        + look.draw_part(rect(14, 0.6, 122, 52, 9))
        + stroke("M75 3V44", look.tones.line, 1.3)
        + look.draw_plain_part(rect(16, 58, 118, 15, 3), "dark")
        + look.draw_part(rect(17, 42, 58, 17, 6), "light")
        + look.draw_part(rect(75, 42, 58, 17, 6), "light")
        + look.draw_part(rect(0.6, 24, 19, 49, 8))
        + look.draw_part(rect(130.4, 24, 19, 49, 8))
    )


# 170 x 78 pixels.
def bed(look: Appearance) -> str:
    wood, grain = "#9b6a3f", "#5c3a1c"
    return (
        fill(rect(0.6, 0.6, 11, 76.8, 3), wood, grain)
        + fill(rect(160, 34, 9.4, 43.4, 3), wood, grain)
        + fill(rect(8, 58, 156, 10, 1), wood, grain)
        + fill(rect(11, 37, 150, 23, 5), "#f4f1e8", "#9d978a")
        + fill(rect(14, 22, 38, 17, 7), "#ffffff", "#9d978a")
        + stroke("M20 34Q32 37 46 34", "#c9c4b6", 1.2)
        + look.draw_part(
            path(
                "M46 33Q48 31 52 31H154Q162 31 162 39V62Q158 66 154 62Q148 66 142 62Q134 66 128 62"
                "Q120 66 112 62Q104 66 96 62Q88 66 80 62Q70 66 62 62Q54 66 44 62Z"
            )
        )
        + fill(path("M46 33Q48 31 52 31H62L58 62.5Q52 65 44 62Z"), look.tones.light, look.tones.line)
    )


# 96 x 130 pixels.
def shelf(look: Appearance) -> str:
    depth = 0.04 if look.name == "white" else 0.28
    inside = rect(4, 4, 88, 122)
    back = look.draw_plain_part(inside, "dark") if look.material == "wood" else look.draw_part(inside, "dark")
    back += fill(inside, "#000000", opacity=depth)
    # Planks have no grain, so that objects on the boards are well visible.
    if look.material == "wood":
        back += stroke("M19 8V120M34 8V120M48 8V120M62 8V120M77 8V120", look.tones.line, 1, 0.6)
    boards = "".join(look.draw_part(rect(4, y, 88, 5)) for y in (42, 81, 120)) + "".join(
        fill(rect(6, y, 84, 3), "#000000", opacity=0.25) for y in (47.5, 86.5, 6.5)
    )
    return (
        back
        + boards
        + "".join(look.draw_part(rect(x, 1, 6, 128.4, 1)) for x in (0.6, 89.4))
        + look.draw_part(rect(0.6, 0.6, 94.8, 5.6, 1), "light")
        + (stroke("M3.6 8V124M92.4 8V124", "#ffffff", 1, 0.7) if look.material == "metal" else "")
    )


# 86 x 84 pixels.
def cabinet(look: Appearance) -> str:
    feet = "".join(look.draw_plain_part(rect(x, 78, 8, 5.4), "dark") for x in (8, 70))
    top = look.draw_part(poly(6, 0.6, 80, 0.6, 85.4, 8, 0.6, 8), "light") + look.draw_part(
        rect(0.6, 7.6, 84.8, 4, 1)
    )
    brass = "#7a5a12"
    if look.state == "open":
        depth = 0.25 if look.name == "white" else 0.4
        inside = look.draw_plain_part(rect(5, 11, 76, 67), "dark") + fill(
            rect(5, 11, 76, 67), "#000000", opacity=depth
        )
        board = look.draw_part(rect(16, 43, 54, 3.6))
        doors = (
            look.draw_part(poly(5, 11, 18, 17, 18, 83, 5, 78)._replace(tall=True))
            + look.draw_part(poly(81, 11, 68, 17, 68, 83, 81, 78)._replace(tall=True))
            + stroke("M8 19L15 22V74L8 71ZM78 19L71 22V74L78 71Z", look.tones.line)
        )
        return feet + inside + board + top + doors + dots(((16, 48), (70, 48)), 1.9, GOLD, brass)
    doors = (
        look.draw_part(rect(4, 11.6, 38.4, 67))
        + look.draw_part(rect(43.6, 11.6, 38.4, 67))
        + "".join(look.draw_part(rect(x, 18, 26, 54, 1)) for x in (10, 50))
    )
    return feet + doors + top + dots(((38.5, 44), (47.5, 44)), 1.9, GOLD, brass)


# 126 x 58 pixels.
def bench(look: Appearance) -> str:
    t = look.tones
    if look.material == "stone":
        return (
            "".join(
                look.draw_part(path(f"M{x} 38H{x + 20}L{x + 17} 57.4H{x + 3}Z"), "dark") for x in (12, 94)
            )
            + look.draw_part(poly(8, 27, 118, 27, 125.4, 34, 0.6, 34), "light")
            + look.draw_part(rect(0.6, 33.6, 124.8, 7, 1))
            + "".join(
                look.draw_part(rect(x, y, w, h, 1))
                for x, y, w, h in ((8, 2, 110, 16), (20, 18, 10, 10), (96, 18, 10, 10))
            )
        )
    iron = METAL if look.material == "metal" else "#3d4046"
    frame = "".join(
        limb(f"M{x} 56V2M{x} 33H{x + s * 6}V56", iron, "#24262a", 2.4) for x, s in ((14, -1), (112, 1))
    )
    slats = "".join(look.draw_part(rect(4, y, 118, 6, 1)) for y in (2, 11, 20))
    seat = (
        look.draw_part(poly(8, 29, 118, 29, 121, 33, 5, 33), "light")
        + look.draw_part(rect(1, 33.4, 124, 5, 1))
        + stroke("M6 31H120", t.line, 0.9)
    )
    return frame + slats + seat
