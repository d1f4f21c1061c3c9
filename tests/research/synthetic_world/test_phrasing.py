"""References to objects, their phrasing, and programs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pipeline.language.functional_programs import parse_program
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
from research.synthetic_world.program_builder import (
    add_filter,
    add_joining_step,
    add_step,
    combine_programs,
    concatenate_programs,
    start_program,
    to_semantic_string,
    typed_operation,
)
from research.synthetic_world.references import make_reference
from research.synthetic_world.scene_index import SceneIndex
from tests.research.synthetic_world.kitchen import KITCHEN, PARK, asked, scene

# The English of questions: articles, agreement, annotated words.


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


# A reference is used only if it is clear: it fits one object, and no other nearly.


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


# GQA's programs, built step by step. The expected strings are in GQA's notation.


def test_a_chain_takes_what_the_step_before_yields():
    program = start_program("furniture (17)", ("filter color", "brown"), ("query", "name"))
    assert to_semantic_string(program) == "select: furniture (17)->filter color: brown [0]->query: name [1]"


def test_attributes_without_a_type_in_gqa_are_filtered_without_one():
    assert (
        typed_operation("filter", "red") == "filter color"
        and typed_operation("verify", "wood") == "verify material"
    )
    assert (
        typed_operation("filter", "open")
        == typed_operation("filter", "full")
        == typed_operation("filter", "on")
        == "filter"
    )
    assert (
        to_semantic_string(add_filter(start_program("box (2)"), "open"))
        == "select: box (2)->filter: open [0]"
    )


def test_a_negated_filter_says_not():
    assert (
        to_semantic_string(add_filter(start_program("cup (1)"), "red", negated=True))
        == "select: cup (1)->filter color: not(red) [0]"
    )


def test_the_second_programs_dependencies_move_along():
    cup, table = start_program("cup (1)", ("filter color", "red")), start_program("table (2)")
    assert to_semantic_string(concatenate_programs(cup, add_step(table, "exist", "?"))) == (
        "select: cup (1)->filter color: red [0]->select: table (2)->exist: ? [2]"
    )


def test_a_last_step_takes_what_both_programs_yield():
    cup, table = start_program("cup (1)", ("filter color", "red")), start_program("table (2)")
    assert to_semantic_string(combine_programs("same color", cup, table)) == (
        "select: cup (1)->filter color: red [0]->select: table (2)->same color:  [1, 2]"
    )


def test_a_step_may_take_any_steps_before_it():
    program = add_joining_step(
        add_joining_step(start_program("cup (1)"), "verify color", "red", [0]), "verify material", "wood", [0]
    )
    assert [step.dependencies for step in add_joining_step(program, "and", "", (1, 2))] == [
        (),
        (0,),
        (0,),
        (1, 2),
    ]


def test_what_is_built_is_read_by_the_pipelines_own_parser():
    program = add_step(add_filter(start_program("cup (1)"), "red"), "relate", "table,on,o (2)")
    operations = parse_program(add_step(program, "query", "name"), "01")
    assert [operation.verb for operation in operations] == ["select", "filter", "relate", "query"]
    assert operations[2].object_ids == ("2",) and operations[2].values == ("on",)
