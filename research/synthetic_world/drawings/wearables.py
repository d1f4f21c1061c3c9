"""Draw clothes that are worn. Each piece of clothing fills its part of a person in scene_types.ANCHORS."""

from __future__ import annotations

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import GOLD, fill, oval, path, rect, stroke


# 34 x 20 pixels.
def hat(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_plain_part(oval(17, 15.6, 16.6, 4), "dark")
        + look.draw_part(path("M7 15Q7 1.5 13 .8Q15 .6 17 2Q19 .6 21 .8Q27 1.5 27 15Q17 18.5 7 15Z"))
        + fill(path("M7 10.5Q17 13.5 27 10.5V14.8Q17 18 7 14.8Z"), t.line)
        + look.draw_plain_part(path("M.6 15Q2 19.6 17 19.6Q32 19.6 33.4 15Q27 17.6 17 17.6Q7 17.6 .6 15Z"))
    )


# 44 x 44 pixels.
def shirt(look: Appearance) -> str:
    t = look.tones
    return (
        look.draw_part(
            path(
                "M14 .6Q16 5.5 22 5.5Q28 5.5 30 .6L37 3Q40 4 41 7L43.6 19Q40 22.5 36 22.5L35.6 43.4H8.4"
                "L8 22.5Q4 22.5 .4 19L3 7Q4 4 7 3Z"
            )
        )
        + stroke("M8 22.5L9 12M36 22.5L35 12", t.line, 1)
        + stroke("M13.5 1.5Q15.5 7.5 22 7.5Q28.5 7.5 30.5 1.5", t.line, 1)
    )


def jeans(look: Appearance) -> str:
    t = look.tones
    seam = GOLD if look.name in ("blue", "black") else t.line
    # 46 x 30 pixels.
    if look.is_seated:
        return (
            look.draw_part(
                path(
                    "M3 .6H43L45.4 10Q45.8 14 44 16L43 29.4H29.5L28.5 14L23 8L17.5 14L16.5 29.4H3L2 16"
                    "Q.2 14 .6 10Z"
                )
            )
            + fill(rect(3, 0.6, 40, 2.6), t.dark, t.line)
            + stroke("M4 26.5H16M30 26.5H42", seam, 1)
            + stroke("M2 12Q9 8.5 17 13M44 12Q37 8.5 29 13", t.light, 1.6)
            + stroke("M2.5 16Q9 19 17 15.5M43.5 16Q37 19 29 15.5", t.line, 1)
            + stroke("M23 3V8", seam, 1)
        )
    return (
        look.draw_part(path("M.6 .6H33.4V49.4H19.5L18 19H16L14.5 49.4H.6Z"))
        + fill(rect(0.6, 0.6, 32.8, 4.2), t.dark, t.line)
        + fill(oval(17, 2.6, 1.2), GOLD)
        + stroke("M17 5V18M2 9Q8 12 9 5M32 9Q26 12 25 5M1.5 46.5H14M20 46.5H32.5", seam, 0.9)
    )
