"""How well a confidence tells answerable from unanswerable items, whatever the answers."""

from __future__ import annotations

import numpy as np

from .sweep import SLACK, Sweep, lowest_fpr, share, sweep


def auroc(confidence, answerable) -> float:
    """Probability that a random answerable item has a higher confidence than a random unanswerable one, ties
    counted half (Mann-Whitney); in [0, 1], higher is better. NaN where one kind is missing.

    >>> auroc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    return float(auroc_of(_swept(confidence, answerable)))


def aupr(confidence, answerable) -> float:
    """Average precision of "answerable": the mean, over answerable items, of the precision at their confidence,
    ties together; in (0, 1], higher is better. NaN where there is no answerable item. For AUPR-out, where
    "unanswerable" is to be found: `aupr(-confidence, ~answerable)`.

    >>> aupr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return float(aupr_in_of(_swept(confidence, answerable)))


def fpr_at_tpr(confidence, answerable, *, tpr: float = 0.95) -> float:
    """The lowest share of unanswerable items accepted at which the share `tpr` of the answerable ones is, straight
    between the points of the ROC curve; lower is better. NaN where one kind is missing.

    >>> fpr_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.5
    """
    found = _swept(confidence, answerable)
    return float(lowest_fpr(found.aqs, found.uqs, tpr))


def detection_error(confidence, answerable, *, tpr: float = 0.95) -> float:
    """The lowest share of items taken for the other kind, over thresholds that accept at least `tpr` of the
    answerable ones; in [0, 1], lower is better. NaN where one kind is missing.

    >>> detection_error([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.25
    """
    return float(detection_error_of(_swept(confidence, answerable), tpr))


def _swept(confidence, answerable) -> Sweep:
    return sweep(confidence, answerable, answerable)


def auroc_of(found: Sweep) -> np.ndarray:
    """AUROC of every sweep, [...]."""
    area = np.trapezoid(found.aqs.astype(float), found.uqs, axis=-1)
    return share(area, found.aqs[..., -1] * found.uqs[..., -1].astype(float))


def aupr_in_of(found: Sweep) -> np.ndarray:
    """Average precision of "answerable" of every sweep, [...]."""
    return _average_precision(found.aqs, found.uqs)


def aupr_out_of(found: Sweep) -> np.ndarray:
    """Average precision of "unanswerable", lowest confidence first, of every sweep, [...]."""
    return _average_precision(_rejected(found.uqs), _rejected(found.aqs))


def detection_error_of(found: Sweep, tpr: float = 0.95) -> np.ndarray:
    """Detection error of every sweep, [...]."""
    aqs, uqs = found.aqs[..., -1:], found.uqs[..., -1:]
    wrong = np.where(found.aqs >= tpr * aqs * (1 - SLACK), aqs - found.aqs + found.uqs, np.inf).min(axis=-1)
    both = (aqs[..., 0] > 0) & (uqs[..., 0] > 0)
    return np.where(both, share(wrong, (aqs + uqs)[..., 0]), np.nan)


def _rejected(accepted: np.ndarray) -> np.ndarray:
    return (accepted[..., -1:] - accepted)[..., ::-1]


def _average_precision(hits: np.ndarray, misses: np.ndarray) -> np.ndarray:
    found = hits + misses
    precision = hits[..., 1:] / np.maximum(found[..., 1:], SLACK)
    return share((np.diff(hits, axis=-1) * precision).sum(axis=-1), hits[..., -1])
