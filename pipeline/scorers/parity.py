"""The thirteen numbers of the script that RGQA's authors published, number for number, quirks kept.

What it does otherwise than the strict scores: it drops points between which the curve is straight, reads FPR off the
*end* of a flat part, gives 0 where nothing is right, takes AUPR by trapezoids, compares answers letter by letter,
accepts where confidence > tau (not >=) in the four numbers at a fixed threshold, counts "UQ" as the right answer to a
UQ there, and gives nine numbers fewer when everything is accepted. docs/scores.md shows each in a case.
"""

from __future__ import annotations

import numpy as np

from .sweep import share, sweep
from .validation import arrays

NAMES = (
    "auaf",
    "ff95",
    "facc",
    "fpr95",
    "fpr81.4",
    "auroc",
    "aupr_in",
    "aupr_out",
    "detection_error",
    "accuracy_accept",
    "accuracy",
    "f1",
    "accuracy_indomain",
)
ALWAYS = ("auaf", "ff95", "facc", "accuracy_indomain")


def published_scores(confidence, correct, answerable, *, tau: float = 0.5) -> dict[str, float]:
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
        raise ValueError(
            "the published script needs AQs and UQs; there are only " + ("AQs" if answerable.all() else "UQs")
        )
    found = sweep(confidence, correct, answerable)
    aqs, uqs = int(found.aqs[-1]), int(found.uqs[-1])
    kept = _corners(found.uqs[1:], found.right[1:])
    fpr, acc = np.append(0, found.uqs[1:][kept]) / uqs, np.append(0, found.right[1:][kept]) / aqs
    numbers = dict.fromkeys(NAMES, float("nan"))
    numbers |= {
        "auaf": np.trapezoid(acc, fpr),
        "facc": acc[-1],
        "ff95": np.interp(acc[-1] * 0.95, acc, fpr) if acc[-1] > 0 else fpr[0],
        "accuracy_indomain": np.count_nonzero(correct & answerable) / aqs,
    }
    accepted = confidence > tau
    if not accepted.all():
        kept = _corners(found.uqs, found.aqs)
        fpr, tpr = found.uqs[kept] / uqs, found.aqs[kept] / aqs
        enough = tpr >= 0.95
        in_share = np.count_nonzero(answerable) / len(answerable)
        errors = in_share * (1 - tpr[enough]) + (1 - in_share) * fpr[enough]
        hits = np.count_nonzero(accepted & answerable)
        numbers |= {
            "fpr95": np.interp(0.95, tpr, fpr),
            "fpr81.4": np.interp(0.814, tpr, fpr),
            "auroc": np.trapezoid(tpr, fpr),
            "aupr_in": _trapezoid_aupr(found.aqs[1:], found.uqs[1:]),
            "aupr_out": _trapezoid_aupr((uqs - found.uqs[:-1])[::-1], (aqs - found.aqs[:-1])[::-1]),
            "detection_error": errors.min(),
            "accuracy_accept": np.count_nonzero(correct & accepted) / max(np.count_nonzero(accepted), 1),
            "accuracy": np.count_nonzero(correct) / len(correct),
            "f1": float(share(np.float64(2 * hits), np.float64(np.count_nonzero(accepted) + aqs))),
        }
    return {name: float(value) for name, value in numbers.items()}


def _corners(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points stay when those in the midst of equal steps go; the first and the last always stay."""
    if len(x) <= 2:
        return np.ones(len(x), bool)
    return np.concatenate([[True], (np.diff(x, 2) != 0) | (np.diff(y, 2) != 0), [True]])


def _trapezoid_aupr(hits: np.ndarray, misses: np.ndarray) -> float:
    """Area under precision over recall by trapezoids, from the point (recall 0, precision 1)."""
    precision = np.append((hits / (hits + misses))[::-1], 1.0)
    recall = np.append((hits / hits[-1])[::-1], 0.0)
    return -np.trapezoid(precision, recall)
