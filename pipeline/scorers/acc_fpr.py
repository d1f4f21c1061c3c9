"""The ACC-FPR curve and its summaries AUAF, FACC and FF95 (Zhang et al., ICCV 2023, section 3.3, eqs. 1-2)."""

from __future__ import annotations

import numpy as np

from .check import arrays


def acc_fpr_curve(confidence, correct, answerable) -> tuple[np.ndarray, np.ndarray]:
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
    confidence, correct, answerable = arrays(confidence=confidence, correct=correct, answerable=answerable)
    answerable = answerable.astype(bool)
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1) if len(ranked) else np.array([], int)
    right = np.cumsum(np.where(answerable, correct, 0)[order], dtype=float)[last]
    wrong = np.cumsum(~answerable[order])[last]
    with np.errstate(invalid="ignore"):
        acc = np.append(0.0, right) / np.float64(np.count_nonzero(answerable))
        fpr = np.append(0.0, wrong) / np.float64(np.count_nonzero(~answerable))
    return acc, fpr


def auaf(confidence, correct, answerable) -> float:
    """Area under the ACC-FPR curve by the trapezoid rule, in [0, FACC]; higher is better.
    NaN without answerable or without unanswerable items.

    >>> auaf([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.75
    """
    acc, fpr = acc_fpr_curve(confidence, correct, answerable)
    return float(np.trapezoid(acc, fpr))


def facc(confidence, correct, answerable) -> float:
    """Full accuracy: the highest ACC, reached when everything is accepted; in [0, 1], higher is better."""
    return float(acc_fpr_curve(confidence, correct, answerable)[0][-1])


def ff95(confidence, correct, answerable, *, share: float = 0.95) -> float:
    """The lowest FPR at which ACC, straight between the curve's points, reaches `share` of FACC; lower is better.
    NaN where FACC is 0 or undefined, or there is no unanswerable item.

    >>> ff95([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.5
    """
    acc, fpr = acc_fpr_curve(confidence, correct, answerable)
    if not acc[-1] > 0 or np.isnan(fpr[-1]):
        return float("nan")
    target = share * acc[-1]
    after = int(np.argmax(acc >= target))
    before = after - 1
    weight = (target - acc[before]) / (acc[after] - acc[before])
    return float(fpr[before] + weight * (fpr[after] - fpr[before]))
