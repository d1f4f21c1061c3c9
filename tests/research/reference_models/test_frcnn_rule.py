"""What a question names, and the rule that all of it must be there."""

from __future__ import annotations

import pytest

from pipeline.language.tagger import Tagger
from research.reference_models.frcnn_rule import extract_nouns, frcnn_rule

NAMES = {"cup", "traffic light", "fire hydrant", "table", "television"}


@pytest.fixture(scope="module")
def tagger():
    return Tagger()


@pytest.mark.parametrize(
    "text, nouns",
    [
        ("Is the cup on the table?", {"cup", "table"}),
        ("Are the cups to the left of the traffic lights?", {"cup", "traffic light"}),  # left: no thing
        ("Are there any Fire Hydrants or cats?", {"fire hydrant", "cat"}),  # capitals; a cat has no name here
        ("What color is the light?", {"light"}),  # half of a name is another thing; color: no thing
        ("Is the traffic heavy?", {"traffic"}),
        ("Is it sunny?", set()),
    ],
)
def test_nouns_of_a_question(tagger, text, nouns):
    (tokens,) = tagger.tag([text])
    assert extract_nouns(text, tokens, NAMES) == nouns


def test_a_name_of_several_words_is_found(tagger):
    """The published code compares word by word: "traffic" and "light" are never among the names."""
    text = "Is the traffic light red?"
    (tokens,) = tagger.tag([text])
    asked = [extract_nouns(text, tokens, NAMES)] * 2
    assert frcnn_rule(asked, [["traffic light"], ["cup"]]).tolist() == [1, 0]
    assert extract_nouns(text, tokens, ()) == {"traffic", "light"}  # of a detector without that name


def test_all_nouns_must_be_detected_and_no_nouns_are_accepted():
    assert frcnn_rule([{"cup", "cat"}, {"cup"}, set()], [{"cup"}, {"cup"}, set()]).tolist() == [0, 1, 1]


def test_each_synonym_of_a_class_counts():
    assert frcnn_rule([{"tv"}, {"television"}], [["tv,television"]] * 2).tolist() == [1, 1]


def test_each_question_has_its_image():
    with pytest.raises(ValueError):
        frcnn_rule([{"cup"}], [])
