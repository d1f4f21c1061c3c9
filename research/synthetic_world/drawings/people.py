"""Draw people in neutral underclothes.

Shirts, jeans and hats are separate objects that are drawn over the people.

All people are drawn in the frame of an adult man, 54 x 128 pixels standing and 54 x 98 sitting, so that the
parts of the body are at scene_types.ANCHORS. Other people are scaled from this frame. Children have larger
heads.
"""

from __future__ import annotations

from typing import NamedTuple

from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.heads import Hues, draw_head
from research.synthetic_world.drawings.svg_shapes import (
    fill,
    limb,
    mix_colors,
    oval,
    path,
    poly,
    rect,
    transform,
)

# Colors of skin and hair.
COMPLEXIONS = (
    ("#f6cfae", "#6b4426"),
    ("#f6cfae", "#a86e32"),
    ("#f6cfae", "#2a2321"),
    ("#f6cfae", "#8a3f1d"),
    ("#eab98f", "#3b2a20"),
    ("#eab98f", "#6b4426"),
    ("#eab98f", "#8a3f1d"),
    ("#c98d5f", "#2a2321"),
    ("#c98d5f", "#4a2c18"),
    ("#9a6540", "#1f1a19"),
    ("#734a2d", "#171312"),
)
GRAY_HAIR = "#e4e5e8"
UNDERSHIRT, SHORTS, SHOE_LINE = "#d3d6da", "#4a4f5a", "#1d1d22"


class Pose(NamedTuple):
    """The upper body in a pose: y of the neck, left arm and hand (mirrored for the right), and trunk."""

    neck: float
    arm: str
    hand: tuple[float, float]
    trunk: str


POSES = {
    "standing": Pose(
        23.0,
        "M13.5 38.4Q5.4 52.5 4.1 70.4",
        (4.1, 71.4),
        "M19.4 30.1L13 33.9L10.8 44.8L15.7 46.1L16.2 74.2H37.8L38.3 46.1L43.2 44.8L41 33.9"
        "L34.6 30.1Q27 42.2 19.4 30.1Z",
    ),
    "sitting": Pose(
        22.5,
        "M13.5 35.3Q5.4 46.1 4.1 60.3",
        (4.1, 61.3),
        "M19.4 28.9L13 31.9L10.8 40.2L15.7 41.2L16.2 65.7H37.8L38.3 41.2L43.2 40.2L41 31.9"
        "L34.6 28.9Q27 39.2 19.4 28.9Z",
    ),
}


def man(look: Appearance) -> str:
    return _person(look, child=False, female=False)


def woman(look: Appearance) -> str:
    return _person(look, child=False, female=True)


def boy(look: Appearance) -> str:
    return _person(look, child=True, female=False)


def girl(look: Appearance) -> str:
    return _person(look, child=True, female=True)


def _person(look: Appearance, child: bool, female: bool) -> str:
    skin, hair = COMPLEXIONS[look.variety]
    hair = GRAY_HAIR if look.age == "old" else hair
    hues = Hues(skin, mix_colors(skin, "#000000", 0.45), hair, mix_colors(hair, "#000000", 0.45))
    behind, front = draw_head("child" if child else look.age or "young", female, hues)
    across, upward, y = (1.23, 1.16, 18.7) if child else (1, 1, 16.6)
    pose, legs = "standing", _standing_legs
    if look.pose == "sitting":
        pose, legs, y = "sitting", _seated_legs, y - 1
    return (
        transform(behind, 27, y, across, upward)
        + legs(hues, female)
        + _upper_body(POSES[pose], hues)
        + transform(front, 27, y, across, upward)
    )


def _upper_body(pose: Pose, hues: Hues) -> str:
    arm = limb(pose.arm, hues.skin, hues.skin_line, 6.2) + fill(
        oval(*pose.hand, 3.8), hues.skin, hues.skin_line
    )
    neck = fill(rect(21.6, pose.neck, 10.8, 14.5, 3), hues.skin, hues.skin_line)
    return arm + transform(arm, 54, 0, -1) + neck + fill(path(pose.trunk), UNDERSHIRT, "#8f949b")


def _standing_legs(hues: Hues, female: bool) -> str:
    leg = fill(rect(14.3, 71.7, 10.3, 49.9, 2), hues.skin, hues.skin_line) + fill(
        path("M10.8 127.4V123.5Q18 118.4 25.4 123.5V127.4Z"), _shoe(female), SHOE_LINE
    )
    skirt, shorts = (
        poly(16.2, 72.2, 37.8, 72.2, 41.9, 92.2, 12.2, 92.2),
        path("M14 72.2H40V89.6H28.4L27 79.4L25.6 89.6H14Z"),
    )
    return leg + transform(leg, 54, 0, -1) + fill(skirt if female else shorts, SHORTS, "#24262c")


def _seated_legs(hues: Hues, female: bool) -> str:
    leg = (
        fill(rect(8.1, 74.5, 11.9, 18.6, 2), hues.skin, hues.skin_line)
        + fill(path("M5.9 97.4V94.6Q14 89.7 22.1 94.6V97.4Z"), _shoe(female), SHOE_LINE)
        + fill(oval(14, 75, 8.1, 6.4), hues.skin, hues.skin_line)
    )
    skirt = path("M10.8 65H43.2L48.6 73.5H5.4Z")
    shorts = path("M10.8 65H43.2Q48.6 66.5 48.6 73.5H31.3L27 70.6L22.7 73.5H5.4Q5.4 66.5 10.8 65Z")
    return leg + transform(leg, 54, 0, -1) + fill(skirt if female else shorts, SHORTS, "#24262c")


def _shoe(female: bool) -> str:
    return "#8d3b4a" if female else "#3c3f47"
