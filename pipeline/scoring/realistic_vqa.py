"""Realistic VQA: how well are answerable questions (AQs) answered and unanswerable questions (UQs) rejected?

Every score follows from one sort of the confidences that a question is answerable (Zhang et al., ICCV 2023, section 3.3,
equations 1 and 2).
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .input_validation import check_arrays
from .joined_predictions import JoinedPredictions, ReportedScore, Scores, ScoringOptions
from .published_scripts import published_scores
from .threshold_sweep import (
    TOLERANCE,
    ThresholdSweep,
    area_under_curve,
    lowest_detection_error,
    lowest_fpr,
    safe_divide,
    safe_divide_arrays,
    sweep_thresholds,
)


def acc_fpr_curve(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return ACC and FPR at every threshold t, accepting where confidence >= t. Items with equal confidence go together.

    Args:
        confidence: [n] floats; higher means "answerable".
        correct: [n] booleans or fractions in [0, 1]: whether the answer is correct. Ignored where not answerable.
        answerable: [n] booleans.

    Returns:
        acc: [m + 1] each, starting at (0, 0), for m distinct confidences in falling order. ACC is the proportion of
        fpr: See `acc`.
        answerable items that are accepted *and* correct, FPR the proportion of unanswerable items that are accepted. A rate
        is NaN if there is no item of its kind.

    >>> acc, fpr = acc_fpr_curve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    >>> acc.tolist(), fpr.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0])
    """
    swept = sweep_thresholds(confidence, correct, answerable)
    return safe_divide_arrays(swept.correct, swept.aqs[-1:]), safe_divide_arrays(swept.uqs, swept.uqs[-1:])


