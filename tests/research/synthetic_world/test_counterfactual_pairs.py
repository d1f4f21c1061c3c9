"""Questions of counterfactual pairs have an answer at one image and none at the other, as all checkers of the truth agree."""

from __future__ import annotations

from collections import Counter

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
from research.synthetic_world.counterfactual_scenes import ALTERATION_CATEGORIES
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.scene_graphs import build_complete_graph


@pytest.fixture(scope="module")
def drawn() -> list[CounterfactualPair]:
    return [generate_pair(11, index) for index in range(90)]


def test_categories_are_equally_frequent(drawn: list[CounterfactualPair]) -> None:
    assert Counter(both.scene_pair.category for both in drawn) == dict.fromkeys(ALTERATION_CATEGORIES, 30)


def test_the_executor_finds_the_answer_at_one_and_what_is_lacking_at_the_other(
    drawn: list[CounterfactualPair],
) -> None:
    for both in drawn:
        for question, (here, there) in zip(both.questions, (both.truths, both.truths[::-1]), strict=True):
            program = parse_program(question.program)
            assert execute_program(program, build_scene_evidence(here, LEXICON)).answers == (question.answer,)
            told = execute_program(program, build_scene_evidence(there, LEXICON))
            assert (told.answerability, told.category) == ("unanswerable", both.scene_pair.category)


def test_the_independent_reader_says_the_same(drawn: list[CounterfactualPair]) -> None:
    for both in drawn:
        for question, (here, there) in zip(both.questions, (both.truths, both.truths[::-1]), strict=True):
            assert find_obstacle(question.program, here, WORD_SENSES) is None
            assert find_obstacle(question.program, there, WORD_SENSES) is not None
            assert is_verified(question, here, there)
            assert not is_verified(question, there, here)
            assert not is_verified(question, here, here)


def test_the_truths_are_those_of_the_scenes_and_the_two_questions_differ(
    drawn: list[CounterfactualPair],
) -> None:
    for both in drawn:
        assert both.truths == tuple(map(build_complete_graph, both.scene_pair.scenes))
        assert both.questions[0].text != both.questions[1].text


def test_the_two_readers_seldom_disagree(drawn: list[CounterfactualPair]) -> None:
    assert sum(both.num_excluded for both in drawn) <= 9  # of about a thousand questions
