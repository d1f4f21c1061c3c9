"""Draw baskets, boxes, bags and trash cans."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    GOLD,
    fill,
    limb,
    oval,
    path,
    poly,
    rect,
    stroke,
    transform,
)


# 60 x 44 pixels.
def basket(look: Appearance) -> str:
    logs = (
        "".join(
            fill(oval(x, y, 6.5, 5.6), "#d9a866", "#6e4520")
            + fill(oval(x, y, 3.2, 2.7), "#e9c48c", "#a8743a")
            for x, y in ((17, 8), (43, 8), (30, 6), (11, 13), (24, 12.5), (37, 12.5), (49, 13))
        )
        if look.state == "full"
        else ""
    )
    t = look.tones
    weave = ""
    if look.material == "metal":
        weave = stroke(
            "M7 16L10 42M15 17L16.5 43M23 18L23.5 43M30 18V43M37 18L36.5 43M45 17L43.5 43M53 16L50 42"
            "M4 22H56M5 29H55M6 36H54",
            t.dark,
            1.6,
        ) + stroke("M8 16L11 42M16 17L17.5 43M31 18V43M46 17L44.5 43M4 21H56M5 28H55", "#ffffff", 0.8, 0.9)
    elif look.material == "plastic":
        weave = "".join(
            fill(rect(x, y, 4, 5.4, 1.5), t.line) for y in (21, 30) for x in (8.5, 16, 23.5, 31, 38.5, 46)
        ) + stroke("M8 19V38", "#ffffff", 2, 0.8)
    else:
        weave = "".join(
            fill(rect(x, y, 5.6, 5.6, 1.4), t.light if (row + column) % 2 else t.dark, t.line)
            for row, y in enumerate((19, 26, 33))
            for column, x in enumerate((6.5, 14.5, 22.5, 30.5, 38.5, 46.5))
        )
    body = path("M3 14L8 41Q8.5 43.5 11 43.5H49Q51.5 43.5 52 41L57 14Z")
    frame = fill(body, t.base, t.line, 0.35) if look.material == "metal" else fill(body, t.base, t.line)
    return (
        fill(oval(30, 14, 27, 4.6), t.line)
        + limb("M4.5 14Q6 1.2 30 1.2Q54 1.2 55.5 14", t.base, t.line, 2)
        + logs
        + frame
        + weave
        + fill(path("M2 13Q30 21 58 13V17.5Q30 25.5 2 17.5Z"), t.base, t.line)
    )


# 58 x 50 pixels.
def box(look: Appearance) -> str:
    t = look.tones
    boards = stroke("M3 24.5H55M3 36.5H55", t.line, 1.2) if look.material == "wood" else ""
    nails = (
        "".join(fill(oval(x, y, 0.9), t.line) for x in (7, 51) for y in (18, 30, 44))
        if look.material in ("wood", "metal")
        else ""
    )
    tape = fill(rect(25, 13, 8, 12), t.light, t.dark) if look.material is None else ""
    front = look.draw_part(rect(3, 13, 52, 36.4, 1)) + boards + nails
    if look.state == "open":
        return (
            fill(poly(8, 5, 50, 5, 55, 14, 3, 14), t.line)
            + look.draw_plain_part(poly(8, 5, 14, 0.6, 46, 0.6, 50, 5), "dark")
            + front
            + look.draw_plain_part(poly(3, 13, 0.6, 22, 9, 24, 14, 13), "light")
            + look.draw_plain_part(poly(55, 13, 57.4, 22, 49, 24, 44, 13), "light")
        )
    return (
        front
        + look.draw_plain_part(poly(3, 13, 9, 1, 49, 1, 55, 13), "light")
        + (fill(poly(25, 13, 26.5, 1, 31.5, 1, 33, 13), t.base, t.dark) if look.material is None else "")
        + tape
        + stroke("M3 13H55", t.line, 1.3)
    )


# 46 x 54 pixels.
def backpack(look: Appearance) -> str:
    t = look.tones
    return (
        limb("M16 6Q16 1.6 23 1.6Q30 1.6 30 6", t.dark, t.line, 2)
        + look.draw_plain_part(rect(0.8, 24, 8, 22, 4), "dark")
        + look.draw_plain_part(rect(37.2, 24, 8, 22, 4), "dark")
        + look.draw_part(path("M5 46V20Q5 5 23 5Q41 5 41 20V46Q41 53.2 35 53.2H11Q5 53.2 5 46Z"))
        + stroke("M9 22Q9 10 23 10Q37 10 37 22", t.line, 1.2)
        + look.draw_part(rect(10, 31, 26, 18, 4))
        + stroke("M10.5 36H35.5", t.line, 1.4)
        + fill(rect(21, 35, 4, 6, 1), GOLD, t.line)
        + fill(rect(20, 17, 6, 4, 1.5), t.light, t.line)
    )


# 46 x 62 pixels.
def trash_can(look: Appearance) -> str:
    t = look.tones
    ribs = (
        stroke("M13 20L14.5 57M20 20L20.5 58M26 20L25.5 58M33 20L31.5 57", t.line, 1.3, 0.8)
        if look.material == "metal"
        else stroke("M23 31L31 45H15Z", "#ffffff", 3, 0.85)
        + stroke("M19 33L22 37M29 36L25 40M22 47V43", t.base, 2.4)
    )
    body = look.draw_part(path("M5 15H41L37.5 59Q37.3 61.4 35 61.4H11Q8.7 61.4 8.5 59Z")) + ribs
    if look.state == "open":
        paper = fill(path("M7 17L9 9L14 12L17 7L23 13L27 10L30 17Z"), "#fbfaf5", "#8e8e88") + stroke(
            "M12 11L13 15M18 10L20 15", "#b5b4ab", 0.9
        )
        lid = look.draw_part(path("M-39 -3Q-37 -8 -20 -8.5Q-3 -9 0 -3Z")) + look.draw_plain_part(
            rect(-41, -3.6, 42, 4, 2), "light"
        )
        return (
            transform(lid, 43, 14.5, turn=14)
            + fill(oval(23, 16, 17.6, 3.4), t.line)
            + paper
            + body
            + look.draw_plain_part(rect(3, 15, 40, 4.6, 2), "light")
        )
    return (
        body
        + look.draw_part(path("M3 13Q4 5.5 23 5.5Q42 5.5 43 13Z"))
        + limb("M17 5.5Q17 1.8 23 1.8Q29 1.8 29 5.5", t.dark, t.line, 1.4)
        + look.draw_plain_part(rect(1.2, 12.4, 43.6, 4.6, 2), "light")
    )
