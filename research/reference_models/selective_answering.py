"""Selective answering: vector scaling and thresholds fitted on val (Whitehead et al., ECCV 2022, sections 3.2
and 4, appendix I.2).

That paper has a third selection function, the Selector, which is in the module `selector`.
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

# Weight of the penalty, equal to the weight decay of the paper's authors.
RIDGE_PENALTY = 1e-4


class VectorScaling(NamedTuple):
    """Scale and bias of the logit of each answer, [K] each."""

    scale: np.ndarray
    bias: np.ndarray


def fit_scaling(logits: np.ndarray, targets: np.ndarray, *, ridge: float = RIDGE_PENALTY) -> VectorScaling:
    """Fit vector scaling (Guo et al., ICML 2017, section 4.2; Whitehead et al. call it "Calibration").

    The scales and biases minimize the binary cross-entropy, summed over answers. The answers are independent
    (Platt, 1999) and the loss is convex, so L-BFGS finds its only minimum. (The authors use AdamW.) A common
    temperature for all answers would not change the order of confidences.

    Args:
        logits: Logits [n, K].
        targets: Accuracy of each answer in [0, 1], [n, K].
        ridge: Weight of the penalty for deviations from scale 1 and bias 0. The penalty keeps the parameters
            of answers that never occur finite. (The weight decay of the authors pulls the scale towards 0
            instead.)

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
    """Return the outputs with scaled logits. The MaxProb of the scaled logits is the confidence.

    Some answers change, too.
    """
    return outputs._replace(logits=(outputs.logits * scaling.scale + scaling.bias).astype(np.float32))


class Thresholds(NamedTuple):
    """Thresholds of the confidence, chosen on val.

    Infinity (null in JSON) means that no question should be answered.

    Attributes:
        at_risk: Maximum risk -> threshold.
        at_cost: Cost of a wrong answer -> threshold.
    """

    at_risk: Mapping[float, float]
    at_cost: Mapping[float, float]


def make_threshold_table(
    confidence: np.ndarray, accuracy: np.ndarray, *, risks: Sequence[float], costs: Sequence[float]
) -> Thresholds:
    """Choose thresholds on val.

    Args:
        confidence: Confidences of the questions of val, [n].
        accuracy: Accuracy of the answers in [0, 1], [n]; 0 for unanswerable questions.
        risks: Maximum risks. For each risk, the lowest threshold that keeps the risk is chosen, as for C@R
            (section 3.2).
        costs: Costs of a wrong answer. For each cost, the threshold with the highest effective reliability
            Phi_c (eq. 6) is chosen.
    """
    return Thresholds(
        {risk: threshold_at_risk(confidence, accuracy, risk) for risk in risks},
        choose_thresholds(confidence, accuracy, costs),
    )


def evaluate_thresholds(
    thresholds: Thresholds, confidence: np.ndarray, accuracy: np.ndarray
) -> dict[str, dict[str, dict[str, float]]]:
    """Evaluate, on some questions, thresholds that were chosen on other questions (appendix F).

    Args:
        thresholds: The thresholds.
        confidence: Confidences [n].
        accuracy: Accuracy of the answers in [0, 1], [n]; 0 for unanswerable questions.

    Returns:
        "at_risk" and "at_cost". Each maps a risk or a cost to: threshold, coverage, and risk (NaN if no
        question is answered). For a risk, there is also delta_risk, the risk minus the maximum risk; for a
        cost, there is also phi.
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
