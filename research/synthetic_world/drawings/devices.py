"""Draw devices: televisions, laptops, clocks and telephones."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import DARK, fill, oval, path, poly, rect, stroke


# 92 x 62 pixels.
def television(look: Appearance) -> str:
    image = (
        (
            fill(rect(5, 5, 82, 44, 1), "#4fb3e8")
            + fill(path("M5 40Q20 26 36 36Q56 22 87 36V49H5Z"), "#4caf50")
            + fill(oval(70, 15, 6), "#ffe14d")
            + fill(path("M5 46Q40 36 87 46V49H5Z"), "#2f8d3a")
            + fill(rect(12, 10, 22, 4, 2), "#ffffff")
            + fill(rect(17, 8, 11, 4, 2), "#ffffff")
            + fill(oval(84, 51.6, 1.1), "#43ff6a")
        )
        if look.state == "on"
        else (
            fill(rect(5, 5, 82, 44, 1), "#191b20")
            + fill(poly(12, 5, 30, 5, 14, 49, 5, 49, 5, 24), "#ffffff", opacity=0.13)
            + fill(poly(36, 5, 42, 5, 26, 49, 20, 49), "#ffffff", opacity=0.13)
        )
    )
    return (
        look.draw_plain_part(poly(40, 53, 52, 53, 54, 59, 38, 59), "dark")
        + look.draw_plain_part(rect(26, 58, 40, 3.6, 1.6), "dark")
        + look.draw_plain_part(rect(0.6, 0.6, 90.8, 53, 3))
        + fill(rect(4, 4, 84, 46, 1), look.tones.line)
        + image
    )


def laptop(look: Appearance) -> str:
    t = look.tones
    if look.state == "closed":
        # 56 x 22 pixels.
        logo = "#f4f6f8" if look.name != "white" else t.line
        return (
            fill(rect(14, 0.6, 28, 2.4, 1), DARK, t.line)
            + look.draw_part(
                path("M11 1.6H45Q47 1.6 48 3.4L55 15Q55.6 16.6 54 16.6H2Q.4 16.6 1 15L8 3.4Q9 1.6 11 1.6Z")
            )
            + stroke("M10.5 4L4.5 14", t.light, 1.4)
            + fill(oval(28, 8.6, 5.4, 3.6), logo)
            + fill(oval(28, 8.6, 3.2, 2), t.base)
            + fill(rect(0.6, 17, 54.8, 4.4, 2), t.dark, t.line)
            + stroke("M2 18.6H54", t.light, 1)
            + fill(rect(24.5, 16.4, 7, 2.2, 0.8), t.line)
        )
    return (
        look.draw_plain_part(rect(7, 0.6, 42, 26, 2))
        + fill(rect(9.4, 3, 37.2, 21), "#bfe3f7", t.line)
        + fill(rect(9.8, 3.4, 36.4, 4), "#5c86c4")
        + "".join(
            fill(rect(13, y, w, 1.8), "#6f8fae") for y, w in ((10, 22), (13.5, 28), (17, 18), (20.5, 25))
        )
        + look.draw_part(poly(7, 26, 49, 26, 55.4, 34, 0.6, 34), "light")
        + fill(poly(10, 27.4, 46, 27.4, 48.6, 31, 7.4, 31), DARK)
        + fill(poly(23, 31.8, 33, 31.8, 34, 33.6, 22, 33.6), t.dark)
        + look.draw_plain_part(rect(0.6, 34, 54.8, 3.4, 1.4))
    )


# 40 x 40 pixels.
def clock(look: Appearance) -> str:
    ticks = (
        "M20 6.5V9.5M20 30.5V33.5M6.5 20H9.5M30.5 20H33.5M13.2 8.3L14.2 10M26.8 8.3L25.8 10"
        "M8.3 13.2L10 14.2M31.7 13.2L30 14.2M8.3 26.8L10 25.8M31.7 26.8L30 25.8M13.2 31.7L14.2 30"
        "M26.8 31.7L25.8 30"
    )
    return (
        look.draw_part(oval(20, 20, 19.4))
        + fill(oval(20, 20, 14.8), "#fdfcf6", look.tones.line)
        + stroke(ticks, DARK, 1.3)
        + stroke("M20 20V10.5", DARK, 1.6)
        + stroke("M20 20L26.5 23.5", DARK, 2)
        + fill(oval(20, 20, 1.6), "#c8202a")
    )


# 40 x 30 pixels.
def telephone(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_part(path("M9 11H31L38.5 26Q39 29.4 36 29.4H4Q1 29.4 1.5 26Z"))
        + fill(oval(20, 20, 7.6, 6.6), "#f5f3ea", t.line)
        + "".join(
            fill(oval(20 + 4.6 * dx, 20 + 4 * dy, 1.1), t.line)
            for dx, dy in ((0, -1), (0.87, -0.5), (0.87, 0.5), (0, 1), (-0.87, 0.5), (-0.87, -0.5))
        )
        + fill(oval(20, 20, 1.8, 1.6), t.base, t.line)
        + look.draw_plain_part(
            path(
                "M1 10Q-.5 1 8 .8H32Q40.5 1 39 10Q38.5 12 35 11.5L30 11Q29 7.5 27 7H13Q11 7.5 10 11"
                "L5 11.5Q1.5 12 1 10Z"
            )
        )
        + stroke("M6 3.2Q8 2.5 12 2.6H28", t.light, 1.4)
    )
