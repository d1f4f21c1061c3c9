"""Count what every stage received, kept and dropped, from the reports of the stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.core.errors import Problems
from pipeline.core.records import SUBSETS, Record, Subset

PROPOSAL_STAGES = ("rank", "perturb")


class FunnelStep(Record, kw_only=False):
    """The numbers of one stage for one subset.

    Attributes:
        stage: The stage.
        description: What is counted.
        num_in: The number that the stage received. It equals `kept` plus the sum of `dropped`.
        kept: The number that the stage kept.
        dropped: Reason -> number that the stage dropped.
    """

    stage: str
    description: str
    num_in: int
    kept: int
    dropped: Mapping[str, int] = {}


def make_funnels(
    reports: Mapping[str, Mapping[str, Any]], released: Mapping[Subset, int]
) -> dict[Subset, list[FunnelStep]]:
    """Return the steps of every subset that was made (`ingest.subsets`), in order.

    Args:
        reports: Stage -> report.
        released: Subset -> number of unanswerable questions (UQs) in the release.

    Raises:
        UserError: The numbers of a step do not add up, or a step received another number than the previous
            step kept. The message lists all such steps.
    """
    funnel: dict[Subset, list[FunnelStep]] = {
        subset: _make_steps(subset, reports, released[subset])
        for subset in SUBSETS
        if subset in reports["rank"]["subsets"] or subset in reports["perturb"]
    }
    problems = Problems(
        "the reports of the stages contradict each other; run dvc repro, so that all are of one run"
    )
    for subset, steps in funnel.items():
        check_steps(subset, steps, problems)
    problems.raise_if_any()
    return funnel


def summarize_funnels(funnel: Mapping[Subset, Sequence[FunnelStep]]) -> list[tuple[str, list[int | None]]]:
    """Return a row for each step with the number that each subset kept.

    The subsets are in the order of `funnel`. The number is None where a subset does not have the step. The
    first row has the numbers at the start.
    """
    kept = [{(step.stage, step.description): step.kept for step in steps} for steps in funnel.values()]
    # Steps that only the CLIP subsets or only the PT subsets have come before the steps of all subsets.
    names = sorted(
        dict.fromkeys(name for counts in kept for name in counts),
        key=lambda name: name[0] not in PROPOSAL_STAGES,
    )
    return [
        ("start: pairs or questions", [steps[0].num_in for steps in funnel.values()]),
        *(
            (f"{stage}: {description}", [counts.get((stage, description)) for counts in kept])
            for stage, description in names
        ),
    ]


def check_steps(subset: str, steps: Sequence[FunnelStep], problems: Problems) -> None:
    """Check the numbers of each step.

    The number that a step received must equal the number that it kept and dropped, and the number that the
    previous step kept.
    """
    for before, step in zip([None, *steps], steps, strict=False):
        dropped = sum(step.dropped.values())
        if step.num_in != step.kept + dropped:
            problems.add(
                f"{subset}, {step.stage}",
                f"{step.num_in:,} in, but {step.kept:,} kept and {dropped:,} dropped",
            )
        if before and step.num_in != before.kept:
            problems.add(
                f"{subset}, {step.stage}", f"{step.num_in:,} in, but {before.stage} kept {before.kept:,}"
            )


def _make_steps(subset: Subset, reports: Mapping[str, Mapping[str, Any]], released: int) -> list[FunnelStep]:
    """Return the steps of one subset with `released` UQs."""
    screen, balance = reports["screen"][subset], reports["balance"]["subsets"][subset]
    kept, statuses = balance["kept"], dict(reports["collect"]["candidates"].get(subset, {}))
    num_collected = sum(statuses.values())
    # Candidates with any other status are dropped.
    unanswerable = statuses.pop("unanswerable", 0)
    if subset.startswith("pt"):
        row = reports["perturb"][subset]
        first = [("perturb", "questions edited", row["questions"], row["candidates"], row["unedited"])]
    else:
        ineligible = dict(reports["rank"]["pairs"])
        pairs, eligible = ineligible.pop("all"), ineligible.pop("eligible")
        sampled = reports["rank"]["subsets"][subset]["candidates"]
        not_sampled = {"not sampled": eligible - sampled}
        first = [
            ("rank", "eligible pairs", pairs, eligible, ineligible),
            ("rank", "pairs sampled by CLIP score", eligible, sampled, not_sampled),
        ]
    rows = [
        *first,
        ("screen", "candidates screened", screen["candidates"], screen["kept"], screen["dropped"]),
        # Every candidate gets a task, or stage `batch` fails.
        ("batch", "tasks made for annotators", screen["kept"], reports["batch"]["tasks"].get(subset, 0)),
        ("collect", "candidates annotated", num_collected, unanswerable, statuses),
        ("balance", "verified candidates balanced", balance["verified"], kept, balance["excluded"]),
        ("release", "items released", kept, released),
    ]
    return [FunnelStep(*row) for row in rows]
