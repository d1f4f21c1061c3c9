"""Sentences, noun phrases, and the alignment of programs with words."""

import re

import pytest

from pipeline.core.records import Word
from pipeline.language.alignment import (
    align_program,
    get_attribute_forms,
    get_choice_forms,
    get_name_forms,
    get_relation_forms,
)
from pipeline.language.functional_programs import parse_program
from pipeline.language.noun_phrases import expand_noun, find_phrase_start, parse_postmodifier
from pipeline.language.sentence import Sentence
from tests.notation import steps

# Alignment


# Question, program, annotations, expected names {step: words}, expected values {(step, i): words}.
CASES = [
    ("What color is the cup?", "select: cup (1)->query: color [0]", {}, {0: "cup"}, {}),
    (
        "What is in the garbage can?",
        "select: trash can (20)->relate: _,in,s (3) [0]->query: name [1]",
        {},
        {0: "garbage can"},
        {(1, 0): "in"},
    ),
    (
        "Is the small hydrant red?",
        "select: fire hydrant (2)->filter size: small [0]->verify color: red [1]",
        {"2:4": "2"},
        {0: "hydrant"},
        {(1, 0): "small", (2, 0): "red"},
    ),
    (
        "Is the man to the left of the man in the park tall?",
        "select: park (1)->relate: man,in,s (2) [0]->relate: man,to the left of,s (3) [1]->verify height: tall [2]",
        {"2": "3", "8": "2"},
        {0: "park", 1: "man", 2: "man"},
        {(1, 0): "in", (2, 0): "to the left of", (3, 0): "tall"},
    ),
    (
        "What is the dog the cat is behind of on?",
        "select: cat (1)->relate: dog,behind,o (2) [0]->relate: _,on,o (3) [1]->query: name [2]",
        {},
        {0: "cat", 1: "dog"},
        {(1, 0): "behind of", (2, 0): "on"},
    ),
    (
        "What item of furniture is blue?",
        "select: furniture (1)->filter color: blue [0]->query: name [1]",
        {},
        {0: "item of furniture"},
        {(1, 0): "blue"},
    ),
    (
        "Is the box made of wood or metal?",
        "select: box (1)->choose material: metal|wood [0]",
        {},
        {0: "box"},
        {(1, 0): "metal", (1, 1): "wood"},
    ),
    (
        "Is the cup to the left or to the right of the man on the right side?",
        "select: man (1)->filter hposition: right [0]->choose rel: cup,to the right of|to the left of,s (2) [1]",
        {},
        {0: "man", 2: "cup"},
        {(1, 0): "right"},
    ),
    (
        "Is the cup below or above the plate that is above the box?",
        "select: box (1)->relate: plate,above,s (2) [0]->choose rel: cup,above|below,s (3) [1]",
        {},
        {0: "box", 1: "plate", 2: "cup"},
        {(1, 0): "above"},
    ),
    (
        "Is the cup to the left of the man on the left?",
        "select: man (1)->filter hposition: left [0]->verify rel: cup,to the left of,s (2) [1]",
        {},
        {0: "man", 2: "cup"},
        {(1, 0): "left"},
    ),
    (
        "Is the metallic box to the left of the wooden box open?",
        "select: box (1)->filter material: wood [0]->relate: box,to the left of,s (2) [1]->filter material: metal [2]->verify: open [3]",
        {"2:4": "2", "9:11": "1"},
        {0: "box", 2: "box"},
        {(1, 0): "wooden", (2, 0): "to the left of", (3, 0): "metallic", (4, 0): "open"},
    ),
    (
        "Who is he near?",
        "select: he (1)->relate: person,near,o (2) [0]->query: name [1]",
        {"2": "1"},
        {},
        {(1, 0): "near"},
    ),
    (
        "What color is the cup to the left of her?",
        "select: she (1)->relate: cup,to the left of,s (2) [0]->query: color [1]",
        {},
        {1: "cup"},
        {(1, 0): "to the left of"},
    ),
    (
        "In front of what is the little dog?",
        "select: dog (1)->filter size: small [0]->relate: _,in front of,o (2) [1]->query: name [2]",
        {},
        {0: "dog"},
        {(1, 0): "little", (2, 0): "In front of"},
    ),
    (
        "What animal is the dog before?",
        "select: dog (1)->relate: animal,in front of,o (2) [0]->query: name [1]",
        {},
        {0: "dog", 1: "animal"},
        {(1, 0): "before"},
    ),
    (
        "What is the lamp hanging above?",
        "select: lamp (1)->relate: _,hanging above,o (2) [0]->query: name [1]",
        {},
        {0: "lamp"},
        {(1, 0): "above"},
    ),
]


