"""Six heads that cannot be mistaken for each other."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import heads
from tests.research.synthetic_world.shown import GROUND, SEEN, check, kinds_of


@pytest.mark.parametrize("kind", kinds_of(heads), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


HUES = heads.Hues("#f6cfae", "#6f5d4e", "#6b4426", "#301e11")
WHO = [(age, female) for age in ("child", "young", "old") for female in (False, True)]


def front(age, female):
    return heads.draw_head(age, female, HUES)[1]


def test_no_two_ages_and_sexes_look_the_same():
    assert len({front(*who) for who in WHO}) == 6
    shown = []
    for who in WHO:
        behind, before = heads.draw_head(*who, HUES)
        svg = rendering._document(
            f'<path d="M-30 -30H30V30H-30Z" fill="{GROUND}"/>' + behind + before, -25, -25, 50, 50
        )
        shown.append(rendering._rasterize(svg, 100, 100)[:, :, :3].astype(int))
    for first in range(6):
        for second in range(first):
            assert (np.abs(shown[first] - shown[second]).max(axis=2) > SEEN).sum() > 300, (
                WHO[first],
                WHO[second],
            )


@pytest.mark.parametrize("female", [False, True])
def test_the_old_wear_glasses_and_the_young_do_not(female):
    glasses = [front(age, female).count('fill-opacity="0.35"') for age in ("child", "young", "old")]
    assert glasses == [0, 0, 2]


@pytest.mark.parametrize(
    ("age", "female", "hangs"),
    [
        ("child", True, True),
        ("young", True, True),
        ("old", True, True),
        ("child", False, False),
        ("young", False, False),
        ("old", False, False),
    ],
)
def test_only_long_hair_is_behind_the_body(age, female, hangs):
    assert bool(heads.draw_head(age, female, HUES)[0]) == hangs


def test_every_head_has_two_eyes():
    assert all(front(*who).count(heads.EYE) >= 2 for who in WHO)
