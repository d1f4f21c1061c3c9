"""The table of kinds as the project ships it: what names of pictures it knows, and which it keeps silent on."""

from __future__ import annotations

import pytest

from pipeline.words.kinds import TABLE, kinds, members, rows, standard, synonyms
from pipeline.words.nouns import lemma
from studies.kinds.derivation_choices import KINDS, pairs


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
    assert "velvet jacket" not in rows()
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
    assert {kind for kind in members() if kind not in chosen and kind not in rows()} <= {"sign"}


def test_it_is_sound():
    """Names in the singular; a synonym stands for others itself and is of the same kinds; no circles but of synonyms."""
    for name, row in rows().items():
        assert lemma(name) == name
        assert name not in row.kinds
        if row.same:
            assert standard(row.same) == row.same
            assert kinds(row.same) - {name} == row.kinds
    circles = {
        frozenset((name, kind)) for name, row in rows().items() for kind in row.kinds if name in kinds(kind)
    }
    assert circles <= {frozenset(("drink", "beverage")), frozenset(("instrument", "musical instrument"))}


def test_it_is_small_sorted_and_comes_with_its_licence():
    body = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert body == sorted(body) and len(body) == len(rows())
    assert TABLE.stat().st_size < 300_000
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in TABLE.with_name("LICENSE").read_text()
