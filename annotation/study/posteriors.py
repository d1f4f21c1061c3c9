"""How probable it is that each candidate is unanswerable, by Dawid and Skene's estimate over the verdicts that count.

Each subset is estimated by itself: what is easily missed in one is plain in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from annotation.study.dawid_skene import dawid_skene
from annotation.study.judged import Judged
from pipeline.core.records import SUBSETS, Choice, Record, Subset

RESPONSES = get_args(Choice)  # valid, invalid, unsure: the first two name the classes


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


def posteriors(judged: Sequence[Judged]) -> tuple[list[Posterior], list[ConfusionTable]]:
    """Candidates sorted by id; annotators' tables sorted by subset and name.

    Args:
        judged: with the verdicts that count.
    """
    probable: list[Posterior] = []
    tables: list[ConfusionTable] = []
    for subset in SUBSETS:
        rows = sorted(
            (row for row in judged if row.task.subset == subset), key=lambda row: row.verdict.verdict_id
        )
        if not rows:
            continue
        candidates, item = np.unique([row.candidate_id for row in rows], return_inverse=True)
        people, who = np.unique([row.verdict.annotator for row in rows], return_inverse=True)
        said = np.array([RESPONSES.index(row.candidate.choice) for row in rows])
        estimate = dawid_skene(item, who, said, classes=2, responses=len(RESPONSES))
        invalid = np.round(estimate.posterior[:, 1], 6).tolist()
        probable += map(
            lambda key, share: Posterior(candidate_id=str(key), invalid=share), candidates, invalid
        )
        for person, (valid, invalid), votes in zip(
            people, estimate.confusion.tolist(), np.bincount(who).tolist(), strict=True
        ):
            tables.append(
                ConfusionTable(
                    subset=subset,
                    annotator=str(person),
                    votes=votes,
                    where_valid=dict(zip(RESPONSES, valid, strict=True)),
                    where_invalid=dict(zip(RESPONSES, invalid, strict=True)),
                )
            )
    return sorted(probable, key=lambda row: row.candidate_id), tables


def usual(tables: Sequence[ConfusionTable], subset: Subset, choice: Choice) -> tuple[float, float]:
    """How often annotators make a choice in a subset, weighted by their votes: where valid is true, and where invalid is."""
    rows = [table for table in tables if table.subset == subset]
    shares = [(table.where_valid[choice], table.where_invalid[choice]) for table in rows]
    valid, invalid = np.average(shares, axis=0, weights=[table.votes for table in rows]).tolist()
    return valid, invalid
