"""Questions about attributes and comparisons of them."""

from __future__ import annotations

import re

import pytest

from research.synthetic_world.question_families import attributes, comparisons
from tests.research.synthetic_world.kitchen import LOOKS, asked_by, check_family, detailed, target

# How one object looks: asked openly, to be verified, or to be chosen between two options.


ATTRIBUTE_FAMILIES = [
    (attributes.query_attribute, "query", "attr"),
    (attributes.verify_attribute, "verify", "attr"),
    (attributes.choose_attribute, "choose", "attr"),
    (attributes.verify_two_attributes, "logical", "attr"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"),
    ATTRIBUTE_FAMILIES,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_questions_about_attributes_have_one_right_answer_by_an_independent_checker(
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


# Two objects side by side: alike or not, both so, what they share.


COMPARISON_FAMILIES = [
    (comparisons.verify_both, "logical", "attr"),
    (comparisons.compare, "compare", "attr"),
    (comparisons.query_common, "compare", "attr"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"),
    COMPARISON_FAMILIES,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_questions_of_comparisons_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def compared(question):
    """Ids of the two objects that the last step takes: of each the id where it was found, before what is asked of it."""
    ids = []
    for dependency in question.program[-1].dependencies:
        while question.program[dependency].operation.startswith(("filter", "verify")):
            (dependency,) = question.program[dependency].dependencies
        ids.append(re.search(r"\((\d+)\)", question.program[dependency].argument)[1])
    return ids


def test_comparisons_compare_the_two_objects(of_kitchen) -> None:
    for question in detailed(of_kitchen, "twoSame", "twoSameC", "twoDifferent", "twoSameMaterialC"):
        verb, kind = question.program[-1].operation.split()
        first, second = compared(question)
        alike = LOOKS[first][kind] == LOOKS[second][kind]
        assert question.answer == ("yes" if alike == (verb == "same") else "no"), question.text


def test_two_objects_are_compared_that_have_different_names():
    for family in (comparisons.verify_both, comparisons.compare, comparisons.query_common):
        for question in (q for asked_together in asked_by(family) for q in asked_together):
            assert set(compared(question)) != {"11", "12"}, question.text  # the two cups


def test_what_is_common_is_all_that_is_common():
    # brown wood table and white wood shelf share the material alone, blue cup and blue jeans the colour alone;
    # the red plastic cup and the blue plastic striped one have one name
    every = [q for asked_together in asked_by(comparisons.query_common, 60) for q in asked_together]
    shared = {(*sorted(compared(q)), q.answer) for q in every if q.image_id == "n000042"}
    assert shared == {("13", "14", "material"), ("12", "16", "color")}
