"""Realistic VQA: how well are answerable questions (AQs) answered and unanswerable questions (UQs) rejected?

All scores are computed after sorting the items once by confidence, the confidence of the model that the
question is answerable (Zhang et al., ICCV 2023, section 3.3, equations 1 and 2).
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
    """Return ACC and FPR at every threshold.

    At threshold t, the items with confidence >= t are accepted. So items with equal confidence are accepted
    together.

    Args:
        confidence: [n] floats; higher means "answerable".
        correct: [n] booleans or fractions in [0, 1]: whether the answer is correct. Ignored for unanswerable
            items.
        answerable: [n] booleans.

    Returns:
        ACC and FPR, [m + 1] each: first 0 and 0, then their values at each of the m distinct confidences in
        falling order. ACC is the proportion of answerable items that are accepted *and* answered correctly;
        NaN without answerable items. FPR is the proportion of unanswerable items that are accepted; NaN
        without unanswerable items.

    >>> acc, fpr = acc_fpr_curve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    >>> acc.tolist(), fpr.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0])
    """
    swept = sweep_thresholds(confidence, correct, answerable)
    return safe_divide_arrays(swept.correct, swept.aqs[-1:]), safe_divide_arrays(swept.uqs, swept.uqs[-1:])


def auaf(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Return the area under the ACC-FPR curve (AUAF) by the trapezoid rule; in [0, FACC], higher is better.

    The arguments are the same as in `acc_fpr_curve`. NaN without answerable or without unanswerable items.

    >>> auaf([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.75
    """
    return _compute_score("auaf", confidence, correct, answerable)


def facc(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Return full accuracy (FACC): the highest ACC, reached when everything is accepted; in [0, 1], higher is
    better.

    >>> facc([0.9, 0.8, 0.7], [1, 0, 0], [True, False, True])
    0.5
    """
    return _compute_score("facc", confidence, correct, answerable)


def ff95(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike, *, proportion: float = 0.95
) -> float:
    """Return the lowest FPR at which ACC reaches a proportion of FACC (FF95); in [0, 1], lower is better.

    ACC is interpolated linearly between the points of the curve. NaN if FACC is 0 or undefined, or without
    unanswerable items.

    Args:
        confidence, correct, answerable: As in `acc_fpr_curve`.
        proportion: Proportion of FACC, in [0, 1].

    >>> ff95([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.5
    """
    swept = sweep_thresholds(confidence, correct, answerable)
    return lowest_fpr(swept.correct, swept.uqs, proportion)


def auroc(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Return AUROC, the probability that a random answerable item has a higher confidence than a random
    unanswerable one.

    Ties count as one half (Mann-Whitney). AUROC is in [0, 1], higher is better; NaN without answerable or
    without unanswerable items.

    >>> auroc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    return _compute_score("auroc", confidence, answerable, answerable)


def aupr(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Return the average precision of detecting answerable items (AUPR-in); in (0, 1], higher is better.

    It is the mean, over answerable items, of the precision at the confidence of the item; items of equal
    confidence are accepted together. NaN without answerable items. For AUPR-out, the detection of
    unanswerable items, use `answerability_ap`.

    >>> aupr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return _compute_score("aupr_in", confidence, answerable, answerable)


def fpr_at_tpr(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """Return the lowest FPR at a true positive rate of `tpr`, where accepting an answerable item is a true
    positive.

    Values are interpolated linearly between the points of the ROC curve. FPR is in [0, 1], lower is better;
    NaN without answerable or without unanswerable items.

    >>> fpr_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.5
    """
    swept = sweep_thresholds(confidence, answerable, answerable)
    return lowest_fpr(swept.aqs, swept.uqs, tpr)


def detection_error(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """Return the lowest error over the thresholds that accept at least a proportion `tpr` of the answerable
    items.

    The error is the proportion of misclassified items: answerable ones rejected and unanswerable ones
    accepted. It is in [0, 1], lower is better; NaN without answerable or without unanswerable items.

    >>> detection_error([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.25
    """
    return _detection_error(sweep_thresholds(confidence, answerable, answerable), tpr)


def answerability_f1(confidence: ArrayLike, answerable: ArrayLike, *, threshold: float = 0.5) -> float:
    """Return the F1 of detecting unanswerable items: an item is detected if confidence < threshold.

    At the default threshold this is the same as VizWiz's "1 - answerable > 0.5". F1 is in [0, 1], higher is
    better; NaN if no item is unanswerable and no item is detected.

    >>> round(answerability_f1([0.9, 0.2, 0.7, 0.1], [True, True, False, False]), 3)  # precision 1/2, recall 1/2
    0.5
    """
    confidence, answerable = check_arrays(confidence=confidence, answerable=answerable)
    is_unanswerable, is_detected = ~answerable.astype(bool), confidence < threshold
    total = np.count_nonzero(is_unanswerable) + np.count_nonzero(is_detected)
    return 2 * np.count_nonzero(is_unanswerable & is_detected) / total if total else float("nan")


def answerability_ap(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Return the average precision of detecting unanswerable items by low confidence (AUPR-out).

    In (0, 1], higher is better; NaN without unanswerable items.

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
    """Compute the average precision of AUPR-out: at each threshold, items up to this confidence are called
    unanswerable.
    """
    total, uqs, items = 0.0, swept.uqs[-1], swept.uqs[-1] + swept.aqs[-1]
    for part in swept.blocks():
        total += (np.diff(part.uqs) * (uqs - part.uqs[:-1]) / np.maximum(items - part.accepted[:-1], 1)).sum()
    return safe_divide(total, uqs)


# Each score as a function of a sweep. Every report includes all of these scores, with intervals.
REALISTIC_SCORES = {
    "auaf": ReportedScore("AUAF", area_under_curve),
    "ff95": ReportedScore("FF95", lambda swept: lowest_fpr(swept.correct, swept.uqs, 0.95), True),
    "facc": ReportedScore("FACC", lambda swept: safe_divide(swept.correct[-1], swept.aqs[-1])),
    "auroc": ReportedScore("AUROC", partial(area_under_curve, count_all_accepted=True)),
    "aupr_in": ReportedScore("AUPR-in", _aupr_in),
    "aupr_out": ReportedScore("AUPR-out", _aupr_out),
    "fpr95": ReportedScore(
        "FPR at 95 % TPR", lambda swept: lowest_fpr(swept.aqs, swept.uqs, 0.95), lower_is_better=True
    ),
    "detection_error": ReportedScore("detection error", _detection_error, True),
}


def score_realistic_vqa(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Compute the strict scores or, in mode "published", those of the published script."""
    if options.mode == "published":
        return published_scores(answered.confidence, answered.is_literal_match, answered.answerable)
    return realistic_scores(*answered.metric_inputs)


def score_answerability(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score the detection of unanswerable questions as a separate task, as VizWiz does."""
    return {
        "f1": answerability_f1(answered.confidence, answered.answerable, threshold=options.threshold),
        "average_precision": answerability_ap(answered.confidence, answered.answerable),
        "threshold": options.threshold,
    }
