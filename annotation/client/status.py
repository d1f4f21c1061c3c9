"""`rgqa annotate status`: what everybody did, how fast, how they answer filter questions; what is known, and how long still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import isnan, nan
from typing import Any

from annotation.client.credentials import connection
from annotation.client.pull import answers
from annotation.client.volunteers import welcome
from annotation.study.exports import ExportedAnnotation, keep, verdicts_of
from annotation.study.judged import judged_questions
from annotation.study.roster import Annotator, read_roster
from annotation.study.weighing import Rate, Skill, skills
from pipeline.core.paths import Folders
from pipeline.core.records import Task

IDLE = 300  # seconds between two submissions from which on somebody was away


def status() -> None:
    """Print a table of the people, and how far the tasks are.

    Raises:
        UserError: no server, or no tasks.
    """
    folders, server = Folders(), connection()
    tasks = {task.task_id: task for task in folders.rows(Task)}
    report = welcome(folders, server)
    given = keep(answers(folders, server))
    verdicts, _ = verdicts_of(given, tasks, strict=False)
    filters = skills(judged_questions(tasks, verdicts)) if verdicts else {}
    roster = {person.pseudonym: person for person in read_roster(folders)}
    desks = {row["email"]: row for row in report.get("people", ())}
    times = submitted(given.values())
    skipped = Counter(str(row.completed_by) for row in given.values() if row.was_cancelled)
    speeds = {name: pace(when) for name, when in times.items()}
    rows = [
        (
            name,
            stands(roster.get(name), desks) if report else "",
            f"{len(times.get(name, ())):,}",
            f"{skipped[name]:,}",
            "" if isnan(speeds.get(name, nan)) else f"{speeds[name]:,.0f}",
            _of_filters(filters.get(name)),
        )
        for name in sorted(roster.keys() | times.keys())
    ]
    print_table(rows)
    if report:
        print("\n".join(progress(report, [speed for speed in speeds.values() if not isnan(speed)])))


def submitted(given: Iterable[ExportedAnnotation]) -> dict[str, list[datetime]]:
    """Pseudonym -> when they submitted verdicts."""
    times: dict[str, list[datetime]] = {}
    for row in given:
        if not row.was_cancelled:
            times.setdefault(str(row.completed_by), []).append(datetime.fromisoformat(row.created_at))
    return times


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


def progress(report: Mapping[str, Any], speeds: Sequence[float]) -> list[str]:
    """What is known and what was saved, of our own server's report."""
    tasks, votes = report["tasks"], report["votes"]
    asked, saved = votes.get("answered", 0), tasks["known"] * tasks["votes"] - tasks["votes_on_known"]
    lines = [
        f"status: {tasks['known']:,} of {tasks['tasks']:,} tasks are known, {tasks['waves_done']:,} of {tasks['waves']:,} waves; "
        f"{asked:,} votes, {max(saved, 0):,} fewer than with {tasks['votes']} for each"
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


def _of_filters(skill: Skill | None) -> str:
    """Of known invalid filters and of known valid ones those answered as known, with 95 % Wilson intervals."""
    return "" if skill is None else f"{_share(skill.sensitivity)}; {_share(skill.specificity)}"


def _share(found: Rate) -> str:
    """`45 of 50, 90 % (79 to 96)`"""
    if found.share is None:
        return "-"
    return f"{found.right} of {found.asked}, {found.share:.0%} ({found.low:.0%} to {found.high:.0%})"
