"""How well a confidence tells answerable from unanswerable items, whatever the answers."""

from __future__ import annotations

import numpy as np

from .check import arrays


def auroc(confidence, answerable) -> float:
    """Probability that a random answerable item has a higher confidence than a random unanswerable one, ties
    counted half (Mann-Whitney); in [0, 1], higher is better. NaN where one kind is missing.

    >>> auroc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    confidence, answerable = arrays(confidence=confidence, answerable=answerable)
    answerable = answerable.astype(bool)
    positives, negatives = np.count_nonzero(answerable), np.count_nonzero(~answerable)
    if not positives or not negatives:
        return float("nan")
    _, inverse, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    middle_rank = np.cumsum(counts) - (counts - 1) / 2
    return float((middle_rank[inverse][answerable].sum() - positives * (positives + 1) / 2) / (positives * negatives))
