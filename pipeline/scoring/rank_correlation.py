"""Kendall's tau between rankings, over chosen pairs."""

from __future__ import annotations

import numpy as np


def kendall_tau(reference: np.ndarray, other: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return Kendall's tau over the given pairs of rows, in [-1, 1]. NaN without pairs.

    This is the number of pairs in the same order minus those in the opposite order, divided by all pairs. A
    tie in one of the rankings counts as neither.

    Args:
        reference, other: Scores [rows, ...]; each column is a ranking of its own.
        pairs: Indices of rows, [p, 2].

    >>> float(kendall_tau(np.array([3, 2, 1]), np.array([2, 3, 1]), np.array([[0, 1], [0, 2], [1, 2]])))  # (2 - 1) / 3
    0.3333333333333333
    """
    if not len(pairs):
        return np.full(reference.shape[1:], np.nan)
    first, second = pairs.T
    signs = np.sign(reference[first] - reference[second]) * np.sign(other[first] - other[second])
    return signs.mean(axis=0)
