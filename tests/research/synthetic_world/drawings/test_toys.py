"""Toys, umbrellas and books."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, toys
from research.synthetic_world.ontology import KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, away, check, covers, kinds_of, large, look_of, shows


@pytest.mark.parametrize("kind", kinds_of(toys), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_an_open_book_shows_two_pages_and_a_closed_one_its_cover():
    opened, closed = (
        covers(large("book", color="red", state=state), "#fbf8ee").sum() for state in ("open", "closed")
    )
    assert opened > 3 * closed > 0  # of a closed book the edges of its pages are seen


def test_a_closed_umbrella_is_a_third_as_wide_as_an_open_one():
    opened, closed = (rendering.compute_natural_size("umbrella", state) for state in ("open", "closed"))
    assert closed[0] == pytest.approx(0.32 * opened[0]) and closed[1] == opened[1]


def test_an_umbrella_is_held_by_the_handle_below():
    for state in ("open", "closed"):
        rows, _ = np.nonzero(covers(large("umbrella", state=state), "#8a5a33"))
        assert rows.max() > 170


def test_a_pattern_takes_the_place_of_a_balls_seams():
    plain_ball, striped = (DRAWINGS["ball"](look_of(pattern=pattern)) for pattern in (None, "striped"))
    assert "M2.5 11Q14 15" in plain_ball and "M2.5 11Q14 15" not in striped and "url(#striped" in striped


def test_a_kite_is_widest_above_its_middle_and_has_a_tail():
    drawn = away(large("kite"), GROUND) > 8
    widths = drawn.sum(axis=1)
    assert 40 < widths.argmax() < 90 and 0 < widths[150:180].max() < 40


def test_a_teddy_bears_bow_stands_out_from_its_fur():
    for color in KIND_BY_NAME["teddy bear"].colors:
        bow = "#7b4fb5" if color == "pink" else "#d7322f"
        assert shows("teddy bear", bow, color=color)
