"""Refrigerators, stoves and lamps."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.drawings import appliances
from tests.research.synthetic_world.shown import check, kinds_of, large, shows


@pytest.mark.parametrize("kind", kinds_of(appliances), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_an_open_refrigerator_shows_what_is_in_it():
    for food in ("#9cc7a0", "#e8c27a", "#d98f8f"):
        assert shows("refrigerator", food, state="open") and not shows("refrigerator", food, state="closed")


def test_a_stove_that_is_on_shows_flames():
    assert shows("stove", "#ff8c1a", state="on") and not shows("stove", "#ff8c1a", state="off")


def test_a_lamp_that_is_on_throws_light_below_its_shade():
    lit, dark = large("lamp", color="black", state="on"), large("lamp", color="black", state="off")
    below = np.s_[100:180, 60:140]
    yellow = [(pixels[below][..., 0] - pixels[below][..., 2]).mean() for pixels in (lit, dark)]
    assert yellow[0] > yellow[1] + 20
