"""When to answer at all: confidences calibrated on val, and thresholds chosen there (Whitehead et al., ECCV 2022, sections 3.2
and 4; appendix I.2). `selector` holds their third selection function."""

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

RIDGE_PENALTY = 1e-4  # the authors' weight decay


class VectorScaling(NamedTuple):
    """A scale and a bias for the logit of each of the K answers, [K] each."""

    scale: np.ndarray
    bias: np.ndarray


def fit_scaling(logits: np.ndarray, targets: np.ndarray, *, ridge: float = RIDGE_PENALTY) -> VectorScaling:
    """Vector scaling (Guo et al., ICML 2017, section 4.2; "Calibration" of Whitehead et al.): the scale and bias of each
    answer under which binary cross-entropy, summed over answers, is least on val.

    Each answer stands for itself (Platt, 1999) and the loss is convex, so L-BFGS finds its one minimum, where the authors take
    steps of AdamW. `ridge` pulls towards scale 1 and bias 0, what a net has: an answer that val never has stays finite. The
    authors' weight decay pulls the scale to 0. (One temperature for all answers would change no order of confidences.)

    Args:
        logits: [n, K]. targets: [n, K] in [0, 1], how right each answer is.

    Raises:
        ValueError: shapes that differ, targets outside of [0, 1].
    """
    logits, targets = np.asarray(logits, np.float64), np.asarray(targets, np.float64)
    if logits.shape != targets.shape or not len(logits):
        raise ValueError(f"logits {logits.shape}, targets {targets.shape}, wanted the same [n, K], n > 0")
    if not ((targets >= 0) & (targets <= 1)).all():
        raise ValueError("targets outside of [0, 1]")
    found = np.array(
        [_fit_answer_scaling(*column, ridge) for column in zip(logits.T, targets.T, strict=True)]
    )
    return VectorScaling(found[:, 0].astype(np.float32), found[:, 1].astype(np.float32))


def _fit_answer_scaling(logits: np.ndarray, targets: np.ndarray, ridge: float) -> np.ndarray:
    """Scale and bias of one answer, [2]; its logits and targets are [n]."""
    start = np.array([1.0, 0.0])

    def loss(both: np.ndarray) -> tuple[float, np.ndarray]:
        moved = logits * both[0] + both[1]
        wrong = expit(moved) - targets
        away = both - start
        value = (np.logaddexp(0, moved) - targets * moved).mean() + ridge / 2 * away @ away
        return float(value), np.array([wrong @ logits, wrong.sum()]) / len(logits) + ridge * away

    options = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-8}
    return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x


def apply_scaling(outputs: ModelOutputs, scaling: VectorScaling) -> ModelOutputs:
    """The same with its logits scaled. MaxProb of them is the confidence, and the answers change a little, too."""
    return outputs._replace(logits=(outputs.logits * scaling.scale + scaling.bias).astype(np.float32))


class Thresholds(NamedTuple):
    """Where to stop answering, as val says: by the risk to stay within, and by the cost of a wrong answer. Infinite where
    nothing should be answered (null in JSON)."""

    at_risk: Mapping[float, float]
    at_cost: Mapping[float, float]


def make_threshold_table(
    confidence: np.ndarray, accuracy: np.ndarray, *, risks: Sequence[float], costs: Sequence[float]
) -> Thresholds:
    """Choose thresholds on val: for a risk the lowest that stays within it, C@R (section 3.2), for a cost the one of the
    highest Effective Reliability Phi_c (eq. 6).

    Args:
        confidence, accuracy: [n] of val's questions; accuracy in [0, 1], 0 where an unanswerable question is answered.
    """
    return Thresholds(
        {risk: threshold_at_risk(confidence, accuracy, risk) for risk in risks},
        choose_thresholds(confidence, accuracy, costs),
    )


def evaluate_thresholds(
    thresholds: Thresholds, confidence: np.ndarray, accuracy: np.ndarray
) -> dict[str, dict[str, dict[str, float]]]:
    """What thresholds chosen elsewhere come to on these questions; they are not moved (appendix F).

    Returns:
        "at_risk" and "at_cost", each by the risk or cost: threshold, coverage, risk (NaN where nothing is answered);
        for a risk also delta_risk = risk - the risk wanted, for a cost phi.
    """
    confidence, accuracy = np.asarray(confidence), np.asarray(accuracy, float)

    def at(threshold: float) -> dict[str, float]:
        taken = confidence >= threshold
        risk = 1 - float(accuracy[taken].mean()) if taken.any() else float("nan")
        return {"threshold": threshold, "coverage": float(taken.mean()), "risk": risk}

    risks = {str(risk): at(threshold) for risk, threshold in thresholds.at_risk.items()}
    for wanted, found in risks.items():
        found["delta_risk"] = found["risk"] - float(wanted)
    costs = {}
    for cost, threshold in thresholds.at_cost.items():
        phi = effective_reliability(confidence, accuracy, cost=cost, threshold=threshold)
        costs[f"{cost:g}"] = at(threshold) | {"phi": phi}
    return {"at_risk": risks, "at_cost": costs}
