"""Programs that are derived from the text alone.

Expected programs are those that GQA writes for questions of the same form (Hudson and Manning 2019, section 3.3), without ids.
"""

import re

import pytest

from pipeline.core.records import Question, Step
from pipeline.language import tagger as tagger_module
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import parse_program
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.presuppositions import find_presuppositions
from pipeline.language.tagger import Tagger
from pipeline.language.text_programs import add_programs, derive_program


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


def derive(tagger: Tagger, text: str, answer: str = "") -> list[str]:
    """The steps without ids, as `operation: argument`."""
    (tokens,) = tagger.tag([to_sentence_case(text)])
    steps = derive_program(to_sentence_case(text), tokens, answer)
    if steps:
        parse_program(steps, text)
    return [re.sub(r" \(.*\)", "", f"{step.operation}: {step.argument}") for step in steps]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("What color is the bike?", ["select: bike", "query: color"]),
        ("What is the color of the bike?", ["select: bike", "query: color"]),
        ("The bike has what color?", ["select: bike", "query: color"]),
        ("What is the bike made of?", ["select: bike", "query: material"]),
        # WordNet knows "brown cup" as the name of a mushroom, and "white house" as that of a building.
        ("What shape is the brown cup?", ["select: cup", "filter color: brown", "query: shape"]),
        ("What is the white house made of?", ["select: house", "filter color: white", "query: material"]),
        ("What is the dog doing?", ["select: dog", "query: activity"]),
        ("How old is the man with the beard?", ["select: beard", "relate: man,with,s", "query: age"]),
        (
            "What color is the small bike that is next to the tree?",
            ["select: tree", "relate: bike,next to,s", "filter size: small", "query: color"],
        ),
        ("What is on the table?", ["select: table", "relate: _,on,s", "query: name"]),
        ("What is the man holding in his hand?", ["select: hand", "select: man", "relate: _,holding,o", "query: name"]),
        ("What does the man hold?", ["select: man", "relate: _,holding,o", "query: name"]),
        ("Who is wearing the hat?", ["select: hat", "relate: person,wearing,s", "query: name"]),
        ("Who wears the hat?", ["select: hat", "relate: person,wearing,s", "query: name"]),
        ("Which kind of furniture is made of wood?", ["select: furniture", "filter material: wood", "query: name"]),
        ("What animal is it?", ["select: animal", "query: name"]),
        ("Is the cup red?", ["select: cup", "verify color: red"]),
        ("Is the cup red or blue?", ["select: cup", "choose color: red|blue"]),
        ("Is the man wearing a hat?", ["select: man", "verify rel: hat,wearing,o"]),
        (
            "Is the man wearing a red hat?",
            ["select: man", "relate: hat,wearing,o", "filter color: red", "exist: ?"],
        ),
        (
            "Is the cup to the left or to the right of the plate?",
            ["select: cup", "select: plate", "choose rel: cup,to the left of|to the right of,s"],
        ),
        ("Are there any cups on the table?", ["select: table", "relate: cups,on,s", "exist: ?"]),
        ("Are there cups or plates?", ["select: cups", "exist: ?", "select: plates", "exist: ?", "or: "]),
        ("How many cups are on the table?", ["select: table", "relate: cups,on,s", "exist: ?"]),
        ("Which side of the photo is the cup on?", ["select: cup", "query: hposition"]),
        ("What color is the cup on the left?", ["select: cup", "filter hposition: left", "query: color"]),
        ("What color is the girl's shirt?", ["select: girl", "relate: shirt,of,s", "query: color"]),
        ("What color is the shirt the man is wearing?", ["select: man", "relate: shirt,wearing,o", "query: color"]),
        ("Why is the man in the boat standing?", ["select: boat", "relate: man,in,s", "filter pose: standing", "query: reason"]),
        ("Is it indoors or outdoors?", ["select: scene", "choose location: indoors|outdoors"]),
        ("What place is this?", ["select: scene", "query: place"]),
    ],
)  # fmt: skip
def test_a_question_has_the_program_that_gqa_gives_such_questions(tagger, text, steps):
    assert derive(tagger, text) == steps


def test_what_is_asked_is_not_presupposed_and_what_is_named_is(tagger):
    text = "What is the woman in the red coat looking at?"
    (tokens,) = tagger.tag([text])
    program = parse_program(derive_program(text, tokens))
    found = find_presuppositions(program, align_program(text, program, {}))
    assert [row.word for row in found.objects] == ["coat", "woman"]
    assert [row.word for row in found.attributes] == ["red"]
    assert not any(row.is_query_only for row in found.objects)


def test_an_object_that_the_answer_denies_has_no_id(tagger):
    (tokens,) = tagger.tag(["Is there a dog?"])
    assert derive_program("Is there a dog?", tokens, "no")[0] == Step(
        operation="select", argument="dog (-)", dependencies=()
    )
    assert derive_program("Is there a dog?", tokens, "yes")[0].argument == "dog (dog)"


@pytest.mark.parametrize(
    "text", ["What is it on the left?", "What is made of?", "Is the bag made of?", "color Who left man What wearing?",
             "", "?", "!!!", "What", "Is", "of the of the", "Wo ist der Hund?", "猫はどこですか", "a" * 3000, "the " * 300]
)  # fmt: skip
def test_any_text_has_a_valid_program_or_none(tagger, text):
    derive(tagger, text)


def test_a_program_of_the_source_stays_as_it_is():
    program = (
        Step(operation="select", argument="cup (1)", dependencies=()),
        Step(operation="query", argument="color", dependencies=(0,)),
    )
    given = [
        Question(question_id="1", image_id="a", split="val", text="What color is the cup?", answer="red", program=program),
        Question(question_id="2", image_id="a", split="val", text="What color is the cup?", answer="red"),
        Question(question_id="3", image_id="a", split="val", text="Hello?", answer="red"),
    ]  # fmt: skip
    first, second, third = add_programs(given)
    assert first == given[0] and not first.program_from_text
    assert [step.operation for step in second.program] == ["select", "query"] and second.program_from_text
    assert third == given[2]


def test_the_tagger_is_loaded_once_for_all_calls(monkeypatch):
    loaded = []

    class CountedTagger(Tagger):
        def __init__(self):
            loaded.append(self)
            super().__init__()

    monkeypatch.setattr(tagger_module, "Tagger", CountedTagger)
    tagger_module.load_tagger.cache_clear()
    question = Question(
        question_id="1", image_id="a", split="testdev", text="What color is the cup?", answer="red"
    )
    for _ in range(3):
        (found,) = add_programs([question])
        assert found.program_from_text
    assert len(loaded) == 1
    tagger_module.load_tagger.cache_clear()
