"""Draw refrigerators, stoves and lamps."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    DARK,
    METAL,
    fill,
    limb,
    oval,
    path,
    poly,
    rect,
    stroke,
    transform,
)


# 70 x 136 pixels.
def refrigerator(look: Appearance) -> str:
    t = look.tones
    feet = "".join(fill(rect(x, 131, 8, 4.6), DARK) for x in (12, 50))
    if look.state == "open":
        body = look.draw_plain_part(rect(0.6, 0.6, 50, 131, 5)) + fill(
            rect(5, 6, 41, 120, 2), "#eef7fb", "#8fa4b0"
        )
        boards = "".join(fill(rect(5, y, 41, 2.2), "#b9d3df") for y in (30, 54, 78, 102)) + fill(
            rect(8, 106, 35, 17, 2), "#d5e7ee", "#9fb6c1"
        )
        goods = "".join(
            fill(rect(x, y, w, h, 1), c, "#59636b")
            for x, y, w, h, c in (
                (9, 15, 8, 15, "#f5f5f0"),
                (20, 19, 12, 11, "#9cc7a0"),
                (10, 43, 16, 11, "#e8c27a"),
                (31, 40, 8, 14, "#f5f5f0"),
                (12, 66, 10, 12, "#d98f8f"),
                (26, 69, 15, 9, "#a9b9dd"),
                (11, 92, 24, 10, "#efe3b0"),
            )
        )
        door = (
            look.draw_part(poly(50, 1, 69.4, 6, 69.4, 135, 50, 130))
            + fill(poly(53, 8, 66, 11, 66, 128, 53, 124), "#dfecf1", "#8fa4b0")
            + "".join(
                fill(poly(53, y, 66, y + 2, 66, y + 7, 53, y + 5), t.base, t.line) for y in (38, 72, 104)
            )
        )
        return feet + body + boards + goods + door
    return (
        feet
        + look.draw_part(rect(0.6, 0.6, 68.8, 131, 6))
        + stroke("M1 46H69", t.line, 2.2)
        + stroke("M2 48H68", t.light, 1)
        + "".join(fill(rect(7, y, 4.4, h, 2), METAL, "#50565c") for y, h in ((22, 18), (54, 34)))
    )


# 74 x 78 pixels.
def stove(look: Appearance) -> str:
    t = look.tones
    on = look.state == "on"
    flame = fill(
        path("M-10 7Q-11 2 -7 .6Q-6 4 -4 1Q0 -1 0 3Q2 -.5 5 1Q6 4 8 .6Q12 3 10 7Z"), "#ff8c1a", "#d8430e"
    ) + fill(path("M-7 7Q-5 3 -3 5Q0 2 2 5Q5 3 7 7Z"), "#5ab4ff")
    flames = transform(flame, 20, 0) + transform(flame, 54, 0) if on else ""
    glow = "#ff9d2e" if on else "#33353b"
    return (
        look.draw_plain_part(poly(5, 6, 69, 6, 73.4, 15, 0.6, 15), "light")
        + "".join(fill(oval(x, 10.5, 12, 3), "#2a2b30", "#111") for x in (20, 54))
        + flames
        + look.draw_part(rect(0.6, 15, 72.8, 62.4, 2))
        + "".join(
            fill(oval(x, 22, 3.6), "#3b3d43", "#16171a")
            + stroke(f"M{x} 22V19.2", "#e8342b" if on else "#f2f2f2", 1.4)
            for x in (10, 24, 50, 64)
        )
        + fill(rect(30, 18.6, 14, 6.6, 1), "#16211b", DARK)
        + (fill(rect(32, 20.6, 10, 2.6), "#58f08a") if on else "")
        + fill(rect(7, 36, 60, 30, 3), glow, t.line)
        + (
            fill(oval(37, 52, 22, 10), "#ffd56b", opacity=0.8)
            if on
            else fill(poly(14, 38, 24, 38, 14, 60, 10, 60), "#ffffff", opacity=0.18)
        )
        + stroke("M10 58H64M10 52H64", "#15161a", 0.9, 0.7)
        + limb("M9 31H65", METAL, "#4d5258", 2)
    )


# 36 x 62 pixels.
def lamp(look: Appearance) -> str:
    t = look.tones
    on = look.state == "on"
    shade = path("M9 3Q18 1 27 3L35 27Q18 32 1 27Z")
    light = (
        (
            fill(path("M2 27L0 61H36L34 27Z"), "#ffe98a", opacity=0.6)
            + fill(path("M8 28L5 61H31L28 28Z"), "#fff6c4", opacity=0.7)
        )
        if on
        else ""
    )
    return (
        light
        + look.draw_part(rect(15.9, 27, 4.2, 27), "dark")
        + look.draw_part(path("M7 61.4Q7 52.5 18 52.5Q29 52.5 29 61.4Z"))
        + (
            fill(oval(18, 30, 6.5, 5), "#fffbe0", "#f2b822")
            if on
            else fill(oval(18, 29.5, 4.6, 3.6), "#9b9da1", "#55575c")
        )
        + look.draw_part(shade)
        + (fill(path("M5.5 16Q18 13 30.5 16L33 25.5Q18 29.5 3 25.5Z"), "#fff3a0", opacity=0.42) if on else "")
        + stroke("M3 24Q18 28.5 33 24", t.line, 1)
    )