@pytest.mark.parametrize("text, semantic, annotations, names, values", CASES)
def test_steps_are_aligned_with_the_words_of_the_question(text, semantic, annotations, names, values):
    # The only attribute of these questions that stands in an annotated phrase.
    small = [
        Word(start=match.start(), end=match.end(), tag="JJ", word_class="attribute", name="small")
        for match in re.finditer("small", text)
    ]
    aligned = align_program(text, parse_program(steps(semantic)), annotations, small)
    assert {step: aligned.get_text(span) for step, span in aligned.name_spans.items()} == names
    assert {place: aligned.get_text(span) for place, span in aligned.value_spans.items()} == values


def test_a_reworded_name_is_aligned_without_its_attributes():
    """GQA annotates "the small animal", while its program says elephant."""
    text = "Is the small animal to the left or to the right of the cup?"
    semantic = "select: cup (1)->choose rel: elephant,to the left of|to the right of,s (2) [0]"
    words = [Word(start=7, end=12, tag="JJ", word_class="attribute", name="small")]
    aligned = align_program(text, parse_program(steps(semantic)), {"1:4": "2"}, words)
    assert aligned.get_text(aligned.name_spans[1]) == "animal"


def test_annotations_or_the_order_of_mention_distinguish_objects_of_the_same_name():
    semantic = "select: cup (1)->relate: cup,to the left of,s (2) [0]->query: color [1]"
    text = "What color is the cup to the left of the cup?"
    for annotations in ({"4": "2", "10": "1"}, {}):
        aligned = align_program(text, parse_program(steps(semantic)), annotations)
        assert aligned.name_spans[1].start == text.index("cup") and aligned.name_spans[
            0
        ].start == text.rindex("cup")


def test_a_position_is_not_aligned_with_the_options_of_a_choice():
    """The "right" of the choice stands nearer to the man than the "right" of his position."""
    semantic = "select: man (1)->filter hposition: right [0]->choose rel: cup,to the right of|to the left of,s (2) [1]"
    for text in (
        "Is the cup to the left or to the right of the man on the right?",
        "Is the cup to the right or to the left of the man on the right?",
    ):
        assert align_program(text, parse_program(steps(semantic)), {}).value_spans[1, 0].start == text.rindex(
            "right"
        )


def test_a_position_is_not_aligned_with_the_queried_relation():
    """Otherwise the first "left" of the text would be taken for the position of the man."""
    semantic = "select: man (1)->filter hposition: left [0]->verify rel: cup,to the left of,s (2) [1]"
    text = "Is the cup to the left of the man on the left?"
    assert align_program(text, parse_program(steps(semantic)), {}).value_spans[1, 0].start == text.rindex(
        "left"
    )


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("cup", "cups"),
        ("trash can", "garbage can"),
        ("couch", "sofas"),
        ("men", "guy"),
        ("furniture", "piece of furniture"),
        ("clothing", "clothing items"),
    ],
)
def test_name_forms_include_synonyms_and_partitives(name, form):
    assert tuple(form.split()) in get_name_forms(name)


@pytest.mark.parametrize(
    ("value", "form"),
    [("wood", "wooden"), ("gray", "grey"), ("on", "turned on"), ("sitting", "sitting-down")],
)
def test_attribute_forms_include_synonyms(value, form):
    assert {tuple(form.split()), (value,)} <= set(get_attribute_forms(value))


def test_longer_forms_come_first():
    for forms in (
        get_name_forms("traffic light"),
        get_relation_forms("to the left of"),
        get_choice_forms(("on", "under")),
    ):
        lengths = [len(form) for form in forms]
        assert lengths == sorted(lengths, reverse=True)


def test_relations_are_shortened_but_not_on_and_in():
    assert ("left", "of") in get_relation_forms("to the left of")
    assert ("behind", "of") in get_relation_forms("behind")
    assert get_relation_forms("on") == (("on",),)


def test_choice_forms_have_both_orders():
    forms = get_choice_forms(("to the left of", "to the right of"))
    assert ("to", "the", "left", "or", "to", "the", "right", "of") in forms
    assert ("to", "the", "right", "of", "or", "to", "the", "left", "of") in forms


# Noun phrases


def tagged(said):
    """Return a sentence of words written `word/TAG/class`. The default class is "other"."""
    words, text = [], ""
    for part in said.split():
        word, tag, kind = (*part.split("/"), "other")[:3]
        start = len(text) + bool(text)
        text = f"{text} {word}".strip()
        words.append(Word(start=start, end=start + len(word), tag=tag, word_class=kind, name=word))
    return Sentence(text, words)


