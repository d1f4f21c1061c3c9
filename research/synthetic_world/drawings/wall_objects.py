"""Draw objects on a wall, and windows."""

from __future__ import annotations

from dataclasses import replace

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


# 70 x 52 pixels.
def painting(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_part(rect(0.6, 0.6, 68.8, 50.8, 1))
        + stroke("M1 1L8 8M69 1L62 8M1 51L8 44M69 51L62 44", t.line, 1)
        + fill(rect(8, 8, 54, 36), "#f7d9a8", t.line)
        + fill(oval(46, 19, 5.4), "#ef6a3a")
        + fill(path("M8 34L22 17L33 29L41 22L62 35V44H8Z"), "#7d6aa8")
        + fill(path("M22 17L18.5 21.5L22 23.5L26 21.5ZM41 22L38 25L41.5 27L45 24.7Z"), "#ffffff")
        + fill(path("M8 37Q24 32 38 38Q50 42 62 36V44H8Z"), "#4f9a8b")
    )


# 56 x 76 pixels.
def mirror(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_part(oval(28, 38, 27.4, 37.4))
        + fill(oval(28, 38, 21, 31), "#d7e9ef", t.line)
        + fill(path("M12 46L34 9.5Q40 12 43.5 18L17 61Q13 55 12 46Z"), "#ffffff", opacity=0.75)
        + fill(path("M22 65L46 26Q48.5 32 48.6 38L31 68.6Q26 68.5 22 65Z"), "#ffffff", opacity=0.55)
        + stroke("M9 24Q14 10 26 7.5", "#9fb9c4", 1.2)
    )


# 84 x 84 pixels.
def window(look: Appearance) -> str:
    t = look.tones
    view = fill(rect(5, 5, 74, 70), "#a9d8f5", t.line) + fill(
        path("M14 34a5 5 0 0 1 5-6a7 7 0 0 1 13 0a5 5 0 0 1 3 8H16Z"), "#ffffff"
    )
    sill = look.draw_part(rect(0.6, 77, 82.8, 6.4, 1.5), "light")
    frame = look.draw_part(path("M.6 .6H83.4V78H.6ZM6 6V73H78V6Z"))
    if look.state == "open":
        panes = "".join(
            look.draw_part(path(f"M{a} 5L{b} 11V70L{a} 76ZM{c} 12L{d} 16V65L{c} 69Z"))
            + fill(poly(c, 12, d, 16, d, 65, c, 69), "#dff1fb", t.line, 0.7)
            for a, b, c, d in ((4, 21, 7, 18), (80, 63, 77, 66))
        )
        return view + frame + panes + sill
    panes = "".join(
        fill(rect(x, y, 30, 29), "#c7e7fa", t.line)
        + fill(poly(x + 6, y, x + 13, y, x, y + 19, x, y + 9), "#ffffff", opacity=0.75)
        for x in (9, 45)
        for y in (9, 42)
    )
    return (
        look.draw_part(rect(0.6, 0.6, 82.8, 78))
        + panes
        + look.draw_part(rect(39.5, 6, 5, 68))
        + fill(rect(40.6, 38, 2.8, 8, 1), GOLD, t.line)
        + sill
    )


# 60 x 110 pixels.
def curtain(look: Appearance) -> str:
    t = look.tones
    # Stripes run across the folds.
    look = replace(look, pattern="banded") if look.pattern == "striped" else look
    rod = limb("M2.5 4H57.5", "#8f7a4e", "#4a3d22", 2) + "".join(
        fill(oval(x, 4, 2.4), GOLD, "#4a3d22") for x in (2.6, 57.4)
    )
    if look.state == "open":
        half = look.draw_part(path("M3 6H21Q22 40 10 62L15 66V109.4H4V66Z"))
        half += stroke("M9 7Q10 40 6.5 60M15 7Q15 38 9 60M8 67V108M11.5 67V108", t.line, 1)
        half += fill(rect(2.6, 61.5, 14, 4.6, 2), GOLD, "#6a511a")
        return rod + half + transform(half, 60, 0, -1)
    return (
        rod
        + look.draw_part(
            path(
                "M2 6H58L59 109.4Q55 106 51 109.4Q47 106 43 109.4Q38 106 34 109.4Q30 106 26 109.4"
                "Q21 106 17 109.4Q13 106 9 109.4Q5 106 1 109.4Z"
            )
        )
        + stroke("M9 7V108M17 7V108M26 7V108M34 7V108M43 7V108M51 7V108", t.line, 1.2)
        + stroke("M13 8V106M22 8V106M38 8V106M47 8V106", t.light, 1.6, 0.6)
    )
