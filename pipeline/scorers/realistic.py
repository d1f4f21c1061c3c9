"""Realistic VQA: all scores at once, from one sort; what a report gives and the bootstrap repeats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .acc_fpr import facc_of
from .detection import aupr_in_of, aupr_out_of, detection_error_of
from .dual_accuracy import pairs_handled
from .items import Answered, Options, ReportedScore
from .parity import published_scores
from .sweep import Sweep, area, lowest_fpr, order, share, sweep, weighted_sweep

# What each score is of a sweep, [...]; a score that is added here stands in every report, with an interval.
SCORES = {
    "auaf": ReportedScore("AUAF", lambda swept: area(swept.right, swept)),
    "ff95": ReportedScore("FF95", lambda swept: lowest_fpr(swept.right, swept.uqs, 0.95), True),
    "facc": ReportedScore("FACC", facc_of),
    "auroc": ReportedScore("AUROC", lambda swept: area(swept.aqs, swept)),
    "aupr_in": ReportedScore("AUPR-in", aupr_in_of),
    "aupr_out": ReportedScore("AUPR-out", aupr_out_of),
    "fpr95": ReportedScore("FPR at 95 % TPR", lambda swept: lowest_fpr(swept.aqs, swept.uqs, 0.95), True),
    "detection_error": ReportedScore("detection error", detection_error_of, True),
}


def realistic_scores(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> dict[str, float]:
    """The scores named in `SCORES`, strict definitions; NaN where undefined.

    >>> realistic_scores([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])["auaf"]
    0.75
    """
    scores = scores_of(sweep(confidence, correct, answerable))
    return {name: float(value) for name, value in scores.items()}


def scores_of(swept: Sweep) -> dict[str, np.ndarray]:
    """The scores of every sweep, [...] each."""
    return {name: score.of(swept) for name, score in SCORES.items()}


def realistic_group(answered: Answered, options: Options) -> dict[str, float]:
    if options.mode == "parity":
        return published_scores(answered.confidence, answered.literal, answered.answerable)
    return realistic_scores(answered.confidence, answered.correct, answered.answerable)


def resample_realistic(
    answered: Answered, cluster: np.ndarray
) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """A function from the weights of the pictures [b, pictures] to the scores of b repetitions, [b] each."""
    columns = answered.confidence, answered.correct, answered.answerable
    swept = partial(weighted_sweep, order(answered.confidence), *columns[1:], cluster)
    names = np.array([item.pair for item in answered.items])
    rows, handled = pairs_handled(*columns, names) if names.all() else (np.array([], int), np.array([]))

    def scores(weights: np.ndarray) -> dict[str, np.ndarray]:
        found = scores_of(swept(weights))
        if len(rows):
            drawn = weights[:, cluster[rows]]
            found["dual_accuracy"] = share(drawn @ handled, drawn.sum(axis=1))
        return found

    return scores
