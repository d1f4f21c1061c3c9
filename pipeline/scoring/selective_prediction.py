"""Selective prediction: coverage, risk and utility of answering only above a threshold (Whitehead et al.,
ECCV 2022).

Sections 3.2 and 5 of that paper ("the paper" below) define the scores. The argument `accuracy` is [n], each
in [0, 1]: VQA accuracy, or 1 for a correct and 0 for a wrong answer. An answer to an unanswerable question
has accuracy 0. Coverage, risk and areas are fractions in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .answer_scores import vqa_accuracy
from .input_validation import check_arrays, check_fractions
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .published_scripts import published_selective_scores
from .threshold_sweep import BLOCK_SIZE, TOLERANCE, RankedItems, ThresholdSweep, rank_items, safe_divide

ConfidenceAndAccuracy = tuple[np.ndarray, np.ndarray]
# Minimum number of answers for a point of a plot, because the risk of fewer answers is mostly noise.
MIN_ANSWERS = 20


def risk_coverage_curve(
    confidence: ArrayLike, accuracy: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the risk-coverage curve.

    Items with equal confidence are answered together.

    Args:
        confidence: [n], the confidence of each item.
        accuracy: [n], the accuracy of each answer, in [0, 1].

    Returns:
        Coverage (proportion of items answered), risk (1 - mean accuracy of the answered items) and threshold,
        [m] each, for every distinct confidence in falling order; empty without items.

    >>> coverage, risk, thresholds = risk_coverage_curve([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    >>> coverage.tolist(), risk.round(3).tolist(), thresholds.tolist()
    ([0.25, 0.75, 1.0], [0.0, 0.333, 0.5], [0.9, 0.8, 0.1])
    """
    by = _rank_by_confidence(confidence, accuracy)
    swept = by.sweep()
    return (
        swept.aqs[1:] / max(len(by.rows), 1),
        (swept.aqs - swept.correct)[1:] / swept.aqs[1:],
        by.thresholds,
    )


def has_enough_answers(coverage: np.ndarray, count: int) -> np.ndarray:
    """Return which points of a risk-coverage curve have enough answers to be shown.

    Args:
        coverage: [m], the coverage of each point, in [0, 1].
        count: Number of all items.

    Returns:
        [m] booleans: whether at least `MIN_ANSWERS` items are answered, or all items if there are fewer.

    >>> has_enough_answers(np.array([0.1, 0.2, 1.0]), 100), has_enough_answers(np.array([0.5, 1.0]), 6)
    (array([False,  True,  True]), array([False,  True]))
    """
    return np.round(coverage * count, 6) >= min(MIN_ANSWERS, count)


def _rank_by_confidence(confidence: ArrayLike, accuracy: ArrayLike) -> RankedItems:
    """Rank items for a sweep. Every item counts as an answerable item whose correctness is its accuracy."""
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    (accuracy,) = check_fractions(accuracy=accuracy)
    return rank_items(confidence, accuracy, np.ones(len(accuracy), bool))


def coverage_at_risk(confidence: ArrayLike, accuracy: ArrayLike, risks: ArrayLike) -> np.ndarray | np.float64:
    """Return C@R, the largest coverage whose risk is at most R; higher is better.

    Args:
        confidence: [n], the confidence of each item.
        accuracy: [n], the accuracy of each answer, in [0, 1].
        risks: One risk level or several, in [0, 1].

    Returns:
        C@R, as a float for one risk or an array for several: 0 where no threshold reaches the risk, NaN
        without items.

    Raises:
        ValueError: A risk is NaN, or an array is invalid.

    >>> coverage_at_risk([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0], [0.0, 0.4])
    array([0.5 , 0.75])
    """
    swept = _rank_by_confidence(confidence, accuracy).sweep()
    wanted = np.asarray(risks, float)
    if np.isnan(wanted).any():
        raise ValueError("risks has NaN, expected numbers")
    found = coverages_from_sweep(swept, wanted.ravel().tolist())
    return np.array([found[risk] for risk in wanted.ravel().tolist()]).reshape(wanted.shape)[()]


def coverages_from_sweep(swept: ThresholdSweep, risks: Iterable[float]) -> dict[float, float]:
    """Return C@R for each risk from a sweep in which every accepted UQ counts as answered wrong."""
    found, end = {}, len(swept.aqs)
    items = int(swept.aqs[-1] + swept.uqs[-1])
    # A lower risk never has a larger coverage, so each search starts where the previous search ended.
    for risk in sorted(risks, reverse=True):
        found[risk] = float("nan")
        while items and end and math.isnan(found[risk]):
            start = max(0, end - BLOCK_SIZE)
            taken = swept.aqs[start:end] + swept.uqs[start:end]
            within = np.flatnonzero(taken - swept.correct[start:end] <= (risk + TOLERANCE) * taken)
            end = start + int(within[-1]) + 1 if len(within) else start
            if len(within):
                found[risk] = safe_divide(taken[within[-1]], items)
    return found


