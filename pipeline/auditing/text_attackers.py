"""Attackers that see only a question's text, of different kinds. Nothing in the pipeline is fitted to any of them.

Each gives a score [n] per text, out of fold: what it learns from comes from other groups, so that neither a text nor
its edited or original fellow is ever on both sides. A new one is a function here and a row of TEXT_ATTACKERS.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from threadpoolctl import threadpool_limits

from pipeline.auditing.attackers import Folds, word_ngrams

SAYS_LITTLE = frozenset(("the", "a", "an", "is", "are"))
ORDER = 3  # words of an n-gram of the language model


def character_ngrams(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """TF-IDF character 2-5-grams, reduced to 48 dimensions, with boosted trees."""
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True).fit_transform(texts)
    with threadpool_limits(1):
        features = TruncatedSVD(min(48, grams.shape[1]), random_state=folds.seed).fit_transform(grams)
    trees = HistGradientBoostingClassifier(
        max_iter=80,
        random_state=folds.seed,
        early_stopping=False,  # pyright: ignore[reportArgumentType] false stub
    )
    return folds.scores(features, trees)


def word_pairs(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Words and all pairs of words, however far apart, with logistic regression: it learns what goes with what
    ("fence ... wearing")."""
    return folds.scores(_pairs(texts), LogisticRegression(C=0.3, max_iter=500))


def word_pairs_bayes(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """The same features with naive Bayes, which weighs even what it saw once."""
    return folds.scores(_pairs(texts), MultinomialNB(alpha=0.3))


def likelihood(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """How usual a text is: the mean log probability of its words by a language model of originals (label 0) alone,
    word 3-grams with Witten-Bell smoothing. It knows no edited question, so it finds what is odd in itself."""
    result = np.full(len(texts), np.nan)
    words = [_words(text) for text in texts]
    for train, test in folds.splits():
        model = NgramModel([words[i] for i in train if folds.labels[i] == 0])
        result[test] = [round(model.mean_log_probability(words[i]), 6) for i in test]
    return result


def first_words(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """The first one, two and three words, each start a feature, with logistic regression."""
    starts = [{" ".join(text.lower().split()[:n]): 1 for n in (1, 2, 3)} for text in texts]
    return folds.scores(DictVectorizer().fit_transform(starts), LogisticRegression(max_iter=500))


# Those that the audit holds against `limits`, in the order of its tables.
TEXT_ATTACKERS: dict[str, Callable[[Sequence[str], Folds], np.ndarray]] = {
    "word n-grams": word_ngrams,
    "character n-grams": character_ngrams,
    "word pairs": word_pairs,
    "word pairs, Bayes": word_pairs_bayes,
    "language model": likelihood,
}


class NgramModel:
    """Probabilities of words after the two words before them, by counts in some texts.

    After a history h that was followed N times by T different words, a word seen there c times has
    (c + T * shorter) / (N + T), `shorter` being its probability after a history one word shorter (Witten and Bell);
    after none, all known words and one for the unknown are equally likely.

    >>> model = NgramModel([["a", "b"], ["a", "b"]])  # p(b) = (2 + 3 / 4) / (6 + 3), p(b after a) = (2 + p(b)) / (2 + 1)
    >>> round(model.probability((), "b"), 4), round(model.probability(("a",), "b"), 4)
    (0.3056, 0.7685)
    """

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._seen: Counter[tuple[str, ...]] = Counter()
        for padded in map(_padded, texts):
            for end in range(ORDER, len(padded) + 1):
                self._seen.update(padded[end - length : end] for length in range(1, ORDER + 1))
        self._different = Counter(ngram[:-1] for ngram in self._seen)
        self._followed: Counter[tuple[str, ...]] = Counter()
        for ngram, times in self._seen.items():
            self._followed[ngram[:-1]] += times
        self._vocabulary = self._different[()] + 1

    def probability(self, history: tuple[str, ...], word: str) -> float:
        """Of a word after at most two words."""
        shorter = self.probability(history[1:], word) if history else 1 / self._vocabulary
        followed, different = self._followed[history], self._different[history]
        if not followed:
            return shorter
        return (self._seen[*history, word] + different * shorter) / (followed + different)

    def mean_log_probability(self, text: Sequence[str]) -> float:
        """Of a text's words and its end."""
        padded = _padded(text)
        ends = range(ORDER - 1, len(padded))
        return sum(math.log(self.probability(padded[i - ORDER + 1 : i], padded[i])) for i in ends) / len(ends)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*|'s", text.lower())


def _padded(words: Sequence[str]) -> tuple[str, ...]:
    return *[""] * (ORDER - 1), *words, "\n"


def _pairs(texts: Sequence[str]) -> Any:
    """A sparse matrix [n, features] of the words in each text and of the pairs of those that say something."""
    rows = []
    for text in texts:
        words = _words(text)
        telling = combinations((word for word in words if word not in SAYS_LITTLE), 2)
        rows.append(dict.fromkeys([*words, *(f"{first} {second}" for first, second in telling)], 1.0))
    return DictVectorizer().fit_transform(rows)
