"""Print the progress of the study, for `rgqa annotate status`: verdicts, speed and accuracy of each
annotator, decided tasks, and the base rates of the subsets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

from annotation.client.collected_answers import collect_answers
from annotation.client.credentials import connect
from annotation.client.volunteers import sync_volunteers
from annotation.study.answers_table import build_answers_table
from annotation.study.assignment import AdaptiveAssigner
from annotation.study.assignment_params import AnnotateParams
from annotation.study.exports import get_annotator, to_verdicts
from annotation.study.forecast import MAX_ANSWER_SECONDS, replay_answers
from annotation.study.gold_status import check_unconfirmed_gold, resolve_unconfirmed_gold
from annotation.study.quality_control import measure_gold_accuracy
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task


def print_status() -> None:
    """Print a table of annotators and the progress of the tasks.

    Raises:
        UserError: There is no server, or there are no tasks.
    """
    folders, server = DatasetFolders(), connect()
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    with lock_folder(folders.study):
        report = sync_volunteers(folders, server)
    answers, source = collect_answers(folders, server)
    verdicts, _ = to_verdicts(answers, tasks, strict=False)
    accuracy = {}
    if verdicts:
        table = build_answers_table(tasks, verdicts)
        min_agreement = load_params("annotate", AnnotateParams).min_gold_agreement
        checks = check_unconfirmed_gold(table, min_agreement)
        accuracy = measure_gold_accuracy(resolve_unconfirmed_gold(table, checks))
    roster = {person.pseudonym: person for person in read_roster(folders)}
    progress = {row["email"]: row for row in report.get("annotators", ())}
    gaps = defaultdict[str, list[float | None]](list)
    for row in verdicts:
        gaps[row.annotator].append(row.seconds_since_previous)
    skipped = Counter(get_annotator(row) for row in answers.values() if row.was_cancelled)
    speeds = {name: compute_verdicts_per_hour(own) for name, own in gaps.items()}
    print_table(
        (
            name,
            describe_stage(roster.get(name), progress) if report else "",
            f"{len(gaps.get(name, ())):,}",
            f"{skipped[name]:,}",
            "" if isnan(speed := speeds.get(name, nan)) else f"{speed:,.0f}",
            f"{accuracy[name].sensitivity}; {accuracy[name].specificity}" if name in accuracy else "",
        )
        for name in sorted(roster.keys() | skipped.keys() | gaps.keys())
    )
    print(f"status: {source}")
    assigner, _ = replay_answers(folders, load_params("annotate", AnnotateParams), answers)
    print("\n".join(format_base_rates(assigner)))
    if report:
        print("\n".join(format_progress(report, [speed for speed in speeds.values() if not isnan(speed)])))


def compute_verdicts_per_hour(gaps: Iterable[float | None]) -> float:
    """Return the number of verdicts per hour of work; NaN if unknown.

    Args:
        gaps: For each verdict, the seconds since the previous submission; None for the first verdict. A gap
            of more than 5 minutes includes a pause. The verdict after such a gap is omitted, because its time
            is unknown.

    >>> compute_verdicts_per_hour([None, 30.0, 30.0, 3940.0, 30.0])
    120.0
    """
    worked = [gap for gap in gaps if gap is not None and gap <= MAX_ANSWER_SECONDS]
    return len(worked) * 3600 / max(sum(worked), 1e-9) if worked else nan


def format_progress(report: Mapping[str, Any], verdicts_per_hour: Sequence[float]) -> list[str]:
    """Return lines on decided tasks and saved votes, from the report of our own server."""
    tasks = report["tasks"]
    num_votes = report["assignment_states"].get("answered", 0)
    num_saved = tasks["num_decided"] * tasks["max_votes"] - tasks["num_votes_on_decided"]
    lines = [
        f"status: {tasks['num_decided']:,} of {tasks['num_tasks']:,} tasks are decided, {tasks['num_finished_waves']:,} of "
        f"{tasks['num_waves']:,} waves are finished; {format_count(num_votes, 'vote')}, {max(num_saved, 0):,} fewer than with "
        f"{tasks['max_votes']} votes for each task"
    ]
    if verdicts_per_hour and tasks["num_wanted_votes"]:
        hours = tasks["num_wanted_votes"] * len(verdicts_per_hour) / sum(verdicts_per_hour)
        lines.append(
            f"status: at the current speed, the remaining {format_count(tasks['num_wanted_votes'], 'vote')} (at most) take {hours:,.1f} hours of work. "
            "For an estimate of the total, run: rgqa annotate forecast"
        )
    return lines


def format_base_rates(assigner: AdaptiveAssigner) -> list[str]:
    """Return a line on each subset: which proportion of its candidates is answerable, by the votes so far.

    >>> task = {"key": "t", "block": 0, "subset": "pt-easy"}
    >>> task["first"] = {"role": "candidate", "candidate": "c", "expected": None}
    >>> task["second"] = {"role": "gold", "candidate": None, "expected": "valid"}
    >>> format_base_rates(AdaptiveAssigner([task], {"c": 0.1}))
    ['status: pt-easy: 10 % (0 to 44 %) of 1 candidate have an answer, by 0 votes that count']
    """
    lines = []
    for subset, rate in assigner.get_base_rates().items():
        num_candidates, num_votes = assigner.count_votes(subset)
        lines.append(
            f"status: {subset}: {100 * rate.rate:.0f} % ({100 * rate.low:.0f} to {100 * rate.high:.0f} %) of "
            f"{format_count(num_candidates, 'candidate')} have an answer, by {format_count(num_votes, 'vote')} that count"
        )
    return lines


def print_table(rows: Iterable[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("annotator", "stage")
    for name in ("judged", "skipped", "per hour", "gold questions: invalid; valid"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 160).print(table)


def describe_stage(person: Annotator | None, server_rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the stage that a person has reached.

    Args:
        person: The member of the roster; None for a person who is not in the roster.
        server_rows: E-mail address -> progress, from the report of our own server.

    >>> ann = Annotator(name="ann", pseudonym="annotator-01", email="ann@example.org")
    >>> row = {"consented_at": "2026-01-01", "stopped_because": "", "is_qualified": False}
    >>> describe_stage(ann, {ann.email: row | {"num_training_answered": 5, "num_test_answered": 3}})
    'training and test: 8 answered'
    """
    if person is None or not person.is_active:
        return "removed" if person else ""
    row = server_rows.get(person.email.lower())
    if not row or not row["consented_at"]:
        return "no consent yet"
    if row["stopped_because"]:
        return f"stopped: {row['stopped_because']}"
    num_answered = row["num_training_answered"] + row["num_test_answered"]
    return "working" if row["is_qualified"] else f"training and test: {num_answered} answered"
