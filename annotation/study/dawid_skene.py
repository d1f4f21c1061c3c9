"""How probable it is that each candidate is unanswerable, by Dawid and Skene's estimate of what is true from what several
annotators say (Applied Statistics 28, 1979), over the verdicts that count.

Every annotator has a table of their own: how often they give each response where each class is true. Tables and
truths are estimated in turn (EM), from the shares of responses on. There are more responses than classes: "unsure"
is one, and says as much as the annotator's habit makes it say. Ours, as libraries (crowd-kit) know neither such a
response nor smoothing. Each subset is estimated by itself: what is easily missed in one is plain in another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import softmax

from annotation.study.exports import CHOICES
from annotation.study.judged import by_subset
from pipeline.core.records import Choice, Record, Subset

CLASSES = 2  # valid and invalid
SETTLED = 1e-9  # a round that moves no probability by more is the last


class Posterior(Record):
    """`invalid` is the probability that the candidate is unanswerable, rounded to 6 places."""

    candidate_id: str
    invalid: float


class ConfusionTable(Record):
    """What somebody says in a subset, in shares: of what is valid in truth, and of what is invalid."""

    subset: Subset
    annotator: str
    votes: int
    where_valid: dict[Choice, float]
    where_invalid: dict[Choice, float]


def posteriors(counted: pd.DataFrame) -> tuple[list[Posterior], list[ConfusionTable]]:
    """Candidates sorted by id; annotators' tables sorted by subset and name.

    Args:
        counted: the verdicts that count.
    """
    probable: dict[str, float] = {}
    tables: list[ConfusionTable] = []
    for subset, rows in by_subset(counted.sort_values("verdict_id")).items():
        item, candidates = pd.factorize(rows["candidate_id"], sort=True)
        who, people = pd.factorize(rows["annotator"], sort=True)
        said = pd.Categorical(rows["choice"], CHOICES).codes  # the first two choices name the classes
        posterior, confusion = dawid_skene(item, who, said)
        probable |= zip(candidates, np.round(posterior[:, 1], 6).tolist(), strict=True)
        for person, votes, shares in zip(people, np.bincount(who).tolist(), confusion.tolist(), strict=True):
            valid, invalid = (dict(zip(CHOICES, row, strict=True)) for row in shares)
            row = {"subset": subset, "annotator": person, "votes": votes}
            tables.append(ConfusionTable(**row, where_valid=valid, where_invalid=invalid))
    return [Posterior(candidate_id=key, invalid=share) for key, share in sorted(probable.items())], tables


def usual(tables: Sequence[ConfusionTable], subset: Subset, choice: Choice) -> tuple[float, float]:
    """How often annotators make a choice in a subset, weighted by their votes: where valid is true, and where invalid is."""
    rows = [table for table in tables if table.subset == subset]
    shares = [(table.where_valid[choice], table.where_invalid[choice]) for table in rows]
    valid, invalid = np.average(shares, axis=0, weights=[table.votes for table in rows]).tolist()
    return valid, invalid


def dawid_skene(
    item: np.ndarray,
    annotator: np.ndarray,
    response: np.ndarray,
    *,
    responses: int = 3,
    smoothing: float = 1.0,
    most_rounds: int = 1000,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate classes and tables from votes; the same votes give the same numbers.

    Args:
        item, annotator, response: [votes], whole numbers from 0 on: on what, by whom, what. Responses 0 and 1 name
            the class; those above name none.
        smoothing: added to each count of a table and to each class, so that few votes never make certainty; 0 gives
            the plain maximum likelihood.

    Returns:
        The probability of each class, [items, classes], rows of which sum to 1; and the probability of a response
        where a class is true, [annotators, classes, responses].

    Raises:
        ValueError: no votes, or arrays of different lengths.

    >>> probable, _ = dawid_skene(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), smoothing=0)
    >>> probable.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not len(item) or not len(item) == len(annotator) == len(response):
        raise ValueError(
            f"{len(item)} items, {len(annotator)} annotators, {len(response)} responses: wanted as many of each"
        )
    shape = int(item.max()) + 1, int(annotator.max()) + 1, responses
    votes = csr_array(  # [items, annotators x responses]
        (np.ones(len(item)), (item, annotator * responses + response)), (shape[0], shape[1] * responses)
    )
    counts = np.asarray(votes @ np.tile(np.eye(responses), (shape[1], 1)))  # [items, responses]
    posterior = counts[:, :CLASSES] + counts[:, CLASSES:].sum(axis=1, keepdims=True) / CLASSES
    posterior /= posterior.sum(axis=1, keepdims=True)
    tables = np.empty(0)
    for _ in range(most_rounds):
        prior = posterior.sum(axis=0) + smoothing
        prior /= prior.sum()
        tables = (votes.T @ posterior).reshape(*shape[1:], CLASSES) + smoothing
        total = tables.sum(axis=1, keepdims=True)
        tables = np.divide(tables, total, out=np.full_like(tables, 1 / responses), where=total > 0)
        with np.errstate(divide="ignore"):  # a probability of 0 rules a class out
            logs = np.log(prior) + votes @ np.log(tables).reshape(-1, CLASSES)
        before, posterior = posterior, softmax(logs, axis=1)
        if np.abs(posterior - before).max() <= SETTLED:
            break
    return posterior, tables.transpose(0, 2, 1)
