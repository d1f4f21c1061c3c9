"""Draw horses, cows and sheep."""

from __future__ import annotations

from research.synthetic_world.drawings.animals import EYE, eye, legs
from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import (
    DARK,
    dots,
    fill,
    limb,
    mix_colors,
    oval,
    path,
    rect,
    stroke,
    transform,
)

MANES = {"brown": "#3d2412", "black": "#6b6d75", "white": "#b9bcc4", "gray": "#55585e"}
SPOTS = {"white": "#2f2f33", "black": "#f1efe9", "brown": "#f3ead9"}
SHEEP_FACES = {"white": "#4a4442", "black": "#8f8b88", "gray": "#3b3837"}
PINK, PINK_LINE = "#f0aeb0", "#a8646a"


def _folded_legs(look: Appearance, y: float, *legs_: tuple[float, float, str]) -> str:
    """Draw the legs of a lying animal, folded forward, from x, length and tone of each."""
    return "".join(
        look.draw_plain_part(rect(x, y, length, 7.4, 3.4), tone)
        + fill(rect(x + length - 5, y, 5, 7.4, 1), DARK)
        for x, length, tone in legs_
    )


def horse(look: Appearance) -> str:
    mane, line = MANES[look.name], look.tones.line
    if look.pose == "lying":
        # 118 x 70 pixels.
        return (
            limb("M10 52Q2 56 3 67", mane, line, 5)
            + look.draw_part(path("M8 69.4Q4 40 28 38Q52 38 66 38Q78 30 84 12L98 22Q96 50 92 60L88 69.4Z"))
            + _folded_legs(look, 62, (74, 36, "dark"), (26, 34, "base"))
            + transform(_horse_head(look, mane), 80, 2)
        )
    body = path(
        "M12 46Q12 34 26 34Q44 38 62 35Q76 30 82 14L97 22Q92 40 90 56Q84 66 72 64Q48 60 36 66Q16 70 12 46Z"
    )
    # 118 x 100 pixels.
    return (
        limb("M14 42Q3 46 5 74", mane, line, 5.5)
        + legs(look, (18, 28, 70, 80), 58, 99.4, 7.4, DARK)
        + look.draw_part(body)
        + transform(_horse_head(look, mane), 78, 2)
    )


def _horse_head(look: Appearance, mane: str) -> str:
    line = look.tones.line
    skull = path("M4 12Q8 3 18 5Q24 8 37 24Q39.4 28 36 32Q32 35 27 31Q20 26 17 26Q8 26 4 12Z")
    return (
        look.draw_plain_part(path("M6 8L7 -1.4L13 5Z"))
        + look.draw_part(skull)
        + fill(path("M11 4Q-2 2 -6 20Q-12 30 -14 33Q-4 32 2 24Q6 16 11 4Z"), mane, line)
        + fill(path("M9 2Q16 3 18 10Q12 8 9 2Z"), mane)
        + eye(18, 13, 1.7)
        + fill(oval(34, 27, 1.3), line)
        + stroke("M36 31L30 29", line, 1)
    )


def cow(look: Appearance) -> str:
    t = look.tones
    spots = path(
        "M24 22Q34 18 40 24Q44 34 34 38Q22 36 24 22ZM56 32Q66 26 70 36Q70 46 60 48Q50 44 56 32Z",
        "M12 40Q18 38 22 46Q22 53 16 52Q11 48 12 40Z",
    )
    tail = limb("M12 28Q3 34 6 52", t.base, t.line, 1.6) + fill(oval(6.4, 55, 2.8, 5), DARK)
    body = look.draw_part(
        path("M10 30Q10 20 22 19Q50 22 72 18Q84 17 86 28Q88 46 78 54Q60 58 30 56Q10 56 10 30Z")
    )
    animal = tail + body + fill(spots, SPOTS[look.name])
    if look.pose == "lying":
        # 112 x 60 pixels.
        folded = _folded_legs(look, 48.6, (66, 30, "dark"), (22, 32, "base"))
        return transform(animal + folded + _cow_head(look), 0, 3.4)
    udder = fill(path("M32 54Q34 63 42 63Q50 63 52 54Z"), PINK, PINK_LINE)
    # 112 x 84 pixels.
    return udder + legs(look, (17, 27, 66, 75), 48, 83.4, 8, DARK) + animal + _cow_head(look)


def _cow_head(look: Appearance) -> str:
    horns = path("M80 10Q76 3 80 .6Q83 6 88 8ZM102 10Q106 3 102 .6Q99 6 94 8Z")
    ears = path("M80 12Q70 9 69 15Q73 21 81 18ZM102 12Q111 9 111.6 15Q109 21 101 18Z")
    return (
        fill(horns, "#efe3c4", "#8f7d52")
        + look.draw_plain_part(ears, "dark")
        + look.draw_part(path("M79 12Q82 6 91 6Q100 6 103 12L101 30Q98 38 91 38Q84 38 81 30Z"))
        + fill(path("M87 7H95L93 22H89Z"), SPOTS[look.name])
        + fill(oval(91, 32.5, 11.2, 7.4), PINK, PINK_LINE)
        + "".join(fill(oval(x, 32, 1.7, 2.2), "#7c3d45") for x in (86.5, 95.5))
        + eye(85, 17, 1.7)
        + eye(97, 17, 1.7)
    )


def sheep(look: Appearance) -> str:
    t = look.tones
    face = SHEEP_FACES[look.name]
    line = mix_colors(face, "#000000", 0.45)
    bumps = (
        (16, 22, 10),
        (28, 15, 11),
        (42, 14, 11),
        (54, 20, 10),
        (58, 30, 9),
        (50, 38, 10),
        (36, 41, 10),
        (22, 39, 10),
        (12, 32, 9),
    )
    curls = ((20, 24), (32, 20), (44, 22), (26, 33), (38, 31), (50, 32), (16, 34))
    wool = (
        "".join(fill(oval(x, y, r + 1), t.line) for x, y, r in bumps)
        + "".join(fill(oval(x, y, r), t.base) for x, y, r in bumps)
        + fill(rect(16, 18, 40, 24, 8), t.base)
        + stroke("".join(f"M{x - 4} {y}Q{x} {y + 5} {x + 4} {y}" for x, y in curls), t.line, 1.1, 0.75)
    )
    head = (
        fill(path("M57 17Q49 15 49 20Q53 25 59 22ZM73 17Q79.5 15 79.5 20Q77 25 71 22Z"), face, line)
        + fill(path("M57 16Q58 11 65 11Q72 11 73 16Q74 30 69 35Q65 38 61 35Q56 30 57 16Z"), face, line)
        + dots(((60, 11), (70, 11), (65, 8)), 4.6, t.base, t.line)
        + dots(((61, 20.5), (69, 20.5)), 2, "#ffffff")
        + dots(((61, 20.8), (69, 20.8)), 1.1, EYE)
        + stroke("M63 31Q65 33 67 31", "#f0b6b0", 1.3)
    )
    if look.pose == "lying":
        # 80 x 47 pixels.
        folded = "".join(fill(rect(x, 45, 20, 5.8, 2.8), face, line) for x in (12, 48))
        return transform(wool + head + folded, 0, -4)
    return "".join(fill(rect(x, 44, 5, 17.4, 1.4), face, line) for x in (20, 28, 44, 51)) + wool + head
