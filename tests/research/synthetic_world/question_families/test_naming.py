"""The kind of one object: which furniture is red, who is sitting, what this is."""

from __future__ import annotations

import re

import pytest

from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.question_families import naming
from tests.research.synthetic_world.kitchen import KITCHEN, PARK, asked_by, check_family

FAMILIES = [
    (naming.query_category, "query", "cat"),
    (naming.query_category_with_attribute, "query", "cat"),
    (naming.query_who, "query", "cat"),
    (naming.choose_kind, "choose", "cat rel"),
    (naming.query_name, "query", "cat rel"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_familys_questions_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


NAMES = {item.object_id: item.name for scene in (KITCHEN, PARK) for item in scene.objects}


@pytest.mark.parametrize(
    "family", [naming.query_category, naming.query_name, naming.query_who, naming.choose_kind]
)
def test_the_answer_is_the_name_of_the_object_and_the_question_does_not_say_it(family):
    for question in (q for asked_together in asked_by(family) for q in asked_together):
        assert [NAMES[key] for key in question.answer_annotations.values()] == [question.answer]
        if question.structural == "query":
            assert question.answer not in re.findall(r"[a-z]+", question.text.lower()), question.text


def test_two_of_a_category_are_never_asked_for_by_it_alone():
    # the kitchen has two pieces of furniture, table and shelf
    for question in (q for asked_together in asked_by(naming.query_category) for q in asked_together):
        assert question.image_id != KITCHEN.image_id or "furniture" not in question.text


def test_who_is_asked_of_people_by_their_pose():
    texts = {q.text: q.answer for asked_together in asked_by(naming.query_who) for q in asked_together}
    assert texts["Who is standing?"] == "man" and texts["Who is sitting?"] == "woman"


def test_a_choice_offers_the_name_and_another_of_the_same_category():
    for question in (q for asked_together in asked_by(naming.choose_kind) for q in asked_together):
        options = question.program[-1].argument.split("|")
        assert question.answer in options and len(set(options)) == 2
        assert len({KIND_BY_NAME[name].category for name in options}) == 1, question.text
