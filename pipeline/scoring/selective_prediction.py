"""Selective prediction: how much can be answered at which risk, and what does it earn? (Whitehead et al., ECCV 2022,
sections 3.2 and 5.)

`accuracy` is [n], each in [0, 1]: VQA accuracy, or 1 for right and 0 for wrong. On a benchmark with unanswerable
questions an answer to one of them has accuracy 0. Coverage, risk and their areas are fractions in [0, 1].
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

ConfidenceAndAccuracy = tuple[np.ndarray, np.ndarray]  # confidence and accuracy of some items
# Of fewer answers than these the risk is noise, and no plot shows it.
MIN_ANSWERS = 20


def risk_coverage_curve(
    confidence: ArrayLike, accuracy: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coverage (share answered), risk (1 - mean accuracy of the answered) and threshold for every distinct
    confidence, falling; items with equal confidence are answered together. [m] each; empty without items.

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
    """Find the part of a risk-coverage curve that is worth showing.

    Args:
        coverage: [m], in [0, 1].
        count: How many items there are.

    Returns:
        [m] booleans: where at least `FEW_ANSWERS` items are answered, or all of fewer items.

    >>> has_enough_answers(np.array([0.1, 0.2, 1.0]), 100), has_enough_answers(np.array([0.5, 1.0]), 6)
    (array([False,  True,  True]), array([False,  True]))
    """
    return np.round(coverage * count, 6) >= min(MIN_ANSWERS, count)


def _rank_by_confidence(confidence: ArrayLike, accuracy: ArrayLike) -> RankedItems:
    """To be swept over: every item is one that can be answered, and right as far as it is accurate."""
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    (accuracy,) = check_fractions(accuracy=accuracy)
    return rank_items(confidence, accuracy, np.ones(len(accuracy), bool))


def coverage_at_risk(confidence: ArrayLike, accuracy: ArrayLike, risks: ArrayLike) -> np.ndarray | np.float64:
    """C@R: the largest coverage whose risk stays within each of `risks`; 0 where no threshold does. Higher is better.
    A float for one risk, an array for several; NaN without items.

    >>> coverage_at_risk([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0], [0.0, 0.4])
    array([0.5 , 0.75])
    """
    swept = _rank_by_confidence(confidence, accuracy).sweep()
    wanted = np.asarray(risks, float)
    if np.isnan(wanted).any():
        raise ValueError("risks has NaN, wanted numbers")
    found = coverages_from_sweep(swept, wanted.ravel().tolist())
    return np.array([found[risk] for risk in wanted.ravel().tolist()]).reshape(wanted.shape)[()]


def coverages_from_sweep(swept: ThresholdSweep, risks: Iterable[float]) -> dict[float, float]:
    """C@R for each risk of a sweep in which every UQ that is taken counts as answered wrong."""
    found, end = {}, len(swept.aqs)
    items = int(swept.aqs[-1] + swept.uqs[-1])
    # A lower risk has no larger coverage: its last place is not further on, and at the latest where nothing is taken.
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
    """The threshold that reaches C@R at `risk`; infinite where none does (answer nothing)."""
    _, risks, thresholds = risk_coverage_curve(confidence, accuracy)
    within = np.flatnonzero(risks <= risk + TOLERANCE)
    return float(thresholds[within[-1]]) if len(within) else float("inf")


def risk_coverage_auc(confidence: ArrayLike, accuracy: ArrayLike) -> float:
    """Area under risk over coverage by trapezoids between the items, one by one, from coverage 1/n on; in [0, 1], lower
    is better. Items of equal confidence come in random order: this is the mean over all their orders, so that ties win
    nothing. NaN with fewer than two items.

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
    # Inside of a tie the losses of all its items are spread evenly.
    risk = (losses[1:] if by.tie_ends is None else np.interp(answered, swept.aqs, losses)) / answered
    return float(risk.sum() - (risk[0] + risk[-1]) / 2) / count


def oracle_confidence(accuracy: ArrayLike) -> np.ndarray:
    """Confidences of a model that knows how right it is, [n], without ties: give them to the functions above for
    the best possible C@R and AUC of these answers.

    >>> float(coverage_at_risk(best_selection([0, 1, 0, 1]), [0, 1, 0, 1], 0.4))
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
    """Choose the threshold for `risk` on validation items, apply it to others (appendix F).

    Returns:
        threshold; coverage and risk there (risk NaN where nothing is answered); delta_risk = risk - the risk asked
        for; delta_coverage = coverage - C@R of these items.
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
    """Effective Reliability Phi_c (eq. 6): the mean over items of the accuracy where it is answered and not all wrong, `-cost` where it is
    answered all wrong, 0 where confidence < threshold; in [-cost, 1], higher is better. NaN without items.

    >>> effective_reliability([0.9, 0.6, 0.1], [1, 0, 0.3], cost=1, threshold=0.5)
    0.0
    """
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    gained = np.where(confidence >= threshold, compute_utility(accuracy, cost), 0.0)
    return float(gained.mean()) if len(gained) else float("nan")


def choose_threshold(confidence: ArrayLike, accuracy: ArrayLike, *, cost: float) -> float:
    """The lowest threshold (the largest coverage) with the highest Phi_c on these items; infinite when answering
    nothing, which earns 0, is better than any. One sort, where the authors' script is quadratic.

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
    """The highest Phi_c these answers allow: answer unless all wrong. By Lemma 1 the mean accuracy, at any cost."""
    (accuracy,) = check_arrays(accuracy=accuracy)
    return float(np.mean(accuracy)) if len(accuracy) else float("nan")


def compute_utility(accuracy: np.ndarray, cost: float) -> np.ndarray:
    """What each answer earns once it is given, [n]: its accuracy, or `-cost` where it is all wrong."""
    (accuracy,) = check_fractions(accuracy=accuracy)
    if cost < 0:
        raise ValueError(f"cost is {cost}, wanted 0 or more")
    return np.where(accuracy > 0, accuracy, -float(cost))


def score_selective_prediction(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Thresholds are chosen on the items of validation and applied to those that are scored."""
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
        absent = {
            "unavailable": "no items to choose a threshold on: a release has a split validation; else give --validation PREDICTIONS"
        }
        return scores | {"effective_reliability": absent, "threshold_transfer": absent}
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
    """VQA accuracy of each item where people answered, else what its answer is worth, [n]."""
    return (
        vqa_accuracy(answered.answer, answered.reference_answers)
        if answered.has_human_answers
        else answered.correct
    )


def choose_thresholds(
    validation_confidence: np.ndarray, validation_accuracy: np.ndarray, costs: Sequence[float]
) -> dict[float, float]:
    """For each cost the threshold that is best on these items."""
    return {cost: choose_threshold(validation_confidence, validation_accuracy, cost=cost) for cost in costs}


def _reliability_at(threshold: float, test: ConfidenceAndAccuracy, cost: float) -> dict[str, float]:
    """Effective Reliability at a cost with the threshold chosen on other items, and what it comes to."""
    return {
        "threshold": threshold,
        "phi": effective_reliability(*test, cost=cost, threshold=threshold),
        "best_phi": best_effective_reliability(test[1]),
        "phi_answering_all": effective_reliability(*test, cost=cost, threshold=-np.inf),
        **_metrics_at_threshold(threshold, *test),
    }
