"""Clothes, as worn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, wearables
from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.scene_types import ANCHORS
from tests.research.synthetic_world.shown import GROUND, away, check, kinds_of, large, look_of, plain


@pytest.mark.parametrize("kind", kinds_of(wearables), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_jeans_in_a_box_wider_than_tall_are_those_of_a_sitter():
    thing = plain(KIND_BY_NAME["jeans"])
    sitting = replace(thing, box=(0, 0, 46, 30))
    shown = [rendering.object_to_svg(each) for each in (thing, sitting)]
    assert DRAWINGS["jeans"](look_of("blue")) != DRAWINGS["jeans"](look_of("blue", is_seated=True))
    assert "M3 .6H43" in shown[1] and "M3 .6H43" not in shown[0]


def test_jeans_have_two_legs():
    row = away(large("jeans"), GROUND)[170] > 8
    assert (np.diff(row.astype(int)) == 1).sum() == 2


def test_a_hats_brim_is_wider_than_its_crown():
    widths = (away(large("hat"), GROUND) > 8).sum(axis=1)
    rows = np.flatnonzero(widths)
    assert widths[rows[-15]] > 1.4 * widths[rows[15]]


def test_a_shirt_has_sleeves():
    widths = (away(large("shirt"), GROUND) > 8).sum(axis=1)
    assert widths[60:90].max() > 1.3 * widths[150:180].max()


def test_clothes_go_where_people_have_these_parts():
    for pose in ANCHORS:
        assert (
            ANCHORS[pose]["hat"][1]
            < ANCHORS[pose]["head"][1]
            < ANCHORS[pose]["body"][1]
            < ANCHORS[pose]["legs"][1]
        )
