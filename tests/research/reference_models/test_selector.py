"""The Selector in numpy is the one that torch trained."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.special import logit, softmax

from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selector import compute_maxprob_logit, compute_selector_confidence
from research.reference_models.selector_training import SelectorNet

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(30, 5)).astype(np.float32)
FEATURES = RANDOM.normal(3, 2, size=(30, 4)).astype(np.float32)
SEEN = ModelOutputs(tuple("abcde"), LOGITS, FEATURES)


def test_maxprobs_logit_is_precise():
    assert compute_maxprob_logit(np.array([[math.log(3), 0, 0]])) == pytest.approx(
        [math.log(3 / 2)]
    )  # 3/5 against 2/5
    expected = logit(softmax(LOGITS.astype(float), axis=1).max(axis=1))
    assert compute_maxprob_logit(LOGITS) == pytest.approx(expected, rel=1e-6)
    sure = compute_maxprob_logit(np.array([[50.0, 0], [60, 0]]))  # softmax 1 - e^-50 is 1 in float64
    assert sure == pytest.approx([50, 60])


def test_numpy_and_torch_give_the_same_confidence():
    torch.manual_seed(0)
    net = SelectorNet(4, 5, 8, 0.5).double()
    for tensor in net.parameters():
        torch.nn.init.normal_(tensor)
    centre, spread = FEATURES.mean(axis=0, dtype=float), FEATURES.std(axis=0, dtype=float)
    selector = net.to_selector(centre, spread)
    given = [
        (FEATURES - centre) / spread,
        softmax(LOGITS.astype(float), axis=1),
        compute_maxprob_logit(LOGITS),
    ]
    with torch.inference_mode():
        expected = net.eval()(*map(torch.from_numpy, given)).sigmoid().numpy()
    assert np.ptp(expected) > 0.5
    assert compute_selector_confidence(SEEN, selector) == pytest.approx(expected, rel=1e-9)
