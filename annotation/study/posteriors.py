"""How probable it is that each candidate is unanswerable, by Dawid and Skene's estimate over the verdicts that count.

Each subset is estimated by itself: what is easily missed in one is plain in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np

from annotation.study.dawid_skene import dawid_skene
from annotation.study.quality import candidate_choice, candidate_of
from pipeline.core.records import SUBSETS, Choice, Record, Subset, Task, Verdict

RESPONSES = get_args(Choice)  # valid, invalid, unsure: the first two name the classes


class Posterior(Record):
    """`invalid` is the probability that the candidate is unanswerable, rounded to 6 places."""

    candidate_id: str
    invalid: float


class Table(Record):
    """What somebody says in a subset, in shares: of what is valid in truth, and of what is invalid."""

    subset: Subset
    annotator: str
    votes: int
    where_valid: dict[Choice, float]
    where_invalid: dict[Choice, float]


def posteriors(tasks: Mapping[str, Task], verdicts: Sequence[Verdict]) -> tuple[list[Posterior], list[Table]]:
    """Candidates sorted by id; annotators' tables sorted by subset and name.

    Args:
        verdicts: those that count.
    """
    found: list[Posterior] = []
    tables: list[Table] = []
    for subset in SUBSETS:
        mine = sorted((v for v in verdicts if tasks[v.task_id].subset == subset), key=lambda v: v.verdict_id)
        if not mine:
            continue
        keys, item = np.unique([candidate_of(tasks[v.task_id]) for v in mine], return_inverse=True)
        names, who = np.unique([v.annotator for v in mine], return_inverse=True)
        said = np.array([RESPONSES.index(candidate_choice(tasks[v.task_id], v)) for v in mine])
        made = dawid_skene(item, who, said, classes=2, responses=len(RESPONSES))
        found += [
            Posterior(candidate_id=str(key), invalid=round(float(row[1]), 6))
            for key, row in zip(keys, made.posterior, strict=True)
        ]
        for name, table, votes in zip(names, made.confusion, np.bincount(who), strict=True):
            valid, invalid = (dict(zip(RESPONSES, row.tolist(), strict=True)) for row in table)
            tables.append(
                Table(
                    subset=subset,
                    annotator=str(name),
                    votes=int(votes),
                    where_valid=valid,
                    where_invalid=invalid,
                )
            )
    return sorted(found, key=lambda row: row.candidate_id), tables


def usual(tables: Sequence[Table], subset: Subset) -> tuple[tuple[float, float], tuple[float, float]]:
    """What annotators say in a subset, weighted by their votes: shares of ("valid", "invalid") where it is valid, and
    where it is invalid."""
    mine = [table for table in tables if table.subset == subset]
    total = sum(table.votes for table in mine)

    def mean(choice: Choice, where: str) -> float:
        return sum(getattr(table, where)[choice] * table.votes for table in mine) / total

    return (
        (mean("valid", "where_valid"), mean("invalid", "where_valid")),
        (mean("valid", "where_invalid"), mean("invalid", "where_invalid")),
    )
