import dataclasses

import pytest

from pipeline.candidates.perturbing.replacements import PerturbParams
from tests.candidates.perturbing.in_memory import case_of, perturb
from tests.candidates.perturbing.small_vocabulary import made, vocabulary
from tests.notation import question


def test_one_word_is_replaced_once_even_if_two_steps_name_it():
    words = vocabulary("kite", "vase")
    row = made(
        "pt-easy",
        "Is the person in front or behind the fence?",
        "select: person (2)->choose rel: person,in front of|behind,s (2) [0]",
        words,
        "front",
        {"2": "2"},
    )
    assert len(row.edits) == 1


def test_the_whole_compound_goes():
    """ "Laptop computer": with half of it kept, it would be a "kite computer"."""
    tags = ((0, 2, "VBZ"), (3, 6, "DT"), (7, 10, "NN"), (11, 19, "NN"), (20, 23, "JJ"))
    words = vocabulary("cup", "kite")
    row = made(
        "pt-easy", "Is the cup computer red?", "select: cup (1)->verify color: red [0]", words, tags=tags
    )
    assert row.text == "Is the kite red?"


def test_a_verb_that_the_tagger_takes_for_a_noun_ends_no_compound():
    tags = ((0, 4, "VBZ"), (5, 8, "DT"), (9, 12, "NN"), (13, 17, "NN"), (18, 21, "JJ"))
    row = made(
        "pt-easy",
        "Does the cup look red?",
        "select: cup (1)->verify color: red [0]",
        vocabulary("cup", "kite"),
        tags=tags,
    )
    assert row.text == "Does the kite look red?"


def test_an_object_with_unparsed_modifiers_is_not_replaced():
    tags = ((0, 4, "WDT"), (5, 10, "NN"), (11, 13, "VBZ"), (14, 17, "DT"), (18, 21, "NN"))
    juggles = (*tags, (22, 26, "WDT"), (27, 34, "VBZ"))
    words, semantic = vocabulary("cup", "kite"), "select: cup (1)->query: color [0]"
    assert (
        made("pt-easy", "What color is the cup?", semantic, words, tags=tags).text
        == "What color is the kite?"
    )
    row = made("pt-easy", "What color is the cup that juggles?", semantic, words, tags=juggles)
    assert row.reason == "no other object makes sense there"


def test_an_edit_does_not_change_the_case_of_the_next_one():
    case = case_of("What color is the cup?", "select: cup (1)->query: color [0]")
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.program = ()


def test_the_reason_why_no_relation_is_replaced_is_reported():
    # Nothing of a cup and a vase was ever seen, and there is no other thing.
    text = "What color is the cup above the vase?"
    asked = question(text, "select: vase (1)->relate: cup,above,s (2) [0]->query: color [1]", "red")
    _, dropped = perturb([asked], {text: ()}, vocabulary("cup", "vase", seen=()), PerturbParams())
    assert {row.subset: row.reason for row in dropped} == {
        "pt-easy": "no other object fits",
        "pt-hard": "no other relation fits",
    }
