"""The English of questions: articles, agreement, annotated words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from research.synthetic_world import phrasing
from research.synthetic_world.ontology import CATEGORIES, KIND_BY_NAME, KINDS
from research.synthetic_world.phrasing import (
    add_article,
    fill_template,
    make_marked_phrase,
    make_phrase,
    to_annotations,
    to_sentence,
)

A_VOWEL = re.compile(r"\ba [aeiou]", re.IGNORECASE)
AN_CONSONANT = re.compile(r"\ban [^aeiou]", re.IGNORECASE)
JEANS = re.compile(r"^the (\w+ )?jeans (is|has|looks)\b|\b(is|does|has) the (\w+ )?jeans\b", re.IGNORECASE)
TWICE = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)


@pytest.mark.parametrize("fault", [A_VOWEL, AN_CONSONANT, JEANS, TWICE, re.compile(r"  | [?,.]|[\[\]{}<>|]")])
def test_sentences_keep_the_rules_of_grammar(drawn, of_kitchen, fault: re.Pattern) -> None:
    for question in (*drawn, *of_kitchen):
        for text in (question.text, question.full_answer):
            assert not fault.search(text), text


def test_jeans_take_are_and_do(of_kitchen) -> None:
    texts = " ".join(question.text for question in of_kitchen)
    assert re.search(r"are the (\w+ )?jeans", texts) and re.search(r"[Dd]o the (\w+ )?jeans", texts)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cup", "a cup"),
        ("apple", "an apple"),
        ("open box", "an open box"),
        ("umbrella", "an umbrella"),
        ("jeans", "jeans"),
    ],
)
def test_an_article_fits_the_word_after_it_and_plurals_have_none(name, said):
    assert add_article(name) == said


def test_only_words_after_the_article_name_the_object():
    assert make_marked_phrase("an old man", "7") == (("an", ""), ("old", "7"), ("man", "7"))
    assert make_marked_phrase("jeans", "7") == (("jeans", "7"),)


def test_positions_count_words_as_gqa_does():
    # Is the(1) old(2) man(3) near the cup(6)?
    phrase = (
        *make_phrase("Is the"),
        *make_phrase("old man", "15"),
        *make_phrase("near the"),
        *make_phrase("cup?", "11"),
    )
    assert to_annotations(phrase) == {"2:4": "15", "6": "11"}


@pytest.mark.parametrize(
    ("template", "noun", "text"),
    [
        ("[Is|Are] {x} red ?", "cup", "Is the cup red?"),
        ("[Is|Are] {x} red ?", "jeans", "Are the jeans red?"),
        ("What color [does|do] {x} have ?", "jeans", "What color do the jeans have?"),
        ("{x} [has|have] what color ?", "cup", "The cup has what color?"),
        ("Which color [is|are] {x}, red or blue ?", "cup", "Which color is the cup, red or blue?"),
    ],
)
def test_verbs_agree_with_the_noun_beside_them(template, noun, text):
    filled = fill_template(template, np.random.default_rng(0), {"x": (("the", ""), (noun, "1"))})
    assert to_sentence(filled) == text


def test_alternatives_are_chosen_at_random_each_time_and_may_be_empty():
    rng = np.random.default_rng(0)
    texts = {to_sentence(fill_template("Is <it/this> a cup <there/> ?", rng, {})) for _ in range(60)}
    assert texts == {"Is it a cup there?", "Is this a cup there?", "Is it a cup?", "Is this a cup?"}


def test_materials_are_what_objects_are_made_of_and_lights_are_turned_on():
    rng = np.random.default_rng(0)
    assert phrasing.to_predicate("wood") == "made of wood" and phrasing.to_predicate("red") == "red"
    assert {phrasing.to_predicate("on", rng) for _ in range(20)} == {"on", "turned on"}
    assert {phrasing.to_adjective("wood", rng) for _ in range(20)} == {"wooden", "wood"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_category_is_said_only_where_it_leaves_open_which_kind_it_is(kind):
    category = phrasing.get_category(kind.name)
    assert category in ("", kind.category)
    assert not category or len(CATEGORIES[category]) > 1


def test_plurals_are_those_of_the_ontology():
    assert phrasing.make_plural("shelf") == "shelves" == KIND_BY_NAME["shelf"].plural
    assert phrasing.is_plural("jeans") and not phrasing.is_plural("cup")
