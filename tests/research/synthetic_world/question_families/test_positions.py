"""The side or part of the image that one object is in."""

from __future__ import annotations

import pytest

from research.synthetic_world.question_families import positions
from tests.research.synthetic_world.kitchen import SIDES, asked_by, check_family, detailed, pairs, target

FAMILIES = [
    (positions.query_position, "query", "attr"),
    (positions.verify_position, "verify", "attr"),
    (positions.choose_position, "choose", "attr"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_familys_questions_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def test_only_objects_clearly_on_a_side_have_one(of_kitchen) -> None:
    for question in detailed(of_kitchen, "positionQuery"):
        assert question.answer == SIDES[target(question)], question.text
    for question in detailed(of_kitchen, "positionVerify", "positionVerifyC"):
        if question.program[-1].operation == "verify hposition":
            there = question.program[-1].argument == SIDES[target(question)]
            assert question.answer == ("yes" if there else "no"), question.text
    for question in of_kitchen:
        for before, step in zip(question.program, question.program[1:], strict=False):
            assert not ("hposition" in step.operation and "(18)" in before.argument), question.text


def test_what_is_not_on_the_left_may_be_in_the_middle(of_kitchen) -> None:
    for a, b in pairs(of_kitchen):
        if a.detailed == "positionVerifyC" and "hposition" in a.program[-1].operation:
            assert b.detailed not in ("positionQuery", "positionChoose"), (a.text, b.text)


def test_a_choice_offers_both_sides_in_either_order():
    every = [q for asked_together in asked_by(positions.choose_position) for q in asked_together]
    options = {q.program[-1].argument for q in every}
    assert options == {"left|right", "right|left", "top|bottom", "bottom|top"}


def test_an_open_question_asks_for_the_side_never_for_the_height():
    every = [q for asked_together in asked_by(positions.query_position) for q in asked_together]
    assert {q.program[-1].argument for q in every} == {"hposition"} and {q.answer for q in every} == {
        "left",
        "right",
    }
