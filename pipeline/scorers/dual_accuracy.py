"""Dual accuracy: of an answerable and an unanswerable question that belong together, are both handled right?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .items import Answered, Options
from .validation import arrays


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
    confidence, correct, answerable = arrays(confidence=confidence, correct=correct, answerable=answerable)
    rows, handled = pairs_handled(confidence, correct, answerable.astype(bool), np.asarray(pair), threshold)
    return float(handled.mean()) if len(rows) else float("nan")


def pairs_handled(
    confidence: np.ndarray,
    correct: np.ndarray,
    answerable: np.ndarray,
    pair: np.ndarray,
    threshold: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the UQs that have an AQ, and for each whether the pair was handled right (or how far, where
    `correct` is a fraction)."""
    labels, group = np.unique(pair, return_inverse=True)
    right, lowest = np.full(len(labels), np.inf), np.full(len(labels), np.inf)
    np.minimum.at(right, group[answerable], correct[answerable].astype(float))
    np.minimum.at(lowest, group[answerable], confidence[answerable])
    rows = np.flatnonzero(~answerable & np.isfinite(right[group]))
    low = lowest[group[rows]]
    apart = (
        low > confidence[rows] if threshold is None else (low >= threshold) & (confidence[rows] < threshold)
    )
    return rows, right[group[rows]] * apart


def best_dual_threshold(
    confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray, pair: np.ndarray
) -> float:
    """The threshold with the highest dual accuracy, the lowest of several; one sort, as each pair counts where its
    UQ's confidence < threshold <= its AQ's. NaN where there is no pair."""
    rows, worth = pairs_handled(confidence, correct, answerable, pair)
    if not len(rows):
        return float("nan")
    labels, group = np.unique(pair, return_inverse=True)
    lowest = np.full(len(labels), np.inf)
    np.minimum.at(lowest, group[answerable], confidence[answerable])
    apart = lowest[group[rows]] > confidence[rows]
    rows, worth = rows[apart], worth[apart]
    thresholds = np.unique(confidence)
    gain = np.zeros(len(thresholds) + 1)
    np.add.at(gain, np.searchsorted(thresholds, confidence[rows], side="right"), worth)
    np.add.at(gain, np.searchsorted(thresholds, lowest[group[rows]], side="right"), -worth)
    total = np.cumsum(gain)[:-1]
    return float(thresholds[np.flatnonzero(total >= total.max() - 1e-9)[0]])


def pairs_group(answered: Answered, options: Options) -> dict[str, Any]:
    """Dual accuracy, with a threshold for each pair and with one for all: chosen on dev for test, else the fixed."""
    names = np.array([item.pair for item in answered.items])
    if not names.all():
        return {
            "absent": "the benchmark does not say which AQ and UQ belong together (a release folder does)"
        }

    def columns(at: Answered) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return at.confidence, at.correct, at.answerable, np.array([item.pair for item in at.items])

    whole = columns(answered)
    dev, test = (answered.at(which) for which in answered.parts())
    if dev.items and test.items:
        threshold, source, applied = best_dual_threshold(*columns(dev)), "dev", columns(test)
    else:
        threshold, source, applied = options.threshold, "option", whole
    return {
        "pairs": len(pairs_handled(*whole)[0]),
        "dual_accuracy": dual_accuracy(*whole),
        "threshold": threshold,
        "threshold_from": source,
        "dual_accuracy_at_threshold": dual_accuracy(*applied, threshold=threshold),
    }
