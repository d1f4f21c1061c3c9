"""Words that mean the same to a reader of a question."""

from __future__ import annotations

import pytest

from pipeline.judge.judgement import evidence_for
from pipeline.words.lexicon import Lexicon
from pipeline.words.nouns import lemma
from tests.notation import LEXICON, answered_question


def test_names_that_are_always_plural_stay_as_they_are():
    for name in ("jeans", "pants", "scissors", "shorts", "glasses"):
        assert lemma(name) == name
        assert name in LEXICON.kinds(name)


def test_who_wears_glasses_holds_no_glass():
    assert not LEXICON.is_one(("glasses",), "glass")


def test_a_category_selects_its_members_and_those_of_the_categories_in_it():
    own = Lexicon({"blip": ("blap", "blop"), "blop": ("blep", "blup")}, {})  # words that WordNet lacks
    assert own.kinds("blips") == {"blip", "blap", "blop", "blep", "blup"}
    assert own.kinds("blaps") == {"blap"}
    assert own.groups("blep") == {"blop", "blip"}
    assert own.groups("blip") == frozenset()


def test_a_blank_selects_anything_and_a_pronoun_a_person():
    assert LEXICON.kinds("_") is None
    assert LEXICON.kinds("this") is None
    assert "woman" in LEXICON.kinds("she")
    assert "man" not in LEXICON.kinds("she")
    assert "person" in LEXICON.groups("she") and "man" not in LEXICON.groups("she")


def test_categories_that_contain_each_other_do_no_harm():
    circular = Lexicon({"blip": ("blop",), "blop": ("blip", "blap")}, {})
    assert circular.kinds("blip") == {"blip", "blop", "blap"}
    assert circular.groups("blap") == {"blip", "blop"}


BARE = Lexicon({}, {})  # of a data set that tells of no categories


@pytest.mark.parametrize(
    ("known", "asked", "truth"),
    [
        ("woman", "person", True),
        ("couch", "furniture", True),
        ("couch", "sofa", True),
        ("sofa", "couch", True),
        ("ladies", "woman", True),
        ("velvet jacket", "clothing", True),
        ("woman", "she", True),
        ("lady", "she", True),
        ("man", "she", False),
        ("apple", "_", True),
        # What is more particular may be meant, or not.
        ("person", "woman", None),
        ("furniture", "sofa", None),
        ("chair", "armchair", None),
        ("food", "apple", None),
        ("person", "she", None),
        # A person may be more than is known, but no other sex or age.
        ("man", "skater", None),
        ("player", "woman", None),
        ("man", "woman", False),
        ("mother", "man", False),
        ("toddler", "man", False),
        ("dog", "cat", False),
        ("couch", "chair", False),
        ("woman", "animal", False),
        ("teddy bear", "bear", False),
    ],
)
def test_a_thing_goes_by_the_names_above_its_own_and_perhaps_by_those_below(known, asked, truth):
    assert BARE.may_be((lemma(known),), asked) is truth
    assert BARE.is_one((lemma(known),), asked) is (truth is True)


def test_all_that_is_known_of_a_thing_counts():
    assert BARE.may_be(("person", "woman"), "man") is False
    assert BARE.may_be(("furniture", "chair"), "armchair") is None
    assert BARE.may_be((), "armchair") is None


def test_the_data_set_comes_first():
    own = Lexicon({"furniture": ("toaster",), "woman": ("person", "lady"), "fruit": ("pear",)}, {})
    assert own.is_one(("toaster",), "furniture")
    assert not own.is_one(("person",), "woman")  # a slip: WordNet has it the other way round
    assert own.is_one(("apple",), "fruit") and not own.is_one(("apple",), "fruit", own=True)
    assert own.is_one(("pear",), "fruit", own=True) and not own.is_one(("pear",), "food", own=True)


@pytest.mark.parametrize(
    ("absent", "asked", "there"),
    [
        ("furniture", "couch", False),
        ("person", "skater", False),
        ("couch", "sofa", False),
        ("couch", "furniture", True),
        ("skater", "person", True),
        ("couch", "chair", True),
    ],
)
def test_without_a_kind_there_is_none_of_it_but_without_one_of_it_there_may_be_others(absent, asked, there):
    told = {"p": [answered_question(f"select: {absent} (-)->exist: ? [0]", "no")]}
    facts = evidence_for("p", {}, told, BARE)
    assert facts is not None
    assert bool(facts.named(asked)) is there


@pytest.mark.parametrize(
    ("present", "asked"), [("woman", "person"), ("couch", "furniture"), ("couch", "sofa")]
)
def test_what_is_there_is_there_by_its_more_general_names(present, asked):
    told = {"p": [answered_question(f"select: {present} (1)->query: color [0]", "red")]}
    facts = evidence_for("p", {}, told, BARE)
    assert facts is not None
    assert [thing.object_id for thing in facts.named(asked).sure] == ["1"]
