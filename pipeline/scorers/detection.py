"""How well a confidence tells answerable from unanswerable items, whatever the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .sweep import SLACK, Sweep, area, lowest_fpr, share, sweep


def auroc(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Probability that a random answerable item has a higher confidence than a random unanswerable one, ties
    counted half (Mann-Whitney); in [0, 1], higher is better. NaN where one kind is missing.

    >>> auroc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    swept = sweep(confidence, answerable, answerable)
    return float(area(swept.aqs, swept))


def aupr(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Average precision of "answerable": the mean, over answerable items, of the precision at their confidence,
    ties together; in (0, 1], higher is better. NaN where there is no answerable item. For AUPR-out, where
    "unanswerable" is to be found: `aupr(-confidence, ~answerable)`.

    >>> aupr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return float(aupr_in_of(sweep(confidence, answerable, answerable)))


def fpr_at_tpr(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """The lowest share of unanswerable items accepted at which the share `tpr` of the answerable ones is, straight
    between the points of the ROC curve; lower is better. NaN where one kind is missing.

    >>> fpr_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.5
    """
    swept = sweep(confidence, answerable, answerable)
    return float(lowest_fpr(swept.aqs, swept.uqs, tpr))


def detection_error(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """The lowest share of items taken for the other kind, over thresholds that accept at least `tpr` of the
    answerable ones; in [0, 1], lower is better. NaN where one kind is missing.

    >>> detection_error([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.25
    """
    return float(detection_error_of(sweep(confidence, answerable, answerable), tpr))


def aupr_in_of(swept: Sweep) -> np.ndarray:
    """Average precision of "answerable" of every sweep, [...]."""
    return _average_precision(swept.aqs, swept.uqs)


def aupr_out_of(swept: Sweep) -> np.ndarray:
    """Average precision of "unanswerable", lowest confidence first, of every sweep, [...]."""
    return _average_precision(_rejected(swept.uqs), _rejected(swept.aqs))


def detection_error_of(swept: Sweep, tpr: float = 0.95) -> np.ndarray:
    """Detection error of every sweep, [...]."""
    aqs, uqs = swept.aqs[..., -1:], swept.uqs[..., -1:]
    wrong = np.where(swept.aqs >= tpr * aqs * (1 - SLACK), aqs - swept.aqs + swept.uqs, np.inf).min(axis=-1)
    both = (aqs[..., 0] > 0) & (uqs[..., 0] > 0)
    return np.where(both, share(wrong, (aqs + uqs)[..., 0]), np.nan)


def _rejected(accepted: np.ndarray) -> np.ndarray:
    return (accepted[..., -1:] - accepted)[..., ::-1]


def _average_precision(hits: np.ndarray, misses: np.ndarray) -> np.ndarray:
    taken = (hits + misses)[..., 1:]
    precision = hits[..., 1:] / np.maximum(taken, SLACK)
    return share((np.diff(hits, axis=-1) * precision).sum(axis=-1), hits[..., -1])
