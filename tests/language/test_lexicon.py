"""The lexicon and word lists."""

from __future__ import annotations

import pytest

from pipeline.language.lexicon import (
    WORDNET_TABLE_PATH,
    Lexicon,
    canonicalize_name,
    get_hypernyms,
    get_synonyms,
    load_hyponyms,
    load_wordnet,
)
from pipeline.language.nouns import lemmatize
from pipeline.language.word_lists import (
    DEFINITE_DETERMINERS,
    DETERMINERS,
    FRAME_WORDS,
    INDEFINITE_DETERMINERS,
    PARTITIVE_NOUNS,
    PRONOUN_REFERENTS,
    UNINFORMATIVE_NAMES,
    WILDCARD_NAMES,
    parse_groups,
    parse_headed_groups,
    parse_words,
)
from pipeline.verifier.verification import build_evidence
from research.studies.kinds.wordnet_choices import KINDS, parse_entries
from tests.notation import LEXICON, answered_question, graphs

# Lexicon
# Names that apply to an object, by a data set and by the WordNet table that the project ships.


def test_names_that_are_always_plural_stay_as_they_are():
    for name in ("jeans", "pants", "scissors", "shorts", "glasses"):
        assert lemmatize(name) == name
        assert name in LEXICON.get_hyponym_closure(name)


def test_glasses_are_no_glass():
    assert not LEXICON.is_a(("glasses",), "glass")


def test_a_category_selects_its_members_and_those_of_the_categories_in_it():
    # WordNet does not have these words.
    own = Lexicon({"blip": ("blap", "blop"), "blop": ("blep", "blup")}, {})
    assert own.get_hyponym_closure("blips") == {"blip", "blap", "blop", "blep", "blup"}
    assert own.get_hyponym_closure("blaps") == {"blap"}
    assert own.get_hypernyms("blep") == {"blop", "blip"}
    assert own.get_hypernyms("blip") == frozenset()


def test_a_wildcard_selects_any_object_and_a_pronoun_a_person():
    assert LEXICON.get_hyponym_closure("_") is None
    assert LEXICON.get_hyponym_closure("this") is None
    assert "woman" in LEXICON.get_hyponym_closure("she")
    assert "man" not in LEXICON.get_hyponym_closure("she")
    assert "person" in LEXICON.get_hypernyms("she") and "man" not in LEXICON.get_hypernyms("she")


def test_circular_categories_are_allowed():
    circular = Lexicon({"blip": ("blop",), "blop": ("blip", "blap")}, {})
    assert circular.get_hyponym_closure("blip") == {"blip", "blop", "blap"}
    assert circular.get_hypernyms("blap") == {"blip", "blop"}


# The lexicon of a data set without categories.
BARE = Lexicon({}, {})


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
        # A more specific name may apply.
        ("person", "woman", None),
        ("furniture", "sofa", None),
        ("chair", "armchair", None),
        ("food", "apple", None),
        ("person", "she", None),
        # A person may have further names, but no other sex or age.
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
def test_hypernyms_apply_to_an_object_and_hyponyms_may_apply(known, asked, truth):
    assert BARE.evaluate_is_a((lemmatize(known),), asked) is truth
    assert BARE.is_a((lemmatize(known),), asked) is (truth is True)


def test_all_names_of_an_object_count():
    assert BARE.evaluate_is_a(("person", "woman"), "man") is False
    assert BARE.evaluate_is_a(("furniture", "chair"), "armchair") is None
    assert BARE.evaluate_is_a((), "armchair") is None


def test_the_data_set_overrides_wordnet():
    own = Lexicon({"furniture": ("toaster",), "woman": ("person", "lady"), "fruit": ("pear",)}, {})
    assert own.is_a(("toaster",), "furniture")
    # WordNet shows that this category is an error.
    assert not own.is_a(("person",), "woman")
    assert own.is_a(("apple",), "fruit") and not own.is_a(("apple",), "fruit", dataset_only=True)
    assert own.is_a(("pear",), "fruit", dataset_only=True) and not own.is_a(
        ("pear",), "food", dataset_only=True
    )


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
def test_an_absent_hypernym_excludes_its_hyponyms_but_not_the_reverse(absent, asked, there):
    questions = {"p": [answered_question(f"select: {absent} (-)->exist: ? [0]", "no")]}
    evidence = build_evidence("p", {}, graphs(questions, BARE), BARE)
    assert evidence is not None
    assert bool(evidence.select_objects(asked)) is there


