import pytest

from pipeline.core.records import Word
from pipeline.language.noun_phrases import expand_noun, find_phrase_start, parse_postmodifier
from pipeline.language.sentence import Sentence


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
