"""Effective Reliability: what an answer earns, what a wrong one costs (Whitehead et al., ECCV 2022, eq. 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .sweep import order
from .validation import arrays, fractions


def effective_reliability(
    confidence: ArrayLike, accuracy: ArrayLike, *, cost: float, threshold: float
) -> float:
    """Phi_c: the mean over items of the accuracy where it is answered and not all wrong, `-cost` where it is
    answered all wrong, 0 where confidence < threshold; in [-cost, 1], higher is better. NaN without items.

    >>> effective_reliability([0.9, 0.6, 0.1], [1, 0, 0.3], cost=1, threshold=0.5)
    0.0
    """
    confidence, accuracy = arrays(confidence=confidence, accuracy=accuracy)
    earned = _earned(accuracy, cost)
    return float(np.where(confidence >= threshold, earned, 0.0).mean()) if len(earned) else float("nan")


def choose_threshold(confidence: ArrayLike, accuracy: ArrayLike, *, cost: float) -> float:
    """The lowest threshold (the largest coverage) with the highest Phi_c on these items; infinite when answering
    nothing, which earns 0, is better than any. One sort, where the authors' script is quadratic.

    >>> choose_threshold([0.9, 0.6, 0.1], [1, 0, 1], cost=1)
    0.1
    >>> choose_threshold([0.9, 0.6, 0.1], [1, 0, 1], cost=10)
    0.9
    """
    confidence, accuracy = arrays(confidence=confidence, accuracy=accuracy)
    by = order(confidence)
    if not len(by.rows):
        return float("inf")
    total = np.cumsum(_earned(accuracy, cost)[by.rows])[by.last]
    best = np.flatnonzero(total >= total.max() - 1e-9)[-1]
    return float(by.thresholds[best]) if total[best] >= 0 else float("inf")


def best_effective_reliability(accuracy: ArrayLike) -> float:
    """The highest Phi_c these answers allow: answer unless all wrong. By Lemma 1 the mean accuracy, at any cost."""
    (accuracy,) = arrays(accuracy=accuracy)
    return float(np.mean(accuracy)) if len(accuracy) else float("nan")


def _earned(accuracy: np.ndarray, cost: float) -> np.ndarray:
    accuracy = fractions("accuracy", accuracy)
    if cost < 0:
        raise ValueError(f"cost is {cost}, wanted 0 or more")
    return np.where(accuracy > 0, accuracy, -float(cost))
