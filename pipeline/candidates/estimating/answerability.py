"""The probability that a candidate has an answer at its picture after all, from what its question takes for granted: by
logistic regression where there are graphs to fit it on, else by base rates alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.candidates.estimating.claims import Beliefs, Claim, claims
from pipeline.core.records import Candidate, Record
from pipeline.language.alignment import align
from pipeline.language.functional_programs import parse
from pipeline.language.presuppositions import asserted_steps
from pipeline.verifier.evidence import Facts
from pipeline.verifier.presence_model import names_known

# No estimate is surer than this: graphs and programs have errors.
SUREST_ESTIMATE = 0.999
# What is left of a probability where the evidence speaks against it: of what the judge holds unanswerable 97 % are.
REFUTED = 0.03
FEATURES = ("things", "looks", "relations", "refuted", "edited")


class Weights(Record):
    """Weights of the log odds that a question has an answer.

    Attributes:
        things: of the log odds that all things are there which it takes for granted. looks, relations: of the sums of log
            probabilities that they have the attributes, are in the relations. refuted: where the evidence speaks against it.
        edited: of an edited question. constant: always added.
    """

    things: float
    looks: float
    relations: float
    refuted: float
    edited: float
    constant: float


class Probable(NamedTuple):
    """A claim and its probability."""

    claim: Claim
    probability: float


def claims_of(candidate: Candidate) -> list[Claim]:
    """What a candidate takes for granted: by its program and text; where it has no program, what was put in."""
    if candidate.program:
        program = parse(candidate.program, candidate.text)
        asserted = asserted_steps(program, align(candidate.text, program, {}))
        return [claim for claim in claims(program) if claim.step not in asserted]
    put_in = ((edit, "" if edit.kind == "attribute" else edit.new.lower()) for edit in candidate.edits)
    return [
        Claim(edit.kind, edit.step, name, () if name else (edit.new.lower(),))
        for edit, name in put_in
        if edit.kind != "relation"
    ]


def probable(found: Sequence[Claim], facts: Facts | None, beliefs: Beliefs) -> list[Probable]:
    """Claims with their probabilities at a picture."""
    known = names_known(facts)
    return [Probable(claim, beliefs.probability(claim, facts, known)) for claim in found]


def features(found: Sequence[Probable], refuted: bool, edited: bool) -> list[float]:
    """In the order of FEATURES."""
    logs = dict.fromkeys(("object", "attribute", "relation"), 0.0)
    for claim, probability in found:
        logs[claim.kind] += math.log(probability)
    things = min(max(math.exp(logs["object"]), 1 - SUREST_ESTIMATE), SUREST_ESTIMATE)
    return [
        math.log(things / (1 - things)),
        logs["attribute"],
        logs["relation"],
        float(refuted),
        float(edited),
    ]


def answerable(row: Sequence[float], weights: Weights) -> float:
    """The probability, rounded to 4 places, by a row of features."""
    odds = weights.constant + math.fsum(
        getattr(weights, name) * x for name, x in zip(FEATURES, row, strict=True)
    )
    most = math.log(SUREST_ESTIMATE / (1 - SUREST_ESTIMATE))
    return round(1 / (1 + math.exp(-min(max(odds, -most), most))), 4)


def by_base_rates(found: Sequence[Probable], refuted: bool) -> float:
    """The probability where no graph is there to fit weights on: that all claims hold, were they independent. It is not
    calibrated; rounded to 4 places."""
    all_hold = math.prod(one.probability for one in found) * (REFUTED if refuted else 1)
    return round(min(max(all_hold, 1 - SUREST_ESTIMATE), SUREST_ESTIMATE), 4)


def fit(rows: Sequence[Sequence[float]], labels: Sequence[bool]) -> Weights:
    """Logistic regression, by Newton's method to the last digit and rounded to 3 places, so that it is the same on any machine;
    a little ridge keeps what never occurs at 0."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=10.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
    model.fit(np.array(rows), np.array(labels))
    found = np.round(np.ravel(model.coef_), 3).tolist()
    constant = round(float(np.ravel(model.intercept_)[0]), 3)
    return Weights(**dict(zip(FEATURES, found, strict=True)), constant=constant)
