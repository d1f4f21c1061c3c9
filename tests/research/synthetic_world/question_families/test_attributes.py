"""How one object looks: asked openly, to be verified, or to be chosen between two options."""

from __future__ import annotations

import re

import pytest

from research.synthetic_world.question_families import attributes
from tests.research.synthetic_world.kitchen import LOOKS, asked_by, check_family, detailed, target

FAMILIES = [
    (attributes.query_attribute, "query", "attr"),
    (attributes.verify_attribute, "verify", "attr"),
    (attributes.choose_attribute, "choose", "attr"),
    (attributes.verify_two_attributes, "logical", "attr"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_familys_questions_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def test_attributes_are_answered_as_the_table_says(of_kitchen) -> None:
    for question in detailed(of_kitchen, "directOf", "directWhich", "how", "material", "activity"):
        kind = question.program[-1].argument
        assert question.answer == LOOKS[target(question)][kind], question.text


def test_yes_means_that_the_attribute_is_there(of_kitchen) -> None:
    for question in detailed(
        of_kitchen, "verifyAttr", "verifyAttrC", "verifyAttrK", "verifyAttrKC", "materialVerify"
    ):
        there = question.program[-1].argument in LOOKS[target(question)].values()
        assert question.answer == ("yes" if there else "no"), question.text


def test_both_attributes_must_hold_for_yes(of_kitchen) -> None:
    for question in detailed(of_kitchen, "verifyAttrs", "verifyAttrsC"):
        wanted = {step.argument for step in question.program if step.operation.startswith("verify")}
        holds = wanted <= set(LOOKS[target(question)].values())
        assert question.answer == ("yes" if holds else "no"), question.text


def test_a_choice_offers_the_right_value_and_another(of_kitchen) -> None:
    for question in detailed(of_kitchen, "chooseAttr", "materialChoose", "activityChoose"):
        options = question.program[-1].argument.split("|")
        assert len(set(options)) == 2
        assert set(options) & set(LOOKS[target(question)].values()) == {question.answer}, question.text


def test_an_attribute_that_is_asked_for_is_not_mentioned():
    for question in (q for asked_together in asked_by(attributes.query_attribute) for q in asked_together):
        kind = question.program[-1].argument
        filters = [step.operation for step in question.program if step.operation.startswith("filter")]
        assert f"filter {kind}" not in filters[-1:] or "relate" in str(question.program[-2:]), question.text


def test_materials_are_asked_for_as_what_objects_are_made_of():
    every = [q for asked_together in asked_by(attributes.verify_attribute) for q in asked_together]
    of_material = [q for q in every if q.program[-1].operation == "verify material"]
    assert of_material
    assert all(
        re.search(r"made (out )?of (wood|metal|plastic|glass|leather|stone)\?", q.text) for q in of_material
    )


def test_what_is_not_so_is_answered_with_what_is():
    # "No, the table is brown": a no names the look that the thing does have
    for question in (q for asked_together in asked_by(attributes.verify_attribute) for q in asked_together):
        if question.answer == "no" and question.image_id == "n000042":
            kind = question.program[-1].operation.split()[-1]
            assert LOOKS[target(question)][kind] in question.full_answer, question.full_answer
