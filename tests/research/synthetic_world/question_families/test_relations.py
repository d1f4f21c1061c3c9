"""Questions about relations and positions."""

from __future__ import annotations

import re

import pytest

from research.synthetic_world.question_families import positions, relations
from tests.research.synthetic_world.kitchen import (
    KITCHEN,
    PARK,
    SIDES,
    asked_by,
    check_family,
    detailed,
    pairs,
    target,
)

# Relations: which object stands in one, whether it holds, which of two holds.


RELATION_FAMILIES = [
    (relations.query_subject, "query", "rel"),
    (relations.query_object, "query", "rel"),
    (relations.query_category_subject, "query", "rel"),
    (relations.query_category_object, "query", "rel"),
    (relations.verify_relation, "verify", "rel"),
    (relations.choose_relation, "choose", "rel"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"),
    RELATION_FAMILIES,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_questions_about_relations_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def test_with_two_possible_objects_the_wrong_one_is_never_named(of_kitchen) -> None:
    # Worked out by hand: what each relation of the kitchen yields when there is exactly one answer.
    expected = {
        ("_,on,s", "13"): "cup",
        ("_,on,s", "14"): "cup",
        ("_,on,o", "11"): "table",
        ("_,on,o", "12"): "shelf",
        ("person,wearing,s", "16"): "man",
        ("person,holding,s", "17"): "man",
        ("_,wearing,o", "15"): "jeans",
        ("_,holding,o", "15"): "apple",
        ("_,in front of,s", "15"): "dog",
        ("person,behind,s", "18"): "man",
        ("_,behind,o", "15"): "dog",
        ("person,in front of,o", "18"): "man",
        ("person,above,s", "18"): "man",
        ("_,below,s", "15"): "dog",
    }
    for question in detailed(of_kitchen, "relS", "relO"):
        # What is found by the step before the relation: the id of the last step that names one.
        earlier = [re.search(r"\((\d+)\)", step.argument) for step in question.program[:-2]]
        landmark = [match[1] for match in earlier if match][-1]
        said = question.program[-2].argument.split(" (")[0]
        if not re.match(r"(_|person),to the (left|right) of", said):
            assert question.answer == expected[said, landmark], question.text


def test_relations_are_verified_by_the_list(of_kitchen) -> None:
    holds = {(item.object_id, r.name, r.object_id) for item in KITCHEN.objects for r in item.relations}
    for question in detailed(of_kitchen, "relVerify", "relVerifyCr"):
        _, name, role, other = re.match(r"(.*),(.*),([so]) \((\d+)\)", question.program[-1].argument).groups()
        earlier = [re.search(r"\((\d+)\)", step.argument) for step in question.program[:-1]]
        known = [match[1] for match in earlier if match][-1]
        triple = (other, name, known) if role == "s" else (known, name, other)
        assert question.answer == ("yes" if triple in holds else "no"), question.text


def test_people_are_asked_for_with_who_and_objects_with_what():
    names = {item.object_id: item.name for scene in (KITCHEN, PARK) for item in scene.objects}
    for family in (relations.query_subject, relations.query_object):
        for question in (q for asked_together in asked_by(family) for q in asked_together):
            person = names[re.findall(r"\((\d+)\)", question.program[-2].argument)[-1]] in ("man", "woman")
            assert bool(re.search(r"^Who\b|\bwho\?$", question.text)) == person, question.text


def test_nobody_is_asked_what_the_sitting_woman_is_sitting_on():
    every = [q for asked_together in asked_by(relations.query_object, 60) for q in asked_together]
    seats = [q for q in every if ",sitting on,o" in q.program[-2].argument]
    assert seats and not [q.text for q in seats if "sitting woman" in q.text or "that is sitting" in q.text]


def test_the_answer_to_a_choice_is_as_short_as_gqas():
    every = [q for asked_together in asked_by(relations.choose_relation) for q in asked_together]
    assert {q.answer for q in every} <= {"left", "right", "front", "behind", "above", "below"}
    assert {"left", "right"} <= {q.answer for q in every}


# The side or part of the image that one object is in.


POSITION_FAMILIES = [
    (positions.query_position, "query", "attr"),
    (positions.verify_position, "verify", "attr"),
    (positions.choose_position, "choose", "attr"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"),
    POSITION_FAMILIES,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_questions_about_positions_have_one_right_answer_by_an_independent_checker(
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
