"""`rgqa annotate status`: what everybody did, how fast, how they answer filter questions; what is known, and how long still."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

from annotation.client.collected_answers import given_so_far
from annotation.client.credentials import connection
from annotation.client.volunteers import welcome
from annotation.study.answers_table import judged_questions
from annotation.study.exports import person_of, verdicts_of
from annotation.study.forecast import IDLE
from annotation.study.quality_control import skills
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import counted
from pipeline.core.folder_lock import alone
from pipeline.core.paths import Folders
from pipeline.core.records import Task


def status() -> None:
    """Print a table of the people, and how far the tasks are.

    Raises:
        UserError: no server, or no tasks.
    """
    folders, server = Folders(), connection()
    tasks = {task.task_id: task for task in folders.rows(Task)}
    with alone(folders.study):
        report = welcome(folders, server)
    given, source = given_so_far(folders, server)
    verdicts, _ = verdicts_of(given, tasks, strict=False)
    filters = skills(judged_questions(tasks, verdicts)) if verdicts else {}
    roster = {person.pseudonym: person for person in read_roster(folders)}
    desks = {row["email"]: row for row in report.get("people", ())}
    gaps = defaultdict[str, list[float | None]](list)
    for row in verdicts:
        gaps[row.annotator].append(row.gap)
    skipped = Counter(person_of(row) for row in given.values() if row.was_cancelled)
    speeds = {name: pace(own) for name, own in gaps.items()}
    print_table(
        (
            name,
            stands(roster.get(name), desks) if report else "",
            f"{len(gaps.get(name, ())):,}",
            f"{skipped[name]:,}",
            "" if isnan(speed := speeds.get(name, nan)) else f"{speed:,.0f}",
            f"{filters[name].sensitivity}; {filters[name].specificity}" if name in filters else "",
        )
        for name in sorted(roster.keys() | skipped.keys() | gaps.keys())
    )
    print(f"status: {source}")
    if report:
        print("\n".join(progress(report, [speed for speed in speeds.values() if not isnan(speed)])))


def pace(gaps: Iterable[float | None]) -> float:
    """Verdicts per hour of work; NaN if unknown.

    Args:
        gaps: seconds since the submission before, None for the first. Over 5 minutes was a pause: the verdict after it is left
            out with it, as nobody knows how long it took.

    >>> pace([None, 30.0, 30.0, 3940.0, 30.0])
    120.0
    """
    worked = [gap for gap in gaps if gap is not None and gap <= IDLE]
    return len(worked) * 3600 / max(sum(worked), 1e-9) if worked else nan


def progress(report: Mapping[str, Any], speeds: Sequence[float]) -> list[str]:
    """What is known and what was saved, of our own server's report."""
    tasks, votes = report["tasks"], report["votes"]
    asked, saved = votes.get("answered", 0), tasks["known"] * tasks["votes"] - tasks["votes_on_known"]
    lines = [
        f"status: {tasks['known']:,} of {tasks['tasks']:,} tasks are known, {tasks['waves_done']:,} of {tasks['waves']:,} waves; "
        f"{counted(asked, 'vote')}, {max(saved, 0):,} fewer than with {tasks['votes']} for each"
    ]
    if speeds and tasks["wanted"]:
        hours = tasks["wanted"] * len(speeds) / sum(speeds)
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


def stands(person: Annotator | None, desks: Mapping[str, Mapping[str, Any]]) -> str:
    """What somebody is at, by what our own server tells of each address.

    >>> ann = Annotator(name="ann", pseudonym="annotator-01", email="ann@example.org")
    >>> row = {"consent": "2026-01-01", "out": False, "passed": False, "trained": 5, "tested": 3}
    >>> stands(ann, {"ann@example.org": row})
    'training and test, 8 answered'
    """
    if person is None or not person.active:
        return "left" if person else ""
    desk = desks.get(person.email.lower())
    if not desk or not desk["consent"]:
        return "not agreed yet"
    if desk["out"]:
        return "asked no more: fails filters"
    return "at work" if desk["passed"] else f"training and test, {desk['trained'] + desk['tested']} answered"
