"""Each detector says what its paper defines, in float64, and loses no order.

Oracle: pytorch-ood, which gives outlier scores (higher = unanswerable; the sign is turned here) of softmax nets. Two answers
whose logits are f and 0 have the softmax (sigmoid(f), sigmoid(-f)) and logsumexp(f, 0) = log(1 + exp(f)), so that what it says
of such pairs is what is defined for sigmoids.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytorch_ood.detector import EnergyBased, MaxLogit, MaxSoftmax

from research.reference_models import detectors as by
from research.reference_models.class_gaussians import ClassGaussians
from research.reference_models.model_outputs import ModelOutputs
from research.reference_models.selective_answering import VectorScaling

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(-2, 3, size=(50, 7)).astype(np.float32)


def seen(logits, features=None):
    logits = np.asarray(logits, np.float32)
    features = (
        np.zeros((len(logits), 1), np.float32) if features is None else np.asarray(features, np.float32)
    )
    return ModelOutputs(tuple(f"answer {k}" for k in range(logits.shape[1])), logits, features)


def oracle(score, logits, *options):
    return -score(torch.from_numpy(np.asarray(logits, np.float64)), *options).numpy()


def against_zero(logits):
    """[n, 2]: a logit and 0."""
    return np.stack([logits, np.zeros_like(logits)], axis=1)


def ranks(values):
    return np.unique(values, return_inverse=True)[1]


def test_msp_is_the_largest_sigmoid():
    assert by.msp(seen([[math.log(3), -1], [math.log(1 / 4), -9]])) == pytest.approx([3 / 4, 1 / 5])
    top = LOGITS.max(axis=1)
    some = LOGITS[top > 0]  # the larger of sigmoid(f) and sigmoid(-f)
    assert len(some) > 20
    expected = oracle(MaxSoftmax.score, against_zero(some.max(axis=1)))
    assert by.msp(seen(some)) == pytest.approx(expected, rel=1e-12)
    assert (ranks(by.msp(seen(LOGITS))) == ranks(oracle(MaxLogit.score, LOGITS))).all()


def test_maxprob_is_the_largest_softmax_and_its_order_differs_from_msp():
    assert by.maxprob(seen([[math.log(3), 0, 0]])) == pytest.approx([3 / 5])
    assert by.maxprob(seen(LOGITS)) == pytest.approx(oracle(MaxSoftmax.score, LOGITS), rel=1e-12)
    # Sure of two answers, or half sure of one: sigmoids .88 and .5, softmax 1/2 and e^0 / (e^0 + e^-9) = .9999.
    both = seen([[2, 2], [0, -9]])
    assert by.msp(both)[0] > by.msp(both)[1]
    assert by.maxprob(both)[0] < by.maxprob(both)[1]


def test_energy_sums_over_the_top_k_answers():
    three = seen(
        [[math.log(3), -50, math.log(3), math.log(3)]]
    )  # log(1 + 3) = 2 log 2 each; the fourth adds nothing
    assert by.energy(three, 1) == pytest.approx([2 * math.log(2)])
    assert by.energy(three, 2) == pytest.approx([4 * math.log(2)])
    assert by.energy(three) == pytest.approx([6 * math.log(2)])
    terms = np.stack([oracle(EnergyBased.score, against_zero(column)) for column in LOGITS.T], axis=1)
    assert by.energy(seen(LOGITS)) == pytest.approx(terms.sum(axis=1), rel=1e-12)
    assert by.energy(seen(LOGITS), 2) == pytest.approx(np.sort(terms)[:, -2:].sum(axis=1), rel=1e-12)


def test_energy_of_fewer_than_k_answers_takes_all():
    assert by.energy(seen([[0.0]]), 2) == pytest.approx([math.log(2)])


def test_odin_is_the_largest_sigmoid_at_its_temperature_minus_a_half():
    top = np.abs(LOGITS[:, :1])
    expected = oracle(MaxSoftmax.score, against_zero(top[:, 0]), by.ODIN_TEMPERATURE) - 0.5
    assert by.odin(seen(top)) == pytest.approx(expected, abs=2e-16)  # the oracle has no more digits near 1/2


@given(arrays(np.float32, 20, elements=st.floats(-60, 15, width=32), unique=True))
def test_a_temperature_does_not_change_the_order(logits):
    asked = seen(logits[:, None])
    assert (ranks(by.odin(asked)) == ranks(logits)).all()


@given(arrays(np.float32, 20, elements=st.floats(-60, 12, width=32), unique=True))
def test_msp_keeps_the_order_of_logits(logits):
    # The slope of a sigmoid at 12 is 6e-6, neighbours in float32 are 1e-6 apart there: 6e-12, in float64 far from 0.
    rounded = np.unique(np.float32(logits).round(6))
    assert (ranks(by.msp(seen(rounded[:, None]))) == ranks(rounded)).all()


def test_odin_in_float32_or_with_four_decimals_has_ties():
    """What the published code does to its own confidences; the figures are those of its paper's net's range."""
    logits = np.linspace(-12, 4, 20_001, dtype=np.float32)
    published = torch.sigmoid(torch.from_numpy(logits) / by.ODIN_TEMPERATURE).numpy()
    assert len(np.unique(published)) < 1_000
    assert len(np.unique(published.round(4))) == 1
    assert len(np.unique(by.odin(seen(logits[:, None])))) == len(logits)


def test_published_odin_is_a_half_for_all():
    assert set(by.odin_rounded(seen(np.linspace(-12, 9, 500, dtype=np.float32)[:, None]))) == {0.5}


def gaussians():
    """Two answers, the first and the third of three, around (0, 0) and (4, 0), of covariance 1."""
    return ClassGaussians(np.array([0, 2]), np.zeros(2), np.eye(2), np.array([[0.0, 0], [4, 0]]))


def test_mahalanobis_is_minus_half_the_squared_distance_to_the_closest_answer():
    there = seen(np.zeros((2, 3)), [[1, 2], [4, 3]])
    assert by.mahalanobis(there, gaussians()).tolist() == [-(1 + 4) / 2, -9 / 2]
    assert by.closest_answer(there, gaussians()).tolist() == [0, 2]


def logit(p):
    return math.log(p / (1 - p))


def test_an_ensemble_multiplies():
    first, second = seen([[logit(0.9), logit(0.5)]]), seen([[logit(0.2), logit(0.5)]])
    # Products .18 and .25; the sums, 1.1 and 1.0, would choose the other answer.
    assert by.ensemble(first, (second,)) == pytest.approx([0.25])
    assert by.ensemble_answer(first, (second,)).tolist() == [1]
    assert by.ensemble(first, (second, second)) == pytest.approx([0.5**3])


def test_an_ensemble_needs_equal_answers():
    other = seen([[0.0, 1.0]])._replace(answers=("answer 1", "answer 0"))
    with pytest.raises(ValueError, match="different answers"):
        by.ensemble(seen([[0.0, 1.0]]), (other,))


def test_head_scores_are_sigmoids_and_their_products_with_msp():
    head, answers = np.array([logit(0.8)], np.float32), seen([[logit(0.5), logit(0.25)]])
    assert by.head_score(head) == pytest.approx([0.8])
    assert by.head_score_msp(head, answers) == pytest.approx([0.8 * 0.5])
    assert by.k_plus_1_score(head) == pytest.approx([0.2])
    assert by.k_plus_1_score_msp(head, answers) == pytest.approx([0.2 * 0.5])
    sure = by.k_plus_1_score(np.array([40, 41], np.float32))  # 1 - sigmoid(40) would be 0 in float64
    assert sure == pytest.approx([math.exp(-40), math.exp(-41)], rel=1e-9, abs=0)


def test_calibration_may_change_the_answer():
    asked = seen([[1.0, 0.5]])
    scaling = VectorScaling(np.array([1, 2], np.float32), np.array([0, 0.5], np.float32))
    # Logits 1 and 2 * .5 + .5 = 1.5: softmax of the second 1 / (1 + e^-.5).
    assert by.calibrated_maxprob(asked, scaling) == pytest.approx([1 / (1 + math.exp(-0.5))])
    assert by.calibrated_answer(asked, scaling).tolist() == [1]


def test_frcnn_known_ignores_unknown_nouns():
    nouns, detected = [{"cup", "wood"}, {"cat"}], [{"cup"}, {"cup"}]
    assert by.frcnn_known(nouns, detected, {"cup", "cat"}).tolist() == [1, 0]
    assert by.frcnn_rule(nouns, detected).tolist() == [0, 0]
