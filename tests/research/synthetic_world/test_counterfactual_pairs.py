"""A question of twins has its answer at one picture and none at the other, as every reader of the truth says."""

from __future__ import annotations

from collections import Counter

import pytest

from pipeline.language.functional_programs import parse
from pipeline.verifier.evidence import facts_of
from pipeline.verifier.verification import execute
from research.simulated_annotators.answerability import obstacle
from research.synthetic_world.counterfactual_pairs import WORDS, Twins, twins, verified
from research.synthetic_world.counterfactual_scenes import ALTERED
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.scene_graphs import truth


@pytest.fixture(scope="module")
def drawn() -> list[Twins]:
    return [twins(11, index) for index in range(90)]


def test_every_category_comes_as_often(drawn: list[Twins]) -> None:
    assert Counter(both.scenes.category for both in drawn) == dict.fromkeys(ALTERED, 30)


def test_the_executor_finds_the_answer_at_one_and_what_is_lacking_at_the_other(drawn: list[Twins]) -> None:
    for both in drawn:
        for question, (here, there) in zip(both.asked, (both.truths, both.truths[::-1]), strict=True):
            program = parse(question.program)
            assert execute(program, facts_of(here, LEXICON)).answers == (question.answer,)
            told = execute(program, facts_of(there, LEXICON))
            assert (told.answerability, told.category) == ("unanswerable", both.scenes.category)


def test_the_independent_reader_says_the_same(drawn: list[Twins]) -> None:
    for both in drawn:
        for question, (here, there) in zip(both.asked, (both.truths, both.truths[::-1]), strict=True):
            assert obstacle(question.program, here, WORDS) is None
            assert obstacle(question.program, there, WORDS) is not None
            assert verified(question, here, there)
            assert not verified(question, there, here)  # not the other way round
            assert not verified(question, here, here)  # a twin that has an answer, too, is none


def test_the_truths_are_those_of_the_scenes_and_the_two_questions_differ(drawn: list[Twins]) -> None:
    for both in drawn:
        assert both.truths == tuple(map(truth, both.scenes.worlds))
        assert both.asked[0].text != both.asked[1].text


def test_the_two_readers_seldom_disagree(drawn: list[Twins]) -> None:
    assert sum(both.doubted for both in drawn) <= 9  # of some thousand questions tried
