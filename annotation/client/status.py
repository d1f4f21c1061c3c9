"""`rgqa annotate status`: what is done and open, how fast, how long still, and how filter questions are answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import isnan, nan

from annotation.client.contents import answers, look, read_batch
from annotation.client.queues import Queue, noted, open_queues
from annotation.study.accuracy import Accuracy, accuracies, refuted
from annotation.study.exports import ExportedTask, verdicts_of
from annotation.study.judged import Judged, judged_tasks
from annotation.study.plan import AnnotateParams
from pipeline.core.errors import Problems
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Record, Task

IDLE = 300  # seconds between two submissions from which on somebody was away


class Progress(Record):
    """How far one queue is, or all of them.

    Attributes:
        name: pseudonym of its annotator.
        active: false once they left.
        done, open: tasks by subset; a skipped one is neither.
        per_hour: submissions per hour of work, pauses over 5 minutes left out; nan before there are two.
        hours: of work that are left; nan when the pace is not known.
    """

    name: str
    active: bool
    done: Counter[str]
    open: Counter[str]
    skipped: int
    per_hour: float
    hours: float


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
    judged: list[Judged] = []
    for queue in track(open_queues(folders, problems), "status: looking", unit="queue"):
        with noted(problems):
            given = list(answers(queue))
            row = progress(queue, given, tasks)
            judged += judged_tasks(tasks, verdicts_of(given, tasks)[0])
            rows.append(row)
    if rows:
        subsets = sorted({task.subset for task in tasks.values()})
        print_table(rows, subsets, accuracies(judged, refuted(judged)))
    problems.raise_if_any()


def progress(queue: Queue, given: Iterable[ExportedTask], tasks: Mapping[str, Task]) -> Progress:
    """How far a queue is, from what it holds and what was given there."""
    contents = look(queue, tasks)
    states = contents.touched | dict.fromkeys(contents.open, "open")

    def by_subset(*wanted: str) -> Counter[str]:
        return Counter(tasks[key].subset for key, state in states.items() if state in wanted and key in tasks)

    left = by_subset("open", "begun")
    per_hour = pace(
        datetime.fromisoformat(annotation.created_at)
        for task in given
        for annotation in task.annotations
        if annotation.created_at and not annotation.was_cancelled
    )
    return Progress(
        name=queue.name,
        active=queue.active,
        done=by_subset("judged"),
        open=left,
        skipped=list(states.values()).count("skipped"),
        per_hour=per_hour,
        hours=left.total() / per_hour if left.total() else 0.0,
    )


def print_table(rows: Sequence[Progress], subsets: Sequence[str], filters: Mapping[str, Accuracy]) -> None:
    """Print done/given per subset, and per annotator what is left."""
    from rich.console import Console
    from rich.table import Table

    whole = Progress(
        name="all",
        active=True,
        done=sum((row.done for row in rows), Counter()),
        open=sum((row.open for row in rows), Counter()),
        skipped=sum(row.skipped for row in rows),
        per_hour=nan,
        hours=sum(row.hours for row in rows),
    )
    table = Table(title="done / given", title_justify="left")
    table.add_column("annotator")
    for name in (*subsets, "all", "skipped", "per hour", "hours left", "filter questions right"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*cells(row, subsets, filters.get(row.name)))
    table.add_section()
    table.add_row(*cells(whole, subsets, None))
    Console(width=None if Console().is_terminal else 160).print(table)
    if whole.hours > 0:
        longest = max(row.hours for row in rows)
        print(
            f"status: the last one is done after {longest:.1f} more hours of work; pauses over {IDLE // 60} minutes not counted"
        )
    for name in sorted(filters.keys() - {row.name for row in rows}):
        print(f"status: {name} answered too: filter questions right {_of_filters(filters[name])}")


def cells(row: Progress, subsets: Sequence[str], filters: Accuracy | None) -> list[str]:
    """A line of the table."""
    given = row.done + row.open
    return [
        row.name if row.active else f"{row.name} (left)",
        *(f"{row.done[subset]:,} / {given[subset]:,}" for subset in subsets),
        f"{row.done.total():,} / {given.total():,}",
        f"{row.skipped:,}",
        "" if isnan(row.per_hour) else f"{row.per_hour:,.0f}",
        "" if isnan(row.hours) else f"{row.hours:,.1f}" if row.hours else "0",
        _of_filters(filters),
    ]


def _of_filters(accuracy: Accuracy | None) -> str:
    """`45 of 50, 90 % (79 to 96)` with the 95 % Wilson interval."""
    if accuracy is None or not accuracy.answered:
        return ""
    return f"{accuracy.right} of {accuracy.answered}, {accuracy.share:.0%} ({accuracy.low:.0%} to {accuracy.high:.0%})"
