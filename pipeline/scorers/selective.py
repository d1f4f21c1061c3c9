"""Selective prediction: how much can be answered at which risk, and what does it earn? (Whitehead et al., ECCV 2022,
sections 3.2 and 5.)

`accuracy` is [n], each in [0, 1]: VQA accuracy, or 1 for right and 0 for wrong. On a benchmark with unanswerable
questions an answer to one of them has accuracy 0. Coverage, risk and their areas are fractions in [0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .answer_scores import vqa_accuracy
from .items import Answered, Options, Scores
from .published_selective import published_selective_scores
from .sweep import SLACK, order
from .validation import arrays, fractions

Columns = tuple[np.ndarray, np.ndarray]  # confidence and accuracy of some items


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
    (accuracy,) = fractions(accuracy=accuracy)
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


def risk_coverage_auc(confidence: ArrayLike, accuracy: ArrayLike) -> float:
    """Area under risk over coverage by trapezoids between the items, one by one, from coverage 1/n on; in [0, 1], lower
    is better. Items of equal confidence come in random order: this is the mean over all their orders, so that ties win
    nothing. NaN with fewer than two items.

    >>> round(risk_coverage_auc([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0]), 4)  # (1/3 / 2 + (1/3 + 1/2) / 2) / 4
    0.1458
    >>> risk_coverage_auc([0.9, 0.5, 0.5], [1, 1, 0])  # risks 0, (0 + 1/2) / 2, 1/3: (1/4 / 2 + (1/4 + 1/3) / 2) / 3
    0.1388888888888889
    """
    confidence, accuracy = arrays(confidence=confidence, accuracy=accuracy)
    (accuracy,) = fractions(accuracy=accuracy)
    if len(accuracy) < 2:
        return float("nan")
    by = order(confidence)
    sizes = np.diff(by.last, prepend=-1)
    losses = np.add.reduceat(1 - accuracy[by.rows], by.last - sizes + 1)
    expected = np.repeat(losses / sizes, sizes)  # of each item of a tie, in whatever order
    answered = np.arange(1, len(accuracy) + 1)
    return float(np.trapezoid(np.cumsum(expected) / answered, answered / len(accuracy)))


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
    found = _at(threshold_at_risk(dev_confidence, dev_accuracy, risk), confidence, accuracy)
    best = float(coverage_at_risk(confidence, accuracy, risk))
    return found | {"delta_risk": found["risk"] - risk, "delta_coverage": found["coverage"] - best}


def _at(threshold: float, confidence: np.ndarray, accuracy: np.ndarray) -> dict[str, float]:
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
    (accuracy,) = fractions(accuracy=accuracy)
    if cost < 0:
        raise ValueError(f"cost is {cost}, wanted 0 or more")
    return np.where(accuracy > 0, accuracy, -float(cost))


def selective_group(answered: Answered, options: Options) -> Scores:
    """Thresholds are chosen on the items of dev and applied to those that are scored."""
    if not answered.confident:
        return {"absent": "the predictions give no confidences"}
    confidence, accuracy = answered.confidence, _accuracy(answered)
    test, dev = (
        (confidence, accuracy),
        (answered.dev.confidence, _accuracy(answered.dev)) if answered.dev else None,
    )
    risks, costs = options.risks, options.costs
    if options.mode == "parity":
        return published_selective_scores(*test, *(dev or (None, None)), risks=risks, costs=costs)
    best = best_selection(accuracy)
    scores: Scores = {
        "accuracy": float(np.mean(accuracy)),
        "auc": risk_coverage_auc(confidence, accuracy),
        "best_auc": risk_coverage_auc(best, accuracy),
        "coverage_at_risk": {str(r): float(coverage_at_risk(confidence, accuracy, r)) for r in risks},
        "best_coverage_at_risk": {str(r): float(coverage_at_risk(best, accuracy, r)) for r in risks},
    }
    if not dev:
        absent = {
            "absent": "no items to choose a threshold on: a release has a part dev; else give --dev PREDICTIONS"
        }
        return scores | {"effective_reliability": absent, "threshold_transfer": absent}
    return scores | {
        "threshold_transfer": {str(risk): threshold_transfer(*dev, *test, risk) for risk in risks},
        "effective_reliability": {f"{cost:g}": _reliability_at(dev, test, cost) for cost in costs},
    }


def _accuracy(answered: Answered) -> np.ndarray:
    return vqa_accuracy(answered.said, answered.right) if answered.people else answered.correct


def _reliability_at(dev: Columns, test: Columns, cost: float) -> dict[str, float]:
    """Effective Reliability at a cost with the threshold chosen on other items, and what it comes to."""
    threshold = choose_threshold(*dev, cost=cost)
    return {
        "threshold": threshold,
        "phi": effective_reliability(*test, cost=cost, threshold=threshold),
        "best_phi": best_effective_reliability(test[1]),
        "phi_answering_all": effective_reliability(*test, cost=cost, threshold=-np.inf),
        **_at(threshold, *test),
    }
