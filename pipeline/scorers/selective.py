"""Selective prediction: how much can be answered at which risk? (Whitehead et al., ECCV 2022, section 3.2.)

`accuracy` is [n], each in [0, 1]: VQA accuracy, or 1 for right and 0 for wrong. On a benchmark with unanswerable
questions an answer to one of them has accuracy 0. Coverage, risk and their areas are fractions in [0, 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .items import Answered, Options
from .reliability import best_effective_reliability, choose_threshold, effective_reliability
from .sweep import SLACK, order
from .validation import arrays, fractions
from .vqa_accuracy import vqa_accuracy

RISKS = (0.01, 0.05, 0.1, 0.2)
COSTS = (1, 10, 100)


def risk_coverage_curve(
    confidence: ArrayLike, accuracy: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coverage (share answered), risk (1 - mean accuracy of the answered) and threshold for every distinct
    confidence, falling; items with equal confidence are answered together. [m] each; empty without items.

    >>> coverage, risk, thresholds = risk_coverage_curve([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    >>> coverage.tolist(), risk.round(3).tolist(), thresholds.tolist()
    ([0.25, 0.75, 1.0], [0.0, 0.333, 0.5], [0.9, 0.8, 0.1])
    """
    confidence, accuracy = arrays(confidence=confidence, accuracy=accuracy)
    accuracy = fractions("accuracy", accuracy)
    by = order(confidence)
    answered = by.last + 1
    losses = np.cumsum(1 - accuracy[by.rows])[by.last]
    return answered / max(len(confidence), 1), losses / answered, by.thresholds


def coverage_at_risk(confidence: ArrayLike, accuracy: ArrayLike, risks: ArrayLike) -> np.ndarray | np.float64:
    """C@R: the largest coverage whose risk stays within each of `risks`; 0 where no threshold does. Higher is better.
    A float for one risk, an array for several; NaN without items.

    >>> coverage_at_risk([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0], [0.0, 0.4])
    array([0.5 , 0.75])
    """
    coverage, risk, _ = risk_coverage_curve(confidence, accuracy)
    if not len(coverage):
        return np.full(np.shape(risks), np.nan)[()]
    within = risk <= np.asarray(risks)[..., None] + SLACK
    return np.where(within, coverage, 0.0).max(axis=-1)[()]


def threshold_at_risk(confidence: ArrayLike, accuracy: ArrayLike, risk: float) -> float:
    """The threshold that reaches C@R at `risk`; infinite where none does (answer nothing)."""
    _, risks, thresholds = risk_coverage_curve(confidence, accuracy)
    within = np.flatnonzero(risks <= risk + SLACK)
    return float(thresholds[within[-1]]) if len(within) else float("inf")


def risk_coverage_auc(confidence: ArrayLike, accuracy: ArrayLike, *, published: bool = False) -> float:
    """Area under risk over coverage; in [0, 1], lower is better. NaN without items.

    Items of equal confidence come in random order: at a coverage between two thresholds the risk is what is then
    expected. So ties win nothing, and doubling a data set changes nothing. `published` takes the trapezoids between
    thresholds from the first one on, as the authors' script does (without ties; it takes those in the file's order).

    >>> confidence, accuracy = [0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0]
    >>> round(risk_coverage_auc(confidence, accuracy, published=True), 4)  # (1/3 / 2 + (1/3 + 1/2) / 2) / 4
    0.1458
    >>> round(risk_coverage_auc(confidence, accuracy), 4)  # 1/4 - 1/2 ln(3/2) + 1/4 - 1/2 ln(4/3)
    0.1534
    """
    coverage, risk, _ = risk_coverage_curve(confidence, accuracy)
    if not len(coverage):
        return float("nan")
    if published:
        return float(np.trapezoid(risk, coverage))
    # Losses grow evenly between thresholds, from l0 at coverage c0: the risk there is (l0 + slope (c - c0)) / c.
    width = np.diff(coverage, prepend=0.0)
    slope = np.diff(risk * coverage, prepend=0.0) / width
    c0, l0 = coverage[:-1], (risk * coverage)[:-1]
    bent = (l0 - slope[1:] * c0) * np.log(coverage[1:] / c0)
    return float((slope * width).sum() + bent.sum())


