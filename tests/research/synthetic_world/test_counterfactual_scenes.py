"""The scenes of a pair differ in one thing only, and nothing shows which was made from the other."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from research.synthetic_world.counterfactual_scenes import (
    ALTERATION_CATEGORIES,
    ATTRIBUTE_TYPES,
    ScenePair,
    generate_scene_pairs,
)
from research.synthetic_world.layout import is_valid_layout
from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.rendering import render_scene
from research.synthetic_world.scene_types import PlacedObject


@pytest.fixture(scope="module")
def drawn() -> list[ScenePair]:
    return [both for index in range(60) for both in islice(generate_scene_pairs(5, index), 2)]


def changed(both: ScenePair) -> list[tuple[PlacedObject, PlacedObject]]:
    first, second = ({thing.object_id: thing for thing in world.objects} for world in both.scenes)
    assert first.keys() == second.keys()
    return [(first[key], second[key]) for key in first if first[key] != second[key]]


def test_only_the_altered_object_differs(drawn: list[ScenePair]) -> None:
    for both in drawn:
        ((one, other),) = changed(both)
        assert one.object_id == other.object_id == both.altered_object_id
        assert [world.location for world in both.scenes] == [both.scenes[0].location] * 2
        assert both.scenes[0].weather == both.scenes[1].weather


def test_what_differs_is_what_the_category_says(drawn: list[ScenePair]) -> None:
    assert {both.category for both in drawn} == set(ALTERATION_CATEGORIES)
    for both in drawn:
        ((one, other),) = changed(both)
        looks = [name for name in ATTRIBUTE_TYPES if getattr(one, name) != getattr(other, name)]
        if both.category == "missing object":
            assert one.kind != other.kind
            assert all(
                thing.kind not in (one.kind, other.kind) or thing.object_id == both.altered_object_id
                for world in both.scenes
                for thing in world.objects
            )
        elif both.category == "wrong attribute":
            assert (one.kind, one.box, one.host) == (other.kind, other.box, other.host)
            assert len(looks) == 1 and None not in (getattr(one, looks[0]), getattr(other, looks[0]))
        else:
            assert (one.kind, looks) == (other.kind, [])
            assert one.box != other.box


def test_both_scenes_are_such_as_could_have_been_laid_out(drawn: list[ScenePair]) -> None:
    for both in drawn:
        for world in both.scenes:
            assert is_valid_layout(list(world.objects))
            for thing in world.objects:
                assert world.location in KIND_BY_NAME[thing.kind].locations


def test_no_pixel_differs_outside_the_altered_object(drawn: list[ScenePair]) -> None:
    for both in drawn[::6]:
        pixels = [render_scene(world).astype(int) for world in both.scenes]
        differs = np.abs(pixels[0] - pixels[1]).max(2) > 0
        assert differs.any()
        allowed = np.zeros_like(differs)
        for thing in (thing for world in both.scenes for thing in world.objects):
            if thing.object_id == both.altered_object_id:
                x, y, w, h = thing.box
                # Strokes and shadows reach a few pixels beyond a box.
                rows = slice(max(int(y - 0.15 * h) - 8, 0), int(y + 1.15 * h) + 9)
                allowed[rows, max(int(x - 0.15 * w) - 8, 0) : int(x + 1.15 * w) + 9] = True
        assert not (differs & ~allowed).any()


def test_the_original_is_first_or_second_at_random() -> None:
    first = sum(next(generate_scene_pairs(9, index)).original_index for index in range(200))
    assert 70 <= first <= 130  # 200 tosses: 100 +- 4.2 standard deviations of 7.07


def test_they_depend_on_seed_and_index_alone(drawn: list[ScenePair]) -> None:
    assert next(generate_scene_pairs(5, 7)) == drawn[14]
    assert next(generate_scene_pairs(6, 7)) != drawn[14]
