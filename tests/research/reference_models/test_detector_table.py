"""The table: each row can be computed, says what it needs, and answers as its source does."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from research.reference_models.class_gaussians import fit_gaussians
from research.reference_models.detector_table import DETECTORS, DetectorInputs, missing_inputs, score
from research.reference_models.model_outputs import HEAD_NAMES, ModelOutputs
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import GradedOutputs
from research.reference_models.selector_training import train_selector

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


def logit(p):
    return math.log(p / (1 - p))


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
