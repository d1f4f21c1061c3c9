"""Draw fruit and other food."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import DARK, fill, oval, path, poly, rect, stroke


# 22 x 24 pixels.
def apple(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_part(
            path(
                "M11 7.5Q16 3.5 19.5 7.5Q23 12 19 19Q16 24.5 11 22.5Q6 24.5 3 19Q-1 12 2.5 7.5Q6 3.5 11 7.5Z"
            )
        )
        + stroke("M11 8Q10.5 4 12 1.5", "#5b3a1e", 1.8)
        + fill(path("M12 4.5Q14 0 19 1Q17.5 5.5 12 4.5Z"), "#4f9d3f", "#2c6425")
        + fill(oval(6, 11.5, 1.7, 2.8), "#ffffff", opacity=0.65)
        + stroke("M8.5 7.8Q11 9.5 13.5 7.8", t.line, 1)
    )


# 34 x 22 pixels.
def banana(look: Appearance) -> str:
    return (
        look.draw_part(
            path("M2.5 2.5L6 1Q8 11.5 18 13.5Q26 15 31.5 10.5L33 13.5Q28 22 17 21.5Q3 20 2.5 2.5Z")
        )
        + stroke("M5.5 6Q8 16 19 17.5Q26 18 31 13.5", look.tones.dark, 1.1)
        + fill(poly(2, 3, 1.4, 0.8, 5, 0.6, 6.4, 1.6), "#6b4a22")
        + fill(poly(31, 10.8, 33.4, 11, 33.2, 14), "#5c3d1a")
    )


# 22 x 28 pixels.
def pear(look: Appearance) -> str:
    return (
        look.draw_part(
            path(
                "M11 4.5Q15 4.5 15.3 9Q15.6 12 18.5 15Q22 19 20 23.5Q17.5 27.5 11 27.5Q4.5 27.5 2 23.5"
                "Q0 19 3.5 15Q6.4 12 6.7 9Q7 4.5 11 4.5Z"
            )
        )
        + stroke("M11 5Q11 2.5 13 .9", "#5b3a1e", 1.8)
        + fill(path("M11.5 4Q9 .4 5.5 2Q7.5 5 11.5 4Z"), "#4f9d3f", "#2c6425")
        + fill(oval(6.6, 18.5, 1.7, 3), "#ffffff", opacity=0.6)
        + "".join(
            fill(oval(x, y, 0.7), look.tones.line, opacity=0.6)
            for x, y in ((13, 19), (15.5, 22), (12, 23.5), (10, 15))
        )
    )


# 50 x 16 pixels.
def pizza(look: Appearance) -> str:
    toppings = "".join(
        fill(oval(x, y, 3, 1.6), "#c9362b", "#8d1f18")
        for x, y in ((12, 6), (21, 10), (23, 4), (33, 4.4), (38, 7.4), (12, 10.2))
    )
    herbs = "".join(
        fill(oval(x, y, 1.2, 0.8), "#3f8a35") for x, y in ((17, 7.5), (28, 6), (8, 8), (29, 3.2), (18, 12))
    )
    return (
        fill(path("M.6 7.5V9.5Q3 15.5 25 15.5Q47 15.5 49.4 9.5V7.5Z"), "#a5692c", "#6f4216")
        + fill(oval(25, 7.4, 24.2, 6.8), "#d9974a", "#6f4216")
        + fill(oval(25, 7.2, 20.6, 5.2), "#f6cd52", "#d0672b")
        + toppings
        + herbs
        + stroke("M25 7.2L29.5 14M25 7.2L45 10.5M25 7.2L6 4M25 7.2L26 .9M25 7.2L43 3.8", "#b4661f", 0.9)
    )


# 46 x 42 pixels.
def cake(look: Appearance) -> str:
    t = look.tones
    return (
        fill(oval(23, 38, 22.4, 3.6), "#dfe3e8", "#8c939c")
        + fill(rect(4, 21, 38, 16, 3), "#e8c48b", "#9a6b34")
        + fill(rect(4.5, 28, 37, 3), "#f7efe0")
        + look.draw_part(
            path(
                "M4 20Q4 14 23 14Q42 14 42 20V27Q39.5 31 37 26.5Q34 23.5 31.5 28Q28.5 32 26 27Q23 23 20 28"
                "Q17 32 14.5 27Q12 23.5 9 28Q6 31 4 26.5Z"
            )
        )
        + fill(oval(23, 18.6, 18.6, 4), t.light, t.dark)
        + "".join(
            fill(rect(x - 1, 8, 2, 9, 0.6), "#ffffff", "#c24d6b")
            + stroke(f"M{x} 6V8", DARK, 0.8)
            + fill(oval(x, 4, 1.5, 2.6), "#ffb52e", "#e8742a")
            for x in (14, 23, 32)
        )
        + "".join(fill(oval(x, 17.4, 2.1, 2), "#d3263a", "#84121f") for x in (8.5, 18.5, 27.5, 37.5))
    )


# 38 x 22 pixels.
def sandwich(look: Appearance) -> str:
    return (
        fill(path("M2 8.5L19 1Q20 .6 21 1L36.5 8.5Z"), "#f3d9a4", "#9c6426")
        + fill(path("M.8 9.5Q.8 7.5 3 7.5H35Q37.2 7.5 37.2 9.5L36.5 11.5H1.5Z"), "#f8e6bf", "#9c6426")
        + fill(
            path(
                "M1 11.5Q3.5 15 6 12.5Q9 15.5 12 12.5Q15 15.5 18 12.5Q21 15.5 24 12.5Q27 15.5 30 12.5"
                "Q34 15.5 37 11.5Z"
            ),
            "#63b545",
            "#35782a",
        )
        + fill(rect(2, 14.2, 34, 2), "#f29ba0", "#b0565c")
        + fill(poly(2, 16, 36, 16, 30, 18.6, 26, 16.6, 8, 16.6), "#ffd23c")
        + fill(rect(1.4, 17, 35.2, 4.4, 1.6), "#f8e6bf", "#9c6426")
        + stroke("M4 19.4H34", "#e0b878", 1)
    )
