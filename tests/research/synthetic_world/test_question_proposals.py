"""Random choices for a question, and which questions are not proposed."""

from __future__ import annotations

import numpy as np
import pytest

from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.phrasing import make_phrase
from research.synthetic_world.program_builder import start_program
from research.synthetic_world.question_proposals import QuestionGenerator
from research.synthetic_world.scene_index import SceneIndex
from tests.research.synthetic_world.kitchen import KITCHEN, LOOKS, PARK


def test_no_open_question_says_its_answer(drawn, of_kitchen) -> None:
    for question in (*drawn, *of_kitchen):
        if question.structural == "query":
            said = f" {question.text[:-1]} ".replace(",", " ").lower()
            assert f" {question.answer} " not in said, question.text


def asker(image=KITCHEN, seed=0):
    return QuestionGenerator(SceneIndex(image), np.random.default_rng(seed))


def propose(ask, templates, answer="red", operation="query", **slots):
    return ask.make_proposal(
        "directOf",
        templates,
        start_program("cup (11)", (operation, "color")),
        answer,
        "The cup is {t}",
        slots={"t": make_phrase(answer), **slots},
        local="",
        topic=(),
        asserts=(),
        needs=(),
    )


def test_a_question_that_says_its_own_answer_is_not_proposed():
    assert propose(asker(), ("What color is the red cup",)) is None
    assert propose(asker(), ("What color is the cup",)).text == "What color is the cup?"
    assert propose(asker(), ("Is the red cup red",), operation="verify color") is not None


@pytest.mark.parametrize("text", ["Is the cup that is red striped", "Is the cup cup red"])
def test_words_that_do_not_read_well_side_by_side_are_not_proposed(text):
    assert propose(asker(), (text,), answer="yes") is None


def test_one_of_the_templates_is_chosen():
    texts = {propose(asker(seed=seed), ("How is it", "What is it")).text for seed in range(20)}
    assert texts == {"How is it?", "What is it?"}


def test_a_wrong_value_is_never_the_true_one_and_one_that_the_kind_may_have():
    for seed in range(30):
        for object_id, looks in LOOKS.items():
            for kind, value in looks.items():
                wrong = asker(seed=seed).choose_wrong_value(object_id, kind)
                assert wrong is not None and wrong != value
        assert asker(seed=seed).choose_wrong_value("17", "color") in KIND_BY_NAME["apple"].colors


def test_an_absent_kind_is_not_in_the_image_but_could_be_in_the_place():
    for image in (KITCHEN, PARK):
        names = {asker(image, seed).choose_absent_kind() for seed in range(60)}
        assert len(names) > 10 and not names & {item.name for item in image.objects}
        assert all(image.location in KIND_BY_NAME[name].locations for name in names)


def test_an_attribute_that_no_object_has_is_not_chosen():
    assert asker().choose_attribute({"openness": 1.0}) is None
    drawn = {asker(seed=seed).choose_attribute({"pattern": 1.0, "openness": 5.0}) for seed in range(20)}
    assert drawn == {("12", "pattern")}  # the striped cup is the only thing with a pattern


def test_the_name_of_a_relation_is_chosen_first_so_that_rare_ones_occur():
    # of the kitchen's relations 2 are "on", more than 20 "to the left of"
    names = [asker(seed=seed).choose_relation(lambda *_: True)[1] for seed in range(300)]
    assert names.count("on") > 15 and names.count("to the left of") < 90


def test_every_suitable_object_can_be_chosen_and_none_if_there_is_none():
    assert {asker(seed=seed).choose_object(lambda i: i in ("13", "14")) for seed in range(20)} == {"13", "14"}
    assert asker().choose_object(lambda _: False) is None
