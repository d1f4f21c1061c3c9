"""The Selector: a small net that predicts from what another net saw how right its answer is (Whitehead et al., ECCV 2022,
section 4; appendix I.2). Applied with numpy; `selector_training` trains it.

Where this differs from the published code (reliable_vqa d9586af, `models/selective_predictors.py`): the inputs pass no ReLU
before the first layer (there, negative ones are lost); the answers come in as their softmax; image and question come in
by the features that go into the answering net's classifier alone; and MaxProb's logit is added to the output, so that
training starts at MaxProb and only learns what is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from research.reference_models.model_outputs import ModelOutputs


class Selector(NamedTuple):
    """Weights, float32; h is the width of the hidden layers.

    Attributes:
        centre, spread: [d] each, mean and standard deviation of the features.
        features_weight [h, d], features_bias [h]; answers_weight [h, K], answers_bias [h]: the first layers.
        joint_weight [h, 2h], joint_bias [h]; last_weight [h], last_bias [1].
        maxprob_weight: [1], of MaxProb's logit.
    """

    centre: np.ndarray
    spread: np.ndarray
    features_weight: np.ndarray
    features_bias: np.ndarray
    answers_weight: np.ndarray
    answers_bias: np.ndarray
    joint_weight: np.ndarray
    joint_bias: np.ndarray
    last_weight: np.ndarray
    last_bias: np.ndarray
    maxprob_weight: np.ndarray


class GradedOutputs(NamedTuple):
    """Questions whose right answers are known: the image of each, what a net saw, and how right its top answer is, [n] in
    [0, 1]."""

    images: Sequence[str]
    outputs: ModelOutputs
    accuracy: np.ndarray


def compute_maxprob_logit(logits: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of the largest softmax probability p, [n], without loss where p is near 1; infinite for one answer."""
    logits = np.sort(np.asarray(logits, np.float64), axis=1)
    return logits[:, -1] - logsumexp(logits[:, :-1], axis=1)


def compute_selector_confidence(outputs: ModelOutputs, selector: Selector) -> np.ndarray:
    """How right the top answer is, as the Selector predicts it: [n] in [0, 1]."""
    layers = Selector(*(array.astype(np.float64) for array in selector))
    features = (outputs.features - layers.centre) / layers.spread
    answers = softmax(outputs.logits.astype(np.float64), axis=1)
    first = np.concatenate(
        [
            np.maximum(features @ layers.features_weight.T + layers.features_bias, 0),
            np.maximum(answers @ layers.answers_weight.T + layers.answers_bias, 0),
        ],
        axis=1,
    )
    joint = np.maximum(first @ layers.joint_weight.T + layers.joint_bias, 0)
    return expit(
        joint @ layers.last_weight
        + layers.last_bias
        + layers.maxprob_weight * compute_maxprob_logit(outputs.logits)
    )
