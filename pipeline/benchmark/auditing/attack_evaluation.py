"""Predict the label from less than a model should need, by grouped cross-validation: folds, scores, AUROC and its interval.

An attacker never learns from a row of the group that it predicts. An AUROC below 0.5 is shown as 1 - AUROC: an attacker that is
reliably wrong has found the label all the same.

Folds and scores depend on the content of the rows and on the seed, never on their order or on the file that they came in. So the
same attacker has the same figure for the same rows, whoever audits them.

The interval resamples groups and leaves the scores as they are, which covers one training run only. What another sample of the
same kind would give varies more, so the interval of an attacker that learns is widened (Nadeau and Bengio, 2003, Inference for
the generalization error, Machine Learning 52, equation 9): with k folds the variance is (1 + k / (k - 1)) times that of
independent folds, which for 5 folds makes the interval 1.5 times as wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from pipeline.benchmark.auditing.known_questions import KnownQuestions
from pipeline.core.records import Record
from pipeline.scoring import auroc
from pipeline.scoring.bootstrap import bootstrap, cluster_auroc, number_clusters, percentile_interval

UNTRAINED_ATTACKERS = ("length", "verbatim", "CLIP score")  # attackers that learn nothing


class AttackResult(Record):
    """What one attacker reaches.

    Attributes:
        auroc: AUROC, or 1 - AUROC if it is below 0.5; null if the attacker does not apply.
        low, high: The ends of its 95 % bootstrap interval over groups, widened for what learning adds.
        groups: How many groups were resampled.
        below_half: Whether the AUROC is below 0.5, so that 1 - AUROC is shown.
    """

    auroc: float | None
    low: float | None
    high: float | None
    groups: int
    is_below_half: bool = False


@dataclass(frozen=True, slots=True)
class Folds:
    """What an attacker predicts, and which rows it may learn from.

    A group's fold depends on the names and sizes of the groups and on the seed alone.

    Attributes:
        labels: [n], 1 = UQ, 0 = AQ.
        groups: [n] names made from the content of the rows; the rows of a group are all in one fold.
        count: How many folds.
        seed: Decides which groups share a fold.
        known: The source's questions, for attackers that have read them; None if they are not available.
    """

    labels: np.ndarray
    groups: np.ndarray
    num_folds: int
    seed: int
    known_questions: KnownQuestions | None = None

    def split_rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Assign groups to folds, the largest first, each to the fold with the fewest rows; groups of one size are in an order
        that the seed shuffles.

        Returns:
            For each fold the rows to learn from and the rows to predict; nothing if there are fewer groups than folds.
        """
        names = [str(name) for name in self.groups.tolist()]
        count, (group,) = number_clusters([names])
        if count < self.num_folds:
            return []
        sizes, order = np.bincount(group), order_by_hash(dict.fromkeys(names), self.seed)
        rows, fold = [0] * self.num_folds, np.empty(count, int)
        for i in order[np.argsort(-sizes[order], kind="stable")].tolist():
            fold[i] = least = rows.index(min(rows))
            rows[least] += int(sizes[i])
        of_row = fold[group]
        return [(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in range(self.num_folds)]

    def cross_val_scores(self, features: Any, classifier: Any) -> np.ndarray:
        """Scores [n] by copies of a classifier of scikit-learn for rows that they did not see, nor any of their group;
        NaN if there are too few groups or some fold has nothing of one label to learn from.

        Args:
            features: [n, d], dense or sparse, made from all rows, as they know no label.
        """
        result = np.full(len(self.labels), np.nan)
        splits = self.split_rows()
        if any(len(np.unique(self.labels[train])) < 2 for train, _ in splits):
            return result
        if not features.shape[
            1
        ]:  # No two texts share a word, for example: nothing can be learned, so all rows are alike.
            return np.zeros(len(self.labels))
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


def group_by_text(texts: Sequence[str], question_ids: Sequence[str]) -> np.ndarray:
    """Group rows for attackers that see the text: rows with the same text are together, and so are an edited question and its
    original, since one of them gives the other away.

    Args:
        texts: [n].
        question_ids: [n], the source question of each row.

    Returns:
        The name of each row's group, [n]: a hash of the first of its texts in sorted order.

    >>> first, second, third = text_groups(["Is it red?", "Is it blue?", "Why?"], ["1", "1", "2"])
    >>> first == second, first == third
    (True, False)
    """
    keys = [f"question {key}" for key in question_ids] + [f"text {text}" for text in texts]
    names, places = np.unique(np.array(keys, object), return_inverse=True)
    asked, of_text = places[: len(texts)], places[len(texts) :]
    links = coo_array((np.ones(len(texts)), (asked, of_text)), shape=(len(names), len(names)))
    group = connected_components(links, directed=False)[1][of_text]
    # np.unique sorts the names, so the lowest number of a text in a group is that of its first text.
    first = np.full(group.max(initial=-1) + 1, len(names))
    np.minimum.at(first, group, of_text)
    hashes = {i: sha256(str(names[i]).encode()).hexdigest()[:16] for i in first.tolist()}
    return np.array([hashes[i] for i in first[group].tolist()], object)


def score_by_word_ngrams(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """TF-IDF word 1-3-grams with logistic regression."""
    return folds.cross_val_scores(compute_word_tfidf(texts), LogisticRegression(C=10, max_iter=500))


def compute_word_tfidf(texts: Sequence[str]) -> Any:
    """TF-IDF of word 1-3-grams, a sparse matrix [n, features] with rows of length 1."""
    grams = TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"[^\s]+", sublinear_tf=True)
    return grams.fit_transform(texts)


def score_by_vectors(vectors: np.ndarray, folds: Folds) -> np.ndarray:
    """Scores [n] of a vector per row [n, d] (an image's, say) with logistic regression; the vectors are scaled in place."""
    scaled = StandardScaler(copy=False).fit_transform(vectors)
    return folds.cross_val_scores(scaled, LogisticRegression(C=0.1, max_iter=500))


def compute_interval_scale(folds: int) -> float:
    """How many times as wide an interval is for what learning adds (this module's docstring).

    >>> learning(5)
    1.5
    """
    return math.sqrt(1 + folds / (folds - 1))


def evaluate_attack(
    scores: np.ndarray,
    folds: Folds,
    num_replicates: int,
    *,
    is_trained: bool = True,
    has_direction: bool = True,
) -> AttackResult:
    """Measure what an attacker's scores reach.

    Args:
        scores: [n], without NaN if the attacker applies.
        folds: The labels and groups that the scores were made with.
        repetitions: Bootstrap replicates of the interval.
        learned: Whether the attacker learns, so that its interval is widened for that.
        signed: Whether a high score stands for the label 1; else an AUROC below 0.5 is nothing to remark on.

    Returns:
        Its two-sided AUROC, with an interval over resampled groups.
    """
    count, (group,) = number_clusters([[str(name) for name in folds.groups.tolist()]])
    positive = folds.labels == 1
    if len(np.unique(positive)) < 2 or np.isnan(scores).any():
        return AttackResult(auroc=None, low=None, high=None, groups=count)
    plain = auroc(scores, positive)
    samples = bootstrap(
        cluster_auroc(scores, positive, group), count, num_replicates, folds.seed, num_rows=len(scores)
    )
    reached = max(plain, 1 - plain)
    ends = np.array(percentile_interval(1 - samples if plain < 0.5 else samples))
    times = compute_interval_scale(folds.num_folds) if is_trained else 1.0
    low, high = np.clip(reached + times * (ends - reached), 0, 1).round(4).tolist()
    if math.isnan(low):
        low = high = None
    return AttackResult(
        auroc=round(reached, 4),
        low=low,
        high=high,
        groups=count,
        is_below_half=has_direction and round(plain, 4) < 0.5,
    )


def order_by_hash(names: Iterable[str], seed: int) -> np.ndarray:
    """An order of names that is random, but the same for the same names and seed: by their SHA-256."""
    digests = [sha256(f"{seed}\x1f{name}".encode()).digest() for name in names]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), int)
