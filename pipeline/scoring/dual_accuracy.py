"""Dual accuracy: of an answerable and an unanswerable question that belong together, are both handled right?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .input_validation import check_arrays
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions

MIN_PAIRS = 20  # of which a report prints a score


def dual_accuracy(
    confidence: ArrayLike,
    correct: ArrayLike,
    answerable: ArrayLike,
    pair: ArrayLike,
    *,
    threshold: float | None = None,
) -> float:
    """Share of UQs that are rejected while their AQ is accepted and answered right; in [0, 1], higher is better.

    Args:
        confidence, correct, answerable: as in `acc_fpr_curve`.
        pair: [n] labels; the AQ and the UQs of one label belong together. A UQ without an AQ is left out; with
            several AQs all of them must be handled right.
        threshold: accept where confidence >= threshold. None: each pair has its own threshold, so it counts
            when the AQ is answered right and every AQ's confidence is *above* the UQ's.

    NaN where there is no pair.

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
    """The rows of the UQs that have an AQ, and of each one's AQs the lowest confidence and the lowest worth."""
    labels, group = np.unique(pair, return_inverse=True)
    lowest, right = np.full((2, len(labels)), np.inf)
    np.minimum.at(lowest, group[answerable], confidence[answerable])
    np.minimum.at(right, group[answerable], correct[answerable].astype(float))
    uqs = np.flatnonzero(~answerable & np.isfinite(right[group]))
    return uqs, lowest[group[uqs]], right[group[uqs]]


def choose_dual_threshold(
    confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray, pair: np.ndarray
) -> float:
    """The threshold with the highest dual accuracy, the lowest of several; one sort, as each pair counts where its
    UQ's confidence < threshold <= its AQ's. NaN where there is no pair."""
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
    """Are there enough pairs for a score of them?"""
    return answered.has_pairs and len(find_pairs(*answered.paired_metric_inputs)[0]) >= MIN_PAIRS


def score_pairs(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score pairs: dual accuracy with a threshold for each pair, and with one for all.

    The threshold for all is chosen on validation when split test is scored, else it is the fixed one. Fewer pairs than
    `FEWEST_PAIRS` get no score.
    """
    if not answered.has_pairs:
        return {
            "unavailable": "the benchmark does not say which AQ and UQ belong together (a release folder does)"
        }
    count = len(find_pairs(*answered.paired_metric_inputs)[0])
    if not has_enough_pairs(answered):
        return {"pairs": count, "unavailable": f"too few pairs ({count}); wanted {MIN_PAIRS} or more"}
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
