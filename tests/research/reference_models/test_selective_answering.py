"""Vector scaling is logistic regression answer by answer; thresholds are chosen on val and stay where they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from pipeline.scoring.selective_prediction import threshold_transfer
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import (
    apply_scaling,
    evaluate_thresholds,
    fit_scaling,
    make_threshold_table,
)

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(-1, 2, size=(600, 3))
TARGETS = (RANDOM.random((600, 3)) < expit([0.5, 1, 2] * LOGITS + [1, -1, 0])).astype(float)


def test_without_a_ridge_each_answer_is_a_logistic_regression():
    found = fit_scaling(LOGITS, TARGETS, ridge=0)
    for k in range(3):
        oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
            LOGITS[:, k : k + 1], TARGETS[:, k]
        )
        assert found.scale[k] == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
        assert found.bias[k] == pytest.approx(oracle.intercept_[0], rel=1e-4, abs=1e-4)


def test_partly_correct_answers_are_fitted_on_average():
    # At the minimum over the bias the mean of sigmoids is the mean of targets.
    targets = np.full((400, 1), 0.3)
    found = fit_scaling(LOGITS[:400, :1], targets, ridge=0)
    assert expit(LOGITS[:400, :1] * found.scale + found.bias).mean() == pytest.approx(0.3, abs=1e-5)


def test_unseen_answers_stay_finite_and_calibrated_ones_unchanged():
    logits = RANDOM.normal(size=(20_000, 2))
    targets = np.stack([np.zeros(20_000), expit(logits[:, 1])], axis=1)
    found = fit_scaling(logits, targets)
    assert -20 < found.bias[0] < -3
    assert found.scale[1] == pytest.approx(1, abs=1e-4)
    assert found.bias[1] == pytest.approx(0, abs=1e-4)


def test_only_logits_are_scaled():
    seen = ModelOutputs(("yes", "no"), np.array([[1, 2]], np.float32), np.ones((1, 1), np.float32))
    found = fit_scaling(np.array([[0.0, 1]]), np.array([[1.0, 0]]), ridge=1)
    again = apply_scaling(seen, found)
    assert again.logits[0] == pytest.approx(seen.logits[0] * found.scale + found.bias)
    assert again.logits.dtype == np.float32
    assert again.features is seen.features


@pytest.mark.parametrize(
    "logits, targets, message",
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "wanted the same"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "n > 0"),
        (np.zeros((1, 1)), np.full((1, 1), 2.0), "outside of"),
    ],
)
def test_invalid_targets_are_rejected(logits, targets, message):
    with pytest.raises(ValueError, match=message):
        fit_scaling(logits, targets)


VAL = np.array([0.9, 0.8, 0.7, 0.1]), np.array([1, 1, 0, 0])
TEST = np.array([0.95, 0.85, 0.75, 0.2]), np.array([0, 1, 1, 1])


def test_thresholds_are_chosen_on_val_only():
    chosen = make_threshold_table(*VAL, risks=[0.0, 0.4], costs=[1, 10])
    # Val: no risk down to .8, a third at .7, half at .1. A wrong answer costs 1: 2 are earned at .8, 1 at .7.
    assert chosen.at_risk == {0.0: 0.8, 0.4: 0.7}
    assert chosen.at_cost == {1: 0.8, 10: 0.8}
    found = evaluate_thresholds(chosen, *TEST)
    # Test: two of four lie at .8 or above, one of them wrong; on the test questions themselves no risk means no answer.
    assert found["at_risk"]["0.0"] == {"threshold": 0.8, "coverage": 0.5, "risk": 0.5, "delta_risk": 0.5}
    assert found["at_cost"]["1"] == {"threshold": 0.8, "coverage": 0.5, "risk": 0.5, "phi": 0.0}
    assert found["at_cost"]["10"]["phi"] == (1 - 10) / 4


def test_thresholds_agree_with_the_scorers():
    for risk in (0.0, 0.4):
        expected = threshold_transfer(*VAL, *TEST, risk)
        found = evaluate_thresholds(make_threshold_table(*VAL, risks=[risk], costs=[]), *TEST)["at_risk"][
            str(risk)
        ]
        assert found == {name: expected[name] for name in found}


def test_the_threshold_is_infinite_if_nothing_should_be_answered():
    chosen = make_threshold_table(np.array([0.9, 0.1]), np.zeros(2), risks=[0.1], costs=[1])
    assert chosen.at_risk == {0.1: math.inf}
    assert chosen.at_cost == {1: math.inf}
    found = evaluate_thresholds(chosen, *TEST)
    assert found["at_risk"]["0.1"]["coverage"] == 0
    assert math.isnan(found["at_risk"]["0.1"]["risk"])
    assert found["at_cost"]["1"]["phi"] == 0
