"""From pairs to items: what every stage took in, kept and dropped, from the stages' own reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import SUBSETS, Record, Subset

PROPOSING = ("rank", "perturb")
UNANSWERABLE = "unanswerable"  # the one status of collect that goes on


class FunnelStep(Record):
    """One stage's part in one subset: `entered` == `kept` + sum of `dropped`, which counts by reason."""

    stage: str
    what: str
    entered: int
    kept: int
    dropped: dict[str, int] = msgspec.field(default_factory=dict)


def funnels(
    reports: Mapping[str, Mapping[str, Any]], released: Mapping[Subset, tuple[int, int]]
) -> dict[Subset, list[FunnelStep]]:
    """The steps of every subset, in order.

    Args:
        reports: stage -> its report. released: subset -> (UQs, AQs) of the release.

    Raises:
        UserError: lists every step whose numbers do not add up, or do not start where the one before ended.
    """
    funnel: dict[Subset, list[FunnelStep]] = {
        subset: [*_proposed(subset, reports), *_judged(subset, reports), _released(subset, reports, released)]
        for subset in SUBSETS
    }
    problems = Problems(
        "the reports of the stages contradict each other; run dvc repro, so that all are of one run"
    )
    for subset, steps in funnel.items():
        check(subset, steps, problems)
    problems.raise_if_any()
    return funnel


def overview(funnel: Mapping[Subset, Sequence[FunnelStep]]) -> list[tuple[str, list[int | None]]]:
    """What was left after each step, one row a step, in the order of `funnel`; None where a subset has no such step.
    The first row is what there was at the start."""
    names = list(dict.fromkeys((step.stage, step.what) for steps in funnel.values() for step in steps))
    # Steps of one origin (rank, or perturb) come before those that all subsets share.
    names.sort(key=lambda name: name[0] not in PROPOSING)
    rows: list[tuple[str, list[int | None]]] = [
        ("the start: pairs, or questions", [steps[0].entered for steps in funnel.values()])
    ]
    for stage, what in names:
        kept = [
            next((s.kept for s in steps if (s.stage, s.what) == (stage, what)), None)
            for steps in funnel.values()
        ]
        rows.append((f"{stage}: {what}", kept))
    return rows


def check(subset: str, steps: Iterable[FunnelStep], problems: Problems) -> None:
    """in == kept + dropped in each step, and each step takes in what the one before kept."""
    before: FunnelStep | None = None
    for step in steps:
        gone = sum(step.dropped.values())
        if step.entered != step.kept + gone:
            problems.add(
                f"{subset}, {step.stage}", f"{step.entered:,} in, but {step.kept:,} kept and {gone:,} dropped"
            )
        if before is not None and step.entered != before.kept:
            problems.add(
                f"{subset}, {step.stage}", f"{step.entered:,} in, but {before.stage} kept {before.kept:,}"
            )
        before = step


def _proposed(subset: Subset, reports: Mapping[str, Mapping[str, Any]]) -> list[FunnelStep]:
    """Where candidates come from: all pairs that may be ranked, or all questions that may be edited."""
    if subset.startswith("pt"):
        row = reports["perturb"][subset]
        return [
            FunnelStep(
                stage="perturb",
                what="questions edited",
                entered=row["questions"],
                kept=row["candidates"],
                dropped=row["unperturbed"],
            )
        ]
    pairs = reports["rank"]["pairs"]
    drawn = reports["rank"]["subsets"][subset]["candidates"]
    left_out = {reason: count for reason, count in pairs.items() if reason not in ("all", "admissible")}
    return [
        FunnelStep(
            stage="rank",
            what="pairs that may be proposed",
            entered=pairs["all"],
            kept=pairs["admissible"],
            dropped=left_out,
        ),
        FunnelStep(
            stage="rank",
            what="pairs drawn by their CLIP score",
            entered=pairs["admissible"],
            kept=drawn,
            dropped={"not drawn": pairs["admissible"] - drawn},
        ),
    ]


def _judged(subset: Subset, reports: Mapping[str, Mapping[str, Any]]) -> list[FunnelStep]:
    screen, balance = reports["screen"][subset], reports["balance"]["subsets"][subset]
    tasks = reports["batch"]["tasks"].get(subset, 0)
    statuses = reports["collect"]["candidates"].get(subset, {})
    return [
        FunnelStep(
            stage="screen",
            what="candidates screened",
            entered=screen["in"],
            kept=screen["kept"],
            dropped=screen["dropped"],
        ),
        # Every candidate gets a task, or batch stops with an error.
        FunnelStep(stage="batch", what="tasks made for annotators", entered=screen["kept"], kept=tasks),
        FunnelStep(
            stage="collect",
            what="candidates judged by annotators",
            entered=sum(statuses.values()),
            kept=statuses.get(UNANSWERABLE, 0),
            dropped={status: count for status, count in statuses.items() if status != UNANSWERABLE},
        ),
        FunnelStep(
            stage="balance",
            what="verified candidates balanced",
            entered=balance["verified"],
            kept=balance["kept"],
            dropped=balance["left_out"],
        ),
    ]


def _released(
    subset: Subset, reports: Mapping[str, Mapping[str, Any]], released: Mapping[Subset, tuple[int, int]]
) -> FunnelStep:
    return FunnelStep(
        stage="release",
        what="items released",
        entered=reports["balance"]["subsets"][subset]["kept"],
        kept=released[subset][0],
    )
