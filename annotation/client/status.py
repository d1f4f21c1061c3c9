"""`rgqa annotate status`: what is done and open, how fast, how long still, and how filter questions are answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import isnan, nan

from annotation.client.contents import look
from annotation.client.label_studio import LabelStudio
from annotation.client.pull import given
from annotation.client.push import batch
from annotation.client.queues import Opener, Servers, queues
from annotation.study.exports import verdicts_of
from annotation.study.plan import AnnotateParams
from annotation.study.quality import Accuracy, accuracies, refuted
from pipeline.core.errors import Problems, UserError
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Record, Task, Verdict

IDLE = 300  # seconds between two submissions from which on somebody was away


class Progress(Record):
    """How far one queue is.

    Attributes:
        name: pseudonym of its annotator.
        done, open: tasks by subset; a skipped one is neither.
        per_hour: submissions per hour of work, pauses over 5 minutes left out; nan before there are two.
    """

    name: str
    active: bool
    done: dict[str, int]
    open: dict[str, int]
    skipped: int
    per_hour: float

    @property
    def hours_left(self) -> float:
        """Hours of work left; nan when the pace is not known."""
        return sum(self.open.values()) / self.per_hour if self.per_hour else nan


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


def status(opener: Opener = LabelStudio) -> None:
    """Print a table of all queues.

    Raises:
        UserError: no server, no tasks, or a queue that could not be read (the others are shown).
    """
    folders = Folders()
    params = load("annotate", AnnotateParams)
    tasks, shown = batch(folders, params)
    by_id = {task.task_id: task for task in tasks}
    all_queues, unreachable = queues(folders)
    servers = Servers(opener)
    problems = Problems("status")
    for line in unreachable:
        problems.add("roster", line)
    rows: list[Progress] = []
    verdicts: list[Verdict] = []
    for queue in track(all_queues, "status: looking", unit="queue"):
        try:
            server = servers.of(queue)
            found = look(server, queue, set(shown))
            exported = list(given(server, queue))
            verdicts += verdicts_of(exported, by_id)[0]
        except UserError as error:
            problems.lines += [line for line in error.problems if line not in problems.lines]
            continue
        times = [
            datetime.fromisoformat(annotation.created_at)
            for row in exported
            for annotation in row.annotations
            if annotation.created_at and not annotation.was_cancelled
        ]
        rows.append(
            Progress(
                name=queue.name,
                active=queue.annotator is None or queue.annotator.active,
                done=_by_subset(found.judged, by_id),
                open=_by_subset(found.open.keys() | found.begun, by_id),
                skipped=len(found.skipped),
                per_hour=pace(times),
            )
        )
    if rows:
        show(
            rows,
            accuracies(by_id, verdicts, refuted(by_id, verdicts)),
            sorted({task.subset for task in tasks}),
        )
    problems.raise_if_any()


def _by_subset(keys: Iterable[str], tasks: Mapping[str, Task]) -> dict[str, int]:
    return Counter(tasks[key].subset for key in keys if key in tasks)


def show(rows: Sequence[Progress], filters: Mapping[str, Accuracy], subsets: Sequence[str]) -> None:
    """Print the table: done/all per subset, and per annotator what is left."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="done / given", title_justify="left")
    table.add_column("annotator")
    for name in (*subsets, "all"):
        table.add_column(name, justify="right")
    for name in ("skipped", "per hour", "hours left", "filter questions right"):
        table.add_column(name, justify="right")
    for row in rows:
        done, left = sum(row.done.values()), sum(row.open.values())
        table.add_row(
            row.name if row.active else f"{row.name} (left)",
            *(
                f"{row.done.get(name, 0):,} / {row.done.get(name, 0) + row.open.get(name, 0):,}"
                for name in subsets
            ),
            f"{done:,} / {done + left:,}",
            f"{row.skipped:,}",
            _number(row.per_hour, 0),
            _number(row.hours_left, 1) if left else "0",
            _filters(filters.get(row.name)),
        )
    done, left = Counter[str](), Counter[str]()
    for row in rows:
        done.update(row.done)
        left.update(row.open)
    hours = [row.hours_left for row in rows if row.open]  # nan as long as somebody's pace is not known
    table.add_section()
    table.add_row(
        "all",
        *(f"{done[name]:,} / {done[name] + left[name]:,}" for name in subsets),
        f"{done.total():,} / {done.total() + left.total():,}",
        f"{sum(row.skipped for row in rows):,}",
        "",
        _number(sum(hours), 1) if hours else "0",
        "",
    )
    Console(width=None if Console().is_terminal else 160).print(table)
    if hours and not isnan(sum(hours)):
        print(
            f"status: the last one is done after {max(hours):.1f} more hours of work; pauses over {IDLE // 60} minutes not counted"
        )
    for name in sorted(filters.keys() - {row.name for row in rows}):
        print(f"status: {name} answered too: filter questions right {_filters(filters[name])}")


def _number(value: float, places: int) -> str:
    return "" if isnan(value) else f"{value:,.{places}f}"


def _filters(found: Accuracy | None) -> str:
    """`45 of 50, 90 % (79 to 96)` with the 95 % Wilson interval."""
    if found is None or not found.answered:
        return ""
    return f"{found.right} of {found.answered}, {found.share:.0%} ({found.low:.0%} to {found.high:.0%})"
