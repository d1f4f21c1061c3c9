"""Horses, cows and sheep."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, farm_animals
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, SEEN, away, check, kinds_of, look_of, plain, shows


@pytest.mark.parametrize("kind", kinds_of(farm_animals), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


@pytest.mark.parametrize(
    ("name", "table"),
    [("horse", farm_animals.MANES), ("cow", farm_animals.SPOTS), ("sheep", farm_animals.SHEEP_FACES)],
)
def test_mane_spots_and_face_stand_out_from_every_coat(name, table):
    assert set(KIND_BY_NAME[name].colors) == set(table)
    for coat, other in table.items():
        rgb = [np.array(list(bytes.fromhex(color[1:]))) for color in (COLORS[coat], other)]
        assert np.abs(rgb[0].astype(int) - rgb[1]).max() > 2 * SEEN
        assert shows(name, other, color=coat), coat


@pytest.mark.parametrize("name", ["horse", "cow", "sheep"])
def test_an_animal_that_lies_is_lower_and_has_nothing_between_its_legs(name):
    gaps = {}
    for pose in ("standing", "lying"):
        thing = plain(KIND_BY_NAME[name], pose=pose)
        pixels = rendering.render_object(thing, 200, GROUND).astype(int)
        bottom = int(100 + 100 / 1.08 * thing.box[3] / thing.box[2]) - 12  # a line just above the ground
        row = away(pixels, GROUND)[bottom - 4 : bottom].min(axis=0) <= 8
        gaps[pose] = row[40:150].mean()
    assert gaps["standing"] > gaps["lying"] + 0.2, gaps
    assert (
        rendering.compute_natural_size(name, "lying")[1] < rendering.compute_natural_size(name, "standing")[1]
    )


def test_a_cow_has_an_udder_only_when_it_stands():
    count = [
        DRAWINGS["cow"](look_of("brown", pose=pose)).count(farm_animals.PINK)
        for pose in ("standing", "lying")
    ]
    assert count == [2, 1]  # udder and muzzle; muzzle
