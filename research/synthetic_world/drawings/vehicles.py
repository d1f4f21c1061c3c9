"""Draw vehicles, seen from the side, heading right."""

from __future__ import annotations

import math

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    DARK,
    METAL,
    SKY,
    fill,
    format_number,
    oval,
    path,
    poly,
    rect,
    stroke,
)

TYRE = "#26272b"


def _wheel(x: float, y: float, r: float) -> str:
    return (
        fill(oval(x, y, r), TYRE, "#0f0f11")
        + fill(oval(x, y, r * 0.55), "#c4c9ce", "#6d7278")
        + fill(oval(x, y, r * 0.18), "#6d7278")
    )


# 150 x 70 pixels.
def car(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_part(
            path(
                "M4 55Q.6 54 .6 46Q.6 34 12 31L30 27Q44 4 56 2Q76 -.5 98 3Q106 5 120 26L138 30"
                "Q149.4 33 149.4 46V52Q149 56 145 56Z"
            )
        )
        + fill(path("M38 27Q47 9 58 7.5H72V27Z"), SKY, t.line)
        + fill(path("M77 7.3Q92 7 97 9.5Q103 14 111 27H77Z"), SKY, t.line)
        + fill(poly(50, 14, 57, 9, 46, 27, 41, 27), "#ffffff", opacity=0.6)
        + fill(poly(84, 8, 90, 8, 82, 27, 78, 27), "#ffffff", opacity=0.6)
        + stroke("M74.5 28V54M34 30L36 54M114 30L110 54", t.line, 1.2)
        + fill(rect(64, 33, 8, 2.6, 1.2), t.line)
        + fill(rect(100, 33, 8, 2.6, 1.2), t.line)
        + fill(rect(0.6, 46, 9, 4, 1.5), "#c9ccd0", "#6d7278")
        + fill(rect(140, 46, 9, 4, 1.5), "#c9ccd0", "#6d7278")
        + fill(path("M140 33Q147 34 148.4 41H139Z"), "#fff3b8", t.line)
        + fill(rect(1.4, 35, 6, 6, 1.5), "#b81f26", "#5e0e12")
        + stroke("M8 43H142", t.dark, 1.4)
        + fill(oval(32, 56, 15.4, 14), t.line)
        + fill(oval(117, 56, 15.4, 14), t.line)
        + _wheel(32, 57, 12)
        + _wheel(117, 57, 12)
    )


# 190 x 104 pixels.
def bus(look: Appearance) -> str:
    t = look.tones
    windows = "".join(
        fill(rect(x, 18, 22, 26, 3), SKY, t.line)
        + fill(poly(x + 4, 19, x + 10, 19, x + 3, 43, x + 1, 43, x + 1, 32), "#ffffff", opacity=0.55)
        for x in (8, 35, 62, 89, 116)
    )
    door = fill(rect(143, 18, 18, 72, 2), SKY, t.line) + stroke("M152 18V90", t.line, 1.6)
    return (
        look.draw_part(path("M8 .6H176Q188 .6 189.4 20V88Q189.4 93 184 93H6Q.6 93 .6 88V10Q.6 .6 8 .6Z"))
        + fill(rect(1, 58, 188, 6), t.light, t.dark)
        + fill(rect(12, 3.6, 150, 3), t.dark)
        + windows
        + door
        + fill(path("M167 18H183Q187 30 187.5 52H167Z"), SKY, t.line)
        + fill(rect(181, 70, 8, 8, 2), "#fff3b8", t.line)
        + fill(rect(1, 70, 5, 9, 2), "#b81f26", "#5e0e12")
        + fill(rect(0.6, 86, 188.8, 7, 2), t.dark, t.line)
        + "".join(fill(oval(x, 91, 16, 15), t.line) + _wheel(x, 90.4, 13) for x in (38, 120))
    )


