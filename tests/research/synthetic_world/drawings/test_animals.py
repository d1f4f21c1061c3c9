"""Birds and ducks, and what animals have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import animals
from research.synthetic_world.drawings.svg_shapes import make_tones
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, check, covers, kinds_of, large, look_of, plain


@pytest.mark.parametrize("kind", kinds_of(animals), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_a_bird_that_sits_has_feet_and_one_that_flies_has_none():
    sitting = plain(KIND_BY_NAME["bird"])
    flying = replace(sitting, placement="sky")
    feet = [
        covers(rendering.render_object(bird, 200, GROUND).astype(int), "#c4761a").sum()
        for bird in (sitting, flying)
    ]
    assert feet[0] > 500 and feet[1] < 10  # an edge of the beak is of a colour between


@pytest.mark.parametrize(("name", "beak"), [("bird", "#f2a12e"), ("duck", animals.BEAK)])
def test_animals_look_to_the_right(name, beak):
    rows, columns = np.nonzero(covers(large(name), beak))
    highest = columns[rows < rows.min() + 20]  # the beak, not the feet of the same colour
    assert highest.mean() > 120  # of 200


def test_far_legs_are_darker_and_painted_before_the_near_ones():
    svg = animals.legs(look_of("brown"), (0, 10, 20, 30), 0, 20, 4)
    near, far = make_tones(COLORS["brown"]).base, make_tones(COLORS["brown"]).dark
    assert svg.count(near) == svg.count(far) == 4  # two legs of each, every one with its paw
    assert svg.rindex(far) < svg.index(near)


def test_hoofs_are_of_a_color_of_their_own():
    svg = animals.legs(look_of("brown"), (0, 10), 0, 20, 4, hoof="#123456")
    assert svg.count("#123456") == 2


def test_an_eye_has_a_light_in_it():
    assert animals.eye(5, 5).count("<ellipse") == 3 and "#ffffff" in animals.eye(5, 5)
