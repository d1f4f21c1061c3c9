"""Furniture: what stands on it stands on something."""

from __future__ import annotations

import re

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, furniture
from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.scene_types import SURFACES
from tests.research.synthetic_world.shown import (
    GROUND,
    SEEN,
    away,
    check,
    kinds_of,
    large,
    look_of,
    seen_through,
    variants,
)


@pytest.mark.parametrize("kind", kinds_of(furniture), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


STANDING = [name for name in SURFACES if DRAWINGS[name].__module__ == furniture.__name__]


@pytest.mark.parametrize("name", STANDING)
def test_every_surface_is_part_of_what_is_drawn(name):
    for thing in variants(KIND_BY_NAME[name]):
        drawn = away(rendering.render_object(thing, 200, GROUND).astype(int), GROUND) > 8
        _, _, w, h = thing.box
        pixel = 200 / (1.08 * max(w, h))
        for left, right, y in SURFACES[name]:
            row = int(100 + pixel * h * (y - 0.5)) + 1
            columns = slice(int(100 + pixel * w * (left - 0.5)) + 2, int(100 + pixel * w * (right - 0.5)) - 2)
            assert drawn[row : row + 3, columns].any(axis=0).mean() > 0.9, (thing, y)  # corners are round


def test_the_legs_of_a_glass_table_are_seen_through_its_top():
    assert seen_through("table", material="glass") > seen_through("table", material="wood")
    top = np.s_[50:65, 40:160]
    white, black = (large("table", ground, material="glass")[top] for ground in ("#ffffff", "#000000"))
    assert (np.abs(white - black).max(axis=2) > SEEN / 2).mean() > 0.5


def test_an_open_cabinet_is_darker_inside_than_its_doors():
    for color in KIND_BY_NAME["cabinet"].colors:
        opened, closed = (
            large("cabinet", color=color, state=state)[60:150, 70:130].mean() for state in ("open", "closed")
        )
        assert opened < closed - 10, color


def test_doors_that_are_open_show_the_grain_upwards():
    assert "wood-wide-up" in DRAWINGS["cabinet"](look_of("brown", material="wood", state="open"))


def test_a_shelf_has_as_many_boards_as_objects_can_stand_on():
    assert len(SURFACES["shelf"]) == 4


def test_chairs_of_other_materials_are_built_in_other_ways():
    shapes = {
        material: re.sub(r'fill="[^"]*"', "", DRAWINGS["chair"](look_of(material=material)))
        for material in KIND_BY_NAME["chair"].materials
    }
    assert len(set(shapes.values())) == len(shapes)
