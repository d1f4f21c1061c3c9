"""Evaluate attackers by grouped cross-validation. An attacker predicts the label from a part of the input.

An attacker never trains on a row of the group that it predicts. An AUROC below 0.5 is shown as 1 - AUROC,
because an attacker that is reliably wrong also reveals the label.

Folds and scores depend only on the content of the rows and on the seed, not on the order of the rows or on
the file. The same rows therefore give the same AUROC in every audit.

The bootstrap resamples groups and keeps the scores, so it covers the variance of one training run only. The
interval of a trained attacker is therefore widened (Nadeau and Bengio, 2003, Inference for the generalization
error, Machine Learning 52, equation 9). With k folds, the variance is (1 + k / (k - 1)) times the variance of
independent folds. So with 5 folds the interval is 1.5 times as wide.
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

# Attackers whose scores need no training.
UNTRAINED_ATTACKERS = ("length", "verbatim count", "CLIP score")


class AttackResult(Record):
    """The AUROC of one attacker.

    Attributes:
        auroc: AUROC, or 1 - AUROC if the AUROC is below 0.5. None if the attacker does not apply.
        low, high: Ends of the 95 % cluster bootstrap interval over groups, widened for the variance of
            training. None if there is no interval.
        groups: Number of groups that were resampled.
        is_below_half: Whether the AUROC is below 0.5, so that 1 - AUROC is shown.
    """

    auroc: float | None
    low: float | None
    high: float | None
    groups: int
    is_below_half: bool = False


@dataclass(frozen=True, slots=True)
class Folds:
    """The labels that an attacker predicts and the cross-validation folds.

    The fold of a group depends only on the names and sizes of the groups and on the seed.

    Attributes:
        labels: [n] labels: 1 for an unanswerable question (UQ), 0 for an answerable question (AQ).
        groups: [n] group names, made from the content of the rows. All rows of a group are in the same fold.
        num_folds: Number of folds.
        seed: Seed of the assignment of groups to folds.
        known_questions: The questions of the source, for attackers that use them, or None if they are not
            available.
    """

    labels: np.ndarray
    groups: np.ndarray
    num_folds: int
    seed: int
    known_questions: KnownQuestions | None = None

    def split_rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Assign groups to folds, largest group first, each to the fold with the fewest rows.

        The seed shuffles groups of the same size.

        Returns:
            For each fold the indices of the training rows and of the test rows. [] if there are fewer groups
            than folds.
        """
        names = [str(name) for name in self.groups.tolist()]
        count, (group,) = number_clusters([names])
        if count < self.num_folds:
            return []
        sizes, order = np.bincount(group), order_by_hash(dict.fromkeys(names), self.seed)
        rows, fold = [0] * self.num_folds, np.empty(count, int)
        for i in order[np.argsort(-sizes[order], kind="stable")].tolist():
            fold[i] = smallest = rows.index(min(rows))
            rows[smallest] += int(sizes[i])
        row_fold = fold[group]
        return [(np.flatnonzero(row_fold != k), np.flatnonzero(row_fold == k)) for k in range(self.num_folds)]

    def cross_val_scores(self, features: Any, classifier: Any) -> np.ndarray:
        """Return out-of-fold scores of a scikit-learn classifier.

        Args:
            features: [n, d], dense or sparse. They may be computed from all rows, because they do not use the
                labels.
            classifier: An unfitted classifier; a clone is fitted for each fold.

        Returns:
            [n] probability of label 1 minus the proportion of label 1 in the training rows. NaN if there are
            too few groups, or if the training rows of a fold all have the same label.
        """
        result = np.full(len(self.labels), np.nan)
        splits = self.split_rows()
        if any(len(np.unique(self.labels[train])) < 2 for train, _ in splits):
            return result
        # Without features (if no two texts share a word, for example) all rows get the same score.
        if not features.shape[1]:
            return np.zeros(len(self.labels))
        # With one thread and double precision, the scores do not depend on the number of cores or on the
        # instruction set.
        with threadpool_limits(1):
            for train, test in splits:
                model: Any = clone(classifier)
                model.fit(features[train].astype(np.float64, copy=False), self.labels[train])
                # Folds differ in their proportion of label 1, which must not count as signal. So the
                # proportion in the training rows is subtracted from the scores of each fold.
                training_rate = self.labels[train].mean()
                probabilities = model.predict_proba(features[test].astype(np.float64, copy=False))
                result[test] = np.round(probabilities[:, 1] - training_rate, 6)
        return result


