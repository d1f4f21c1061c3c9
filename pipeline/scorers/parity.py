"""The thirteen numbers of the script that RGQA's authors published, number for number, quirks kept.

What it does otherwise than the strict scores: it drops points between which the curve is straight, reads FPR off the
*end* of a flat part, gives 0 where nothing is right, takes AUPR by trapezoids, compares answers letter by letter,
accepts where confidence > tau (not >=) in the four numbers at a fixed threshold, counts "UQ" as the right answer to a
UQ there, and gives nine numbers fewer when everything is accepted. docs/scores.md shows each in a case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .sweep import sweep
from .validation import arrays

# The script prints the others only where some item is rejected.
ALWAYS = ("auaf", "ff95", "facc", "accuracy_indomain")


def published_scores(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike, *, tau: float = 0.5
) -> dict[str, float]:
    """The script's numbers, NaN for those it does not print.

    Args:
        confidence: [n] floats. answerable: [n] booleans.
        correct: [n] booleans: is the prediction, letter by letter, the label ("UQ" for a UQ)?
        tau: the fixed threshold of accuracy_accept, accuracy and f1.

    Raises:
        ValueError: there are no AQs or no UQs; the script stops or prints warnings there.
    """
    confidence, correct, answerable = arrays(confidence=confidence, correct=correct, answerable=answerable)
    answerable, correct = answerable.astype(bool), correct.astype(bool)
    if answerable.all() or not answerable.any():
        kind = "AQs" if answerable.all() else "UQs"
        raise ValueError(f"the published script needs AQs and UQs; there are only {kind}")
    swept = sweep(confidence, correct, answerable)
    aqs, uqs = int(swept.aqs[-1]), int(swept.uqs[-1])
    kept = _corners(swept.uqs[1:], swept.right[1:])
    false, acc = np.append(0, swept.uqs[1:][kept]) / uqs, np.append(0, swept.right[1:][kept]) / aqs
    kept = _corners(swept.uqs, swept.aqs)
    fpr, tpr = swept.uqs[kept] / uqs, swept.aqs[kept] / aqs
    enough = tpr >= 0.95
    in_share = np.count_nonzero(answerable) / len(answerable)
    errors = in_share * (1 - tpr[enough]) + (1 - in_share) * fpr[enough]
    accepted = confidence > tau
    taken, hits = np.count_nonzero(accepted), np.count_nonzero(accepted & answerable)
    numbers = {
        "auaf": np.trapezoid(acc, false),
        "ff95": np.interp(acc[-1] * 0.95, acc, false) if acc[-1] > 0 else false[0],
        "facc": acc[-1],
        "fpr95": np.interp(0.95, tpr, fpr),
        "fpr81.4": np.interp(0.814, tpr, fpr),
        "auroc": np.trapezoid(tpr, fpr),
        "aupr_in": _trapezoid_aupr(swept.aqs[1:], swept.uqs[1:]),
        "aupr_out": _trapezoid_aupr((uqs - swept.uqs[:-1])[::-1], (aqs - swept.aqs[:-1])[::-1]),
        "detection_error": errors.min(),
        "accuracy_accept": np.count_nonzero(correct & accepted) / max(taken, 1),
        "accuracy": np.count_nonzero(correct) / len(correct),
        "f1": 2 * hits / (taken + aqs),
        "accuracy_indomain": np.count_nonzero(correct & answerable) / aqs,
    }
    printed = ALWAYS if accepted.all() else numbers
    return {name: float(value) if name in printed else float("nan") for name, value in numbers.items()}


def _corners(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points stay when those in the midst of equal steps go; the first and the last always stay."""
    if len(x) <= 2:
        return np.ones(len(x), bool)
    return np.concatenate([[True], (np.diff(x, 2) != 0) | (np.diff(y, 2) != 0), [True]])


def _trapezoid_aupr(hits: np.ndarray, misses: np.ndarray) -> float:
    """Area under precision over recall by trapezoids, from the point (recall 0, precision 1)."""
    precision = np.append((hits / (hits + misses))[::-1], 1.0)
    recall = np.append((hits / hits[-1])[::-1], 0.0)
    return -float(np.trapezoid(precision, recall))
