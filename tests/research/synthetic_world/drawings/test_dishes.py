"""Dishes, bottles and vases."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.drawings import dishes
from research.synthetic_world.ontology import KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, away, check, kinds_of, large, seen_through, shows


@pytest.mark.parametrize("kind", kinds_of(dishes), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


@pytest.mark.parametrize("name", ["cup", "vase", "bowl", "plate"])
def test_glass_is_seen_through_and_nothing_else_is(name):
    through = {
        material: seen_through(name, material=material, color="blue")
        for material in (*KIND_BY_NAME[name].materials, None)
    }
    inside = 0.2  # of the box, which the thing does not fill to its corners
    for material, share in through.items():
        if "glass" in through:
            assert (share > through[None] + inside) == (material == "glass"), through


def test_a_full_bowl_shows_what_is_in_it():
    assert shows("bowl", "#e9b36a", state="full", color="blue") and not shows(
        "bowl", "#e9b36a", state="empty", color="blue"
    )


def test_what_is_in_a_full_bottle_hides_what_is_behind_it():
    for material in KIND_BY_NAME["bottle"].materials:
        full, empty = (seen_through("bottle", material=material, state=state) for state in ("full", "empty"))
        assert full < empty - 0.2


def test_a_cup_has_its_handle_on_the_right():
    drawn = away(large("cup"), GROUND) > 8
    middle = drawn[80:120]  # rows half way up
    assert np.flatnonzero(middle.any(axis=0)).max() > 100 + (100 - np.flatnonzero(middle.any(axis=0)).min())
