"""Rates, AUROC and interval of predictive words by arithmetic."""

import math

import numpy as np

from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.predictive_words import find_predictive_words


def words_of(texts, labels, images):
    return find_predictive_words(LabelledRows(texts=texts, labels=labels, images=[str(i) for i in images]))


def test_rates_and_interval_by_arithmetic():
    # "red" in 60 of 100 rows of label 1 and 20 of 100 of label 0, each row its own group: the variance of the difference is
    # 0.6 * 0.4 / 100 + 0.2 * 0.8 / 100 = 0.004, so AUROC = 0.7 +- 1.96 * sqrt(0.004) / 2.
    labels = np.repeat([1, 0], 100)
    texts = ["is it red" if i < 60 or 100 <= i < 120 else "is it" for i in range(200)]
    (word,) = words_of(texts, labels, np.arange(200))
    half = 1.96 * math.sqrt(0.004) / 2
    assert (word.word, word.rows, word.positive_rate, word.negative_rate, word.auroc) == (
        "red",
        80,
        0.6,
        0.2,
        0.7,
    )
    assert abs(word.low - (0.7 - half)) < 1e-4 and abs(word.high - (0.7 + half)) < 1e-4


def test_rows_of_one_image_count_together():
    # The same rows, five copies of each in one group: as sure as without the copies.
    labels = np.repeat([1, 0], 100)
    texts = ["is it red" if i < 60 or 100 <= i < 120 else "is it" for i in range(200)]
    (once,) = words_of(texts, labels, np.arange(200))
    (copied,) = words_of(texts * 5, np.tile(labels, 5), np.tile(np.arange(200), 5))
    assert (copied.low, copied.high) == (once.low, once.high) and copied.rows == 400


def test_chance_differences_are_not_listed():
    rng = np.random.default_rng(0)
    texts = [f"is thing{a} by thing{b}" for a, b in rng.integers(30, size=(2000, 2))]
    assert words_of(texts, rng.integers(2, size=2000), np.arange(2000)) == []


def test_bigrams_are_listed_only_if_they_predict_more_than_their_words():
    # "so" and "not" stand as often in either label, "so not" in one alone; "in red" says less than "red".
    labels = np.repeat([1, 0], 100)
    ones = ["so not in red", "is red", "what", "why"] * 25
    zeros = ["not so in blue", "is blue", "what", "why"] * 25
    words = {word.word: word.auroc for word in words_of(ones + zeros, labels, np.arange(200))}
    # "red" (and "blue") in half of one label's rows: 0.5 + 0.5 / 2; the others in a quarter.
    assert words.pop("red") == words.pop("blue") == 0.75
    assert set(words) == {"^ so", "^ not"} and set(words.values()) == {
        0.625
    }  # "so not", "not so", "not in" come with these


def test_rare_words_are_not_listed():
    assert words_of(["a", "b", "c", "d", "e", "f"], np.array([0, 1] * 3), np.arange(6)) == []
