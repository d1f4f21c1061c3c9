import math

import pytest

from pipeline.benchmark.auditing.ngram_model import NgramModel, make_ngrams, tokenize


def test_probabilities_are_those_of_witten_and_bell():
    model = NgramModel([["a", "b"], ["a", "c"]])
    # 6 words in all, 4 different: a, b, c, the end; 5 with the unknown. p(b) = (1 + 4 / 5) / (6 + 4) = 0.18.
    assert model.probability((), "b") == pytest.approx(0.18)
    # After "a": 2 words, 2 different. p(b | a) = (1 + 2 * 0.18) / (2 + 2) = 0.34; of an unknown word 2 * 0.08 / 4 = 0.04.
    assert model.probability(("a",), "b") == pytest.approx(0.34)
    assert model.probability(("a",), "unknown") == pytest.approx(0.04)
    # After a history never seen, as after none.
    assert model.probability(("unknown",), "b") == pytest.approx(0.18)
    assert sum(model.probability(("a",), word) for word in ("a", "b", "c", "\n", "unknown")) == pytest.approx(
        1
    )
    assert model.mean_log_probability(["a", "b"]) < math.log(1)


def test_a_text_that_was_taken_out_again_leaves_nothing_behind():
    model, without = NgramModel([["a", "b"], ["a", "c"], ["b", "c"]]), NgramModel([["a", "b"], ["b", "c"]])
    model.add(["a", "c"], -1)
    for text in (["a", "b"], ["a", "c"], ["c", "c", "d"]):
        assert model.log_probabilities(text) == without.log_probabilities(text)


def test_ngrams_end_in_each_word_and_in_the_end():
    assert make_ngrams(["a"]) == [("a",), ("", "a"), ("", "", "a"), ("\n",), ("a", "\n"), ("", "a", "\n")]
    assert tokenize("Is the man's T-shirt red?") == ["is", "the", "man", "'s", "t-shirt", "red"]
