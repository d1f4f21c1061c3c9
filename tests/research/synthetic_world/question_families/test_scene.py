"""The whole image: the place, indoors or outdoors, the weather."""

from __future__ import annotations

import pytest

from research.synthetic_world.ontology import INDOORS, OUTDOORS
from research.synthetic_world.question_families import scene as whole
from tests.research.synthetic_world.kitchen import PARK, asked, asked_by, check_family, detailed, wrong_with

FAMILIES = [
    (whole.verify_scene, "verify", "global"),
    (whole.choose_scene, "choose", "global"),
]


@pytest.mark.parametrize(
    ("family", "structural", "semantics"), FAMILIES, ids=lambda value: getattr(value, "__name__", value)
)
def test_each_familys_questions_have_one_right_answer_by_an_independent_checker(
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
