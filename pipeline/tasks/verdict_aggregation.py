"""Weigh annotators, set aside what does not count, and count the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pandas as pd
from msgspec import to_builtins as asdict

from annotation.study.agreement import Figure
from annotation.study.answers_table import CollectRules, votes
from annotation.study.dawid_skene import MILLION, Posterior, posteriors
from annotation.study.quality_control import SetAside, weigh
from annotation.study.quality_report import Quality, summary
from annotation.study.vote_aggregation import check_aqs, verify
from pipeline.core.params import Seed
from pipeline.core.records import AqCheck, Record, Screened, Verified
from pipeline.research_registry import NUM_SIMULATED_ANNOTATORS
from pipeline.scoring.bootstrap import percentile_interval


class CollectParams(CollectRules):
    # Simulated annotators instead of exports; true needs the complete truth. "rehearsal" takes incomplete graphs for
    # it, to see the machinery work before people are asked: what comes out is marked, and cannot be published.
    simulate: bool | Literal["rehearsal"] = False
    seed: Seed = 0  # of the simulated annotators
    votes: Annotated[int, msgspec.Meta(ge=1, le=NUM_SIMULATED_ANNOTATORS)] = 3  # simulated verdicts per task

    def in_use(self) -> dict[str, object]:
        """Name -> value, those of the simulation only if it runs: what the quality report rests on."""
        simulation = ("simulate", "seed", "votes") if self.simulate else ("simulate",)
        return {name: getattr(self, name) for name in (*simulation, *CollectRules.__struct_fields__)}


class Collected(Record):
    """Everything that the verdicts come to."""

    verified: Collection[Verified]
    set_aside: list[SetAside]
    aq_checks: list[AqCheck]
    posteriors: list[Posterior]
    quality: Quality


def collect(
    screened: Mapping[str, Screened],
    judged: pd.DataFrame,
    params: CollectParams,
    answerable: Mapping[str, float] = MappingProxyType({}),
    overlap: Collection[str] = (),
    keep: Callable[[Iterable[Verified]], Collection[Verified]] = list,
) -> Collected:
    """What verdicts, beside their tasks, come to for all screened candidates.

    Args:
        screened: by id. keep: where the verified ones go as they are made, to be looked at again.
        answerable: candidate id -> prior probability of having an answer, for the rule dawid-skene.
        overlap: the candidates that several judge by lot, on which agreement is told.

    Raises:
        UserError: see `weigh`.
    """
    weighed = weigh(judged, params)
    judged, wrong = weighed.judged, Figure()
    by_rule = params.rule == "dawid-skene" and len(votes(judged)) > 0
    probable, tables, again = posteriors(judged, answerable) if by_rule else ([], [], np.empty((0, 0)))
    invalid = {row.candidate_id: row.invalid for row in probable}
    verified = keep(verify(screened, judged, params, invalid))
    if by_rule:
        released = {
            row.candidate.candidate_id
            for row in verified
            if row.status == "unanswerable" and row.decided_by == "votes"
        }
        chosen = np.array([row.candidate_id in released for row in probable])
        wrong = expected_wrong(np.array(list(invalid.values()))[chosen], (row[chosen] for row in again))
    return Collected(
        verified=verified,
        set_aside=weighed.aside,
        aq_checks=check_aqs(judged),
        posteriors=probable,
        quality=summary(weighed, verified, invalid, wrong, tables, params.in_use(), overlap),
    )


def expected_wrong(invalid: np.ndarray, resampled: Iterable[np.ndarray]) -> Figure:
    """The share of candidates, verified as unanswerable, that are expected to have an answer, if the probabilities hold.

    Args:
        invalid: [candidates] probability of having none. resampled: [candidates] of each resample, the same in millionths.
    """
    if not len(invalid):
        return Figure()
    low, high = percentile_interval(np.array([1 - row.mean() / MILLION for row in resampled]))
    return Figure(value=float(1 - invalid.mean()), low=low, high=high)


def report(collected: Collected) -> dict[str, Any]:
    """`collect.json`: what the audit and the next stages are told; the whole is in the quality report."""
    quality = collected.quality
    return {
        "simulated": quality.simulated,
        "rehearsal": quality.rehearsal,
        "alarms": quality.alarms,
        "annotators": {
            row.name: {
                **asdict(row.skill),
                "excluded": bool(row.excluded),
                "since": row.since,
                "reasons": row.excluded,
            }
            for row in quality.annotators
        },
        "verdicts": quality.given,
        "set_aside": Counter(row.reason for row in collected.set_aside),
        "filters_fallen": sorted(f"{row.picture_id}: {row.text}" for row in quality.fallen),
        "agreement": asdict(quality.agreement[0]),
        "retest": asdict(quality.retest),
        "expected_wrong": asdict(quality.wrong),
        "candidates": {row.subset: row.statuses for row in quality.subsets},
        "by_expert": Counter(row.status for row in collected.verified if row.decided_by == "expert"),
        "aqs": Counter(row.status for row in collected.aq_checks),
    }
