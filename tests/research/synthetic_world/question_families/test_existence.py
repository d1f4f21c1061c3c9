"""Whether there is such a thing: of a name, a look, beside another thing, of two names at once."""

from __future__ import annotations

import pytest

from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.question_families import existence
from tests.research.synthetic_world.kitchen import KITCHEN, LOOKS, asked_by, check_family, detailed

FAMILIES = [
    (existence.exists_name, "verify", "obj"),
    (existence.exists_attribute, "verify", "obj"),
    (existence.exists_relation, "verify", "rel"),
    (existence.exists_two, "logical", "obj"),
    (existence.exists_attribute_of_either, "logical", "obj"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_familys_questions_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def test_existence_is_answered_for_every_form(of_kitchen) -> None:
    for question in detailed(
        of_kitchen, "exist", "existC", "existAttr", "existAttrC", "existThatNot", "existThatNotC"
    ):
        name = question.program[0].argument.split(" (")[0]
        same = [LOOKS[item.object_id] for item in KITCHEN.objects if item.name == name]
        value = question.program[1].argument if len(question.program) == 3 else ""
        if value.startswith("not("):
            holds = any(value[4:-1] not in looks.values() for looks in same)
        else:
            holds = any(not value or value in looks.values() for looks in same)
        assert question.answer == ("yes" if holds else "no"), question.text


def test_what_is_not_there_could_well_be_in_such_a_place():
    # a "no" about a whale in a kitchen would give itself away
    for question in (q for asked_together in asked_by(existence.exists_name) for q in asked_together):
        name = question.program[0].argument.split(" (")[0]
        place = "kitchen" if question.image_id == KITCHEN.image_id else "park"
        assert question.answer == "yes" or place in KIND_BY_NAME[name].locations, question.text


@pytest.mark.parametrize(("form", "needed"), [("existAnd", all), ("existOr", any)])
def test_both_must_be_there_for_and_and_either_for_or(form, needed):
    every = [q for asked_together in asked_by(existence.exists_two, 60) for q in asked_together]
    of_form = [q for q in every if q.detailed.removesuffix("C") == form]
    assert {q.answer for q in of_form} == {"yes", "no"}
    for question in of_form:
        there = ["(-)" not in step.argument for step in question.program if step.operation == "select"]
        assert question.answer == ("yes" if needed(there) else "no"), question.text
