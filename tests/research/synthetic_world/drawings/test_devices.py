"""Televisions, laptops, clocks and telephones."""

from __future__ import annotations

import re

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, devices
from tests.research.synthetic_world.shown import check, covers, kinds_of, large, look_of, shows


@pytest.mark.parametrize("kind", kinds_of(devices), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_a_television_that_is_on_is_bright_and_one_that_is_off_is_dark():
    screen = np.s_[70:110, 40:160]
    on, off = (large("television", state=state)[screen].mean() for state in ("on", "off"))
    assert on > 100 and off < 60


def test_an_open_laptop_shows_its_screen_and_a_closed_one_is_flat():
    assert shows("laptop", "#bfe3f7", state="open", color="black")
    assert not shows("laptop", "#bfe3f7", state="closed", color="black")
    assert (
        rendering.compute_natural_size("laptop", "closed")[1]
        < 0.6 * rendering.compute_natural_size("laptop", "open")[1] + 1
    )


def test_a_clock_has_twelve_hours_and_two_hands():
    paths = re.findall(r'<path d="(M[^"]*)" fill="none"', DRAWINGS["clock"](look_of()))
    assert sorted(path.count("M") for path in paths) == [1, 1, 12]


def test_a_telephones_dial_is_pale_in_the_middle_of_its_body():
    rows, columns = np.nonzero(covers(large("telephone", color="red"), "#f5f3ea"))
    assert abs(columns.mean() - 100) < 8 and rows.mean() > 100
