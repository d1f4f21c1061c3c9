"""Draw toys, umbrellas and books."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    DARK,
    fill,
    limb,
    mix_colors,
    oval,
    path,
    poly,
    rect,
    stroke,
    transform,
)


# 34 x 34 pixels.
def ball(look: Appearance) -> str:
    t = look.tones
    seam = (
        ""
        if look.pattern
        else stroke("M2.5 11Q14 15 31.5 11M2.5 23Q14 19 31.5 23M17 .8Q12 17 17 33.2", t.line, 1.2)
    )
    return (
        look.draw_part(oval(17, 17, 16.4))
        + seam
        + fill(oval(11, 9, 4.4, 3), "#ffffff", opacity=0.75)
        + stroke("M6 27Q17 37 29 26", "#000000", 3, 0.16)
    )


# 54 x 60 pixels.
def kite(look: Appearance) -> str:
    t = look.tones
    bow = fill(path("M0 0L-5 -3V3ZM0 0L5 -3V3Z"), t.dark, t.line)
    return (
        stroke("M27 40Q36 46 28 50Q18 54 26 59.2", t.line, 1.4)
        + look.draw_part(poly(27, 0.6, 53.2, 18, 27, 42, 0.8, 18))
        + fill(poly(27, 0.6, 53.2, 18, 27, 18), "#ffffff", opacity=0.22)
        + fill(poly(27, 18, 27, 42, 0.8, 18), "#000000", opacity=0.12)
        + stroke("M27 1V42M1 18H53", t.line, 1.4)
        + transform(bow, 31, 48)
        + transform(bow, 23.5, 54.5)
    )


# 42 x 52 pixels.
def teddy_bear(look: Appearance) -> str:
    t = look.tones
    pale = mix_colors(t.base, "#ffffff", 0.55) if look.name != "white" else "#e6dccb"
    return (
        "".join(look.draw_plain_part(oval(x, 5.6, 5)) + fill(oval(x, 5.8, 2.6), pale) for x in (9.5, 32.5))
        + "".join(
            look.draw_plain_part(oval(x, 45, 8, 6.6)) + fill(oval(x, 46, 4.2, 3.6), pale, t.dark)
            for x in (10, 32)
        )
        + "".join(look.draw_plain_part(oval(x, 31, 5, 7.4)) for x in (6, 36))
        + look.draw_part(oval(21, 36, 13.4, 14))
        + fill(oval(21, 37, 7.6, 8.6), pale)
        + look.draw_part(oval(21, 14, 14.4, 12.6))
        + fill(oval(21, 18.6, 6.2, 4.8), pale, t.dark)
        + fill(oval(21, 16.4, 2.5, 1.8), DARK)
        + stroke("M21 18V20.5M18.5 21Q21 22.8 23.5 21", DARK, 0.9)
        + "".join(
            fill(oval(x, 11, 1.7), "#1c1a1a") + fill(oval(x + 0.5, 10.4, 0.5), "#fff") for x in (15, 27)
        )
        + fill(
            path("M21 27L14 23.5V30.5ZM21 27L28 23.5V30.5Z"),
            "#d7322f" if look.name != "pink" else "#7b4fb5",
            "#5e1210",
        )
        + fill(oval(21, 27, 2), "#a81f1d")
    )


def umbrella(look: Appearance) -> str:
    t = look.tones
    if look.state == "closed":
        # 22 x 74 pixels.
        return (
            limb("M11 58V68Q11 72.5 7.5 72.5Q4.5 72.5 4.5 69", "#8a5a33", "#40240e", 1.8)
            + fill(rect(10, 0.6, 2, 6), "#5c6066")
            + look.draw_part(path("M11 3.5Q16 22 20 52Q17.5 57 11 57Q4.5 57 2 52Q6 22 11 3.5Z"))
            + stroke("M11 6Q9 30 7.5 55M11.5 8Q13 30 14.5 55", t.line, 1.2)
            + fill(rect(3, 41, 16, 4, 1.5), t.dark, t.line)
        )
    return (
        limb("M35 30V64Q35 72.5 41 72.5Q46 72.5 46 67", "#8a5a33", "#40240e", 1.8)
        + fill(rect(34, 0.6, 2, 6), "#5c6066", DARK)
        + look.draw_part(
            path(
                "M.8 35Q2 5 35 4Q68 5 69.2 35Q63 29 57.5 35Q52 29 46 35Q40 29 35 35Q30 29 24 35"
                "Q18 29 12.5 35Q7 29 .8 35Z"
            )
        )
        + stroke("M35 4Q20 14 12.5 35M35 4Q28 16 24 35M35 4Q42 16 46 35M35 4Q50 14 57.5 35", t.line, 1)
    )


# 38 x 28 pixels.
def book(look: Appearance) -> str:
    t = look.tones
    if look.state == "open":
        return (
            look.draw_plain_part(path("M.6 3L19 6L37.4 3V26L19 27.4L.6 26Z"))
            + fill(path("M5 2.2Q14 1 19 5Q24 1 33 2.2V21.5Q24 20 19 23.5Q14 20 5 21.5Z"), "#fbf8ee", t.line)
            + stroke("M19 5V23", "#8c8573", 1.2)
            + stroke(
                "M8 6Q12 5.5 16 8M8 10Q12 9.5 16 12M8 14Q12 13.5 16 16M8 18Q12 17.5 16 19.5M22 8"
                "Q26 5.5 30 6M22 12Q26 9.5 30 10M22 16Q26 13.5 30 14M22 19.5Q26 17.5 30 18",
                "#8d94a0",
                0.9,
            )
        )
    return (
        look.draw_plain_part(path("M6 17L.8 20Q-.2 24 2 27.4H31L37.4 22V18Z"), "dark")
        + fill(path("M3 21H31L36.6 17.5V22L31 26H3Q1.6 23.5 3 21Z"), "#f8f4e6", t.line)
        + stroke("M4 23.5H31L36 20", "#b5ae9a", 0.7)
        + look.draw_part(poly(8, 0.8, 37.2, 3, 31.5, 20.5, 1.2, 20))
        + stroke("M11.5 1.2L5 20", t.line, 1.2)
        + fill(poly(16, 5.2, 30.5, 6, 29, 10.6, 14.4, 10), t.light, t.line)
    )
