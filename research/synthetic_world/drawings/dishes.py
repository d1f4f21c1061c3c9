"""Draw dishes, bottles and vases."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    WHITE,
    fill,
    limb,
    mix_colors,
    oval,
    path,
    rect,
    stroke,
)


# 24 x 26 pixels.
def cup(look: Appearance) -> str:
    t = look.tones
    handle = limb("M17 8q6-1 5.5 5q-.5 6-6.5 6", t.base, t.line, 2.4)
    body = look.draw_part(path("M1 3L3 23Q3.2 25.5 6 25.5H14Q16.8 25.5 17 23L19 3Z"))
    # The bottom and the far rim are visible through glass.
    if look.material == "glass":
        rim = fill(oval(10, 3.4, 9, 2.6), mix_colors(t.light, WHITE, 0.6), t.line)
        return (
            handle
            + body
            + rim
            + stroke("M4 22.5Q10 20 16 22.5", WHITE, 1.2, 0.9)
            + stroke("M3.5 6.5V10", WHITE, 1.2)
        )
    return handle + body + fill(oval(10, 3.4, 9, 2.6), t.dark, t.line) + fill(oval(10, 3.8, 6.8, 1.6), t.line)


# 48 x 18 pixels.
def plate(look: Appearance) -> str:
    return (
        look.draw_plain_part(path("M15 14H33L31 17.5H17Z"), "dark")
        + look.draw_part(oval(24, 8.5, 23.4, 8))
        + fill(oval(24, 9, 14.5, 4.4), look.tones.light, look.tones.dark)
        + stroke("M4 7.5Q8 2.5 20 1.8", "#ffffff", 1.4, 0.8)
    )


# 46 x 28 pixels.
def bowl(look: Appearance) -> str:
    contents = (
        fill(path("M5 5Q9-.5 14 1.5Q19-2 24 1Q31-2 35 1.5Q40 0 41 5.5Z"), "#e9b36a", "#a06a2a")
        + "".join(
            fill(oval(x, y, 1.7, 1.3), color)
            for x, y, color in (
                (11, 3, "#b8632a"),
                (17, 2.5, "#f7dca0"),
                (23, 3.5, "#b8632a"),
                (29, 2, "#f7dca0"),
                (34, 3.6, "#b8632a"),
                (20, 5, "#f7dca0"),
            )
        )
        if look.state == "full"
        else ""
    )
    return (
        fill(oval(23, 5, 22.3, 4.3), look.tones.dark, look.tones.line)
        + (contents or fill(oval(23, 5.4, 19, 2.9), look.tones.line, opacity=0.75))
        + look.draw_plain_part(rect(15, 23.5, 16, 4, 1), "dark")
        + look.draw_part(path("M.7 5Q1 24.5 18 25.5H28Q45 24.5 45.3 5Q41 9.3 23 9.3Q5 9.3 .7 5Z"))
    )


# 20 x 52 pixels.
def bottle(look: Appearance) -> str:
    body = path(
        "M7 5V13Q7 17 3.5 20Q1 22 1 26V48.5Q1 51.5 4 51.5H16Q19 51.5 19 48.5V26Q19 22 16.5 20Q13 17 13 13V5Z"
    )
    liquid = path("M2.5 21.8H17.5Q18 24 18 26V48Q18 50.5 16 50.5H4Q2 50.5 2 48V26Q2 24 2.5 21.8Z")
    clear = fill(body, "#ffffff", opacity=0.55) + (
        fill(body, "#b9cdd8", look.tones.line, 0.55)
        if look.name == "white"
        else fill(body, look.tones.base, look.tones.line, 0.6)
    )
    inside = (
        (
            fill(liquid, look.tones.base)
            + fill(liquid, look.tones.dark, opacity=0 if look.name == "white" else 0.45)
            + fill(rect(2.4, 21, 15.2, 1.8), look.tones.light)
        )
        if look.state == "full"
        else ""
    )
    if look.material == "plastic":
        finish = (
            stroke("M1.5 28H18.5M1.5 45H18.5M1.5 41.5H18.5", look.tones.line, 1, 0.7)
            + fill(rect(1.2, 31, 17.6, 7.5), "#ffffff", look.tones.line)
            + fill(rect(4, 33.5, 12, 2.5), look.tones.base)
            + fill(rect(5.6, 0.6, 8.8, 6.4, 1.4), look.tones.base, look.tones.line)
            + stroke("M8 1.5V6M10 1.5V6M12 1.5V6", look.tones.line, 0.7)
        )
    else:
        finish = (
            fill(rect(6.6, 3.6, 6.8, 2.6, 1), look.tones.dark, look.tones.line)
            + fill(rect(7.4, 0.6, 5.2, 3.4, 0.8), "#c99a63", "#7b5428")
            + stroke("M4.5 25V46", "#ffffff", 2, 0.85)
            + stroke("M9 7V13", "#ffffff", 1.4, 0.85)
        )
    return clear + inside + finish


# 30 x 48 pixels.
def vase(look: Appearance) -> str:
    body = "M8 3Q11.5 9 10 13Q1 19 1 30Q1 41 9 47H21Q29 41 29 30Q29 19 20 13Q18.5 9 22 3Z"
    return (
        look.draw_part(path(body))
        + fill(oval(15, 3.2, 7.4, 2.5), look.tones.dark, look.tones.line)
        + fill(oval(15, 3.5, 5.2, 1.5), look.tones.line)
        + stroke("M9.5 14.5H20.5", look.tones.line, 1.4)
    )
