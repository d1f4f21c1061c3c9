"""Attackers that see only a question's text, of different kinds. Nothing in the pipeline is fitted to any of them.

Each gives a score [n] per text, out of fold: what it learns from comes from other groups, so that neither a text nor
its edited or original fellow is ever on both sides.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from pipeline.auditing.attackers import character_ngrams, out_of_fold, word_ngrams

Attacker = Callable[[Sequence[str], np.ndarray, np.ndarray, int, int], np.ndarray]

_SAYS_LITTLE = frozenset(("the", "a", "an", "is", "are"))
_ORDER = 3  # words of an n-gram of the language model


def word_pairs(
    texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """Scores of words and of all pairs of words, however far apart, with logistic regression: it learns what goes
    with what ("fence ... wearing")."""
    from sklearn.linear_model import LogisticRegression

    return out_of_fold(
        lambda: LogisticRegression(C=0.3, max_iter=500), _pairs(texts), labels, groups, folds, seed
    )


def word_pairs_bayes(
    texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """The same features with naive Bayes, which weighs even what it saw once."""
    from sklearn.naive_bayes import MultinomialNB

    return out_of_fold(lambda: MultinomialNB(alpha=0.3), _pairs(texts), labels, groups, folds, seed)


def likelihood(
    texts: Sequence[str], labels: np.ndarray, groups: np.ndarray, folds: int, seed: int
) -> np.ndarray:
    """How usual a text is: the mean log probability of its words by a language model of originals (label 0) alone,
    word 3-grams with Witten-Bell smoothing. It knows no edited question, so it finds what is odd in itself."""
    from sklearn.model_selection import GroupKFold

    found = np.full(len(labels), np.nan)
    if len(np.unique(groups)) < folds:
        return found
    words = [_words(text) for text in texts]
    for train, test in GroupKFold(folds, shuffle=True, random_state=seed).split(words, labels, groups):
        model = NgramModel([words[i] for i in train if labels[i] == 0])
        found[test] = [round(model.mean_log_probability(words[i]), 6) for i in test]
    return found


TEXT_ATTACKERS: dict[str, Attacker] = {
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
        self._followed: Counter[tuple[str, ...]] = Counter()
        self._different: Counter[tuple[str, ...]] = Counter()
        for text in texts:
            padded = _padded(text)
            for end in range(_ORDER - 1, len(padded)):
                for length in range(_ORDER):
                    history, ngram = tuple(padded[end - length : end]), tuple(padded[end - length : end + 1])
                    self._different[history] += ngram not in self._seen
                    self._seen[ngram] += 1
                    self._followed[history] += 1
        self._vocabulary = self._different[()] + 1

    def probability(self, history: tuple[str, ...], word: str) -> float:
        """Of a word after at most two words."""
        shorter = self.probability(history[1:], word) if history else 1 / self._vocabulary
        followed, different = self._followed[history], self._different[history]
        return (
            (self._seen[*history, word] + different * shorter) / (followed + different)
            if followed
            else shorter
        )

    def mean_log_probability(self, text: Sequence[str]) -> float:
        """Of a text's words and its end."""
        padded = _padded(text)
        ends = range(_ORDER - 1, len(padded))
        return sum(
            math.log(self.probability(tuple(padded[i - _ORDER + 1 : i]), padded[i])) for i in ends
        ) / len(ends)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*|'s", text.lower())


def _padded(words: Sequence[str]) -> list[str]:
    return ["", *[""] * (_ORDER - 2), *words, "\n"]


def _pairs(texts: Sequence[str]):
    """A sparse matrix [n, features] of the words in each text and of the pairs of those that say something."""
    from sklearn.feature_extraction import DictVectorizer

    rows = []
    for text in texts:
        words = _words(text)
        telling = [word for word in words if word not in _SAYS_LITTLE]
        rows.append(dict.fromkeys([*words, *(f"{a} {b}" for a, b in combinations(telling, 2))], 1.0))
    return DictVectorizer(dtype=np.float32).fit_transform(rows)
