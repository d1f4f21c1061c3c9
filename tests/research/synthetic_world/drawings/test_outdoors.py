"""Plants and what stands in the street."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.drawings import DRAWINGS, outdoors
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME
from tests.research.synthetic_world.shown import check, covers, kinds_of, large, look_of, shows


@pytest.mark.parametrize("kind", kinds_of(outdoors), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


@pytest.mark.parametrize("name", ["tree", "bush", "traffic light"])
def test_kinds_with_one_natural_color_ignore_tones(name):
    assert KIND_BY_NAME[name].colors is None
    assert DRAWINGS[name](look_of("red")) == DRAWINGS[name](look_of("blue"))


def test_a_traffic_light_is_red_above_yellow_above_green():
    pixels = large("traffic light")
    heights = [np.nonzero(covers(pixels, color))[0].mean() for color in ("#ff3b30", "#f7b500", "#22c55e")]
    assert heights == sorted(heights) and heights[-1] < 100  # all three in the upper half


def test_a_tree_has_its_leaves_above_its_trunk():
    pixels = large("tree")
    leaves, trunk = (np.nonzero(covers(pixels, color))[0].mean() for color in (outdoors.LEAF, "#8b5e38"))
    assert leaves < 110 < trunk


def test_berries_tell_a_bush_from_the_leaves_of_a_tree():
    assert shows("bush", "#d83a3a") and not shows("tree", "#d83a3a")


def test_petals_have_the_flowers_color_and_the_stem_is_green():
    for color in KIND_BY_NAME["flower"].colors:
        assert shows("flower", COLORS[color], color=color) and shows("flower", "#4f9d3f", color=color)
