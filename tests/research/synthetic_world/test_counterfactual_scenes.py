"""Scenes with one change, and pairs of questions about them."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from pipeline.language.functional_programs import parse_program
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.verification import execute_program
from research.simulated_annotators.answerability import find_obstacle
from research.synthetic_world.counterfactual_pairs import (
    WORD_SENSES,
    CounterfactualPair,
    generate_pair,
    is_verified,
)
from research.synthetic_world.counterfactual_scenes import (
    ALTERATION_CATEGORIES,
    ATTRIBUTE_TYPES,
    ScenePair,
    generate_scene_pairs,
)
from research.synthetic_world.layout import is_valid_layout
from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.rendering import render_scene
from research.synthetic_world.scene_graphs import build_complete_graph
from research.synthetic_world.scene_types import PlacedObject

# The scenes of a pair differ in one thing only, and nothing shows which was made from the other.


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


# Questions of counterfactual pairs have an answer at one image and none at the other, as all checkers of the truth agree.


@pytest.fixture(scope="module")
def pairs_drawn() -> list[CounterfactualPair]:
    return [generate_pair(11, index) for index in range(90)]


def test_categories_are_equally_frequent(pairs_drawn: list[CounterfactualPair]) -> None:
    assert Counter(both.scene_pair.category for both in pairs_drawn) == dict.fromkeys(
        ALTERATION_CATEGORIES, 30
    )


def test_the_executor_finds_the_answer_at_one_and_what_is_lacking_at_the_other(
    pairs_drawn: list[CounterfactualPair],
) -> None:
    for both in pairs_drawn:
        for question, (here, there) in zip(both.questions, (both.truths, both.truths[::-1]), strict=True):
            program = parse_program(question.program)
            assert execute_program(program, build_scene_evidence(here, LEXICON)).answers == (question.answer,)
            told = execute_program(program, build_scene_evidence(there, LEXICON))
            assert (told.answerability, told.category) == ("unanswerable", both.scene_pair.category)


def test_the_independent_reader_says_the_same(pairs_drawn: list[CounterfactualPair]) -> None:
    for both in pairs_drawn:
        for question, (here, there) in zip(both.questions, (both.truths, both.truths[::-1]), strict=True):
            assert find_obstacle(question.program, here, WORD_SENSES) is None
            assert find_obstacle(question.program, there, WORD_SENSES) is not None
            assert is_verified(question, here, there)
            assert not is_verified(question, there, here)
            assert not is_verified(question, here, here)


def test_the_truths_are_those_of_the_scenes_and_the_two_questions_differ(
    pairs_drawn: list[CounterfactualPair],
) -> None:
    for both in pairs_drawn:
        assert both.truths == tuple(map(build_complete_graph, both.scene_pair.scenes))
        assert both.questions[0].text != both.questions[1].text


def test_the_two_readers_seldom_disagree(pairs_drawn: list[CounterfactualPair]) -> None:
    assert sum(both.num_excluded for both in pairs_drawn) <= 9  # of about a thousand questions
