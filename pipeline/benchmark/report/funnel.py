"""From pairs to items: what every stage took in, kept and dropped, from the stages' own reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.core.errors import Problems
from pipeline.core.records import SUBSETS, Record, Subset

PROPOSAL_STAGES = ("rank", "perturb")


class FunnelStep(Record, kw_only=False):
    """One stage's part in one subset: `entered` == `kept` + sum of `dropped`, which counts by reason."""

    stage: str
    description: str
    num_in: int
    kept: int
    dropped: Mapping[str, int] = {}


def make_funnels(
    reports: Mapping[str, Mapping[str, Any]], released: Mapping[Subset, int]
) -> dict[Subset, list[FunnelStep]]:
    """The steps of every subset, in order.

    Args:
        reports: stage -> its report. released: subset -> UQs of the release.

    Raises:
        UserError: lists every step whose numbers do not add up, or do not start where the one before ended.
    """
    funnel: dict[Subset, list[FunnelStep]] = {
        subset: _make_steps(subset, reports, released[subset]) for subset in SUBSETS
    }
    problems = Problems(
        "the reports of the stages contradict each other; run dvc repro, so that all are of one run"
    )
    for subset, steps in funnel.items():
        check_steps(subset, steps, problems)
    problems.raise_if_any()
    return funnel


def summarize_funnels(funnel: Mapping[Subset, Sequence[FunnelStep]]) -> list[tuple[str, list[int | None]]]:
    """What was left after each step, one row a step, in the order of `funnel`; None where a subset has no such step.
    The first row is what there was at the start."""
    kept = [{(step.stage, step.description): step.kept for step in steps} for steps in funnel.values()]
    # Steps of one origin (rank, or perturb) come before those that all subsets share.
    names = sorted(
        dict.fromkeys(name for of in kept for name in of), key=lambda name: name[0] not in PROPOSAL_STAGES
    )
    return [
        ("the start: pairs, or questions", [steps[0].num_in for steps in funnel.values()]),
        *((f"{stage}: {what}", [of.get((stage, what)) for of in kept]) for stage, what in names),
    ]


def check_steps(subset: str, steps: Sequence[FunnelStep], problems: Problems) -> None:
    """in == kept + dropped in each step, and each step takes in what the one before kept."""
    for before, step in zip([None, *steps], steps, strict=False):
        told, gone = f"{step.num_in:,} in, but", sum(step.dropped.values())
        if step.num_in != step.kept + gone:
            problems.add(f"{subset}, {step.stage}", f"{told} {step.kept:,} kept and {gone:,} dropped")
        if before and step.num_in != before.kept:
            problems.add(f"{subset}, {step.stage}", f"{told} {before.stage} kept {before.kept:,}")


def _make_steps(subset: Subset, reports: Mapping[str, Mapping[str, Any]], released: int) -> list[FunnelStep]:
    """Of one subset, whose `released` are UQs."""
    screen, balance = reports["screen"][subset], reports["balance"]["subsets"][subset]
    kept, ended = balance["kept"], dict(reports["collect"]["candidates"].get(subset, {}))
    judged, unanswerable = sum(ended.values()), ended.pop("unanswerable", 0)  # the one status that goes on
    if subset.startswith("pt"):
        row = reports["perturb"][subset]
        first = [("perturb", "questions edited", row["questions"], row["candidates"], row["unperturbed"])]
    else:
        left_out = dict(reports["rank"]["pairs"])
        pairs, admissible = left_out.pop("all"), left_out.pop("admissible")
        drawn = reports["rank"]["subsets"][subset]["candidates"]
        not_drawn = {"not drawn": admissible - drawn}
        first = [
            ("rank", "pairs that may be proposed", pairs, admissible, left_out),
            ("rank", "pairs drawn by their CLIP score", admissible, drawn, not_drawn),
        ]
    rows = [
        *first,
        ("screen", "candidates screened", screen["in"], screen["kept"], screen["dropped"]),
        # Every candidate gets a task, or batch stops with an error.
        ("batch", "tasks made for annotators", screen["kept"], reports["batch"]["tasks"].get(subset, 0)),
        ("collect", "candidates judged by annotators", judged, unanswerable, ended),
        ("balance", "verified candidates balanced", balance["verified"], kept, balance["left_out"]),
        ("release", "items released", kept, released),
    ]
    return [FunnelStep(*row) for row in rows]
