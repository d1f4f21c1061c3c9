"""Words that mean the same to a reader of a question; and the table of kinds as the project ships it: what names of pictures it
knows, and which it keeps silent on."""

from __future__ import annotations

import pytest

from pipeline.language.lexicon import TABLE, Lexicon, kinds, members, standard, synonyms, wordnet
from pipeline.language.nouns import lemma
from pipeline.verifier.verification import evidence_for
from research.studies.kinds.wordnet_choices import KINDS, pairs
from tests.notation import LEXICON, answered_question, graphs


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
    facts = evidence_for("p", {}, graphs(told, BARE), BARE)
    assert facts is not None
    assert bool(facts.named(asked)) is there


@pytest.mark.parametrize(
    ("present", "asked"), [("woman", "person"), ("couch", "furniture"), ("couch", "sofa")]
)
def test_what_is_there_is_there_by_its_more_general_names(present, asked):
    told = {"p": [answered_question(f"select: {present} (1)->query: color [0]", "red")]}
    facts = evidence_for("p", {}, graphs(told, BARE), BARE)
    assert facts is not None
    assert [thing.object_id for thing in facts.named(asked).sure] == ["1"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("woman", "person"),
        ("skateboarder", "person"),
        ("bus driver", "person"),
        ("toddler", "child"),
        ("mother", "woman"),
        ("couch", "furniture"),
        ("sofa", "furniture"),
        ("coffee table", "table"),
        ("bookshelf", "shelf"),
        ("car", "vehicle"),
        ("train", "vehicle"),
        ("bicycle", "vehicle"),
        ("canoe", "boat"),
        ("jet", "airplane"),
        ("apple", "fruit"),
        ("apple", "food"),
        ("carrot", "vegetable"),
        ("olive", "food"),
        ("french fry", "fast food"),
        ("cupcake", "dessert"),
        ("shirt", "clothing"),
        ("jeans", "pants"),
        ("sneaker", "shoe"),
        ("laptop", "device"),
        ("computer mouse", "device"),
        ("microwave", "appliance"),
        ("duck", "bird"),
        ("zebra", "animal"),
        ("polar bear", "bear"),
        ("palm tree", "tree"),
        ("tennis ball", "ball"),
        ("vase", "container"),
        ("teddy bear", "toy"),
        ("hammer", "tool"),
        ("guitar", "instrument"),
        ("house", "building"),
        ("coffee", "drink"),
    ],
)
def test_it_knows_what_everyday_things_are(name, kind):
    assert kind in kinds(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("woman", "animal"),
        ("person", "animal"),
        ("teddy bear", "bear"),
        ("home plate", "plate"),
        ("guinea pig", "pig"),
        ("sea lion", "lion"),
        ("desk", "table"),
        ("lamp", "furniture"),
        ("lamp", "device"),
        ("skateboard", "vehicle"),
        ("wine", "food"),
        ("train car", "car"),
        ("rocking horse", "horse"),
        ("boy", "man"),
        ("shorts", "pants"),
        ("jacket", "coat"),
        ("dog house", "house"),
        ("kitchen cabinet", "person"),
        ("hot dog", "dog"),
        ("hot dog", "animal"),
        ("stuffed dog", "dog"),
        ("toy car", "vehicle"),
        ("license plate", "plate"),
        ("glasses", "glass"),
        ("tie", "person"),
        ("cabinet", "person"),
        ("keyboard", "instrument"),
        ("sneaker", "clothing"),
        # Everyday speech keeps them apart.
        ("mitt", "glove"),
        ("baseball mitt", "glove"),
        ("mitten", "glove"),
        ("swim suit", "suit"),
        ("snow suit", "suit"),
        ("sweatshirt", "sweater"),
    ],
)
def test_it_says_nothing_that_gqa_or_people_do_not_say(name, kind):
    assert kind not in kinds(name)


@pytest.mark.parametrize(
    "name", ["mouse", "bat", "crane", "chicken", "pot", "plate", "pitcher", "star", "arrow", "notebook"]
)
def test_it_is_silent_on_names_of_several_things(name):
    assert kinds(name) == frozenset()


def test_a_name_that_is_not_listed_is_of_the_kind_of_its_last_word():
    assert "velvet jacket" not in wordnet()
    assert kinds("velvet jacket") == {"jacket", "clothing"}
    assert kinds("big velvet jacket") == {"velvet jacket", "jacket", "clothing"}
    assert kinds("toy zebra") == kinds("stuffed zebra") == {"toy"}
    assert kinds("fake zebra") == kinds("velvet thingamajig") == frozenset()


def test_synonyms_stand_for_each_other():
    assert standard("sofa") == standard("couch") == "couch"
    assert {"sofa", "couch"} <= synonyms("sofa") == synonyms("couch")
    assert standard("television") == standard("tv") and standard("trousers") == standard("pants")
    assert synonyms("velvet jacket") == {"velvet jacket"}
    assert standard("man") != standard("woman") and standard("boy") != standard("man")


def test_the_words_it_generalises_to_are_those_that_were_chosen_or_names_in_it():
    chosen = {kind for kind, _ in pairs(KINDS)}
    assert {kind for kind in members() if kind not in chosen and kind not in wordnet()} <= {"sign"}


def test_it_is_sound():
    """Names in the singular; a synonym stands for others itself and is of the same kinds; no circles but of synonyms."""
    for name, row in wordnet().items():
        assert lemma(name) == name
        assert name not in row.kinds
        if row.same:
            assert standard(row.same) == row.same
            assert kinds(row.same) - {name} == row.kinds
    circles = {
        frozenset((name, kind))
        for name, row in wordnet().items()
        for kind in row.kinds
        if name in kinds(kind)
    }
    assert circles <= {frozenset(("drink", "beverage")), frozenset(("instrument", "musical instrument"))}


def test_it_is_small_sorted_and_comes_with_its_licence():
    body = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert body == sorted(body) and len(body) == len(wordnet())
    assert TABLE.stat().st_size < 300_000
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in TABLE.with_name("LICENSE").read_text()