def threshold_at_risk(confidence: ArrayLike, accuracy: ArrayLike, risk: float) -> float:
    """Return the threshold that reaches C@R at `risk`; infinity (nothing is answered) if no threshold reaches
    the risk.

    >>> threshold_at_risk([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0], 0.4)
    0.7
    """
    _, risks, thresholds = risk_coverage_curve(confidence, accuracy)
    within = np.flatnonzero(risks <= risk + TOLERANCE)
    return float(thresholds[within[-1]]) if len(within) else float("inf")


def risk_coverage_auc(confidence: ArrayLike, accuracy: ArrayLike) -> float:
    """Return the area under the risk-coverage curve; in [0, 1], lower is better.

    The trapezoid rule is applied from item to item, from coverage 1/n on. Items with equal confidence have no
    order, so the result is the mean over all their orders; ties never improve the result. NaN with fewer than
    two items.

    >>> round(risk_coverage_auc([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0]), 4)  # (1/3 / 2 + (1/3 + 1/2) / 2) / 4
    0.1458
    >>> round(risk_coverage_auc([0.9, 0.5, 0.5], [1, 1, 0]), 9)  # risks 0, (0 + 1/2) / 2, 1/3: (1/4 / 2 + (1/4 + 1/3) / 2) / 3
    0.138888889
    """
    by = _rank_by_confidence(confidence, accuracy)
    count, swept = len(by.rows), by.sweep()
    if count < 2:
        return float("nan")
    answered = np.arange(1, count + 1)
    losses = swept.aqs - swept.correct
    # Within a tie, the loss is spread evenly over the items.
    risk = (losses[1:] if by.tie_ends is None else np.interp(answered, swept.aqs, losses)) / answered
    return float(risk.sum() - (risk[0] + risk[-1]) / 2) / count


def oracle_confidence(accuracy: ArrayLike) -> np.ndarray:
    """Return the confidences of an oracle that knows how accurate each answer is, [n], without ties.

    With these confidences, `coverage_at_risk` and `risk_coverage_auc` give the best possible scores of these
    answers.

    >>> float(coverage_at_risk(oracle_confidence([0, 1, 0, 1]), [0, 1, 0, 1], 0.4))
    0.75
    """
    (accuracy,) = check_arrays(accuracy=accuracy)
    ranks = np.empty(len(accuracy))
    ranks[np.argsort(accuracy, kind="stable")] = np.arange(len(accuracy))
    return ranks


def threshold_transfer(
    validation_confidence: ArrayLike,
    validation_accuracy: ArrayLike,
    confidence: ArrayLike,
    accuracy: ArrayLike,
    risk: float,
) -> dict[str, float]:
    """Choose the threshold for a risk on validation items and apply it to other items (appendix F).

    Args:
        validation_confidence, validation_accuracy: [m] each, for the validation items.
        confidence, accuracy: [n] each, for the other items.
        risk: The requested risk, in [0, 1].

    Returns:
        `threshold`; `coverage` and `risk` of the other items at the threshold (risk is NaN if nothing is
        answered); `delta_risk`, risk - requested risk; and `delta_coverage`, coverage - C@R of the other
        items.

    >>> threshold_transfer([0.9, 0.4], [1, 0], [0.8, 0.95], [0, 1], 0.1)["coverage"]
    0.5
    """
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    found = _metrics_at_threshold(
        threshold_at_risk(validation_confidence, validation_accuracy, risk), confidence, accuracy
    )
    best = float(coverage_at_risk(confidence, accuracy, risk))
    return found | {"delta_risk": found["risk"] - risk, "delta_coverage": found["coverage"] - best}


def _metrics_at_threshold(threshold: float, confidence: np.ndarray, accuracy: np.ndarray) -> dict[str, float]:
    answered = confidence >= threshold
    return {
        "threshold": threshold,
        "coverage": float(answered.mean()) if len(answered) else float("nan"),
        "risk": 1 - float(accuracy[answered].mean()) if answered.any() else float("nan"),
    }


def effective_reliability(
    confidence: ArrayLike, accuracy: ArrayLike, *, cost: float, threshold: float
) -> float:
    """Return effective reliability Phi_c (eq. 6); in [-cost, 1], higher is better, NaN without items.

    Phi_c is the mean of the utilities of all items. The utility is 0 if confidence < threshold, so that the
    item is not answered. Otherwise the utility is `-cost` if the accuracy is 0, and else the accuracy.

    >>> effective_reliability([0.9, 0.6, 0.1], [1, 0, 0.3], cost=1, threshold=0.5)
    0.0
    """
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    gained = np.where(confidence >= threshold, compute_utility(accuracy, cost), 0.0)
    return float(gained.mean()) if len(gained) else float("nan")


