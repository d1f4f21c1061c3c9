import pytest

from pipeline.core.records import Word
from pipeline.language.sentence import Sentence

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
