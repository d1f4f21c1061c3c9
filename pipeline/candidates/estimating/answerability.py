"""Estimate the probability that a candidate is answerable for its image, from what its question presupposes.

If there are scene graphs, a logistic regression is fitted to questions about their images. Otherwise only the
order of the candidates is estimated from their claims. Their level is a stated base rate per subset
(`annotation.study.base_rates`), which verdicts correct during the study.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pipeline.candidates.estimating.claims import Claim, ClaimEstimator, extract_program_claims
from pipeline.core.records import Candidate, Record, Subset
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import parse_program
from pipeline.language.presuppositions import find_asserted_steps
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.presence_model import get_known_names

# Upper bound of every estimate that is fitted to graphs, because graphs and programs have errors.
MAX_PROBABILITY = 0.999
# Weight of the log odds that all claims hold, without graphs. It is below 1, because the claims are neither
# independent nor calibrated. Fitted to the sample's graphs, the weight of the objects is 0.43.
CLAIM_WEIGHT = 0.4
# Factor of a probability if the evidence contradicts the question. 97 % of the questions that the verifier
# finds unanswerable are indeed unanswerable.
REFUTED_FACTOR = 0.03
# Stated proportions of answerable candidates, for data without scene graphs. They are rounded means of what was
# found in the sample (0, 17, 1 and 7 %) and on photographs (4 and 13 % of the CLIP candidates, 12 to 30 % of the
# edits). Verdicts correct them (`annotation.study.base_rates`).
STATED_RATES: dict[Subset, float] = {"clip-easy": 0.08, "clip-hard": 0.2, "pt-easy": 0.1, "pt-hard": 0.15}
FEATURE_NAMES = ("objects", "attributes", "relations", "refuted", "edited")


class LogisticWeights(Record):
    """Weights of the log odds that a question is answerable.

    Attributes:
        objects: Weight of the log odds that the image shows all presupposed objects.
        attributes: Weight of the sum of the log probabilities of the presupposed attributes.
        relations: Weight of the sum of the log probabilities of the presupposed relations.
        refuted: Added if the evidence contradicts the question.
        edited: Added for an edited question.
        intercept: Added for every question.
    """

    objects: float
    attributes: float
    relations: float
    refuted: float
    edited: float
    intercept: float


class ClaimProbability(NamedTuple):
    claim: Claim
    probability: float


def extract_candidate_claims(candidate: Candidate) -> list[Claim]:
    """Return the claims that a candidate presupposes, by its program and text.

    If the candidate has no program, only the inserted objects and attributes are returned.
    """
    if candidate.program:
        program = parse_program(candidate.program, candidate.text)
        asserted = find_asserted_steps(program, align_program(candidate.text, program, {}))
        return [claim for claim in extract_program_claims(program) if claim.step not in asserted]
    inserted = ((edit, "" if edit.kind == "attribute" else edit.new.lower()) for edit in candidate.edits)
    return [
        Claim(edit.kind, edit.step_index, name, () if name else (edit.new.lower(),))
        for edit, name in inserted
        if edit.kind != "relation"
    ]


def estimate_claims(
    claims: Sequence[Claim], evidence: Evidence | None, claim_estimator: ClaimEstimator
) -> list[ClaimProbability]:
    """Return the claims with their probabilities for an image."""
    known = get_known_names(evidence)
    return [
        ClaimProbability(claim, claim_estimator.estimate_probability(claim, evidence, known))
        for claim in claims
    ]


def compute_features(
    claim_probabilities: Sequence[ClaimProbability], is_refuted: bool, is_edited: bool
) -> list[float]:
    """Return the features of a question, in the order of FEATURE_NAMES."""
    logs = dict.fromkeys(("object", "attribute", "relation"), 0.0)
    for claim, probability in claim_probabilities:
        logs[claim.kind] += math.log(probability)
    objects = min(max(math.exp(logs["object"]), 1 - MAX_PROBABILITY), MAX_PROBABILITY)
    return [
        math.log(objects / (1 - objects)),
        logs["attribute"],
        logs["relation"],
        float(is_refuted),
        float(is_edited),
    ]


def predict_probability(features: Sequence[float], weights: LogisticWeights) -> float:
    """Return the probability that a question is answerable, rounded to 4 places."""
    log_odds = weights.intercept + math.fsum(
        getattr(weights, name) * x for name, x in zip(FEATURE_NAMES, features, strict=True)
    )
    max_log_odds = math.log(MAX_PROBABILITY / (1 - MAX_PROBABILITY))
    return round(1 / (1 + math.exp(-min(max(log_odds, -max_log_odds), max_log_odds))), 4)


def score_claims(claim_probabilities: Sequence[ClaimProbability], is_refuted: bool) -> float:
    """Return how much more or less probable than usual it is that a question is answerable, as log odds.

    This score is used if there is no scene graph to which weights can be fitted. It is the log odds that all
    claims hold, as if they were independent, times `CLAIM_WEIGHT`. Only differences between candidates of one
    subset have a meaning (`calibrate_scores`). NaN: the question makes no claims, so nothing is known.
    """
    if not claim_probabilities:
        return math.nan
    all_hold = math.prod(row.probability for row in claim_probabilities)
    all_hold = min(max(all_hold, 1 - MAX_PROBABILITY), MAX_PROBABILITY)
    refuted = math.log(REFUTED_FACTOR) if is_refuted else 0.0
    return CLAIM_WEIGHT * math.log(all_hold / (1 - all_hold)) + refuted


def calibrate_scores(scores: np.ndarray, base_rate: float) -> np.ndarray:
    """Return the probabilities of the candidates of one subset, [candidates]; their mean is the base rate.

    One constant is added to all log odds. A candidate of which nothing is known gets the base rate itself.

    Args:
        scores: [candidates], see `score_claims`.
        base_rate: Expected proportion of answerable candidates.

    >>> calibrate_scores(np.array([-1.0, 1.0, math.nan]), 0.1).round(3).tolist()
    [0.027, 0.173, 0.1]
    """
    is_known = ~np.isnan(scores)
    known = scores[is_known]
    low, high = -100.0, 100.0
    # Bisection, until the mean is the base rate.
    for _ in range(100):
        constant = (low + high) / 2
        low, high = (
            (low, constant) if expit(known + constant).sum() > base_rate * len(known) else (constant, high)
        )
    probabilities = np.full(len(scores), base_rate)
    probabilities[is_known] = expit(known + low)
    return probabilities


def fit_weights(features: Sequence[Sequence[float]], labels: Sequence[bool]) -> LogisticWeights:
    """Fit the weights by logistic regression.

    Newton's method runs until nothing changes, and the weights are rounded to 3 places. So the weights are
    the same on every machine. A small ridge penalty keeps a weight at 0 if its feature never occurs.

    Args:
        features: For each question its features, see `compute_features`.
        labels: For each question whether it is answerable.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=10.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
    model.fit(np.array(features), np.array(labels))
    coefficients = np.round(np.ravel(model.coef_), 3).tolist()
    intercept = round(float(np.ravel(model.intercept_)[0]), 3)
    return LogisticWeights(**dict(zip(FEATURE_NAMES, coefficients, strict=True)), intercept=intercept)
