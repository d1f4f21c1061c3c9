"""The Selector starts as MaxProb, learns what MaxProb cannot know, and never sees the images that it is checked on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pipeline.scoring.selective_prediction import risk_coverage_auc
from research.reference_models.detectors import maxprob
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selector import GradedOutputs, compute_selector_confidence
from research.reference_models.selector_training import train_selector


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
