"""Fruit and other food."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.drawings import DRAWINGS, food
from research.synthetic_world.ontology import KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, away, check, covers, kinds_of, large, look_of


@pytest.mark.parametrize("kind", kinds_of(food), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


@pytest.mark.parametrize("name", ["pizza", "sandwich"])
def test_kinds_with_one_natural_color_ignore_tones(name):
    assert KIND_BY_NAME[name].colors is None
    assert DRAWINGS[name](look_of("red")) == DRAWINGS[name](look_of("blue"))


@pytest.mark.parametrize("name", ["apple", "pear"])
def test_apples_and_pears_have_a_leaf_at_the_top(name):
    rows, _ = np.nonzero(covers(large(name, color="red" if name == "apple" else "yellow"), "#4f9d3f"))
    assert len(rows) > 20 and rows.mean() < 60  # of 200


def test_a_pear_is_narrow_above_and_an_apple_is_not():
    def width(name, row):
        columns = np.flatnonzero(away(large(name), GROUND)[row] > 8)
        return np.ptp(columns)

    assert width("pear", 60) < 0.6 * width("pear", 150)
    assert width("apple", 90) > 0.9 * width("apple", 130)


def test_a_cake_has_three_candles_burning():
    assert DRAWINGS["cake"](look_of("pink")).count("#ffb52e") == 3


def test_a_banana_is_bent():
    drawn = away(large("banana"), GROUND) > 8
    first, middle, last = (np.flatnonzero(drawn[:, column]).mean() for column in (30, 100, 170))
    assert middle > first + 10 and middle > last + 5
