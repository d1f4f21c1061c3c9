"""Means of answers that have examples, one covariance, distances as two libraries measure them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_ood.detector import Mahalanobis
from sklearn.covariance import EmpiricalCovariance

from research.reference_models.class_gaussians import fit_gaussians, score_mahalanobis

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
