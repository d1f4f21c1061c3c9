import pytest

from pipeline.core.records import Word
from pipeline.programs.sentence import Sentence

TEXT = "What color is the girl's T-shirt?"


def test_a_text_is_parted_into_words_and_signs():
    sentence = Sentence(TEXT)
    assert sentence.tokens == ("what", "color", "is", "the", "girl", "'s", "t-shirt", "?")
    assert [TEXT[start:end].lower() for start, end in sentence.places] == list(sentence.tokens)


def test_a_phrase_is_found_where_nothing_of_it_is_taken():
    sentence = Sentence("Is the red cup near the other red cup?")
    assert sentence.find([("red", "cup"), ("cup",)]) == [(2, 4), (7, 9)]  # the first form that fits wins
    assert sentence.said(sentence.take(2, 4)) == "red cup"
    assert sentence.find([("cup",)]) == [(8, 9)]


def test_the_token_before_the_first_is_none():
    assert (Sentence(TEXT).before(0), Sentence(TEXT).before(1)) == ("", "what")


@pytest.mark.parametrize(
    ("token", "tag", "kind", "belongs"),
    [
        ("chocolate", "NN", "object", True),
        ("adult", "JJ", "attribute", True),
        ("the", "DT", "other", False),
        ("wearing", "NN", "other", False),
        ("kind", "NN", "frame", False),
        ("left", "JJ", "relation", False),
    ],
)
def test_some_words_belong_to_the_noun_after_them(token, tag, kind, belongs):
    word = Word(start=0, end=len(token), tag=tag, kind=kind, name=token)
    assert Sentence(f"{token} cake", [word]).modifies(0) is belongs
    assert Sentence("other cake").modifies(0)
