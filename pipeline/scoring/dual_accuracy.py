"""Dual accuracy: the proportion of pairs (a UQ and its AQ) in which the model handles both questions
correctly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .input_validation import check_arrays
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions

# With fewer pairs than this, reports give no score.
MIN_PAIRS = 20


def dual_accuracy(
    confidence: ArrayLike,
    correct: ArrayLike,
    answerable: ArrayLike,
    pair: ArrayLike,
    *,
    threshold: float | None = None,
) -> float:
    """Return the proportion of UQs that are rejected while their AQ is accepted and answered correctly.

    In [0, 1], higher is better; NaN without pairs.

    Args:
        confidence, correct, answerable: As in `acc_fpr_curve`.
        pair: [n] labels of the pairs; items with equal labels are in the same pair. A UQ without an AQ is
            excluded. If a UQ has several AQs, all of them must be accepted and answered correctly.
        threshold: Items with confidence >= threshold are accepted. If None, each pair has its own threshold:
            a pair counts if the AQ is answered correctly and the confidence of the AQ is *above* the
            confidence of the UQ.

    >>> dual_accuracy([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False], ["a", "a", "b", "b"])
    1.0
    >>> dual_accuracy([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False], ["a", "a", "b", "b"], threshold=0.5)
    0.5
    """
    confidence, correct, answerable = check_arrays(
        confidence=confidence, correct=correct, answerable=answerable
    )
    uqs, lowest, right = find_pairs(confidence, correct, answerable.astype(bool), np.asarray(pair))
    high = confidence[uqs]
    apart = lowest > high if threshold is None else (lowest >= threshold) & (high < threshold)
    return float((right * apart).mean()) if len(uqs) else float("nan")


def find_pairs(
    confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray, pair: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the indices of the UQs that have AQs, and for each of them the lowest confidence and correctness
    of its AQs.
    """
    labels, group = np.unique(pair, return_inverse=True)
    lowest, right = np.full((2, len(labels)), np.inf)
    np.minimum.at(lowest, group[answerable], confidence[answerable])
    np.minimum.at(right, group[answerable], correct[answerable].astype(float))
    uqs = np.flatnonzero(~answerable & np.isfinite(right[group]))
    return uqs, lowest[group[uqs]], right[group[uqs]]


def choose_dual_threshold(
    confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray, pair: np.ndarray
) -> float:
    """Return the lowest threshold with the highest dual accuracy; NaN without pairs.

    The confidences are sorted only once, because a pair counts exactly if the confidence of its UQ <
    threshold <= the confidence of its AQ.
    """
    uqs, lowest, right = find_pairs(confidence, correct, answerable, pair)
    if not len(uqs):
        return float("nan")
    high, thresholds = confidence[uqs], np.unique(confidence)
    gain, apart = np.zeros(len(thresholds) + 1), lowest > high
    np.add.at(gain, np.searchsorted(thresholds, high[apart], side="right"), right[apart])
    np.add.at(gain, np.searchsorted(thresholds, lowest[apart], side="right"), -right[apart])
    total = np.cumsum(gain)[:-1]
    return float(thresholds[np.flatnonzero(total >= total.max() - 1e-9)[0]])


def has_enough_pairs(answered: JoinedPredictions) -> bool:
    """Return whether there are at least `MIN_PAIRS` pairs."""
    return answered.has_pairs and len(find_pairs(*answered.paired_metric_inputs)[0]) >= MIN_PAIRS


def score_pairs(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score pairs: dual accuracy with a threshold for each pair, and with one threshold for all.

    The common threshold is chosen on the validation items if there are any; otherwise it is
    `options.threshold`.
    """
    if not answered.has_pairs:
        return {"unavailable": "the benchmark does not name the pairs of AQs and UQs (a release folder does)"}
    count = len(find_pairs(*answered.paired_metric_inputs)[0])
    if not has_enough_pairs(answered):
        return {"pairs": count, "unavailable": f"too few pairs ({count}); expected {MIN_PAIRS} or more"}
    threshold = (
        choose_dual_threshold(*answered.validation.paired_metric_inputs)
        if answered.validation
        else options.threshold
    )
    return {
        "pairs": count,
        "dual_accuracy": dual_accuracy(*answered.paired_metric_inputs),
        "threshold": threshold,
        "threshold_source": "validation"
        if answered.validation
        else "default"
        if threshold == ScoringOptions().threshold
        else "option",
        "dual_accuracy_at_threshold": dual_accuracy(*answered.paired_metric_inputs, threshold=threshold),
    }
