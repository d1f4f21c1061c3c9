"""A reference is used only if it is clear: it fits one object, and no other nearly."""

from __future__ import annotations

import re

import numpy as np
import pytest

from research.synthetic_world.phrasing import to_sentence
from research.synthetic_world.references import make_reference
from research.synthetic_world.scene_index import SceneIndex
from tests.research.synthetic_world.kitchen import KITCHEN, PARK, asked, scene


def test_two_cups_are_never_just_the_cup(of_kitchen) -> None:
    for question in of_kitchen:
        for index, step in enumerate(question.program):
            users = [user.operation.split()[0] for user in question.program if index in user.dependencies]
            if step.operation == "select" and re.match(r"cup \(1[12]\)$", step.argument):
                assert users == ["filter"], question.text


def test_an_object_half_to_the_left_spoils_the_reference() -> None:
    # The graph lists cup 1 alone as left of the lamp 3; cup 2 overlaps it, but the centre of cup 2 (212) is
    # left of the lamp's (218), so people may call it "the cup to the left of the lamp" as well.
    lamps = scene(
        {
            "1": ("cup", (20, 100, 24, 26), "red"),
            "2": ("cup", (200, 100, 24, 26), "red"),
            "3": ("lamp", (200, 140, 36, 62), "yellow"),
            "4": ("dog", (350, 240, 70, 50), "brown lying"),
        },
        [("1", "to the left of", "3"), ("1", "to the left of", "2"), ("1", "to the left of", "4")],
    )
    for question in asked(lamps, rounds=60, per_image=6):
        for before, step in zip(question.program, question.program[1:], strict=False):
            if "lamp (3)" in before.argument and question.program[-1].operation != "exist":
                assert not step.argument.startswith("cup,to the left of,s"), question.text


def described(image, object_id, rounds=80, **how):
    """Return references to an object with many seeds, where one was found."""
    view = SceneIndex(image)
    drawn = (make_reference(view, np.random.default_rng(seed), object_id, **how) for seed in range(rounds))
    return [reference for reference in drawn if reference]


def test_a_plain_reference_is_the_bare_name_if_it_is_unique():
    assert {to_sentence(r.the) for r in described(KITCHEN, "13", plain=True)} == {"The table"}
    assert described(KITCHEN, "11", plain=True) == []


def test_references_say_the_same_object_in_many_ways():
    said = {to_sentence(r.the) for r in described(KITCHEN, "11")}
    assert "The red cup" in said and len(said) > 8
    assert any("on the" in text for text in said) and any("to the left of" in text for text in said)
    assert "The plastic cup" not in said  # both are plastic


@pytest.mark.parametrize(
    ("hidden", "words"), [("color", "red|blue"), ("material", "plastic"), ("name", "cups?")]
)
def test_hidden_attributes_are_not_mentioned(hidden, words):
    references = described(KITCHEN, "11", hide=(hidden,), depth=0)
    assert references
    for reference in references:
        assert hidden not in reference.mentioned_types
        own = " ".join(word for word, object_id in reference.words if object_id == "11")
        assert not re.search(rf"\b({words})\b", own), own


def test_an_object_to_be_avoided_is_not_mentioned():
    for reference in described(KITCHEN, "11", avoid=("13", "15")):
        assert not {"13", "15"} & {object_id for _, object_id in reference.words}


def test_depth_is_how_many_relations_a_phrase_chains():
    for depth in (0, 1, 2):
        chained = [
            sum(s.operation == "relate" for s in r.program)
            for r in described(KITCHEN, "17", 150, depth=depth)
        ]
        assert max(chained) == depth


def test_every_program_ends_with_the_object_and_every_fact_of_it_holds():
    for image in (KITCHEN, PARK):
        view = SceneIndex(image)
        for object_id in view.objects:
            for reference in described(image, object_id, 30, depth=2):
                ids = re.findall(r"\((\d+)\)", " ".join(step.argument for step in reference.program))
                assert ids[-1] == object_id
                for fact in reference.facts:
                    if fact[0] == "attr":
                        assert fact[2] in view.objects[fact[1]].attributes
                    if fact[0] == "rel":
                        assert fact[1:] in view.relations


def test_a_question_goes_on_after_a_reference_only_if_it_is_read_in_one_way():
    view = SceneIndex(PARK)
    seen = {to_sentence(r.the): r.ends_clearly for r in described(PARK, "23", 300)}
    assert any(seen.values()) and not all(seen.values())
    for text, clear in seen.items():
        # "the bench to the left of the car" runs on; "the bench that is to the left of the car" does not
        runs_on = re.match(r"The( \w+)* (bench|furniture) (?!that |who |the )\w", text)
        assert clear == (not runs_on), text
    assert view.get_name("23") == "bench"
