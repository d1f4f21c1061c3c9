"""Features and weights by hand, and beside scikit-learn's own solver."""

import math

import numpy as np
import pytest

from pipeline.candidates.estimating.answerability import (
    ClaimProbability,
    LogisticWeights,
    compute_features,
    estimate_by_base_rates,
    extract_candidate_claims,
    fit_weights,
    predict_probability,
)
from pipeline.candidates.estimating.claims import Claim
from pipeline.core.records import Candidate, Edit
from tests.notation import steps

WEIGHTS = LogisticWeights(
    objects=0.5, attributes=1.0, relations=2.0, refuted=-3.0, edited=-1.0, intercept=0.25
)
CUP, RED, ON = (
    Claim("object", 0, "cup"),
    Claim("attribute", 1, "cup", ("red",)),
    Claim("relation", 2, "cup", ("on",)),
)


def test_features_are_log_odds_of_objects_and_log_probabilities_of_the_rest():
    found = [
        ClaimProbability(CUP, 0.5),
        ClaimProbability(CUP, 0.4),
        ClaimProbability(RED, 0.1),
        ClaimProbability(ON, 0.3),
    ]
    # both things are there with 0.2: odds 1 to 4
    assert compute_features(found, is_refuted=True, is_edited=False) == pytest.approx(
        [math.log(0.25), math.log(0.1), math.log(0.3), 1, 0]
    )


def test_the_probability_is_logistic_and_never_certain():
    # 0.25 + 0.5 * 1 - 1 = -0.25; 1 / (1 + e^0.25) = 0.43782
    assert predict_probability([1.0, 0, 0, 0, 1], WEIGHTS) == 0.4378
    assert predict_probability([1.0, 0, 0, 1, 1], WEIGHTS) < 0.05
    assert predict_probability([900.0, 0, 0, 0, 0], WEIGHTS) == 0.999
    assert predict_probability([0, -900.0, 0, 0, 0], WEIGHTS) == 0.001


def test_without_graphs_all_claims_must_hold():
    found = [ClaimProbability(CUP, 0.5), ClaimProbability(RED, 0.1), ClaimProbability(ON, 0.3)]
    assert estimate_by_base_rates(found, is_refuted=False) == 0.015
    assert estimate_by_base_rates(found[:1], is_refuted=True) == 0.015  # 0.5 * 0.03
    assert estimate_by_base_rates([], is_refuted=False) == 0.999


def test_fitting_finds_the_weights_that_made_the_labels():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40_000, 5))
    odds = rows @ [0.5, 1.0, 2.0, -3.0, -1.0] + 0.25
    found = fit_weights(rows.tolist(), (rng.random(len(rows)) < 1 / (1 + np.exp(-odds))).tolist())
    for name in LogisticWeights.__struct_fields__:
        assert getattr(found, name) == pytest.approx(getattr(WEIGHTS, name), abs=0.1)


def test_a_feature_that_never_occurs_has_weight_zero():
    rows = [[x, 0.0, 0.0, 0.0, 0.0] for x in (-1.0, -0.5, 0.5, 1.0)]
    assert fit_weights(rows, [False, True, False, True]).refuted == 0


def test_without_a_program_what_was_put_in_is_claimed():
    edits = (
        Edit(start=0, end=1, kind="object", old="cup", new="zebra"),
        Edit(start=2, end=3, kind="attribute", old="red", new="blue"),
    )
    candidate = Candidate(
        candidate_id="a", subset="pt-easy", image_id="p", question_id="q", text="", edits=edits
    )
    assert [(claim.kind, claim.name, claim.words) for claim in extract_candidate_claims(candidate)] == [
        ("object", "zebra", ()),
        ("attribute", "", ("blue",)),
    ]


def test_what_the_text_only_asserts_is_not_claimed():
    """ "Is the man wearing A HAT?": no. "Is the man wearing THE HAT?" takes it for granted; the program is the same."""
    program = steps("select: man (1)->verify rel: hat,wearing,o (2) [0]")

    def named(text):
        candidate = Candidate(
            candidate_id="a", subset="pt-easy", image_id="p", question_id="q", text=text, program=program
        )
        return [claim.name for claim in extract_candidate_claims(candidate)]

    assert named("Is the man wearing a hat?") == ["man"]
    assert named("Is the man wearing the hat?") == ["man", "hat"]
