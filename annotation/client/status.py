"""`rgqa annotate status`: what everybody did, how fast, how they answer filter questions; what is known, and how long still."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

from annotation.client.collected_answers import collect_answers
from annotation.client.credentials import connect
from annotation.client.volunteers import sync_volunteers
from annotation.study.answers_table import build_answers_table
from annotation.study.exports import get_annotator, to_verdicts
from annotation.study.forecast import MAX_ANSWER_SECONDS
from annotation.study.quality_control import measure_gold_accuracy
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task


def print_status() -> None:
    """Print a table of the people, and how far the tasks are.

    Raises:
        UserError: no server, or no tasks.
    """
    folders, server = DatasetFolders(), connect()
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    with lock_folder(folders.study):
        report = sync_volunteers(folders, server)
    given, source = collect_answers(folders, server)
    verdicts, _ = to_verdicts(given, tasks, strict=False)
    filters = measure_gold_accuracy(build_answers_table(tasks, verdicts)) if verdicts else {}
    roster = {person.pseudonym: person for person in read_roster(folders)}
    desks = {row["email"]: row for row in report.get("people", ())}
    gaps = defaultdict[str, list[float | None]](list)
    for row in verdicts:
        gaps[row.annotator].append(row.seconds_since_previous)
    skipped = Counter(get_annotator(row) for row in given.values() if row.was_cancelled)
    speeds = {name: compute_verdicts_per_hour(own) for name, own in gaps.items()}
    print_table(
        (
            name,
            describe_stage(roster.get(name), desks) if report else "",
            f"{len(gaps.get(name, ())):,}",
            f"{skipped[name]:,}",
            "" if isnan(speed := speeds.get(name, nan)) else f"{speed:,.0f}",
            f"{filters[name].sensitivity}; {filters[name].specificity}" if name in filters else "",
        )
        for name in sorted(roster.keys() | skipped.keys() | gaps.keys())
    )
    print(f"status: {source}")
    if report:
        print("\n".join(format_progress(report, [speed for speed in speeds.values() if not isnan(speed)])))


def compute_verdicts_per_hour(gaps: Iterable[float | None]) -> float:
    """Verdicts per hour of work; NaN if unknown.

    Args:
        gaps: seconds since the submission before, None for the first. Over 5 minutes was a pause: the verdict after it is left
            out with it, as nobody knows how long it took.

    >>> pace([None, 30.0, 30.0, 3940.0, 30.0])
    120.0
    """
    worked = [gap for gap in gaps if gap is not None and gap <= MAX_ANSWER_SECONDS]
    return len(worked) * 3600 / max(sum(worked), 1e-9) if worked else nan


def format_progress(report: Mapping[str, Any], verdicts_per_hour: Sequence[float]) -> list[str]:
    """What is known and what was saved, of our own server's report."""
    tasks, votes = report["tasks"], report["votes"]
    asked, saved = votes.get("answered", 0), tasks["known"] * tasks["votes"] - tasks["votes_on_known"]
    lines = [
        f"status: {tasks['known']:,} of {tasks['tasks']:,} tasks are known, {tasks['waves_done']:,} of {tasks['waves']:,} waves; "
        f"{format_count(asked, 'vote')}, {max(saved, 0):,} fewer than with {tasks['votes']} for each"
    ]
    if verdicts_per_hour and tasks["wanted"]:
        hours = tasks["wanted"] * len(verdicts_per_hour) / sum(verdicts_per_hour)
        lines.append(
            f"status: at the pace so far {tasks['wanted']:,} more votes at most take {hours:,.1f} hours of work; "
            "how many it probably takes: rgqa annotate forecast"
        )
    return lines


def print_table(rows: Iterable[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("annotator", "where")
    for name in ("judged", "skipped", "per hour", "invalid; valid filters right"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 160).print(table)


def describe_stage(person: Annotator | None, server_rows: Mapping[str, Mapping[str, Any]]) -> str:
    """What somebody is at, by what our own server tells of each address.

    >>> ann = Annotator(name="ann", pseudonym="annotator-01", email="ann@example.org")
    >>> row = {"consent": "2026-01-01", "out": False, "passed": False, "trained": 5, "tested": 3}
    >>> stands(ann, {"ann@example.org": row})
    'training and test, 8 answered'
    """
    if person is None or not person.is_active:
        return "left" if person else ""
    desk = server_rows.get(person.email.lower())
    if not desk or not desk["consent"]:
        return "not agreed yet"
    if desk["out"]:
        return "asked no more: fails filters"
    return "at work" if desk["passed"] else f"training and test, {desk['trained'] + desk['tested']} answered"