# Words, the token of the noun, the expanded noun, the token that starts its phrase.
PHRASES = [
    ("is/VBZ the/DT red/JJ/attribute cup/NN/object on/IN/relation", 3, "cup", 1),
    ("is/VBZ the/DT chocolate/NN/object cake/NN/object warm/JJ", 3, "chocolate cake", 1),
    ("is/VBZ the/DT other/JJ cup/NN/object here/RB", 3, "other cup", 1),
    ("is/VBZ her/PRP$ very/RB old/JJ/attribute cup/NN/object here/RB", 4, "cup", 1),
    ("on/IN/relation shiny/JJ/attribute cups/NNS/object", 2, "cups", 2),
    ("is/VBZ the/DT laptop/NN/object computer/NN/object red/JJ", 2, "laptop computer", 1),
    ("is/VBZ the/DT cup/NN/object look/NN red/JJ", 2, "cup", 1),
]


@pytest.mark.parametrize("said, noun, whole, start", PHRASES)
def test_a_noun_is_expanded_by_its_modifiers_but_not_by_attributes(said, noun, whole, start):
    sentence = tagged(said)
    span, first = expand_noun(sentence, sentence.mark_matched(noun, noun + 1))
    assert (sentence.get_text(span), first) == (whole, start)


def test_without_tags_a_phrase_starts_at_its_determiner_but_not_before_a_preposition():
    sentence = Sentence("Is there a cup on the rather shiny table?")
    assert (find_phrase_start(sentence, 8), find_phrase_start(sentence, 3)) == (5, 2)
    assert find_phrase_start(Sentence("Is the cup on tables?"), 4) == 4


# Words after "the nurse" and the modifiers that they give, or None if they cannot be parsed.
CLAUSES = [
    ("that/WDT is/VBZ wearing/VBG/relation a/DT belt/NN/object", ((), (("wearing", "s", "belt"),))),
    ("wearing/VBG/relation a/DT belt/NN/object", ((), (("wearing", "s", "belt"),))),
    ("that/WDT looks/VBZ old/JJ/attribute", (("old",), ())),
    ("that/WDT is/VBZ shown/VBN", ((), ())),
    ("that/WDT is/VBZ juggling/VBG", None),
    ("behind/IN/relation that/DT", ((), ())),
    ("red/JJ/attribute", ((), ())),
]


@pytest.mark.parametrize("said, expected", CLAUSES)
def test_a_postmodifier_is_parsed(said, expected):
    sentence = tagged(f"is/VBZ the/DT nurse/NN/object {said} ?/.")
    sentence.mark_matched(2, 3)
    assert parse_postmodifier(sentence, 3) == expected


def test_a_postmodifier_of_the_program_adds_nothing():
    sentence = tagged("the/DT nurse/NN/object that/WDT is/VBZ wearing/VBG/relation a/DT belt/NN/object ?/.")
    sentence.mark_matched(6, 7)
    assert parse_postmodifier(sentence, 2) == ((), ())


# Sentence


TEXT = "What color is the girl's T-shirt?"


def test_a_text_is_split_into_words_and_punctuation():
    sentence = Sentence(TEXT)
    assert sentence.tokens == ("what", "color", "is", "the", "girl", "'s", "t-shirt", "?")
    assert [TEXT[start:end].lower() for start, end in sentence.char_spans] == list(sentence.tokens)


def test_forms_are_found_only_at_unmatched_tokens():
    sentence = Sentence("Is the red cup near the other red cup?")
    # Earlier forms go first.
    assert sentence.find_forms([("red", "cup"), ("cup",)]) == [(2, 4), (7, 9)]
    assert sentence.get_text(sentence.mark_matched(2, 4)) == "red cup"
    assert sentence.find_forms([("cup",)]) == [(8, 9)]


def test_the_token_before_the_first_is_none():
    assert (Sentence(TEXT).get_previous_token(0), Sentence(TEXT).get_previous_token(1)) == ("", "what")


@pytest.mark.parametrize(
    ("token", "tag", "kind", "belongs"),
    [
        ("chocolate", "NN", "object", True),
        # Another noun may have this attribute as well.
        ("adult", "JJ", "attribute", False),
        ("the", "DT", "other", False),
        ("wearing", "NN", "other", False),
        ("kind", "NN", "frame", False),
        ("left", "JJ", "relation", False),
    ],
)
def test_some_words_belong_to_the_noun_after_them(token, tag, kind, belongs):
    word = Word(start=0, end=len(token), tag=tag, word_class=kind, name=token)
    assert Sentence(f"{token} cake", [word]).is_modifier(0) is belongs
    assert Sentence("other cake").is_modifier(0)


def test_a_pronoun_is_found_as_subject_or_object_but_not_as_possessive():
    owner = Word(start=9, end=12, tag="PRP$")
    assert Sentence("What is her hat?").find_pronoun("she")
    assert Sentence("Where is her hat?", [owner]).find_pronoun("she") is None
    sentence = Sentence("Is the cup behind her hat or her?", [Word(start=18, end=21, tag="PRP$")])
    assert sentence.find_pronoun("she").first_token == 7
    assert sentence.find_pronoun("he") is None
    assert sentence.find_pronoun("cup") is None
