"""Selective prediction: coverage, risk and utility of answering only above a threshold (Whitehead et al., ECCV 2022).

See sections 3.2 and 5 of the paper. `accuracy` is [n], each in [0, 1]: VQA accuracy, or 1 for correct and 0 for wrong. On a
benchmark with unanswerable questions an answer to one of them has accuracy 0. Coverage, risk and their areas are fractions
in [0, 1].
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
# With fewer answers the risk is noise and is not plotted.
MIN_ANSWERS = 20


def risk_coverage_curve(
    confidence: ArrayLike, accuracy: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the risk-coverage curve.

    Items with equal confidence are answered together.

    Args:
        confidence: [n].
        accuracy: [n] in [0, 1].

    Returns:
        Coverage (proportion answered), risk (1 - mean accuracy of the answered) and threshold for every distinct
        confidence in falling order, [m] each; empty without items.

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
        coverage: [m], in [0, 1].
        count: Number of items.

    Returns:
        [m] booleans: whether at least `MIN_ANSWERS` items are answered, or all items if there are fewer.

    >>> has_enough_answers(np.array([0.1, 0.2, 1.0]), 100), has_enough_answers(np.array([0.5, 1.0]), 6)
    (array([False,  True,  True]), array([False,  True]))
    """
    return np.round(coverage * count, 6) >= min(MIN_ANSWERS, count)


def _rank_by_confidence(confidence: ArrayLike, accuracy: ArrayLike) -> RankedItems:
    """Rank items for a sweep: every item counts as an AQ that is correct in proportion to its accuracy."""
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    (accuracy,) = check_fractions(accuracy=accuracy)
    return rank_items(confidence, accuracy, np.ones(len(accuracy), bool))


def coverage_at_risk(confidence: ArrayLike, accuracy: ArrayLike, risks: ArrayLike) -> np.ndarray | np.float64:
    """Return C@R, the largest coverage whose risk is at most R; higher is better.

    Args:
        confidence: [n].
        accuracy: [n] in [0, 1].
        risks: One risk level or several.

    Returns:
        A float for one risk, an array for several: 0 where no threshold reaches the risk, NaN without items.

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
    # A lower risk never has a larger coverage, so each search starts where the previous one ended.
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
    """Return the threshold that reaches C@R at `risk`; infinite (answer nothing) if none does.

    >>> threshold_at_risk([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0], 0.4)
    0.7
    """
    _, risks, thresholds = risk_coverage_curve(confidence, accuracy)
    within = np.flatnonzero(risks <= risk + TOLERANCE)
    return float(thresholds[within[-1]]) if len(within) else float("inf")


def risk_coverage_auc(confidence: ArrayLike, accuracy: ArrayLike) -> float:
    """Return the area under the risk-coverage curve; in [0, 1], lower is better.

    The trapezoid rule is applied to single items, from coverage 1/n on. The result is the mean over all orders of items with
    equal confidence, so that ties never help. NaN with fewer than two items.

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
    # Within a tie the losses of all its items are spread evenly.
    risk = (losses[1:] if by.tie_ends is None else np.interp(answered, swept.aqs, losses)) / answered
    return float(risk.sum() - (risk[0] + risk[-1]) / 2) / count


def oracle_confidence(accuracy: ArrayLike) -> np.ndarray:
    """Return the confidences of an oracle that knows how accurate each answer is, [n], without ties.

    With them, `coverage_at_risk` and `risk_coverage_auc` give the best possible scores of these answers.

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
        validation_confidence: [m] each.
        validation_accuracy: See `validation_confidence`.
        confidence: [n] each.
        accuracy: See `confidence`.
        risk: The risk level.

    Returns:
        threshold; coverage and risk at the threshold (risk is NaN if nothing is answered); delta_risk = risk - the
        requested risk; delta_coverage = coverage - C@R of these items.

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

    It is the mean over items of the accuracy if the item is answered and not entirely wrong, `-cost` if it is answered
    entirely wrong, and 0 if confidence < threshold.

    >>> effective_reliability([0.9, 0.6, 0.1], [1, 0, 0.3], cost=1, threshold=0.5)
    0.0
    """
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    gained = np.where(confidence >= threshold, compute_utility(accuracy, cost), 0.0)
    return float(gained.mean()) if len(gained) else float("nan")


def choose_threshold(confidence: ArrayLike, accuracy: ArrayLike, *, cost: float) -> float:
    """Return the lowest threshold (the largest coverage) with the highest Phi_c on these items.

    It is infinite if answering nothing, which has utility 0, is better than any threshold. One sort is enough, where the
    authors' script is quadratic.

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
    """Return the highest Phi_c that these answers allow: by Lemma 1 the mean accuracy, at any cost.

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
    """Score selective prediction. Thresholds are chosen on the validation items and applied to the scored items."""
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
    """Return for each cost the best threshold on these items."""
    return {cost: choose_threshold(validation_confidence, validation_accuracy, cost=cost) for cost in costs}


def _reliability_at(threshold: float, test: ConfidenceAndAccuracy, cost: float) -> dict[str, float]:
    """Return effective reliability at a cost and the metrics at a threshold that was chosen on other items."""
    return {
        "threshold": threshold,
        "phi": effective_reliability(*test, cost=cost, threshold=threshold),
        "best_phi": best_effective_reliability(test[1]),
        "phi_answering_all": effective_reliability(*test, cost=cost, threshold=-np.inf),
        **_metrics_at_threshold(threshold, *test),
    }
