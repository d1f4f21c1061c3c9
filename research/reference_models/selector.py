"""The Selector: a small net that predicts the accuracy of another net's answer (Whitehead et al., ECCV 2022,
section 4, appendix I.2).

This module applies a trained Selector with numpy; `selector_training` trains it. The Selector differs from
the published code (reliable_vqa d9586af, `models/selective_predictors.py`) as follows:

- There is no ReLU before the first layer. (In the published code, it removes negative inputs.)
- One input is the softmax of the answers.
- The other input is the input of the answering net's classifier. Image and question have no other influence.
- The logit of MaxProb is added to the output, so that an untrained Selector equals MaxProb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from research.reference_models.model_outputs import ModelOutputs


class Selector(NamedTuple):
    """Weights of a Selector, float32, with hidden layers of size h.

    Attributes:
        centre: Mean of the features [d].
        spread: Standard deviation of the features [d].
        features_weight: Weights of the first layer on the features [h, d].
        features_bias: Bias of the first layer on the features [h].
        answers_weight: Weights of the first layer on the answers [h, K].
        answers_bias: Bias of the first layer on the answers [h].
        joint_weight: Weights of the second layer [h, 2h].
        joint_bias: Bias of the second layer [h].
        last_weight: Weights of the last layer [h].
        last_bias: Bias of the last layer [1].
        maxprob_weight: Weight of MaxProb's logit [1].
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
    """Questions with known answers.

    Attributes:
        images: Id of the image of each question.
        outputs: Outputs of the net.
        accuracy: Accuracy of the most likely answer in [0, 1], [n].
    """

    images: Sequence[str]
    outputs: ModelOutputs
    accuracy: np.ndarray


def compute_maxprob_logit(logits: np.ndarray) -> np.ndarray:
    """Return log(p / (1 - p)) of the largest softmax probability p, [n], precise for p near 1.

    The result is infinite for K = 1.
    """
    logits = np.sort(np.asarray(logits, np.float64), axis=1)
    return logits[:, -1] - logsumexp(logits[:, :-1], axis=1)


def compute_selector_confidence(outputs: ModelOutputs, selector: Selector) -> np.ndarray:
    """Return the confidence [n]: the accuracy of the most likely answer, in [0, 1], as predicted by the
    Selector.
    """
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
