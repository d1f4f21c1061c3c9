"""Weigh annotators, set aside what does not count, and count the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
import pandas as pd

from annotation.study.dawid_skene import Posterior, posteriors
from annotation.study.judged import CollectRules, counted
from annotation.study.quality_figures import Quality, summary
from annotation.study.votes import AnotherVote, another_vote, check_aqs, verify
from annotation.study.weighing import SetAside, weigh
from pipeline.core.records import AqCheck, Record, Screened, Verified
from simulation.annotators import ANNOTATORS


class CollectParams(CollectRules):
    # Simulated annotators instead of exports; true needs the complete truth. "rehearsal" takes incomplete graphs for
    # it, to see the machinery work before people are asked: what comes out is marked, and cannot be published.
    simulate: bool | Literal["rehearsal"] = False
    seed: int = 0  # of the simulated annotators
    votes: Annotated[int, msgspec.Meta(ge=1, le=len(ANNOTATORS))] = 3  # simulated verdicts per task

    def in_use(self) -> dict[str, object]:
        """Name -> value, those of the simulation only if it runs: what the quality report rests on."""
        simulation = ("simulate", "seed", "votes") if self.simulate else ("simulate",)
        return {name: getattr(self, name) for name in (*simulation, *CollectRules.__struct_fields__)}


class Collected(Record):
    """Everything that the verdicts come to."""

    verified: list[Verified]
    set_aside: list[SetAside]
    aq_checks: list[AqCheck]
    posteriors: list[Posterior]
    another_vote: list[AnotherVote]
    quality: Quality


def collect(screened: Iterable[Screened], judged: pd.DataFrame, params: CollectParams) -> Collected:
    """What verdicts, beside their tasks, come to for all screened candidates."""
    weighed = weigh(judged, params)
    judged = weighed.judged
    probable, tables = posteriors(counted(judged)) if params.rule == "dawid-skene" else ([], [])
    invalid = {row.candidate_id: row.invalid for row in probable}
    verified = verify(screened, judged, params, invalid)
    again = another_vote(verified, judged, params, invalid, tables)
    return Collected(
        verified=verified,
        set_aside=weighed.aside,
        aq_checks=check_aqs(judged),
        posteriors=probable,
        another_vote=again,
        quality=summary(weighed, verified, again, tables, params.in_use()),
    )


def report(collected: Collected) -> dict[str, Any]:
    """`collect.json`: what the audit and the next stages are told; the whole is in the quality report."""
    quality = collected.quality
    together = quality.agreement[0]
    return {
        "simulated": quality.simulated,
        "rehearsal": quality.rehearsal,
        "annotators": {
            row.name: _told(row, "filters", "right", "accuracy", "low", "high")
            | {"excluded": bool(row.excluded), "reasons": row.excluded}
            for row in quality.annotators
        },
        "verdicts": quality.given,
        "set_aside": Counter(row.reason for row in collected.set_aside),
        "filters_refuted": sorted(f"{row.picture_id}: {row.text}" for row in quality.refuted),
        "agreement": {
            **_told(together, "share", "alpha"),
            "pairs": [_told(pair, "first", "second", "both", "same") for pair in together.pairs],
        },
        "candidates": {row.subset: row.statuses for row in quality.subsets},
        "another_vote": quality.another_vote,
        "aqs": Counter(row.status for row in collected.aq_checks),
    }


def _told(row: Record, *names: str) -> dict[str, Any]:
    """Some fields of a row, shares rounded."""
    values = ((name, getattr(row, name)) for name in names)
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in values}