@pytest.mark.parametrize(
    ("present", "asked"), [("woman", "person"), ("couch", "furniture"), ("couch", "sofa")]
)
def test_a_more_general_name_selects_a_present_object(present, asked):
    questions = {"p": [answered_question(f"select: {present} (1)->query: color [0]", "red")]}
    evidence = build_evidence("p", {}, graphs(questions, BARE), BARE)
    assert evidence is not None
    assert [obj.object_id for obj in evidence.select_objects(asked).certain] == ["1"]


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
def test_hypernyms_of_everyday_objects_are_known(name, kind):
    assert kind in get_hypernyms(name)


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
        # Everyday language distinguishes them.
        ("mitt", "glove"),
        ("baseball mitt", "glove"),
        ("mitten", "glove"),
        ("swim suit", "suit"),
        ("snow suit", "suit"),
        ("sweatshirt", "sweater"),
    ],
)
def test_hypernyms_that_people_do_not_use_are_left_out(name, kind):
    assert kind not in get_hypernyms(name)


@pytest.mark.parametrize(
    "name", ["mouse", "bat", "crane", "chicken", "pot", "plate", "pitcher", "star", "arrow", "notebook"]
)
def test_ambiguous_names_have_no_hypernyms(name):
    assert get_hypernyms(name) == frozenset()


def test_an_unlisted_compound_has_the_hypernyms_of_its_last_word():
    assert "velvet jacket" not in load_wordnet()
    assert get_hypernyms("velvet jacket") == {"jacket", "clothing"}
    assert get_hypernyms("big velvet jacket") == {"velvet jacket", "jacket", "clothing"}
    assert get_hypernyms("toy zebra") == get_hypernyms("stuffed zebra") == {"toy"}
    assert get_hypernyms("fake zebra") == get_hypernyms("velvet thingamajig") == frozenset()


def test_synonyms_have_the_same_canonical_name():
    assert canonicalize_name("sofa") == canonicalize_name("couch") == "couch"
    assert {"sofa", "couch"} <= get_synonyms("sofa") == get_synonyms("couch")
    assert canonicalize_name("television") == canonicalize_name("tv") and canonicalize_name(
        "trousers"
    ) == canonicalize_name("pants")
    assert get_synonyms("velvet jacket") == {"velvet jacket"}
    assert canonicalize_name("man") != canonicalize_name("woman") and canonicalize_name(
        "boy"
    ) != canonicalize_name("man")


def test_hypernyms_are_chosen_kinds_or_listed_names():
    chosen = {kind for kind, _ in parse_entries(KINDS)}
    assert {kind for kind in load_hyponyms() if kind not in chosen and kind not in load_wordnet()} <= {"sign"}


def test_the_table_is_consistent():
    """Names are singular, synonyms have the same hypernyms, and only synonyms form circles."""
    for name, row in load_wordnet().items():
        assert lemmatize(name) == name
        assert name not in row.hypernyms
        if row.canonical_name:
            assert canonicalize_name(row.canonical_name) == row.canonical_name
            assert get_hypernyms(row.canonical_name) - {name} == row.hypernyms
    circles = {
        frozenset((name, kind))
        for name, row in load_wordnet().items()
        for kind in row.hypernyms
        if name in get_hypernyms(kind)
    }
    assert circles <= {frozenset(("drink", "beverage")), frozenset(("instrument", "musical instrument"))}


def test_the_table_is_small_sorted_and_licensed():
    body = [
        line
        for line in WORDNET_TABLE_PATH.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert body == sorted(body) and len(body) == len(load_wordnet())
    assert WORDNET_TABLE_PATH.stat().st_size < 300_000
    assert (
        "WordNet 3.0 Copyright 2006 by Princeton University"
        in WORDNET_TABLE_PATH.with_name("LICENSE").read_text()
    )


# Word lists


def test_a_name_may_continue_on_the_next_line():
    assert parse_words("\ncup, side\ntable,\nlamp\n") == {"cup", "side table", "lamp"}


def test_groups_end_with_a_line_or_a_semicolon():
    assert parse_groups("\na, b; c\nd\n;\n") == [["a", "b"], ["c"], ["d"]]


def test_heads_stand_before_a_colon():
    assert parse_headed_groups("\non: under, behind; off: on\n") == {
        "on": ("under", "behind"),
        "off": ("on",),
    }
    assert parse_headed_groups("") == {}


def test_a_determiner_is_definite_or_not():
    assert not DEFINITE_DETERMINERS & INDEFINITE_DETERMINERS
    assert {"the", "a"} <= DETERMINERS


def test_frame_words_and_partitives():
    assert {"color", "side", "kind", "photo"} <= FRAME_WORDS
    assert FRAME_WORDS.isdisjoint({"cup", "man", "table"})
    assert {"slice", "pair"} <= PARTITIVE_NOUNS


def test_pronouns_mean_a_person_or_anything():
    assert PRONOUN_REFERENTS["she"][0] == "woman" and PRONOUN_REFERENTS["he"][0] == "man"
    assert PRONOUN_REFERENTS.keys() < UNINFORMATIVE_NAMES
    assert WILDCARD_NAMES.isdisjoint(PRONOUN_REFERENTS)
    assert {"_", "this"} <= WILDCARD_NAMES & UNINFORMATIVE_NAMES