def group_by_text(texts: Sequence[str], question_ids: Sequence[str]) -> np.ndarray:
    """Group rows for attackers that see the text.

    Rows with the same text are in one group. An edited question and its original are also in one group,
    because each reveals the other.

    Args:
        texts: [n] questions.
        question_ids: [n] id of the source question of each row.

    Returns:
        [n] names of the groups: a hash of the first text of the group in sorted order.

    >>> first, second, third = group_by_text(["Is it red?", "Is it blue?", "Why?"], ["1", "1", "2"])
    >>> first == second, first == third
    (True, False)
    """
    keys = [f"question {key}" for key in question_ids] + [f"text {text}" for text in texts]
    names, indices = np.unique(np.array(keys, object), return_inverse=True)
    question_indices, text_indices = indices[: len(texts)], indices[len(texts) :]
    links = coo_array((np.ones(len(texts)), (question_indices, text_indices)), shape=(len(names), len(names)))
    group = connected_components(links, directed=False)[1][text_indices]
    # np.unique sorts the names, so the lowest index of a text in a group belongs to the group's first text.
    first = np.full(group.max(initial=-1) + 1, len(names))
    np.minimum.at(first, group, text_indices)
    hashes = {i: sha256(str(names[i]).encode()).hexdigest()[:16] for i in first.tolist()}
    return np.array([hashes[i] for i in first[group].tolist()], object)


def score_by_word_ngrams(texts: Sequence[str], folds: Folds) -> np.ndarray:
    """Return scores [n] of TF-IDF word 1-3-grams with logistic regression."""
    return folds.cross_val_scores(compute_word_tfidf(texts), LogisticRegression(C=10, max_iter=500))


def compute_word_tfidf(texts: Sequence[str]) -> Any:
    """Return the TF-IDF of word 1-3-grams, a sparse matrix [n, features] with rows of norm 1."""
    grams = TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"[^\s]+", sublinear_tf=True)
    return grams.fit_transform(texts)


def score_by_vectors(vectors: np.ndarray, folds: Folds) -> np.ndarray:
    """Return scores [n] of vectors [n, d] (of images, for example), with logistic regression.

    The vectors are scaled in place.
    """
    scaled = StandardScaler(copy=False).fit_transform(vectors)
    return folds.cross_val_scores(scaled, LogisticRegression(C=0.1, max_iter=500))


def compute_interval_scale(folds: int) -> float:
    """Return the factor by which the interval of a trained attacker is widened (see this module's docstring).

    >>> compute_interval_scale(5)
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
    """Compute the AUROC of an attacker's scores, with a cluster bootstrap interval over groups.

    Args:
        scores: [n] scores, NaN if the attacker does not apply.
        folds: The labels and groups with which the scores were made.
        num_replicates: Number of bootstrap replicates of the interval.
        is_trained: Whether the attacker is trained. If so, the interval is widened.
        has_direction: Whether a high score means label 1. If not, an AUROC below 0.5 is not marked.

    Returns:
        max(AUROC, 1 - AUROC) and its interval. Both are None if the attacker does not apply or all labels are
        equal.
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
    """Return the indices of names in a random order that depends only on the names and the seed.

    The names are ordered by their SHA-256.
    """
    digests = [sha256(f"{seed}\x1f{name}".encode()).digest() for name in names]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), int)
