"""Presuppositions of invented questions: fixed, query-only or asserted."""

import pytest

from pipeline.core.records import Word
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import parse_program
from pipeline.language.presuppositions import find_presuppositions, find_queried_step
from tests.notation import steps


def read(text, semantic, tags=""):
    """Return the presuppositions of a question and its sentence.

    `tags` are its words as `word/TAG/class`, or `word/TAG/class/name` if the vocabulary has another name.
    """
    words, position = [], 0
    for said in tags.split():
        word, tag, kind, *name = said.split("/")
        word = word.replace("_", " ")
        position = text.lower().index(word, position)
        words.append(
            Word(
                start=position,
                end=position + len(word),
                tag=tag,
                word_class=kind,
                name=name[0].replace("_", " ") if name else word,
            )
        )
        position += len(word)
    program = parse_program(steps(semantic))
    sentence = align_program(text, program, {}, words)
    return find_presuppositions(program, sentence), sentence


def roles(found, sentence):
    rows = (*found.objects, *found.attributes, *found.relations)
    return {sentence.get_text(row.span): "query-only" if row.is_query_only else "fixed" for row in rows}


# Question, program, its presuppositions and whether they are fixed or query-only.
ROLES = [
    (
        "What is the red vase to the left of the lamp made of?",
        "select: lamp (1)->relate: vase,to the left of,s (2) [0]->filter color: red [1]->query: material [2]",
        {"vase": "fixed", "lamp": "fixed", "red": "fixed", "to the left of": "fixed"},
    ),
    # There may be an animal to the right of the lamp.
    (
        "What animal is to the left of the lamp?",
        "select: lamp (1)->relate: animal,to the left of,s (2) [0]->query: name [1]",
        {"animal": "query-only", "lamp": "fixed", "to the left of": "query-only"},
    ),
    (
        "What is the vase on?",
        "select: vase (1)->relate: _,on,o (2) [0]->query: name [1]",
        {"vase": "fixed", "on": "query-only"},
    ),
    # The question states where the boy is, and asks what he holds.
    (
        "What is the boy in front of the lamp holding?",
        "select: lamp (1)->relate: boy,in front of,s (2) [0]->relate: _,holding,o (3) [1]->query: name [2]",
        {"boy": "fixed", "lamp": "fixed", "in front of": "fixed", "holding": "query-only"},
    ),
    (
        "Which vehicle on the left is red?",
        "select: vehicle (1)->filter hposition: left [0]->filter color: red [1]->query: name [2]",
        {"vehicle": "query-only", "left": "query-only", "red": "query-only"},
    ),
    # "Nobody" may be a true answer, with or without a vase.
    (
        "Who is holding a red vase?",
        "select: vase (1)->filter color: red [0]->relate: person,holding,s (2) [1]->query: name [2]",
        {"vase": "query-only", "red": "query-only", "holding": "query-only"},
    ),
    (
        "Who is holding the red vase?",
        "select: vase (1)->filter color: red [0]->relate: person,holding,s (2) [1]->query: name [2]",
        {"vase": "fixed", "red": "fixed", "holding": "query-only"},
    ),
    # The question states that such an animal exists.
    (
        "What is the animal to the left of the lamp called?",
        "select: lamp (1)->relate: animal,to the left of,s (2) [0]->query: name [1]",
        {"animal": "fixed", "lamp": "fixed", "to the left of": "fixed"},
    ),
    (
        "What are the pieces of furniture that are red?",
        "select: furniture (1)->filter color: red [0]->query: name [1]",
        {"pieces of furniture": "fixed", "red": "fixed"},
    ),
    (
        "What kind of furniture is red?",
        "select: furniture (1)->filter color: red [0]->query: name [1]",
        {"furniture": "query-only", "red": "query-only"},
    ),
    ("What animal is it?", "select: animal (1)->query: name [0]", {"animal": "fixed"}),
    ("Is the vase red?", "select: vase (1)->verify color: red [0]", {"vase": "fixed"}),
    ("Is there a vase?", "select: vase (1)->exist: ? [0]", {}),
    (
        "Is there a red vase on the shelf?",
        "select: shelf (1)->relate: vase,on,s (2) [0]->filter color: red [1]->exist: ? [2]",
        {"shelf": "fixed"},
    ),
    ("Is this a young nurse?", "select: nurse (1)->verify age: young [0]", {}),
    (
        "Are those striped kites large?",
        "select: kite (1)->filter pattern: striped [0]->verify size: large [1]",
        {"kites": "fixed", "striped": "fixed"},
    ),
    (
        "Is the vase to the left of a lamp?",
        "select: vase (1)->verify rel: lamp,to the left of,o (-) [0]",
        {"vase": "fixed"},
    ),
    # The same question, with the lamp as the first step of the program.
    (
        "Is the vase to the left of a lamp?",
        "select: lamp (1)->verify rel: vase,to the left of,s (2) [0]",
        {"vase": "fixed"},
    ),
    # Both answers presuppose a lamp.
    (
        "Is the vase to the left or to the right of a lamp?",
        "select: lamp (1)->choose rel: vase,to the left of|to the right of,s (2) [0]",
        {"vase": "fixed", "lamp": "fixed"},
    ),
    (
        "Is the girl with a kite old and tall?",
        "select: kite (1)->relate: girl,with,s (2) [0]->verify age: old [1]->verify height: tall [1]->and: [2, 3]",
        {"girl": "fixed", "kite": "fixed", "with": "fixed"},
    ),
]


@pytest.mark.parametrize("text, semantic, expected", ROLES)
def test_presuppositions_are_fixed_or_query_only(text, semantic, expected):
    assert roles(*read(text, semantic)) == expected


