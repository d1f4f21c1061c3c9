"""Dual accuracy: of an answerable and an unanswerable question that belong together, are both handled right?"""

from __future__ import annotations

import numpy as np

from .validation import arrays


def dual_accuracy(confidence, correct, answerable, pair, *, threshold: float | None = None) -> float:
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
    threshold: float | None,
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
