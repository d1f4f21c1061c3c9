"""What hangs on, or is let into, a wall."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.drawings import DRAWINGS, wall_objects
from research.synthetic_world.ontology import KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, away, check, covers, kinds_of, large, look_of


@pytest.mark.parametrize("kind", kinds_of(wall_objects), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_an_open_curtain_shows_the_wall_between_its_halves_and_a_closed_one_does_not():
    middle = np.s_[60:170, 85:115]
    opened, closed = (
        (away(large("curtain", state=state), GROUND)[middle] <= 8).mean() for state in ("open", "closed")
    )
    assert opened > 0.9 and closed < 0.05


def test_stripes_of_a_curtain_lie_across_its_folds():
    assert "url(#banded" in DRAWINGS["curtain"](look_of(pattern="striped"))
    assert "url(#striped" not in DRAWINGS["curtain"](look_of(pattern="striped"))


def test_a_painting_is_not_only_a_frame():
    for color in KIND_BY_NAME["painting"].colors:
        pixels = large("painting", color=color)
        assert covers(pixels, "#7d6aa8").sum() > 500 and covers(pixels, "#4f9a8b").sum() > 300


def test_a_mirror_is_round_and_bright_in_the_middle():
    pixels = large("mirror", color="black")
    assert pixels[90:110, 90:110].mean() > 180
    assert (away(pixels, GROUND)[12:25, 32:45] <= 8).all()  # the corner of its box is empty


def test_an_open_window_shows_the_sky_between_its_wings():
    opened, closed = (
        covers(large("window", color="brown", state=state), "#a9d8f5").sum() for state in ("open", "closed")
    )
    assert opened > 4 * closed + 1000