# 100 x 66 pixels.
def bicycle(look: Appearance) -> str:
    t = look.tones
    wheels = "".join(
        stroke(f"M{x - 20.8} 44A20.8 20.8 0 1 0 {x + 20.8} 44A20.8 20.8 0 1 0 {x - 20.8} 44Z", TYRE, 2.4)
        + stroke(
            "M"
            + "M".join(
                f"{x + dx} {44 + dy}L{x - dx} {44 - dy}" for dx, dy in ((20, 0), (0, 20), (14, 14), (14, -14))
            ),
            "#9ba0a6",
            0.7,
        )
        + fill(oval(x, 44, 2.6), METAL, DARK)
        for x in (22, 78)
    )
    frame = "M22 44L36 18L46 46ZM36 18L70 16L46 46M78 44L69 8"
    return (
        wheels
        + stroke(frame, t.line, 5)
        + stroke(frame, t.base, 3)
        + fill(oval(46, 46, 5), METAL, DARK)
        + stroke("M46 46L51 56M48 56.5H55", DARK, 2)
        + stroke("M36 18L34 10", DARK, 2.2)
        + fill(path("M24 6Q34 7 43 7Q44 11 38 11Q27 12 24 6Z"), "#3a2a20", "#15100c")
        + stroke("M69 8L67 2H60M67 2Q77 .8 79 6", "#4a4d53", 2.4)
        + stroke("M59 2H63", DARK, 3.4)
    )


# 120 x 84 pixels.
def boat(look: Appearance) -> str:
    t = look.tones
    planks = stroke("M7 64H113M12 71H108", t.line, 1.1) if look.material == "wood" else ""
    rivets = (
        "".join(fill(oval(x, 60.5, 1), t.line) for x in range(10, 114, 8)) if look.material == "metal" else ""
    )
    return (
        fill(rect(54, 1, 4, 56, 1), "#8a5a33", "#4a2c14")
        + fill(path("M60 4Q86 24 90 48H60Z"), "#fbfaf4", "#8f9297")
        + fill(path("M52 10Q34 30 26 48H52Z"), "#eeece2", "#8f9297")
        + stroke("M60 18Q72 22 77 22M60 34Q78 38 86 37M52 28Q44 31 38 31", "#c9c8c0", 1)
        + fill(poly(57, 1, 57, 7, 68, 4), "#d7322f")
        + look.draw_part(path("M.6 54H119.4Q114 76 102 83.4H18Q6 76 .6 54Z"))
        + planks
        + rivets
        + look.draw_plain_part(rect(0.6, 52.4, 118.8, 4, 1.5), "light")
    )


# 126 x 90 pixels.
def tractor(look: Appearance) -> str:
    t = look.tones
    return (
        fill(rect(96, 8, 4, 26, 1), "#4a4d53", "#1d1e21")
        + fill(rect(94.6, 5, 6.8, 4, 1), "#4a4d53", "#1d1e21")
        + fill(path("M24 34L30 5H68L72 36Z"), SKY, t.line)
        + stroke("M48 5V36", t.line, 2.4)
        + look.draw_plain_part(rect(22, 0.6, 52, 6, 2.5))
        + stroke("M27 6L23 38M70 6L73 36", t.line, 3.4)
        + stroke("M27 6L23 38M70 6L73 36", t.base, 1.8)
        + look.draw_part(path("M62 36H114Q122 37 122 46V62H60Z"))
        + "".join(fill(rect(x, 42, 3.4, 13, 1), t.line) for x in (104, 110, 116))
        + stroke("M66 44H98", t.light, 2)
        + fill(rect(50, 60, 70, 9, 1), "#3b3d43", "#18191c")
        + look.draw_part(path("M6 50Q6 26 34 26Q62 28 64 60H54Q52 40 34 40Q18 40 14 54Z"))
        + fill(oval(121, 44, 3), "#fff3b8", "#8a6508")
        + _tractor_wheel(33, 61, 28)
        + _tractor_wheel(104, 71.5, 18)
    )


def _tractor_wheel(x: float, y: float, r: float) -> str:
    angles = [step * math.pi / 6 for step in range(12)]
    lugs = "".join(
        f"M{format_number(x + (r - 3) * math.cos(a))} {format_number(y + (r - 3) * math.sin(a))}"
        f"L{format_number(x + (r - 1.5) * math.cos(a))} {format_number(y + (r - 1.5) * math.sin(a))}"
        for a in angles
    )
    return (
        stroke(lugs, TYRE, 4)
        + fill(oval(x, y, r - 2), TYRE, "#0f0f11")
        + fill(oval(x, y, r * 0.5), "#f2c230", "#8a6508")
        + fill(oval(x, y, r * 0.16), "#8a6508")
    )