PREDICATES = [
    "Is that a young nurse?",
    "Is it an old nurse?",
    "Is she a young nurse?",
    "Are they old nurses?",
]


@pytest.mark.parametrize("text", PREDICATES)
def test_predicate_nouns_are_asserted(text):
    semantic = f"select: nurse (1)->verify age: {'old' if 'old' in text else 'young'} [0]"
    found, sentence = read(text, semantic)
    assert roles(found, sentence) == {}
    assert found.asserted_kinds == {"object", "attribute"}


def test_an_attribute_that_only_the_text_has_is_a_presupposition():
    found, sentence = read(
        "Is the red vase to the left or to the right of the lamp?",
        "select: lamp (1)->choose rel: vase,to the left of|to the right of,s (2) [0]",
        "the/DT/other red/JJ/attribute vase/NN/object lamp/NN/object",
    )
    (attribute,) = found.attributes
    assert (sentence.get_text(attribute.span), attribute.word, attribute.step, attribute.object_step) == (
        "red",
        "red",
        -1,
        1,
    )
    said = {thing.word: thing.modifiers for thing in found.objects}
    assert said == {"lamp": ((), ()), "vase": (("red",), ())}


# Words after "the nurse", their tags, the modifiers that they give, or None if they cannot be parsed.
CLAUSES = [
    (
        "that is wearing a belt",
        "is/VBZ/other wearing/VBG/relation belt/NN/object",
        ((), (("wearing", "s", "belt"),)),
    ),
    ("wearing a belt", "wearing/VBG/relation belt/NN/object", ((), (("wearing", "s", "belt"),))),
    ("that looks old", "looks/VBZ/other old/JJ/attribute", (("old",), ())),
    ("that is shown", "is/VBZ/other shown/VBN/other", ((), ())),
    ("that is juggling", "is/VBZ/other juggling/VBG/other", None),
    ("that the belt suits", "belt/NN/object suits/VBZ/other", None),
    ("behind that lamp", "behind/IN/relation lamp/NN/object", ((), (("behind", "s", "lamp"),))),
]


@pytest.mark.parametrize("clause, tags, said", CLAUSES)
def test_a_clause_that_only_the_text_has_modifies_its_noun(clause, tags, said):
    text = f"How tall is the nurse {clause}?"
    found, _ = read(text, "select: nurse (1)->query: height [0]", f"is/VBZ/other nurse/NN/object {tags}")
    (nurse,) = found.objects
    assert nurse.has_unparsed_modifiers == (said is None)
    assert nurse.modifiers == (said or ((), ()))


def test_a_clause_of_the_program_adds_no_modifiers():
    found, _ = read(
        "How tall is the nurse that is wearing the belt?",
        "select: belt (1)->relate: nurse,wearing,s (2) [0]->query: height [1]",
        "nurse/NN/object is/VBZ/other wearing/VBG/relation belt/NN/object",
    )
    assert [(thing.word, thing.modifiers, thing.has_unparsed_modifiers) for thing in found.objects] == [
        ("belt", ((), ()), False),
        ("nurse", ((), ()), False),
    ]


def test_a_definite_object_is_fixed_even_if_no_step_names_it():
    found, _ = read(
        "Is she in front of the lamp?",
        "select: she (1)->choose rel: nurse,in front of|behind,s (1) [0]",
        "she/PRP/frame in_front_of/IN/relation the/DT/other lamp/NN/object",
    )
    assert [(thing.word, thing.step, thing.is_query_only) for thing in found.objects] == [("lamp", -1, False)]


def test_an_object_that_only_the_text_names_is_fixed_if_the_program_presupposes_none():
    """GQA has programs that name a person where the text names a toaster."""
    found, _ = read(
        "Is the toaster to the right of her?",
        "select: she (1)->verify rel: person,to the right of,o (1) [0]",
        "toaster/NN/object her/PRP/other",
    )
    assert [(thing.word, thing.step) for thing in found.objects] == [("toaster", -1)]
    assert [(person.word, person.step) for person in found.pronouns] == [("she", 0)]
    scene, _ = read("Which room of the house is this?", "select: scene->query: room [0]", "house/NN/object")
    assert scene.objects == ()


def test_who_presupposes_a_person():
    found, sentence = read("Who is tall?", "select: person (1)->filter height: tall [0]->query: name [1]")
    assert roles(found, sentence) == {"Who": "query-only", "tall": "query-only"}


def test_the_queried_step_names_the_object_that_is_asked_for():
    asks = parse_program(
        steps("select: lamp (1)->relate: _,on,s (2) [0]->filter color: red [1]->query: name [2]")
    )
    assert find_queried_step(asks) == 1
    assert find_queried_step(parse_program(steps("select: lamp (1)->query: color [0]"))) is None


# Question, program, kinds of what it asserts.
ASSERTED = [
    ("How tall is the lamp?", "select: lamp (1)->query: height [0]", set()),
    ("Is the lamp red?", "select: lamp (1)->verify color: red [0]", {"attribute"}),
    ("Is the lamp on the left?", "select: lamp (1)->verify hposition: left [0]", {"relation"}),
    ("Is there a lamp?", "select: lamp (1)->exist: ? [0]", {"object"}),
    ("What is it, a lamp or a vase?", "select: it (1)->choose name: lamp|vase [0]", set()),
    (
        "Is the lamp above the vase?",
        "select: vase (1)->verify rel: lamp,above,s (2) [0]",
        {"relation"},
    ),
]


@pytest.mark.parametrize("text, semantic, kinds", ASSERTED)
def test_asserted_kinds(text, semantic, kinds):
    assert read(text, semantic)[0].asserted_kinds == kinds