def best_selection(accuracy: ArrayLike) -> np.ndarray:
    """Confidences of a model that knows how right it is, [n], without ties: give them to the functions above for
    the best possible C@R and AUC of these answers.

    >>> float(coverage_at_risk(best_selection([0, 1, 0, 1]), [0, 1, 0, 1], 0.4))
    0.75
    """
    (accuracy,) = arrays(accuracy=accuracy)
    ranks = np.empty(len(accuracy))
    ranks[np.argsort(accuracy, kind="stable")] = np.arange(len(accuracy))
    return ranks


def threshold_transfer(
    dev_confidence: ArrayLike,
    dev_accuracy: ArrayLike,
    confidence: ArrayLike,
    accuracy: ArrayLike,
    risk: float,
) -> dict[str, float]:
    """Choose the threshold for `risk` on dev items, apply it to others (appendix F).

    Returns:
        threshold; coverage and risk there (risk NaN where nothing is answered); delta_risk = risk - the risk asked
        for; delta_coverage = coverage - C@R of these items.
    """
    confidence, accuracy = arrays(confidence=confidence, accuracy=accuracy)
    threshold = threshold_at_risk(dev_confidence, dev_accuracy, risk)
    answered = confidence >= threshold
    coverage = float(answered.mean()) if len(answered) else float("nan")
    reached = 1 - float(accuracy[answered].mean()) if answered.any() else float("nan")
    return {
        "threshold": threshold,
        "coverage": coverage,
        "risk": reached,
        "delta_risk": reached - risk,
        "delta_coverage": coverage - float(coverage_at_risk(confidence, accuracy, risk)),
    }


def selective_group(answered: Answered, options: Options) -> dict[str, Any]:
    """Thresholds are chosen on dev items and applied to test items, on benchmarks with unanswerable questions."""
    if not answered.confident:
        return {"absent": "the predictions give no confidences"}
    confidence, accuracy = answered.confidence, answered.correct
    if answered.items[0].people:
        accuracy = vqa_accuracy(answered.said, [item.right for item in answered.items])
    best = best_selection(accuracy)
    scores: dict[str, Any] = {
        "accuracy": float(np.mean(accuracy)),
        "auc": risk_coverage_auc(confidence, accuracy),
        "best_auc": risk_coverage_auc(best, accuracy),
        "coverage_at_risk": {str(r): float(coverage_at_risk(confidence, accuracy, r)) for r in RISKS},
        "best_coverage_at_risk": {str(r): float(coverage_at_risk(best, accuracy, r)) for r in RISKS},
    }
    if answered.answerable.all():
        return scores
    dev, test = answered.parts()
    if not dev.any() or not test.any():
        absent = {
            "absent": "no dev and test items to choose a threshold on and apply it to (a release folder has them)"
        }
        return scores | {"effective_reliability": absent, "threshold_transfer": absent}
    split = confidence[dev], accuracy[dev], confidence[test], accuracy[test]
    return scores | {
        "threshold_transfer": {str(risk): threshold_transfer(*split, risk) for risk in RISKS},
        "effective_reliability": {str(cost): _reliability_at(*split, cost) for cost in COSTS},
    }


def _reliability_at(
    dev_confidence: np.ndarray,
    dev_accuracy: np.ndarray,
    confidence: np.ndarray,
    accuracy: np.ndarray,
    cost: float,
) -> dict[str, float]:
    """Effective Reliability at a cost with the threshold chosen on other items, and what it comes to."""
    threshold = choose_threshold(dev_confidence, dev_accuracy, cost=cost)
    answered = confidence >= threshold
    return {
        "threshold": threshold,
        "phi": effective_reliability(confidence, accuracy, cost=cost, threshold=threshold),
        "best_phi": best_effective_reliability(accuracy),
        "phi_answering_all": effective_reliability(confidence, accuracy, cost=cost, threshold=-np.inf),
        "coverage": float(answered.mean()),
        "risk": float(1 - accuracy[answered].mean()) if answered.any() else float("nan"),
    }
