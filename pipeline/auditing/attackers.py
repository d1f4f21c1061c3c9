"""Attackers guess AQ or UQ from less than they should need. A benchmark that they solve measures little.

Every attacker is scored out of fold; rows of one group are never on both sides. AUROC is reported as max(a, 1 - a):
an attacker that is reliably wrong has found the label all the same.

Groups are resampled for the intervals, and scores stay as they are: that is one course of learning. Whoever compares sets wants
to know what another sample of the same kind would give, so the interval of an attacker that learns is widened for what learning
adds, by Nadeau and Bengio (2003, Inference for the generalization error, Machine Learning 52, equation 9): with k folds the
variance is (1 + k / (k - 1)) times that of independent folds, which for 5 folds makes the interval 1.5 times as wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from pipeline.auditing.known_questions import KnownQuestions
from pipeline.core.records import Record
from pipeline.scorers import auroc
from pipeline.scorers.sweep import area, ranking

UNLEARNED = ("length", "verbatim", "CLIP score")  # attackers that learn nothing


class Attack(Record):
    """AUROC of one attacker, max(a, 1 - a), with a 95 % bootstrap interval over groups, widened for what learning adds; null if
    not applicable."""

    auroc: float | None
    low: float | None
    high: float | None
    groups: int


@dataclass(frozen=True, slots=True)
class Folds:
    """What an attacker is to guess, and from which rows it may learn for it.

    Attributes:
        labels: [n], 1 = UQ, 0 = AQ. groups: [n]; the rows of a group are all in one fold.
        count: of the folds. seed: of their draw.
        known: the source's questions, for attackers that have read them; None: nobody has.
    """

    labels: np.ndarray
    groups: np.ndarray
    count: int
    seed: int
    known: KnownQuestions | None = None

    def splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per fold the rows to learn from and the rows to guess; none if there are fewer groups than folds."""
        if len(np.unique(self.groups)) < self.count:
            return []
        folds = GroupKFold(self.count, shuffle=True, random_state=self.seed)
        return list(folds.split(self.labels, groups=self.groups))

    def scores(self, features: Any, classifier: Any) -> np.ndarray:
        """Scores [n] by copies of a classifier of scikit-learn for rows that they did not see, nor any of their group;
        NaN if there are too few groups or some fold has nothing of one label to learn from.

        Args:
            features: [n, d], dense or sparse, made from all rows, as they know no label.
        """
        result = np.full(len(self.labels), np.nan)
        splits = self.splits()
        if any(len(np.unique(self.labels[train])) < 2 for train, _ in splits):
            return result
        # One thread and double precision: the scores depend neither on the machine's cores nor on its instruction set.
        with threadpool_limits(1):
            for train, test in splits:
                model: Any = clone(classifier)
                model.fit(features[train].astype(np.float64, copy=False), self.labels[train])
                # Folds differ in their share of UQs; that must not count as signal, so each is centred on its training share.
                centre = self.labels[train].mean()
                told = model.predict_proba(features[test].astype(np.float64, copy=False))
                result[test] = np.round(told[:, 1] - centre, 6)
        return result


def text_groups(texts: Sequence[str], question_ids: Sequence[str]) -> np.ndarray:
    """A group [n] for each row, for attackers that see the text: rows with the same text are together, and so are an
    edited question and its original (who had seen one of them would know the other).

    Args:
        texts: [n]. question_ids: [n] of the original.
    """
    keys = [f"question {key}" for key in question_ids] + [f"text {text}" for text in texts]
    names, places = np.unique(np.array(keys, object), return_inverse=True)
    asked, of_text = places[: len(texts)], places[len(texts) :]
    links = coo_array((np.ones(len(texts)), (asked, of_text)), shape=(len(names), len(names)))
    return connected_components(links, directed=False)[1][of_text]


def word_ngrams(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """TF-IDF word 1-3-grams with logistic regression."""
    return folds.scores(word_tfidf(texts), LogisticRegression(C=10, max_iter=500))


def word_tfidf(texts: Sequence[str]) -> Any:
    """TF-IDF of word 1-3-grams, a sparse matrix [n, features] with rows of length 1."""
    grams = TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"[^\s]+", sublinear_tf=True)
    return grams.fit_transform(texts)


def by_vectors(vectors: np.ndarray, folds: Folds) -> np.ndarray:
    """Scores [n] of a vector per row [n, d] (a picture's, say) with logistic regression; the vectors are scaled in place."""
    scaled = StandardScaler(copy=False).fit_transform(vectors)
    return folds.scores(scaled, LogisticRegression(C=0.1, max_iter=500))


def learning(folds: int) -> float:
    """How many times as wide an interval is for what learning adds (this module's docstring).

    >>> learning(5)
    1.5
    """
    return math.sqrt(1 + folds / (folds - 1))


def attack(
    scores: np.ndarray, folds: Folds, repetitions: int, rng: np.random.Generator, learned: bool = True
) -> Attack:
    """Two-sided AUROC of an attacker's scores [n], with an interval over resampled groups.

    Args:
        learned: whether the attacker learns, so that its interval is widened for that.
    """
    names, group = np.unique(folds.groups, return_inverse=True)
    positive = folds.labels == 1
    if len(np.unique(positive)) < 2 or np.isnan(scores).any():
        return Attack(auroc=None, low=None, high=None, groups=len(names))
    plain = auroc(scores, positive)
    # One after the other: of 100,000 groups all at once would take 0.4 GB.
    chances = np.full(len(names), 1 / len(names))
    draws = (rng.multinomial(len(names), chances) for _ in range(repetitions))
    samples = aurocs_of_resampled(scores, positive, draws, group)
    reached = max(plain, 1 - plain)
    ends = np.nanquantile(1 - samples if plain < 0.5 else samples, [0.025, 0.975])
    times = learning(folds.count) if learned else 1.0
    low, high = np.clip(reached + times * (ends - reached), 0, 1).round(4).tolist()
    return Attack(auroc=round(reached, 4), low=low, high=high, groups=len(names))


def aurocs_of_resampled(
    scores: np.ndarray, positive: np.ndarray, draws: Iterable[np.ndarray], group: np.ndarray
) -> np.ndarray:
    """AUROC [r] of rows [n] whose groups [n] occur `draws` (r of them, [g]) times, without repeating rows; ties counted half."""
    by = ranking(scores, positive, positive)
    sweeps = (by.sweep(drawn[group[by.rows]]) for drawn in draws)
    return np.array([area(swept, of_all=True) for swept in sweeps])
