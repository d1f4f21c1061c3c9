"""The probability that a candidate has an answer at its image after all, from what its question takes for granted: by
logistic regression where there are graphs to fit it on, else by base rates alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.candidates.estimating.claims import Claim, ClaimEstimator, extract_program_claims
from pipeline.core.records import Candidate, Record
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import parse_program
from pipeline.language.presuppositions import find_asserted_steps
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.presence_model import get_known_names

# No estimate is surer than this: graphs and programs have errors.
MAX_PROBABILITY = 0.999
# What is left of a probability where the evidence speaks against it: of what the judge holds unanswerable 97 % are.
REFUTED_FACTOR = 0.03
FEATURE_NAMES = ("objects", "attributes", "relations", "refuted", "edited")


class LogisticWeights(Record):
    """Weights of the log odds that a question has an answer.

    Attributes:
        things: of the log odds that all things are there which it takes for granted. looks, relations: of the sums of log
            probabilities that they have the attributes, are in the relations. refuted: where the evidence speaks against it.
        edited: of an edited question. constant: always added.
    """

    objects: float
    attributes: float
    relations: float
    refuted: float
    edited: float
    intercept: float


class ClaimProbability(NamedTuple):
    """A claim and its probability."""

    claim: Claim
    probability: float


def extract_candidate_claims(candidate: Candidate) -> list[Claim]:
    """What a candidate takes for granted: by its program and text; where it has no program, what was put in."""
    if candidate.program:
        program = parse_program(candidate.program, candidate.text)
        asserted = find_asserted_steps(program, align_program(candidate.text, program, {}))
        return [claim for claim in extract_program_claims(program) if claim.step not in asserted]
    put_in = ((edit, "" if edit.kind == "attribute" else edit.new.lower()) for edit in candidate.edits)
    return [
        Claim(edit.kind, edit.step_index, name, () if name else (edit.new.lower(),))
        for edit, name in put_in
        if edit.kind != "relation"
    ]


def estimate_claims(
    claims: Sequence[Claim], facts: Evidence | None, claim_estimator: ClaimEstimator
) -> list[ClaimProbability]:
    """Claims with their probabilities at an image."""
    known = get_known_names(facts)
    return [
        ClaimProbability(claim, claim_estimator.estimate_probability(claim, facts, known)) for claim in claims
    ]


def compute_features(
    claim_probabilities: Sequence[ClaimProbability], is_refuted: bool, is_edited: bool
) -> list[float]:
    """In the order of FEATURES."""
    logs = dict.fromkeys(("object", "attribute", "relation"), 0.0)
    for claim, probability in claim_probabilities:
        logs[claim.kind] += math.log(probability)
    things = min(max(math.exp(logs["object"]), 1 - MAX_PROBABILITY), MAX_PROBABILITY)
    return [
        math.log(things / (1 - things)),
        logs["attribute"],
        logs["relation"],
        float(is_refuted),
        float(is_edited),
    ]


def predict_probability(features: Sequence[float], weights: LogisticWeights) -> float:
    """The probability, rounded to 4 places, by a row of features."""
    odds = weights.intercept + math.fsum(
        getattr(weights, name) * x for name, x in zip(FEATURE_NAMES, features, strict=True)
    )
    most = math.log(MAX_PROBABILITY / (1 - MAX_PROBABILITY))
    return round(1 / (1 + math.exp(-min(max(odds, -most), most))), 4)


def estimate_by_base_rates(claim_probabilities: Sequence[ClaimProbability], is_refuted: bool) -> float:
    """The probability where no graph is there to fit weights on: that all claims hold, were they independent. It is not
    calibrated; rounded to 4 places."""
    all_hold = math.prod(one.probability for one in claim_probabilities) * (
        REFUTED_FACTOR if is_refuted else 1
    )
    return round(min(max(all_hold, 1 - MAX_PROBABILITY), MAX_PROBABILITY), 4)


def fit_weights(features: Sequence[Sequence[float]], labels: Sequence[bool]) -> LogisticWeights:
    """Logistic regression, by Newton's method to the last digit and rounded to 3 places, so that it is the same on any machine;
    a little ridge keeps what never occurs at 0."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=10.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
    model.fit(np.array(features), np.array(labels))
    found = np.round(np.ravel(model.coef_), 3).tolist()
    constant = round(float(np.ravel(model.intercept_)[0]), 3)
    return LogisticWeights(**dict(zip(FEATURE_NAMES, found, strict=True)), intercept=constant)
