"""Vehicles, from the side, heading right."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, vehicles
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME
from tests.research.synthetic_world.shown import (
    GROUND,
    check,
    covers,
    kinds_of,
    large,
    look_of,
    plain,
    seen_through,
)


@pytest.mark.parametrize("kind", kinds_of(vehicles), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


@pytest.mark.parametrize("name", ["car", "bus", "bicycle", "tractor"])
def test_two_wheels_touch_the_ground(name):
    thing = plain(KIND_BY_NAME[name])
    tyres = covers(rendering.render_object(thing, 200, GROUND).astype(int), vehicles.TYRE, 40)
    bottom = int(100 + 100 / 1.08 * thing.box[3] / max(thing.box[2:]))
    columns = np.flatnonzero(tyres[bottom - 14 : bottom].any(axis=0))
    assert (np.diff(columns) > 20).sum() == 1  # two groups of columns, far apart


@pytest.mark.parametrize("name", ["car", "bus"])
def test_the_white_light_is_in_front_and_the_red_one_behind(name):
    pixels = large(
        name, color="blue" if "blue" in KIND_BY_NAME[name].colors else KIND_BY_NAME[name].colors[0]
    )
    head, tail = (np.nonzero(covers(pixels, color))[1].mean() for color in ("#fff3b8", "#b81f26"))
    assert head > 170 and tail < 30


def test_a_bicycle_is_seen_through():
    assert seen_through("bicycle") > seen_through("car") + 0.3


def test_a_boat_of_wood_has_planks_and_one_of_metal_rivets():
    wood, metal = (DRAWINGS["boat"](look_of(material=material)) for material in ("wood", "metal"))
    assert "M7 64H113" in wood and "M7 64H113" not in metal
    assert (metal.count("<ellipse"), wood.count("<ellipse")) == (13, 0)  # at x = 10, 18, ... 106


def test_a_boats_sails_are_above_its_hull():
    pixels = large("boat", color="red")
    sails, hull = (np.nonzero(covers(pixels, color, 30))[0].mean() for color in ("#fbfaf4", COLORS["red"]))
    assert sails < 100 < hull


def test_a_tractors_hind_wheel_is_the_larger():
    _, columns = np.nonzero(covers(large("tractor"), "#f2c230"))
    assert (columns < 100).sum() > 1.5 * (columns > 100).sum()
