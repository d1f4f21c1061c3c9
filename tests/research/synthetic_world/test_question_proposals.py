"""Proposed questions: what the scene holds, what is proposed, what it entails."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.records import Step
from pipeline.language.functional_programs import parse_program
from research.synthetic_world.entailment import explain_non_entailment
from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.phrasing import make_phrase
from research.synthetic_world.program_builder import start_program
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.question_proposals import QuestionGenerator
from research.synthetic_world.scene_index import ANTONYMS, SceneIndex
from tests.research.synthetic_world.kitchen import KITCHEN, LOOKS, PARK, scene

# Random choices for a question, and which questions are not proposed.


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


# The scene index, on the hand-made kitchen and park.


VIEW = SceneIndex(KITCHEN)


def test_attributes_are_found_by_their_type():
    assert VIEW.attributes == LOOKS


def test_relations_are_found_from_either_end():
    assert VIEW.subjects["on", "13"] == ["11"] and VIEW.targets["15", "wearing"] == ["16"]
    assert ("on", "13", "s") in VIEW.relations_by_object["11"] and (
        "on",
        "11",
        "o",
    ) in VIEW.relations_by_object["13"]


def test_a_category_names_all_its_kinds_and_an_underscore_everything():
    assert VIEW.find_by_name("cup") == ["11", "12"] and VIEW.find_by_name("furniture") == ["13", "14"]
    assert VIEW.find_by_name("_") == list(LOOKS)


def test_what_people_might_also_call_so_counts_when_it_must_be_clear():
    # a cup is a dish here, and some would call it a container
    assert VIEW.find_by_name("container") == [] and VIEW.find_by_name("container", strict=False) == [
        "11",
        "12",
    ]


@pytest.mark.parametrize(
    ("x", "side"),
    [
        # width 448; the left ends at 0.4, the right begins at 0.6; 0.04 on either side of these counts as neither
        (0.355, "left"), (0.365, None), (0.435, None), (0.445, "middle"), (0.555, "middle"), (0.565, None), (0.645, "right"),
    ],
)  # fmt: skip
def test_there_is_no_side_near_a_border(x, side):
    wide = scene({"1": ("cup", (round(1000 * x) - 10, 100, 20, 20), "red")}, [])
    image = type(wide)(image_id="n1", split="testdev", width=1000, height=1000, objects=wide.objects)
    assert SceneIndex(image).get_position("1", "hposition") == side


@pytest.mark.parametrize(("y", "part"), [(0.3, "top"), (0.5, None), (0.7, "bottom")])
def test_there_is_no_position_between_top_and_bottom(y, part):
    tall = scene({"1": ("cup", (100, round(336 * y) - 10, 20, 20), "red")}, [])
    assert SceneIndex(tall).get_position("1", "vposition") == part


def test_related_objects_are_listed_or_lie_in_that_direction():
    assert VIEW.find_related("cup", "to the left of", "15", "s") == ["11"]
    assert VIEW.find_related("_", "on", "11", "o") == ["13"]
    # the dog's centre (275) is right of the man's (225), though no relation says so
    assert VIEW.find_related("dog", "to the right of", "15", "s") == []
    assert VIEW.find_related("dog", "to the right of", "15", "s", strict=False) == ["18"]


def test_what_a_person_wears_and_holds_is_together_with_the_person():
    assert (
        VIEW.is_held_together("15", "16")
        and VIEW.is_held_together("16", "17")
        and not VIEW.is_held_together("15", "18")
    )
    assert SceneIndex(PARK).is_held_together("25", "24")


def test_every_antonym_has_its_own():
    assert all(ANTONYMS[opposite] == name for name, opposite in ANTONYMS.items()) and len(ANTONYMS) == 6


# Whether one answer follows from another. Programs are in GQA's notation.


def answered(program, answer):
    steps = []
    for step in program.split("->"):
        operation, _, rest = step.partition(": ")
        argument, _, inputs = rest.partition(" [")
        steps.append(
            Step(
                operation=operation,
                argument=argument,
                dependencies=tuple(int(i) for i in inputs.rstrip("]").split(",") if i),
            )
        )
    return parse_program(tuple(steps)), answer


RED_CUP = ("select: cup (1)->query: color [0]", "red")
IS_RED = "select: cup (1)->verify color: red [0]"
IS_BLUE = "select: cup (1)->verify color: blue [0]"
LEFT = ("select: table (2)->verify rel: cup,to the left of,s (1) [0]", "yes")


@pytest.mark.parametrize(
    ("known", "other", "follows"),
    [
        (RED_CUP, (IS_RED, "yes"), True),
        (RED_CUP, (IS_BLUE, "no"), True),  # red objects are never blue in this world
        (RED_CUP, (IS_BLUE, "yes"), False),
        (RED_CUP, ("select: cup (1)->query: material [0]", "wood"), False),
        (RED_CUP, ("select: cup (3)->query: color [0]", "red"), False),  # another cup
        (
            RED_CUP,
            ("select: cup (1)->filter material: wood [0]->query: color [1]", "red"),
            True,
        ),  # the same cup
        ((IS_RED, "yes"), RED_CUP, True),
        ((IS_BLUE, "no"), RED_CUP, False),
        (LEFT, ("select: cup (1)->verify rel: table,to the right of,s (2) [0]", "yes"), True),
        (LEFT, ("select: table (2)->verify rel: cup,to the right of,s (1) [0]", "no"), True),
        (LEFT, ("select: table (2)->verify rel: cup,on,s (1) [0]", "no"), False),
        (LEFT, ("select: table (2)->choose rel: cup,to the left of|to the right of,s (1) [0]", "left"), True),
        (RED_CUP, ("select: cup (1)->exist: ? [0]", "yes"), True),
        (
            ("select: cup (-)->exist: ? [0]", "no"),
            ("select: cup (-)->filter color: red [0]->exist: ? [1]", "no"),
            True,
        ),
    ],
)
def test_what_follows_from_an_answer(known, other, follows):
    assert (explain_non_entailment(answered(*known), answered(*other), LEXICON) == "") is follows


def test_options_in_another_order_are_the_same_question():
    one = ("select: cup (1)->choose color: red|blue [0]", "red")
    other = ("select: cup (1)->choose color: blue|red [0]", "red")
    assert explain_non_entailment(answered(*one), answered(*other), LEXICON) == ""


def test_what_does_not_follow_is_said_why():
    assert explain_non_entailment(answered(*RED_CUP), answered(IS_BLUE, "yes"), LEXICON) != ""
