"""Words that mean the same to a reader of a question."""

from __future__ import annotations

import pytest

from pipeline.judge.names import Lexicon, implied, location, same_answer, singular, spoken
from tests.pipeline.judge.notation import LEXICON


@pytest.mark.parametrize(("plural", "one"), [
    ("cups", "cup"), ("teddy bears", "teddy bear"), ("women", "woman"), ("children", "child"), ("people", "person"),
    ("shelves", "shelf"), ("knives", "knife"), ("gloves", "glove"), ("benches", "bench"), ("boxes", "box"),
    ("buses", "bus"), ("vases", "vase"), ("glasses", "glass"), ("horses", "horse"), ("bananas", "banana"),
    ("umbrellas", "umbrella"), ("cameras", "camera"), ("sheep", "sheep"), ("potatoes", "potato"), ("ties", "tie"),
    ("snowmen", "snowman"), ("mice", "mouse"), ("geese", "goose"), ("teeth", "tooth"), ("fire hydrants", "fire hydrant"),
    # Not plural, though they may look it.
    ("bus", "bus"), ("glass", "glass"), ("grass", "grass"), ("cactus", "cactus"), ("tennis", "tennis"),
    ("canvas", "canvas"), ("gas", "gas"), ("lens", "lens"), ("dress", "dress"), ("cup", "cup"),
])
def test_plural_names_mean_what_their_singulars_mean(plural, one):
    assert singular(plural) == one


def test_names_that_are_always_plural_match_themselves():
    for name in ("jeans", "pants", "scissors", "shorts"):
        assert singular(singular(name)) == singular(name)
        assert LEXICON.kinds(name) == {singular(name)}


def test_a_category_selects_its_members_and_those_of_the_categories_in_it():
    assert LEXICON.kinds("food") == {"food", "fruit", "pizza", "apple", "pear"}
    assert LEXICON.kinds("animals") == {"animal", "dog", "cat"}
    assert LEXICON.kinds("dogs") == {"dog"}
    assert LEXICON.groups("apple") == {"fruit", "food"}
    assert LEXICON.groups("lamp") == frozenset()


def test_a_blank_selects_anything_and_a_pronoun_a_person():
    assert LEXICON.kinds("_") is None
    assert LEXICON.kinds("this") is None
    assert "woman" in LEXICON.kinds("she")
    assert "man" not in LEXICON.kinds("she")
    assert LEXICON.groups("she") == {"person"}


def test_categories_that_contain_each_other_do_no_harm():
    assert Lexicon({"a": ("b",), "b": ("a", "c")}, {}).kinds("a") == {"a", "b", "c"}


@pytest.mark.parametrize(("option", "said"), [
    ("to the left of", "left"), ("to the right of", "right"), ("in front of", "front"), ("behind", "behind"), ("red", "red")])
def test_options_are_answered_as_gqa_says_them(option, said):
    assert spoken(option) == said


@pytest.mark.parametrize(("one", "other", "same"), [
    ("cows", "cow", True), ("wooden", "wood", True), ("metallic", "metal", True), ("Left", "left", True),
    ("cow", "sheep", False), ("yes", "no", False), ("light blue", "blue", False)])
def test_answers_are_the_same_but_for_number_and_form(one, other, same):
    assert same_answer(one, other) is same


@pytest.mark.parametrize(("relation", "more"), [
    ("sitting on", "on"), ("standing in", "in"), ("on", ""), ("looking at", ""), ("to the left of", "")])
def test_who_sits_on_something_is_on_it(relation, more):
    assert implied(relation) == more


@pytest.mark.parametrize(("scene", "where"), [
    ({"place": "kitchen"}, "indoors"), ({"place": "beach"}, "outdoors"), ({"weather": "sunny"}, "outdoors"),
    ({"place": "planet"}, ""), ({}, "")])
def test_a_place_or_a_weather_tells_whether_it_is_indoors(scene, where):
    assert location(scene) == where
