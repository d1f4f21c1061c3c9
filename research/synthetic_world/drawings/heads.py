"""Draw heads, seen from the front.

The origin is the center, 11 pixels from each side, 12.8 from top and bottom.
"""

from __future__ import annotations

from typing import NamedTuple

from research.synthetic_world.drawings.svg_shapes import DARK, LINE, dots, fill, oval, path, stroke, transform

EYE = "#2a2220"


class Hues(NamedTuple):
    """Colors of a person, each with the color of the outlines."""

    skin: str
    skin_line: str
    hair: str
    hair_line: str


def draw_head(age: str, female: bool, hues: Hues) -> tuple[str, str]:
    """Draw a head of age "child", "young" or "old": the part behind the body (long hair), and the part in
    front.
    """
    ears = (
        "" if female else "".join(fill(oval(x, 1.5, 1.8, 2.6), hues.skin, hues.skin_line) for x in (-11, 11))
    )
    face = fill(oval(0, 0, 11, 12.8), hues.skin, hues.skin_line)
    eyes = "".join(fill(oval(x, 0.6, 1.5, 1.9), EYE) for x in (-4.4, 4.4))
    nose = stroke("M0 1.5L1.1 4.4L-.7 4.6", hues.skin_line, 0.8)
    brows = stroke("M-6.6 -2.2L-2.6 -2.6M2.6 -2.6L6.6 -2.2", hues.hair_line) if age == "young" else ""
    above = _glasses(hues) if age == "old" else brows
    behind, hair, features = _PARTS[age, female](hues)
    return behind, ears + face + hair + features + nose + eyes + above


def _hair(hues: Hues, *d: str) -> str:
    return fill(path(*d), hues.hair, hues.hair_line)


def _lips() -> str:
    lashes = stroke("M-4.6 -.3L-7.5 -1.3M4.6 -.3L7.5 -1.3", EYE)
    earrings = dots(((-10.8, 6.4), (10.8, 6.4)), 1.3, "#f0c33c", "#a67a14")
    return lashes + earrings + fill(path("M-3.5 7Q0 6.1 3.5 7Q0 10.9 -3.5 7Z"), "#c8324a")


def _cheeks() -> str:
    return "".join(fill(oval(x, 5.1, 1.9), "#e8736b", opacity=0.45) for x in (-6.8, 6.8))


def _grin() -> str:
    return fill(path("M-3.3 6.4Q0 7.7 3.3 6.4Q0 12.2 -3.3 6.4Z"), "#9c3434")


def _glasses(hues: Hues) -> str:
    rims = "".join(fill(oval(x, 0.6, 3.3), "#ffffff", DARK, 0.35) for x in (-4.6, 4.6))
    bridge = stroke("M-1.3 .6L1.3 .6M-7.9 .3L-11 -.6M7.9 .3L11 -.6", DARK, LINE)
    return rims + bridge + stroke("M-5 -6.1Q0 -7.4 5 -6.1M-3.8 -8.2Q0 -9.2 3.8 -8.2", hues.skin_line, 0.8)


def _young_man(hues: Hues) -> tuple[str, str, str]:
    hair = _hair(
        hues,
        "M-11.6 .6Q-13.2 -11.5 -5.5 -12.8Q0 -15.6 6.6 -15Q13.2 -10.2 11.6 .6",
        "L10.1 -3.8Q3.3 -4.5 -3.3 -7.9Q-6.6 -5.1 -10.1 -3.8Z",
    )
    beard = _hair(
        hues,
        "M-10.4 4.5Q-8.8 14.3 0 14.3Q8.8 14.3 10.4 4.5Q7.7 9.6 4.4 5.8Q0 4.9 -4.4 5.8Q-7.7 9.6 -10.4 4.5Z",
    )
    return "", hair, beard + _man_mouth()


def _old_man(hues: Hues) -> tuple[str, str, str]:
    side = _hair(hues, "M12.3 3.8Q14.3 -4.5 9.3 -7.7Q10.4 -2.6 9.7 3.2Z")
    beard = _hair(
        hues,
        "M-11.2 1.3Q-10.4 15.4 0 15.6Q10.4 15.4 11.2 1.3Q9.3 5.8 5.5 4.9Q0 3.8 -5.5 4.9Q-9.3 5.8 -11.2 1.3Z",
    )
    return "", side + transform(side, 0, 0, -1), beard + _man_mouth()


def _man_mouth() -> str:
    return fill(path("M-3.1 7.9Q0 7.2 3.1 7.9Q0 10.8 -3.1 7.9Z"), "#b9504b")


def _young_woman(hues: Hues) -> tuple[str, str, str]:
    behind = _hair(
        hues, "M-11 -6.4Q-13.8 10.2 -18.7 22.4Q-11 26.9 -3.3 24.3H3.3Q11 26.9 18.7 22.4Q13.8 10.2 11 -6.4Z"
    )
    hair = _hair(
        hues,
        "M-11.9 7Q-13.8 -14.1 0 -14.3Q13.8 -14.1 11.9 7",
        "Q10.4 -2.6 3.8 -7.9Q-3.3 -2.6 -8.8 -1.9Q-11 1.3 -11.9 7Z",
    )
    return behind, hair, _cheeks() + _lips()


def _old_woman(hues: Hues) -> tuple[str, str, str]:
    bun = fill(oval(0, -13.2, 5.5, 3.6), hues.hair, hues.hair_line)
    curls = "".join(
        fill(oval(x, y, 3.7, 3.3), hues.hair, hues.hair_line)
        for x, y in (
            (-11, 4),
            (11, 4),
            (-10.8, -0.8),
            (10.8, -0.8),
            (-9.6, -5.2),
            (9.6, -5.2),
            (-6, -9.6),
            (6, -9.6),
            (0, -10.9),
        )
    )
    return bun, curls, _cheeks() + _lips()


def _boy(hues: Hues) -> tuple[str, str, str]:
    tuft = _hair(
        hues,
        "M-11.6 -1.3Q-12.6 -12.8 -3.8 -14.1L-1.1 -16L1.1 -13.8L5 -15.4L6.1 -12.8Q12.6 -10.9 11.6 -1.3",
        "L9.3 -5.1L6.6 -3.8L3.8 -6.4L0 -4.1L-3.3 -6.4L-6.6 -3.8L-9.3 -5.1Z",
    )
    freckles = dots(((-7.2, 4.5), (-5.5, 5.8), (7.2, 4.5), (5.5, 5.8)), 0.5, hues.skin_line)
    return "", tuft, _cheeks() + _grin() + freckles


def _girl(hues: Hues) -> tuple[str, str, str]:
    pigtail = _hair(hues, "M8.8 -7Q20.9 -12.8 20.4 1.3Q21.4 10.2 15.4 14.1Q15.9 2.6 8.8 -1.3Z")
    hair = _hair(
        hues,
        "M-11.3 1.3Q-12.1 -14.1 0 -14.3Q12.1 -14.1 11.3 1.3",
        "Q8.8 -4.5 6.1 -5.8Q0 -3.8 -6.1 -5.8Q-8.8 -4.5 -11.3 1.3Z",
    )
    ribbons = dots(((-11.2, -4.9), (11.2, -4.9)), 2.9, "#e2557f", "#8c2748")
    return pigtail + transform(pigtail, 0, 0, -1), hair + ribbons, _cheeks() + _grin()


# Functions that draw the parts behind the body, the hair, and parts in the face.
_PARTS = {
    ("young", False): _young_man,
    ("old", False): _old_man,
    ("child", False): _boy,
    ("young", True): _young_woman,
    ("old", True): _old_woman,
    ("child", True): _girl,
}
