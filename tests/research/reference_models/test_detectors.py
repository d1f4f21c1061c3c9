"""Detectors by their definitions, the table of detectors, and the rule about detected objects."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytorch_ood.detector import EnergyBased, MaxLogit, MaxSoftmax

from pipeline.language.tagger import Tagger
from research.reference_models import detectors as by
from research.reference_models.class_gaussians import ClassGaussians, fit_gaussians
from research.reference_models.detector_table import DETECTORS, DetectorInputs, missing_inputs, score
from research.reference_models.frcnn_rule import extract_nouns, frcnn_rule
from research.reference_models.model_outputs import HEAD_NAMES, ModelOutputs
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import GradedOutputs
from research.reference_models.selector_training import train_selector

# Each detector says what its paper defines, in float64, and loses no order.
#
# Oracle: pytorch-ood, which gives outlier scores (higher = unanswerable; the sign is turned here) of softmax nets. Two answers
# whose logits are f and 0 have the softmax (sigmoid(f), sigmoid(-f)) and logsumexp(f, 0) = log(1 + exp(f)), so that what it says
# of such pairs is what is defined for sigmoids.


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


# The table: each row can be computed, says what it needs, and answers as its source does.


ANSWERS = ("yes", "no", "red")


def net(seed, n=40):
    random = np.random.default_rng(seed)
    logits, features = random.normal(size=(n, 3)), random.normal(size=(n, 4))
    extra = {name: random.normal(size=n).astype(np.float32) for name in HEAD_NAMES}
    stepped = ModelOutputs(ANSWERS, (logits + 0.01).astype(np.float32), features.astype(np.float32))
    return ModelOutputs(ANSWERS, logits.astype(np.float32), features.astype(np.float32), extra, stepped)


@pytest.fixture(scope="module")
def everything():
    seen = net(0)
    right = np.arange(40) % 3
    graded = [GradedOutputs(images, seen, np.ones(40)) for images in (["a"] * 40, ["b"] * 40)]
    return DetectorInputs(
        seen,
        (net(1),),
        fit_gaussians(seen.features, right, 3),
        VectorScaling(np.ones(3, np.float32), np.array([0, 9, 0], np.float32)),
        train_selector(graded[0], graded[1], epochs=0),
        [{"cup"}, {"cat"}] * 20,
        [{"cup"}] * 40,
        {"cup"},
    )


@pytest.mark.parametrize("name", DETECTORS)
def test_each_row_gives_an_answer_and_a_finite_confidence_for_each_question(name, everything):
    answers, confidence = score(DETECTORS[name], everything)
    assert len(answers) == 40
    assert set(answers) <= set(ANSWERS)
    assert confidence.shape == (40,)
    assert confidence.dtype == np.float64
    assert np.isfinite(confidence).all()


@pytest.mark.parametrize("name", DETECTORS)
def test_missing_inputs_of_each_detector_are_named(name, everything):
    bare = DetectorInputs(everything.outputs._replace(head_logits={}, odin_perturbed=None))
    needed = [need for need in DETECTORS[name].required_inputs if need != "outputs"]
    assert missing_inputs(DETECTORS[name], everything) == []
    assert missing_inputs(DETECTORS[name], bare) == needed
    if needed:
        with pytest.raises(ValueError, match=re.escape(f"{DETECTORS[name].title} needs {needed[0]}")):
            score(DETECTORS[name], bare)


# One question; its answers have the logits log 3, 0 and 0: sigmoids 3/4, 1/2, 1/2, softmax 3/5, 1/5, 1/5, and
# log(1 + exp(f)) = 2 log 2, log 2, log 2.
HEAD_SCORES = {"branch": 0.9, "multi_branch": 0.8, "separated": 0.7, "k_plus_1": 0.6, "caption_match": 0.3}
ONE = DetectorInputs(
    ModelOutputs(
        ANSWERS,
        np.array([[math.log(3), 0, 0]], np.float32),
        np.zeros((1, 1), np.float32),
        {name: np.array([logit(p)], np.float32) for name, p in HEAD_SCORES.items()},
        ModelOutputs(ANSWERS, np.array([[1, 0, 0]], np.float32), np.zeros((1, 1), np.float32)),
    ),
    (ModelOutputs(ANSWERS, np.zeros((1, 3), np.float32), np.zeros((1, 1), np.float32)),),
    scaling=VectorScaling(np.ones(3, np.float32), np.array([0, 0, math.log(6)], np.float32)),
    nouns=[{"cup", "wood"}],
    detected_names=[{"cup"}],
    detector_names={"cup"},
)


@pytest.mark.parametrize(
    "name, expected",
    {
        "msp": 3 / 4,
        "maxprob": 3 / 5,
        "energy_top2": 3 * math.log(2),
        "energy_all": 4 * math.log(2),
        "odin": 1 / (1 + math.exp(-1e-5)) - 0.5,
        "frcnn": 0,
        "frcnn_known": 1,
        "branched": 0.9,
        "branched_msp": 0.9 * 3 / 4,
        "multi_branched": 0.8,
        "multi_branched_msp": 0.8 * 3 / 4,
        "separated": 0.7,
        "separated_msp": 0.7 * 3 / 4,
        "k_plus_1": 0.4,
        "k_plus_1_msp": 0.4 * 3 / 4,
        "caption_match": 0.3,
        "ensemble": 3 / 4 * 1 / 2,
        "vector_scaling": 6 / 10,  # exp of the logits: 3, 1, 6
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_detector_computes_its_score(name, expected):
    assert score(DETECTORS[name], ONE).confidence == pytest.approx([expected], rel=1e-6)


def test_only_three_detectors_change_answers(everything):
    own = [ANSWERS[place] for place in everything.outputs.logits.argmax(axis=1)]
    others = {name for name, row in DETECTORS.items() if score(row, everything).answers != own}
    assert others == {"mahalanobis_own", "ensemble", "vector_scaling"}
    assert score(DETECTORS["vector_scaling"], everything).answers == ["no"] * 40  # by a bias of 9


def test_detectors_of_heads_take_their_own_head(everything):
    heads = ("branched", "multi_branched", "separated", "caption_match", "k_plus_1")
    columns = {tuple(score(DETECTORS[name], everything).confidence) for name in heads}
    assert len(columns) == len(heads)
    assert {need for name in heads for need in DETECTORS[name].required_inputs} == set(HEAD_NAMES)


def test_odin_reads_the_outputs_after_the_step(everything):
    plain = score(
        DETECTORS["odin"],
        everything._replace(outputs=everything.outputs._replace(odin_perturbed=everything.outputs)),
    )
    assert (
        score(DETECTORS["odin"], everything).confidence > plain.confidence
    ).all()  # logits are .01 higher there


def test_titles_are_distinct():
    assert len({row.title for row in DETECTORS.values()}) == len(DETECTORS)


# What a question names, and the rule that all of it must be there.


NAMES = {"cup", "traffic light", "fire hydrant", "table", "television"}


@pytest.fixture(scope="module")
def tagger():
    return Tagger()


@pytest.mark.parametrize(
    "text, nouns",
    [
        ("Is the cup on the table?", {"cup", "table"}),
        ("Are the cups to the left of the traffic lights?", {"cup", "traffic light"}),  # left: no thing
        ("Are there any Fire Hydrants or cats?", {"fire hydrant", "cat"}),  # capitals; a cat has no name here
        ("What color is the light?", {"light"}),  # half of a name is another thing; color: no thing
        ("Is the traffic heavy?", {"traffic"}),
        ("Is it sunny?", set()),
    ],
)
def test_nouns_of_a_question(tagger, text, nouns):
    (tokens,) = tagger.tag([text])
    assert extract_nouns(text, tokens, NAMES) == nouns


def test_a_name_of_several_words_is_found(tagger):
    """The published code compares word by word: "traffic" and "light" are never among the names."""
    text = "Is the traffic light red?"
    (tokens,) = tagger.tag([text])
    asked = [extract_nouns(text, tokens, NAMES)] * 2
    assert frcnn_rule(asked, [["traffic light"], ["cup"]]).tolist() == [1, 0]
    assert extract_nouns(text, tokens, ()) == {"traffic", "light"}  # of a detector without that name


def test_all_nouns_must_be_detected_and_no_nouns_are_accepted():
    assert frcnn_rule([{"cup", "cat"}, {"cup"}, set()], [{"cup"}, {"cup"}, set()]).tolist() == [0, 1, 1]


def test_each_synonym_of_a_class_counts():
    assert frcnn_rule([{"tv"}, {"television"}], [["tv,television"]] * 2).tolist() == [1, 1]


def test_each_question_has_its_image():
    with pytest.raises(ValueError):
        frcnn_rule([{"cup"}], [])
