"""The ACC-FPR curve and its summaries AUAF, FACC and FF95 (Zhang et al., ICCV 2023, section 3.3, eqs. 1-2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .sweep import Sweep, area, lowest_fpr, sweep
from .sweep import share as ratio


def acc_fpr_curve(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """ACC and FPR at every threshold t, accepting where confidence >= t; items with equal confidence go together.

    Args:
        confidence: [n] floats; higher means "answerable".
        correct: [n] booleans or fractions in [0, 1]: was the answer right? Ignored where not answerable.
        answerable: [n] booleans.

    Returns:
        acc, fpr: [m + 1] each, from (0, 0) on, for m distinct confidences in falling order. ACC is the share of
        answerable items that are accepted *and* right, FPR the share of unanswerable ones accepted. Both NaN
        where there is no item of the kind.

    >>> acc, fpr = acc_fpr_curve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    >>> acc.tolist(), fpr.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0])
    """
    swept = sweep(confidence, correct, answerable)
    return ratio(swept.right, swept.aqs[-1:]), ratio(swept.uqs, swept.uqs[-1:])


def auaf(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Area under the ACC-FPR curve by the trapezoid rule, in [0, FACC]; higher is better.
    NaN without answerable or without unanswerable items.

    >>> auaf([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.75
    """
    swept = sweep(confidence, correct, answerable)
    return float(area(swept.right, swept))


def facc(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Full accuracy: the highest ACC, reached when everything is accepted; in [0, 1], higher is better.

    >>> facc([0.9, 0.8, 0.7], [1, 0, 0], [True, False, True])
    0.5
    """
    return float(facc_of(sweep(confidence, correct, answerable)))


def ff95(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike, *, share: float = 0.95) -> float:
    """The lowest FPR at which ACC, straight between the curve's points, reaches `share` of FACC; lower is better.
    NaN where FACC is 0 or undefined, or there is no unanswerable item.

    >>> ff95([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.5
    """
    swept = sweep(confidence, correct, answerable)
    return float(lowest_fpr(swept.right, swept.uqs, share))


def facc_of(swept: Sweep) -> np.ndarray:
    """FACC of every sweep, [...]."""
    return ratio(swept.right[..., -1], swept.aqs[..., -1])