def choose_threshold(confidence: ArrayLike, accuracy: ArrayLike, *, cost: float) -> float:
    """Return the lowest threshold (the largest coverage) with the highest Phi_c on these items.

    The threshold is infinity if answering nothing (Phi_c = 0) is better than any finite threshold. The items
    are sorted only once; the script of the paper's authors takes quadratic time.

    >>> choose_threshold([0.9, 0.6, 0.1], [1, 0, 1], cost=1)
    0.1
    >>> choose_threshold([0.9, 0.6, 0.1], [1, 0, 1], cost=10)
    0.9
    """
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    if not len(confidence):
        return float("inf")
    by = rank_items(confidence, compute_utility(accuracy, cost), np.ones(len(confidence), bool))
    total = by.sweep().correct[1:]
    best = np.flatnonzero(total >= total.max() - 1e-9)[-1]
    return float(by.thresholds[best]) if total[best] >= 0 else float("inf")


def best_effective_reliability(accuracy: ArrayLike) -> float:
    """Return the highest possible Phi_c of these answers.

    By Lemma 1 of the paper it is the mean accuracy, at any cost.

    >>> best_effective_reliability([1, 0, 0.5])
    0.5
    """
    (accuracy,) = check_arrays(accuracy=accuracy)
    return float(np.mean(accuracy)) if len(accuracy) else float("nan")


def compute_utility(accuracy: np.ndarray, cost: float) -> np.ndarray:
    """Return the utility of each answer, [n]: its accuracy, or `-cost` if it is entirely wrong.

    Raises:
        ValueError: The cost is negative, or an accuracy is outside [0, 1].
    """
    (accuracy,) = check_fractions(accuracy=accuracy)
    if cost < 0:
        raise ValueError(f"cost is {cost}, expected 0 or more")
    return np.where(accuracy > 0, accuracy, -float(cost))


def score_selective_prediction(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score selective prediction.

    Thresholds are chosen on the validation items and applied to the scored items.
    """
    if not answered.has_confidence:
        return {"unavailable": "the predictions give no confidences"}
    confidence, accuracy = answered.confidence, compute_item_accuracy(answered)
    test, validation = (confidence, accuracy), None
    if answered.validation:
        validation = answered.validation.confidence, compute_item_accuracy(answered.validation)
    risks, costs = options.risks, options.costs
    if options.mode == "published":
        return published_selective_scores(*test, *(validation or (None, None)), risks=risks, costs=costs)
    best = oracle_confidence(accuracy)
    scores: Scores = {
        "accuracy": float(np.mean(accuracy)),
        "auc": risk_coverage_auc(confidence, accuracy),
        "best_auc": risk_coverage_auc(best, accuracy),
        "coverage_at_risk": _by_risk(coverage_at_risk(confidence, accuracy, risks), risks),
        "best_coverage_at_risk": _by_risk(coverage_at_risk(best, accuracy, risks), risks),
    }
    if not validation:
        unavailable = {
            "unavailable": "no items to choose a threshold on: give --validation PREDICTIONS (a release has a validation split)"
        }
        return scores | {"effective_reliability": unavailable, "threshold_transfer": unavailable}
    return scores | {
        "threshold_transfer": {str(risk): threshold_transfer(*validation, *test, risk) for risk in risks},
        "effective_reliability": {
            f"{cost:g}": _reliability_at(threshold, test, cost)
            for cost, threshold in choose_thresholds(*validation, costs).items()
        },
    }


def _by_risk(values: np.ndarray | np.float64, risks: Sequence[float]) -> dict[str, float]:
    return dict(zip(map(str, risks), np.ravel(values).tolist(), strict=True))


def compute_item_accuracy(answered: JoinedPredictions) -> np.ndarray:
    """Return the VQA accuracy of each item if there are human answers, else its correctness, [n]."""
    return (
        vqa_accuracy(answered.answer, answered.reference_answers)
        if answered.has_human_answers
        else answered.correct
    )


def choose_thresholds(
    validation_confidence: np.ndarray, validation_accuracy: np.ndarray, costs: Sequence[float]
) -> dict[float, float]:
    """Return for each cost the threshold with the highest Phi_c on the validation items."""
    return {cost: choose_threshold(validation_confidence, validation_accuracy, cost=cost) for cost in costs}


def _reliability_at(threshold: float, test: ConfidenceAndAccuracy, cost: float) -> dict[str, float]:
    """Return effective reliability at a cost, and coverage and risk, at a threshold that was chosen on other
    items.
    """
    return {
        "threshold": threshold,
        "phi": effective_reliability(*test, cost=cost, threshold=threshold),
        "best_phi": best_effective_reliability(test[1]),
        "phi_answering_all": effective_reliability(*test, cost=cost, threshold=-np.inf),
        **_metrics_at_threshold(threshold, *test),
    }
