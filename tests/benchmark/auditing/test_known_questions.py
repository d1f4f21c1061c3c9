import math

import pytest

from pipeline.benchmark.auditing.known_questions import (
    KnownQuestions,
    collect_known_questions,
    make_word_pairs,
)
from pipeline.core.records import Question

TEXTS = ["Is the cup red?", "Is the cup red?", "Is the cup blue?", "Is the hat old?"]


def test_traits_are_those_of_all_questions_but_those_left_out():
    known, others = KnownQuestions(TEXTS), KnownQuestions(TEXTS[2:])
    before = known.familiarity_features("Is the cup new?")
    with known.excluding(["is the CUP red?", "never asked"]):
        assert known.familiarity_features("Is the cup new?") == others.familiarity_features("Is the cup new?")
    assert known.familiarity_features("Is the cup new?") == before
    assert known.count_verbatim("Is the cup red?") == 2


def test_traits_of_a_text_are_these():
    known = KnownQuestions(["cup red", "cup red", "cup old"])
    mean, least, *counted = known.familiarity_features("cup new")
    logs = known._model.log_probabilities(["cup", "new"])
    assert (mean, least) == (sum(logs) / 3, min(logs))
    # Words: cup 3, new 0, the end 3 (log 4 = 1.386). Pairs of neighbours: start-cup 3, cup-new 0, new-end 0; threes:
    # start-start-cup 3 and two never. Pairs of words: cup-new, never.
    expected = [math.log(4) * 2 / 3, 0, 1 / 3, math.log(4) / 3, 0, 2 / 3, math.log(4) / 3, 0, 2 / 3, 0, 0, 1]
    assert counted == pytest.approx(expected)


def test_pairs_are_of_words_that_say_something():
    assert make_word_pairs(["is", "the", "red", "cup", "red"]) == [
        ("red", "cup"),
        ("red", "red"),
        ("cup", "red"),
    ]


def test_a_text_of_one_word_has_no_pair():
    assert KnownQuestions(TEXTS).familiarity_features("Red?")[-3:] == [0, 0, 1]


def test_who_leaves_out_a_paraphrased_question_leaves_out_the_sources_wording():
    common = {"image_id": "p", "split": "val", "answer": "red"}
    asked = [
        Question(
            question_id="1", text="The cup is what color?", source_text="What color is the cup?", **common
        ),
        Question(question_id="2", text="Where is the hat?", **common),
    ]
    known, unread = collect_known_questions(asked), KnownQuestions(["Where is the hat?"])
    assert known.count_verbatim("What color is the cup?") == 1
    assert known.count_verbatim("The cup is what color?") == 0
    text = "What color is the cup?"
    assert known.familiarity_features(text) != unread.familiarity_features(text)
    with known.excluding(["The cup is what color?"]):
        assert known.familiarity_features(text) == unread.familiarity_features(text)
    assert known.familiarity_features(text) == collect_known_questions(asked).familiarity_features(text)
