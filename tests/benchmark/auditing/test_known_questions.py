import math

import pytest

from pipeline.benchmark.auditing.known_questions import (
    KnownQuestions,
    collect_known_questions,
    make_word_pairs,
)
from pipeline.benchmark.auditing.ngram_model import NgramModel, make_ngrams, tokenize
from pipeline.core.records import Question

TEXTS = ["Is the cup red?", "Is the cup red?", "Is the cup blue?", "Is the hat old?"]


def test_excluded_questions_do_not_affect_the_features():
    known, others = KnownQuestions(TEXTS), KnownQuestions(TEXTS[2:])
    before = known.familiarity_features("Is the cup new?")
    with known.excluding(["is the CUP red?", "never asked"]):
        assert known.familiarity_features("Is the cup new?") == others.familiarity_features("Is the cup new?")
    assert known.familiarity_features("Is the cup new?") == before
    assert known.count_verbatim("Is the cup red?") == 2


def test_familiarity_features_by_arithmetic():
    known = KnownQuestions(["cup red", "cup red", "cup old"])
    mean, least, *counted = known.familiarity_features("cup new")
    logs = known._model.log_probabilities(["cup", "new"])
    assert (mean, least) == (sum(logs) / 3, min(logs))
    # Words: cup 3, new 0, the end 3 (log 4 = 1.386). Pairs of neighbours: start-cup 3, cup-new 0, new-end 0; threes:
    # start-start-cup 3 and two never. Pairs of words: cup-new, never.
    expected = [math.log(4) * 2 / 3, 0, 1 / 3, math.log(4) / 3, 0, 2 / 3, math.log(4) / 3, 0, 2 / 3, 0, 0, 1]
    assert counted == pytest.approx(expected)


def test_pairs_are_made_of_content_words():
    assert make_word_pairs(["is", "the", "red", "cup", "red"]) == [
        ("red", "cup"),
        ("red", "red"),
        ("cup", "red"),
    ]


def test_a_text_of_one_word_has_no_pair():
    assert KnownQuestions(TEXTS).familiarity_features("Red?")[-3:] == [0, 0, 1]


def test_excluding_a_paraphrase_excludes_the_sources_wording():
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


def test_probabilities_are_those_of_witten_and_bell():
    model = NgramModel([["a", "b"], ["a", "c"]])
    # There are 6 words, 4 of them distinct (a, b, c, the end), and 5 with the unknown word. p(b) = (1 + 4 / 5) / (6 + 4) = 0.18.
    assert model.probability((), "b") == pytest.approx(0.18)
    # After "a": 2 words, 2 different. p(b | a) = (1 + 2 * 0.18) / (2 + 2) = 0.34; of an unknown word 2 * 0.08 / 4 = 0.04.
    assert model.probability(("a",), "b") == pytest.approx(0.34)
    assert model.probability(("a",), "unknown") == pytest.approx(0.04)
    # An unknown history has the same probabilities as an empty one.
    assert model.probability(("unknown",), "b") == pytest.approx(0.18)
    assert sum(model.probability(("a",), word) for word in ("a", "b", "c", "\n", "unknown")) == pytest.approx(
        1
    )
    assert model.mean_log_probability(["a", "b"]) < math.log(1)


def test_a_removed_text_leaves_no_counts():
    model, without = NgramModel([["a", "b"], ["a", "c"], ["b", "c"]]), NgramModel([["a", "b"], ["b", "c"]])
    model.add(["a", "c"], -1)
    for text in (["a", "b"], ["a", "c"], ["c", "c", "d"]):
        assert model.log_probabilities(text) == without.log_probabilities(text)


def test_ngrams_end_in_each_word_and_in_the_end():
    assert make_ngrams(["a"]) == [("a",), ("", "a"), ("", "", "a"), ("\n",), ("a", "\n"), ("", "a", "\n")]
    assert tokenize("Is the man's T-shirt red?") == ["is", "the", "man", "'s", "t-shirt", "red"]
