"""Draw dogs, with a snout and hanging ears, and cats, with a round face, pointed ears, whiskers and stripes."""

from __future__ import annotations

from research.synthetic_world.drawings.animals import EYE, eye, legs
from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import fill, limb, oval, path, rect, stroke, transform

TONGUE = "#e26a7a"


def dog(look: Appearance) -> str:
    t = look.tones
    if look.pose == "sitting":
        # 48 x 63 pixels.
        return (
            limb("M34.5 54Q45.5 54 44.5 42", t.base, t.line, 4)
            + look.draw_part(
                path("M10.5 30Q2.5 44 2.5 55Q2.5 61.4 10.5 61.4H32.5Q39.5 61.4 38.5 53Q37.5 42 30.5 30Z")
            )
            + fill(oval(20.5, 42, 6.5, 10), _muzzle(look))
            + "".join(look.draw_plain_part(rect(x, 43, 7, 18.8, 3)) for x in (11.5, 22.5))
            + transform(_dog_face(look), 20.8, 15.4)
        )
    if look.pose == "lying":
        # 84 x 38 pixels.
        return (
            limb("M8 31Q1 29 2 22", t.base, t.line, 4)
            + look.draw_part(path("M6 37.4Q2 20 20 17Q40 13 56 17L60 37.4Z"))
            + look.draw_plain_part(path("M18 37.4Q14 24 26 24Q36 25 36 37.4Z"))
            + look.draw_plain_part(rect(54, 30.4, 26, 5.6, 2.8), "dark")
            + look.draw_plain_part(rect(50, 31.8, 26, 5.6, 2.8))
            + transform(_dog_profile(look), 52, 2)
        )
    # 78 x 58 pixels.
    return (
        limb("M15 27Q4 23 5 9", t.base, t.line, 4.4)
        + legs(look, (16, 23, 45, 52), 36, 57.4, 6)
        + look.draw_part(path("M12 30Q12 23 20 23H46Q52 22 55 16L64 24Q60 42 54 43Q40 39 24 43Q13 44 12 30Z"))
        + transform(_dog_profile(look), 47, 1)
    )


def _muzzle(look: Appearance) -> str:
    return "#ece5d8" if look.name == "white" else look.tones.light


def _dog_profile(look: Appearance) -> str:
    skull = path("M3 10Q4 1 13 1Q20 1 21 8L28 10Q30.4 11 30 15Q28 20 21 20Q16 25 9 23Q3 20 3 10Z")
    snout = path("M22 10L28 10.5Q30 12 29.5 15Q27 19.5 21 19Q18 14 22 10Z")
    return (
        look.draw_part(skull)
        + fill(snout, _muzzle(look))
        + fill(oval(28, 11, 2.6, 2.2), EYE)
        + stroke("M28 16Q25 18 21 16.5", look.tones.line, 1)
        + fill(path("M23 17.5Q26 23 27 16.8Z"), TONGUE)
        + eye(17.5, 8.5)
        + look.draw_plain_part(path("M10 2Q2 1 1 10Q0 20 6 21Q11 19 12 9Z"), "dark")
    )


def _dog_face(look: Appearance) -> str:
    ear = look.draw_plain_part(path("M9 -13Q19 -14 20 0Q20 11 15 11Q11 4 11 -4Z"), "dark")
    mouth = "M0 5V7.5M-4 7Q-2 9.5 0 7.5Q2 9.5 4 7"
    return (
        look.draw_part(oval(0, 0, 15, 14.5))
        + ear
        + transform(ear, 0, 0, -1)
        + fill(oval(0, 6, 8, 6.6), _muzzle(look), look.tones.dark)
        + fill(oval(0, 3, 3.4, 2.4), EYE)
        + stroke(mouth, look.tones.line, 1)
        + fill(path("M-2 8.8Q0 15 2 8.8Z"), TONGUE)
        + eye(-5.5, -3, 1.8)
        + eye(5.5, -3, 1.8)
    )


def cat(look: Appearance) -> str:
    t = look.tones
    if look.pose == "sitting":
        # 38 x 51 pixels.
        return (
            limb("M29 47Q38 46 35.5 36Q33.5 31 36 27", t.base, t.line, 3.4)
            + look.draw_part(path("M13 24Q5 36 6 45Q6.5 50.4 12 50.4H26Q31 50.4 31.5 45Q32 36 25 24Z"))
            + "".join(look.draw_plain_part(rect(x, 36, 4.8, 14.4, 2.2)) for x in (13.4, 19))
            + transform(_cat_face(look), 18.8, 15, 1.08)
        )
    if look.pose == "lying":
        # 63 x 29 pixels.
        return (
            look.draw_part(path("M4 28.4Q2 13 20 10Q36 8 46 14L52 28.4Z"))
            + stroke("M18 11L20 15M25 10L27 14.5M32 10L34 14.5", t.line, 1.6)
            + limb("M5 25Q16 29 28 25.5", t.base, t.line, 3.4)
            + look.draw_plain_part(rect(36, 24.6, 14, 4, 2))
            + transform(_cat_face(look), 49, 14.5, 0.95)
        )
    # 58 x 46 pixels.
    return (
        limb("M10 24Q1 19 4 9Q5 3 9 3", t.base, t.line, 3.2)
        + legs(look, (10, 15, 32, 37), 29, 45.4, 4.4)
        + look.draw_part(path("M7 26Q7 19 15 19.5H36Q43 19 44 27Q43 34 38 34Q24 31 14 34.5Q7 34 7 26Z"))
        + stroke("M16 20L17.5 24.5M22 20L23.5 24.5M28 20L29.5 24.5", t.line, 1.6)
        + transform(_cat_face(look), 43, 15)
    )


def _cat_face(look: Appearance) -> str:
    line = look.tones.line
    skull = path("M-12 -2L-11.5 -14.5L-3 -9.5H3L11.5 -14.5L12 -2Q12 10 0 10.5Q-12 10 -12 -2Z")
    whiskers = "M-6 4.5L-14.5 3M-6 6L-14 7.5M6 4.5L14.5 3M6 6L14 7.5"
    return (
        look.draw_plain_part(skull)
        + fill(path("M-10 -6L-9.8 -11.5L-5 -8.5ZM10 -6L9.8 -11.5L5 -8.5Z"), "#efa3a3")
        + "".join(
            fill(oval(x, -1.5, 2.6, 2.9), "#c9dd62", line) + fill(oval(x, -1.5, 1, 2.6), EYE) for x in (-5, 5)
        )
        + fill(path("M-1.8 3H1.8L0 5Z"), "#e2788a", line)
        + stroke("M0 5Q-2.5 8 -4 6M0 5Q2.5 8 4 6", "#c8c8c8" if look.name == "black" else line, 0.9)
        + stroke(whiskers, "#ffffff" if look.name in ("black", "brown") else "#54504e", 0.8)
    )
