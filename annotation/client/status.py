"""`rgqa annotate status`: what is done and open, how fast, how long still, and how filter questions are answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

from pandas import DataFrame, concat, crosstab

from annotation.client.queues import STATES, Queue, answers, look, noted, open_queues, read_batch
from annotation.study.exports import ExportedTask, verdicts_of
from annotation.study.judged import judged_tasks
from annotation.study.plan import AnnotateParams
from annotation.study.weighing import Accuracy, accuracies
from pipeline.core.errors import Problems
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Task, Verdict

IDLE = 300  # seconds between two submissions from which on somebody was away


class Progress(NamedTuple):
    """How far one queue is, or all of them.

    Attributes:
        name: pseudonym of its annotator.
        tasks: how many, by subset (rows) and state (columns).
        hours: of work that are left; nan when the pace is not known.
        per_hour: submissions per hour of work, pauses over 5 minutes left out; nan before there are two.
        active: false once they left.
    """

    name: str
    tasks: DataFrame
    hours: float
    per_hour: float = nan
    active: bool = True


def pace(times: Iterable[datetime]) -> float:
    """Submissions per hour of work.

    The time between two submissions is work unless it is over 5 minutes; the submission after such a pause is left
    out with it, as nobody knows how long it took.

    >>> from datetime import timedelta
    >>> begin = datetime(2026, 1, 1)
    >>> pace(begin + timedelta(seconds=s) for s in (0, 30, 60, 4000, 4030))
    120.0
    """
    gaps = [(now - before).total_seconds() for before, now in pairwise(sorted(times))]
    worked = [gap for gap in gaps if gap <= IDLE]
    return len(worked) * 3600 / max(sum(worked), 1e-9) if worked else nan


def status() -> None:
    """Print a table of all queues.

    Raises:
        UserError: no server, no tasks, or a queue that could not be read (the others are shown).
    """
    folders, problems = Folders(), Problems("status")
    tasks, _ = read_batch(folders, load("annotate", AnnotateParams))
    rows: list[Progress] = []
    verdicts: list[Verdict] = []
    for queue in track(open_queues(folders, problems), "status: looking", unit="queue"):
        with noted(problems):
            given = list(answers(queue))
            rows.append(progress(queue, given, tasks))
            verdicts += verdicts_of(given, tasks)[0]
    if rows:
        print_table(rows, accuracies(judged_tasks(tasks, verdicts)) if verdicts else {})
    problems.raise_if_any()


def progress(queue: Queue, given: Iterable[ExportedTask], tasks: Mapping[str, Task]) -> Progress:
    """How far a queue is, from what it holds and what was given there."""
    held = look(queue).drop_duplicates("key")
    subset = held["key"].map({key: task.subset for key, task in tasks.items()})
    subsets = sorted({task.subset for task in tasks.values()})
    counts = crosstab(subset, held["state"]).reindex(index=subsets, columns=STATES, fill_value=0)
    per_hour = pace(
        datetime.fromisoformat(annotation.created_at)
        for task in given
        for annotation in task.annotations
        if annotation.created_at and not annotation.was_cancelled
    )
    left = counts[["open", "begun"]].to_numpy().sum()
    return Progress(queue.name, counts, left / per_hour if left else 0.0, per_hour, queue.active)


def print_table(rows: Sequence[Progress], filters: Mapping[str, Accuracy]) -> None:
    """Print done/given per subset, and per annotator what is left."""
    from rich.console import Console
    from rich.table import Table

    together = concat([row.tasks for row in rows]).groupby(level=0).sum()
    whole = Progress("all", together, sum(row.hours for row in rows))
    table = Table(title="done / given", title_justify="left")
    table.add_column("annotator")
    for name in (*whole.tasks.index, "all", "skipped", "per hour", "hours left", "filter questions right"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*cells(row, filters.get(row.name)))
    table.add_section()
    table.add_row(*cells(whole, None))
    Console(width=None if Console().is_terminal else 160).print(table)
    if whole.hours > 0:
        longest = max(row.hours for row in rows)
        print(
            f"status: the last one is done after {longest:.1f} more hours of work; pauses over {IDLE // 60} minutes not counted"
        )
    for name in sorted(filters.keys() - {row.name for row in rows}):
        print(f"status: {name} answered too: filter questions right {_of_filters(filters[name])}")


def cells(row: Progress, filters: Accuracy | None) -> list[str]:
    """A line of the table."""
    done, left = row.tasks["judged"], row.tasks["open"] + row.tasks["begun"]
    pairs = zip([*done, done.sum()], [*left, left.sum()], strict=True)
    return [
        row.name if row.active else f"{row.name} (left)",
        *(f"{judged:,} / {judged + unjudged:,}" for judged, unjudged in pairs),
        f"{row.tasks['skipped'].sum():,}",
        "" if isnan(row.per_hour) else f"{row.per_hour:,.0f}",
        "" if isnan(row.hours) else f"{row.hours:,.1f}" if row.hours else "0",
        _of_filters(filters),
    ]


def _of_filters(accuracy: Accuracy | None) -> str:
    """`45 of 50, 90 % (79 to 96)` with the 95 % Wilson interval."""
    if accuracy is None or not accuracy.filters:
        return ""
    return f"{accuracy.right} of {accuracy.filters}, {accuracy.accuracy:.0%} ({accuracy.low:.0%} to {accuracy.high:.0%})"
