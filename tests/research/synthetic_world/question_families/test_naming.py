"""Questions for names, for existence, and about the scene."""

from __future__ import annotations

import re

import pytest

from research.synthetic_world.ontology import INDOORS, KIND_BY_NAME, OUTDOORS
from research.synthetic_world.question_families import existence, naming
from research.synthetic_world.question_families import scene as whole
from tests.research.synthetic_world.kitchen import (
    KITCHEN,
    LOOKS,
    PARK,
    asked,
    asked_by,
    check_family,
    detailed,
    wrong_with,
)

# The kind of one object: which furniture is red, who is sitting, what this is.


NAMING_FAMILIES = [
    (naming.query_category, "query", "cat"),
    (naming.query_category_with_attribute, "query", "cat"),
    (naming.query_who, "query", "cat"),
    (naming.choose_kind, "choose", "cat rel"),
    (naming.query_name, "query", "cat rel"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"),
    NAMING_FAMILIES,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_questions_for_names_have_one_right_answer_by_an_independent_checker(family, structural, semantics):
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


# Whether there is such a thing: of a name, a look, beside another thing, of two names at once.


EXISTENCE_FAMILIES = [
    (existence.exists_name, "verify", "obj"),
    (existence.exists_attribute, "verify", "obj"),
    (existence.exists_relation, "verify", "rel"),
    (existence.exists_two, "logical", "obj"),
    (existence.exists_attribute_of_either, "logical", "obj"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"),
    EXISTENCE_FAMILIES,
    ids=lambda value: getattr(value, "__name__", value),
)
def test_questions_for_existence_have_one_right_answer_by_an_independent_checker(
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


# The whole image: the place, indoors or outdoors, the weather.


SCENE_FAMILIES = [
    (whole.verify_scene, "verify", "global"),
    (whole.choose_scene, "choose", "global"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), SCENE_FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_questions_about_the_scene_have_one_right_answer_by_an_independent_checker(
    family, structural, semantics
):
    check_family(family, structural, semantics)


def test_a_kitchen_is_indoors_and_has_no_weather(of_kitchen) -> None:
    assert {q.answer for q in detailed(of_kitchen, "place")} == {"kitchen"}
    assert {q.answer for q in detailed(of_kitchen, "locationChoose")} == {"indoors"}
    assert not [q for q in of_kitchen if q.detailed.startswith("weather")]


def test_a_park_is_outdoors_and_its_weather_is_that_of_its_graph():
    of_park = asked(PARK)
    assert {q.answer for q in detailed(of_park, "place")} == {"park"}
    assert {q.answer for q in detailed(of_park, "weather")} == {"sunny"}
    assert {q.answer for q in detailed(of_park, "locationChoose")} == {"outdoors"}


@pytest.mark.parametrize("family", [whole.query_place, whole.query_weather])
def test_place_and_weather_are_asked_for_in_several_ways(family):
    rounds = asked_by(family)
    assert wrong_with(rounds) == []
    assert len({question.text for asked_together in rounds for question in asked_together}) >= 5


def test_another_place_that_is_offered_is_of_the_same_side_of_the_door():
    for question in (q for asked_together in asked_by(whole.choose_scene) for q in asked_together):
        if question.detailed == "placeChoose":
            options = set(question.program[-1].argument.split("|"))
            assert options <= set(OUTDOORS if question.image_id == PARK.image_id else INDOORS), question.text
