"""Dogs and cats: never to be mistaken for each other."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, pets
from research.synthetic_world.ontology import KIND_BY_NAME
from tests.research.synthetic_world.shown import GROUND, SEEN, away, check, image, kinds_of, look_of, plain


@pytest.mark.parametrize("kind", kinds_of(pets), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


@pytest.mark.parametrize("pose", ["standing", "sitting", "lying"])
def test_a_dog_is_no_cat_in_any_color(pose):
    shared = sorted(set(KIND_BY_NAME["dog"].colors) & set(KIND_BY_NAME["cat"].colors))
    assert len(shared) >= 4
    for color in shared:
        dog, cat = (image(plain(KIND_BY_NAME[name], color=color, pose=pose)) for name in ("dog", "cat"))
        drawn = min((away(pixels, GROUND) > 8).sum() for pixels in (dog, cat))
        assert (np.abs(dog - cat).max(axis=2) > SEEN).sum() > 0.15 * drawn, color


@pytest.mark.parametrize("name", ["dog", "cat"])
def test_sitting_animals_are_taller_than_wide_and_lying_ones_are_flat(name):
    sizes = {pose: rendering.compute_natural_size(name, pose) for pose in ("standing", "sitting", "lying")}
    assert sizes["sitting"][1] > sizes["sitting"][0]
    assert sizes["lying"][1] < sizes["standing"][1] < sizes["sitting"][1]


def test_a_dog_shows_its_tongue_in_every_pose_and_a_cat_never():
    for pose in ("standing", "sitting", "lying"):
        assert pets.TONGUE in DRAWINGS["dog"](look_of("brown", pose=pose))
        assert pets.TONGUE not in DRAWINGS["cat"](look_of("brown", pose=pose))


def test_a_cats_whiskers_are_light_on_a_dark_face_and_dark_on_a_light_one():
    dark, light = (DRAWINGS["cat"](look_of(color)) for color in ("black", "white"))
    assert "#54504e" in light and "#54504e" not in dark