def auaf(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Return the area under the ACC-FPR curve (AUAF) by the trapezoid rule; in [0, FACC], higher is better.

    NaN without answerable or without unanswerable items. Arguments as in `acc_fpr_curve`.

    >>> auaf([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.75
    """
    return _compute_score("auaf", confidence, correct, answerable)


def facc(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Return full accuracy (FACC): the highest ACC, reached when everything is accepted; in [0, 1], higher is better.

    >>> facc([0.9, 0.8, 0.7], [1, 0, 0], [True, False, True])
    0.5
    """
    return _compute_score("facc", confidence, correct, answerable)


def ff95(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike, *, proportion: float = 0.95
) -> float:
    """Return the lowest FPR at which ACC reaches a proportion of FACC (FF95); in [0, 1], lower is better.

    ACC is interpolated linearly between the points of the curve. NaN if FACC is 0 or undefined or there is no unanswerable
    item.

    Args:
        confidence: As in `acc_fpr_curve`.
        correct: See `confidence`.
        answerable: See `confidence`.
        proportion: Proportion of FACC.

    >>> ff95([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.5
    """
    swept = sweep_thresholds(confidence, correct, answerable)
    return lowest_fpr(swept.correct, swept.uqs, proportion)


def auroc(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Return AUROC, the probability that a random answerable item has a higher confidence than a random unanswerable one.

    Ties count half (Mann-Whitney); in [0, 1], higher is better. NaN if one kind is missing.

    >>> auroc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    return _compute_score("auroc", confidence, answerable, answerable)


def aupr(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Return the average precision of detecting answerable items (AUPR-in); in (0, 1], higher is better.

    It is the mean over answerable items of the precision at their confidence, ties together. NaN without answerable items.
    For AUPR-out, the detection of unanswerable items, use `answerability_ap`.

    >>> aupr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return _compute_score("aupr_in", confidence, answerable, answerable)


def fpr_at_tpr(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """Return the lowest proportion of unanswerable items accepted when a proportion `tpr` of the answerable ones is accepted.

    Values are interpolated linearly between the points of the ROC curve. In [0, 1], lower is better; NaN if one kind is missing.

    >>> fpr_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.5
    """
    swept = sweep_thresholds(confidence, answerable, answerable)
    return lowest_fpr(swept.aqs, swept.uqs, tpr)


def detection_error(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """Return the lowest proportion of misclassified items over thresholds that accept at least `tpr` of the answerable ones.

    In [0, 1], lower is better; NaN if one kind is missing.

    >>> detection_error([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.25
    """
    return _detection_error(sweep_thresholds(confidence, answerable, answerable), tpr)


def answerability_f1(confidence: ArrayLike, answerable: ArrayLike, *, threshold: float = 0.5) -> float:
    """Return the F1 of detecting unanswerable items, detected where confidence < threshold (VizWiz: 1 - answerable > 0.5).

    In [0, 1], higher is better; NaN if there is no unanswerable item and none is detected.

    >>> round(answerability_f1([0.9, 0.2, 0.7, 0.1], [True, True, False, False]), 3)  # 1 of 2 detected, 1 of 2 unanswerable
    0.5
    """
    confidence, answerable = check_arrays(confidence=confidence, answerable=answerable)
    there, found = ~answerable.astype(bool), confidence < threshold
    both = np.count_nonzero(there) + np.count_nonzero(found)
    return 2 * np.count_nonzero(there & found) / both if both else float("nan")


def answerability_ap(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Return the average precision of detecting unanswerable items by low confidence (AUPR-out); NaN without such items.

    >>> answerability_ap([0.9, 0.1], [True, False])
    1.0
    """
    return _compute_score("aupr_out", confidence, answerable, answerable)


def realistic_scores(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> dict[str, float]:
    """Compute all `REALISTIC_SCORES` by their strict definitions; NaN where undefined.

    >>> realistic_scores([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])["auaf"]
    0.75
    """
    return scores_from_sweep(sweep_thresholds(confidence, correct, answerable))


def scores_from_sweep(swept: ThresholdSweep) -> dict[str, float]:
    """Compute all `REALISTIC_SCORES` from a sweep."""
    return {name: float(score.compute(swept)) for name, score in REALISTIC_SCORES.items()}


def _compute_score(name: str, *columns: ArrayLike) -> float:
    return float(REALISTIC_SCORES[name].compute(sweep_thresholds(*columns)))


def _detection_error(swept: ThresholdSweep, tpr: float = 0.95) -> float:
    return lowest_detection_error(swept, bisect_left(swept.aqs, tpr * swept.aqs[-1] * (1 - TOLERANCE)))


def _aupr_in(swept: ThresholdSweep) -> float:
    total = 0.0
    for part in swept.blocks():
        total += (np.diff(part.aqs) * part.aqs[1:] / np.maximum(part.accepted[1:], 1)).sum()
    return safe_divide(total, swept.aqs[-1])


def _aupr_out(swept: ThresholdSweep) -> float:
    """Compute average precision where, at each threshold, items of that confidence and below are called unanswerable."""
    total, uqs, items = 0.0, swept.uqs[-1], swept.uqs[-1] + swept.aqs[-1]
    for part in swept.blocks():
        total += (np.diff(part.uqs) * (uqs - part.uqs[:-1]) / np.maximum(items - part.accepted[:-1], 1)).sum()
    return safe_divide(total, uqs)


# Each score as a function of a sweep. A score that is added here is in every report, with an interval.
REALISTIC_SCORES = {
    "auaf": ReportedScore("AUAF", area_under_curve),
    "ff95": ReportedScore("FF95", lambda swept: lowest_fpr(swept.correct, swept.uqs, 0.95), True),
    "facc": ReportedScore("FACC", lambda swept: safe_divide(swept.correct[-1], swept.aqs[-1])),
    "auroc": ReportedScore("AUROC", partial(area_under_curve, count_all_accepted=True)),
    "aupr_in": ReportedScore("AUPR-in", _aupr_in),
    "aupr_out": ReportedScore("AUPR-out", _aupr_out),
    "fpr95": ReportedScore("FPR at 95 % TPR", lambda swept: lowest_fpr(swept.aqs, swept.uqs, 0.95), True),
    "detection_error": ReportedScore("detection error", _detection_error, True),
}


def score_realistic_vqa(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Compute the strict scores or, in mode "published", those of the published script."""
    if options.mode == "published":
        return published_scores(answered.confidence, answered.is_literal_match, answered.answerable)
    return realistic_scores(*answered.metric_inputs)


def score_answerability(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score answerability as a task of its own, as VizWiz does: unanswerable questions are to be detected."""
    return {
        "f1": answerability_f1(answered.confidence, answered.answerable, threshold=options.threshold),
        "average_precision": answerability_ap(answered.confidence, answered.answerable),
        "threshold": options.threshold,
    }
