"""Selective prediction: how much can be answered at which risk? (Whitehead et al., ECCV 2022, section 3.2.)

`accuracy` is [n], each in [0, 1]: VQA accuracy, or 1 for right and 0 for wrong. On a benchmark with unanswerable
questions an answer to one of them has accuracy 0. Coverage, risk and their areas are fractions in [0, 1].
"""

from __future__ import annotations

import numpy as np

from .sweep import SLACK, order
from .validation import arrays, fractions


def risk_coverage_curve(confidence, accuracy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def coverage_at_risk(confidence, accuracy, risks):
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


def threshold_at_risk(confidence, accuracy, risk: float) -> float:
    """The threshold that reaches C@R at `risk`; infinite where none does (answer nothing)."""
    _, risks, thresholds = risk_coverage_curve(confidence, accuracy)
    within = np.flatnonzero(risks <= risk + SLACK)
    return float(thresholds[within[-1]]) if len(within) else float("inf")


def risk_coverage_auc(confidence, accuracy, *, published: bool = False) -> float:
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


def best_selection(accuracy) -> np.ndarray:
    """Confidences of a model that knows how right it is, [n], without ties: give them to the functions above for
    the best possible C@R and AUC of these answers.

    >>> float(coverage_at_risk(best_selection([0, 1, 0, 1]), [0, 1, 0, 1], 0.4))
    0.75
    """
    (accuracy,) = arrays(accuracy=accuracy)
    ranks = np.empty(len(accuracy))
    ranks[np.argsort(accuracy, kind="stable")] = np.arange(len(accuracy))
    return ranks


def threshold_transfer(dev_confidence, dev_accuracy, confidence, accuracy, risk: float) -> dict[str, float]:
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
