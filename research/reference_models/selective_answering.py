"""Selective answering: vector scaling and thresholds fitted on val (Whitehead et al., ECCV 2022, sections 3.2 and 4, appendix I.2).

The third selection function of that paper, the Selector, is in `selector`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from pipeline.scoring.selective_prediction import (
    choose_thresholds,
    effective_reliability,
    threshold_at_risk,
)
from research.reference_models.model_outputs import ModelOutputs

# The weight decay of the authors.
RIDGE_PENALTY = 1e-4


class VectorScaling(NamedTuple):
    """Scale and bias for the logit of each of the K answers, [K] each."""

    scale: np.ndarray
    bias: np.ndarray


def fit_scaling(logits: np.ndarray, targets: np.ndarray, *, ridge: float = RIDGE_PENALTY) -> VectorScaling:
    """Fit vector scaling (Guo et al., ICML 2017, section 4.2; "Calibration" of Whitehead et al.).

    The scale and bias of each answer minimize binary cross-entropy, summed over answers. Answers are independent (Platt, 1999) and the
    loss is convex, so L-BFGS finds its only minimum; the authors use AdamW. One temperature for all answers would not change the order
    of confidences.

    Args:
        logits: Logits [n, K].
        targets: Accuracy of each answer in [0, 1], [n, K].
        ridge: Weight of the penalty for deviations from scale 1 and bias 0, which keeps answers that never occur finite. The weight
            decay of the authors pulls the scale towards 0.

    Raises:
        ValueError: The shapes differ, or a target is outside of [0, 1].
    """
    logits, targets = np.asarray(logits, np.float64), np.asarray(targets, np.float64)
    if logits.shape != targets.shape or not len(logits):
        raise ValueError(f"logits {logits.shape}, targets {targets.shape}, wanted the same [n, K], n > 0")
    if not ((targets >= 0) & (targets <= 1)).all():
        raise ValueError("targets outside of [0, 1]")
    fitted = np.array(
        [_fit_answer_scaling(*column, ridge) for column in zip(logits.T, targets.T, strict=True)]
    )
    return VectorScaling(fitted[:, 0].astype(np.float32), fitted[:, 1].astype(np.float32))


def _fit_answer_scaling(logits: np.ndarray, targets: np.ndarray, ridge: float) -> np.ndarray:
    """Return scale and bias of one answer, given its logits and targets [n]."""
    start = np.array([1.0, 0.0])

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scaled = logits * parameters[0] + parameters[1]
        error = expit(scaled) - targets
        deviation = parameters - start
        value = (np.logaddexp(0, scaled) - targets * scaled).mean() + ridge / 2 * deviation @ deviation
        return float(value), np.array([error @ logits, error.sum()]) / len(logits) + ridge * deviation

    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-8}
    return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x


def apply_scaling(outputs: ModelOutputs, scaling: VectorScaling) -> ModelOutputs:
    """Return the outputs with scaled logits. Their MaxProb is the confidence. Some answers change, too."""
    return outputs._replace(logits=(outputs.logits * scaling.scale + scaling.bias).astype(np.float32))


class Thresholds(NamedTuple):
    """Thresholds of the confidence, chosen on val. Infinity (null in JSON) means that no question should be answered.

    Attributes:
        at_risk: By the maximum risk.
        at_cost: By the cost of a wrong answer.
    """

    at_risk: Mapping[float, float]
    at_cost: Mapping[float, float]


def make_threshold_table(
    confidence: np.ndarray, accuracy: np.ndarray, *, risks: Sequence[float], costs: Sequence[float]
) -> Thresholds:
    """Choose thresholds on val.

    Args:
        confidence: Confidences of val's questions, [n].
        accuracy: Accuracy of the answers in [0, 1], [n]; 0 for unanswerable questions.
        risks: Maximum risks. The threshold is the lowest within the risk, as for C@R (section 3.2).
        costs: Costs of a wrong answer. The threshold maximizes the Effective Reliability Phi_c (eq. 6).
    """
    return Thresholds(
        {risk: threshold_at_risk(confidence, accuracy, risk) for risk in risks},
        choose_thresholds(confidence, accuracy, costs),
    )


def evaluate_thresholds(
    thresholds: Thresholds, confidence: np.ndarray, accuracy: np.ndarray
) -> dict[str, dict[str, dict[str, float]]]:
    """Evaluate thresholds, chosen on other questions, on these questions (appendix F).

    Args:
        thresholds: The thresholds.
        confidence: Confidences [n].
        accuracy: Accuracy of the answers in [0, 1], [n]; 0 for unanswerable questions.

    Returns:
        "at_risk" and "at_cost", each by risk or cost: threshold, coverage, and risk (NaN if no question is answered); for a risk also
        delta_risk, the risk minus the maximum risk; for a cost also phi.
    """
    confidence, accuracy = np.asarray(confidence), np.asarray(accuracy, float)

    def at(threshold: float) -> dict[str, float]:
        answered = confidence >= threshold
        risk = 1 - float(accuracy[answered].mean()) if answered.any() else float("nan")
        return {"threshold": threshold, "coverage": float(answered.mean()), "risk": risk}

    risks = {str(risk): at(threshold) for risk, threshold in thresholds.at_risk.items()}
    for max_risk, result in risks.items():
        result["delta_risk"] = result["risk"] - float(max_risk)
    costs = {}
    for cost, threshold in thresholds.at_cost.items():
        phi = effective_reliability(confidence, accuracy, cost=cost, threshold=threshold)
        costs[f"{cost:g}"] = at(threshold) | {"phi": phi}
    return {"at_risk": risks, "at_cost": costs}
