"""What is fitted for a net: distances to answers, scaling and thresholds, and a selector."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pytorch_ood.detector import Mahalanobis
from safetensors.numpy import load, save
from scipy.special import expit, logit, softmax
from sklearn.covariance import EmpiricalCovariance
from sklearn.linear_model import LogisticRegression

from pipeline.core.errors import UserError
from pipeline.scoring.selective_prediction import risk_coverage_auc, threshold_transfer
from research.reference_models.class_gaussians import fit_gaussians, score_mahalanobis
from research.reference_models.detectors import maxprob
from research.reference_models.fitted_detectors import flatten_arrays, read_fitted, write_fitted
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import (
    apply_scaling,
    evaluate_thresholds,
    fit_scaling,
    make_threshold_table,
)
from research.reference_models.selector import (
    GradedOutputs,
    compute_maxprob_logit,
    compute_selector_confidence,
)
from research.reference_models.selector_training import SelectorNet, train_selector
from tests.research.reference_models.toy_nets import random_fitted

# Fitted detectors are read as written, and all faults of a file are listed.


@pytest.fixture
def path(tmp_path):
    write_fitted(tmp_path / "fitted-0.safetensors", random_fitted())
    return tmp_path / "fitted-0.safetensors"


def test_fitted_detectors_are_read_as_float32(path):
    for state, was in zip(read_fitted(path), random_fitted(), strict=True):
        assert type(state) is type(was)
        for array, before in zip(state, was, strict=True):
            np.testing.assert_array_equal(array, before.astype(array.dtype))
            assert array.dtype == (np.float32 if before.dtype == np.float64 else before.dtype)


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_fitted(tmp_path / "again", random_fitted())
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def faults(path):
    with pytest.raises(UserError) as error:
        read_fitted(path)
    return error.value.problems


def test_a_missing_or_other_file_is_rejected(path):
    assert "no-such" in faults(path.parent / "no-such")[0]
    path.write_bytes(path.read_bytes()[:-8])
    assert (
        "fitted-0.safetensors: not a file of fitted detectors" in faults(path)[0]
        and "fit again" in faults(path)[0]
    )
    path.write_bytes(save({"logits": np.zeros(3)}))
    assert len(faults(path)) == 1 + 17  # every tensor is missing


def changed(path, **arrays):
    path.write_bytes(
        save(load(path.read_bytes()) | {name.replace("_in_", "."): a for name, a in arrays.items()})
    )


def test_all_faults_are_listed(path):
    changed(
        path,
        gaussians_in_classes=np.array([0.5, 1]),
        scaling_in_bias=np.zeros(5),
        selector_in_spread=np.array([1, np.nan, 1]),
    )
    assert faults(path)[1:] == [
        "gaussians.classes: float64 (2,), wanted integers [C]",
        "scaling.bias: (5,), wanted (4,) as in the other arrays",
        "selector.spread: values that are not finite",
    ]


def test_parameters_of_another_feature_size_are_rejected(path):
    tensors = flatten_arrays("selector", random_fitted(features=5).selector)
    changed(path, **{name.replace(".", "_in_"): array for name, array in tensors.items()})
    assert [line.split(":")[0] for line in faults(path)[1:]] == [
        "selector.centre",
        "selector.spread",
        "selector.features_weight",
    ]


def test_layers_that_do_not_match_and_invalid_answers_are_rejected(path):
    changed(path, selector_in_joint_weight=np.zeros((2, 3)), gaussians_in_classes=np.array([0, 4]))
    assert faults(path)[1:] == [
        "selector.joint_weight: takes 3, wanted 4",
        "gaussians.classes: wanted indices of 4 answers",
    ]


# Means of answers that have examples, one covariance, distances as two libraries measure them.


RANDOM = np.random.default_rng(0)
RIGHT = RANDOM.integers(4, size=400)
MIXED = RANDOM.normal(size=(6, 6))  # so that features are correlated
FEATURES = (5 * np.eye(6)[RIGHT] + RANDOM.normal(size=(400, 6)) @ MIXED).astype(np.float32)
OTHERS = (3 * RANDOM.normal(size=(50, 6))).astype(np.float32)


def test_distances_are_those_of_pytorch_ood():
    # It takes the sum of squares for the covariance, where the mean is meant: its distances are ours / 400.
    oracle = Mahalanobis(None).fit_features(torch.from_numpy(FEATURES).double(), torch.from_numpy(RIGHT))
    expected = -oracle.predict_features(torch.from_numpy(OTHERS)).numpy() * len(FEATURES)
    found = score_mahalanobis(fit_gaussians(FEATURES, RIGHT, 4), OTHERS).max(axis=1)
    assert found == pytest.approx(expected, rel=1e-4)  # the oracle's distances are float32


@pytest.mark.parametrize("copied", [False, True], ids=["regular", "singular"])
def test_distances_are_those_of_scikit_learn(copied):
    features, others = (np.hstack([x, x[:, :2]]) if copied else x for x in (FEATURES, OTHERS))
    means = np.stack([features[k == RIGHT].mean(axis=0, dtype=float) for k in range(4)])
    oracle = EmpiricalCovariance(assume_centered=True).fit(features - means[RIGHT])
    expected = np.stack([-oracle.mahalanobis(others - mean) / 2 for mean in means], axis=1)
    assert score_mahalanobis(fit_gaussians(features, RIGHT, 4), others) == pytest.approx(expected, rel=1e-5)


def test_an_answer_without_examples_has_no_mean_and_does_not_compete():
    # Answers 1 and 3 of five have examples, around (10, 10) and (10, -10); the other means would be 0.
    right = np.array([1, 1, 1, 3, 3, 3])
    around = np.array([[10, 10], [11, 10], [9, 11], [10, -10], [11, -10], [9, -9]], np.float32)
    fitted = fit_gaussians(around, right, 5)
    assert fitted.classes.tolist() == [1, 3]
    nowhere, there = score_mahalanobis(fitted, np.array([[0, 0], [10, 10]], np.float32)).max(axis=1)
    assert nowhere < there - 50


def test_features_far_from_zero_keep_their_digits():
    far = fit_gaussians(FEATURES.astype(np.float64) + 1e4, RIGHT, 4)
    near = fit_gaussians(FEATURES, RIGHT, 4)
    assert score_mahalanobis(far, OTHERS.astype(np.float64) + 1e4) == pytest.approx(
        score_mahalanobis(near, OTHERS), rel=1e-3
    )


@pytest.mark.parametrize(
    "right", [[], [0, 4], [0, -1], [0]], ids=["none", "too large", "negative", "too few"]
)
def test_invalid_class_indices_are_rejected(right):
    features = np.zeros((len(right) if len(right) != 1 else 2, 3))
    with pytest.raises(ValueError, match="wanted as many of each, 0 to 3"):
        fit_gaussians(features, np.array(right, int), 4)


# Vector scaling is logistic regression answer by answer; thresholds are chosen on val and stay where they are.


SCALING_RANDOM = np.random.default_rng(0)
LOGITS = SCALING_RANDOM.normal(-1, 2, size=(600, 3))
TARGETS = (SCALING_RANDOM.random((600, 3)) < expit([0.5, 1, 2] * LOGITS + [1, -1, 0])).astype(float)


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
    logits = SCALING_RANDOM.normal(size=(20_000, 2))
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


# The Selector in numpy is the one that torch trained.


SELECTOR_RANDOM = np.random.default_rng(0)
SELECTOR_LOGITS = SELECTOR_RANDOM.normal(size=(30, 5)).astype(np.float32)
SELECTOR_FEATURES = SELECTOR_RANDOM.normal(3, 2, size=(30, 4)).astype(np.float32)
SEEN = ModelOutputs(tuple("abcde"), SELECTOR_LOGITS, SELECTOR_FEATURES)


def test_maxprobs_logit_is_precise():
    assert compute_maxprob_logit(np.array([[math.log(3), 0, 0]])) == pytest.approx(
        [math.log(3 / 2)]
    )  # 3/5 against 2/5
    expected = logit(softmax(SELECTOR_LOGITS.astype(float), axis=1).max(axis=1))
    assert compute_maxprob_logit(SELECTOR_LOGITS) == pytest.approx(expected, rel=1e-6)
    sure = compute_maxprob_logit(np.array([[50.0, 0], [60, 0]]))  # softmax 1 - e^-50 is 1 in float64
    assert sure == pytest.approx([50, 60])


def test_numpy_and_torch_give_the_same_confidence():
    torch.manual_seed(0)
    net = SelectorNet(4, 5, 8, 0.5).double()
    for tensor in net.parameters():
        torch.nn.init.normal_(tensor)
    centre, spread = SELECTOR_FEATURES.mean(axis=0, dtype=float), SELECTOR_FEATURES.std(axis=0, dtype=float)
    selector = net.to_selector(centre, spread)
    given = [
        (SELECTOR_FEATURES - centre) / spread,
        softmax(SELECTOR_LOGITS.astype(float), axis=1),
        compute_maxprob_logit(SELECTOR_LOGITS),
    ]
    with torch.inference_mode():
        expected = net.eval()(*map(torch.from_numpy, given)).sigmoid().numpy()
    assert np.ptp(expected) > 0.5
    assert compute_selector_confidence(SEEN, selector) == pytest.approx(expected, rel=1e-9)


# The Selector starts as MaxProb, learns what MaxProb cannot know, and never sees the images that it is checked on.


def graded(seed, *, n=1500):
    """Answers that are right where the first feature is above 0; the logits know nothing of it."""
    random = np.random.default_rng(seed)
    features, logits = random.normal(size=(n, 6)), random.normal(size=(n, 5))
    right = features[:, 0] > 0
    seen = ModelOutputs(tuple("abcde"), logits.astype(np.float32), features.astype(np.float32))
    return GradedOutputs([f"{seed}-{i // 10}" for i in range(n)], seen, right.astype(float))


def test_the_untrained_selector_is_maxprob():
    seen = graded(0).outputs
    selector = train_selector(graded(0), graded(1), epochs=0)
    assert compute_selector_confidence(seen, selector) == pytest.approx(maxprob(seen), rel=1e-9)


def test_the_selector_learns_from_features():
    fit, check, test = graded(0), graded(1), graded(2)
    selector = train_selector(fit, check, epochs=15, learning_rate=3e-3)
    confidence = compute_selector_confidence(test.outputs, selector)
    # Half is right: sorted by nothing the risk is 1/2 throughout, sorted by rightness the area is (1 - log 2) / 2 = .153.
    assert risk_coverage_auc(maxprob(test.outputs), test.accuracy) > 0.45
    assert risk_coverage_auc(confidence, test.accuracy) < 0.17


def test_harmful_training_is_discarded():
    fit, check = graded(0), graded(1)
    check = check._replace(accuracy=1 - check.accuracy)  # what tells right on `fit` tells wrong here
    selector = train_selector(fit, check, epochs=3, learning_rate=3e-3)
    assert compute_selector_confidence(check.outputs, selector) == pytest.approx(
        maxprob(check.outputs), rel=1e-9
    )


def test_training_is_reproducible_and_the_global_generator_unchanged():
    fit, check = graded(0), graded(1)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second, other = (train_selector(fit, check, epochs=2, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.rand(3), expected)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first.features_weight, other.features_weight)


def test_a_constant_feature_is_no_division_by_zero():
    fit, check = graded(0), graded(1)
    for part in (fit, check):
        part.outputs.features[:, 3] = 7
    confidence = compute_selector_confidence(check.outputs, train_selector(fit, check, epochs=1))
    assert np.isfinite(confidence).all()


def test_fit_and_validation_share_no_image():
    with pytest.raises(ValueError, match="150 images in both fit and validation"):
        train_selector(graded(0), graded(0))
