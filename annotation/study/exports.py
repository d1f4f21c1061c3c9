"""What people gave in Label Studio, as verdicts: exports in the formats JSON and JSON_MIN, snapshots, and what `rgqa annotate
pull` writes.

What was met in exports of version 1.23: several annotations of a task come in no order; skipped ones are
there with `was_cancelled`; results can be empty or lack one of the questions; `completed_by` is a number in
exports and an object elsewhere; a task that was imported twice is there twice; JSON_MIN puts the answer in the place of
the question's text, as both are called `first`. People appear under pseudonyms only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import content_key, read_json
from pipeline.core.records import Choice, Task, Verdict

PULLED = "pulled.json"  # in the folder of the exports
CHOICES: tuple[Choice, ...] = get_args(Choice)
LOCAL = "/data/local-files/?d="  # Label Studio's address of a picture, before its path in data/
PSEUDONYM = re.compile(r"annotator-(\d{2,}|[0-9a-f]{8})")


class LabellingScreen(NamedTuple):
    """What a task asks people: names of the controls that must be answered, their labels, and names of optional ones.

    `advice` is what to do about an answer that is none of the labels.
    """

    questions: tuple[str, ...]
    choices: tuple[str, ...]
    optional: tuple[str, ...]
    advice: str


TASK_SCREEN = LabellingScreen(
    ("first", "second"),
    CHOICES,
    ("first_reason", "second_reason"),
    "A label was renamed in the labelling interface: `rgqa annotate push` puts it back; judge these tasks again, or put the "
    "right words into the file and say so in the release",
)

# Task id -> name of a control that is called as its question is -> the question.
Texts = Mapping[str, Mapping[str, str]]


class Person(msgspec.Struct):
    id: int | None = None
    email: str | None = None


class ExportedAnnotation(msgspec.Struct):
    """One annotation, or one version of it. Times are ISO 8601 in UTC; `lead_time` is in seconds."""

    id: int | str = 0
    completed_by: int | str | Person | None = None
    result: list[dict[str, Any]] = []
    was_cancelled: bool | None = None
    lead_time: float | None = None
    created_at: str = ""
    updated_at: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """Name of the control -> what was chosen there."""
        chosen = {}
        for result in self.result:
            match result:
                case {"value": {"choices": [choice, *_]}}:
                    chosen[str(result.get("from_name", ""))] = str(choice)
        return chosen

    @property
    def when(self) -> tuple[str, str]:
        """For sorting: when it was given last, then its number."""
        return self.updated_at or self.created_at, str(self.id).zfill(20)

    @property
    def content(self) -> str:
        """What this version says and when, in one string: equal for the same version in two formats."""
        return repr((self.updated_at, bool(self.was_cancelled), sorted(self.chosen.items())))


class ExportedTask(msgspec.Struct):
    """A task of an export in the format JSON; of `data`, only `task` is needed."""

    data: dict[str, Any]
    annotations: list[ExportedAnnotation]


class _Given(NamedTuple):
    """An annotation, the file it stands in and its task."""

    where: str
    task_id: str
    annotation: ExportedAnnotation

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes two of them versions of one annotation: number and time of creation, or all of it."""
        annotation = self.annotation
        if annotation.id and annotation.created_at:
            return self.task_id, str(annotation.id), annotation.created_at
        return self.task_id, pseudonym(annotation.completed_by), *annotation.when, annotation.content


Latest = dict[tuple[str, str], ExportedAnnotation]  # (task id, pseudonym) -> the last complete annotation


def read_exports(paths: Iterable[Path], tasks: Mapping[str, Task]) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts in some export files, sorted by verdict id, and how many annotations of what kind there were.

    One verdict per person and task: the last one given. Of an annotation that was corrected, or is in several files, the
    last version counts. Tasks of another batch are left out and counted.

    Raises:
        UserError: lists the files that are no export of these tasks, and annotations that make no sense.
    """
    texts = {key: {"first": task.first.text, "second": task.second.text} for key, task in tasks.items()}
    latest, counts = read_latest(paths, texts, TASK_SCREEN, "annotation exports")
    return _verdicts(latest), counts


def verdicts_of(
    exported: Iterable[ExportedTask], tasks: Collection[str]
) -> tuple[list[Verdict], dict[str, int]]:
    """The same for rows that are at hand already."""
    latest, counts = _latest(
        (("verdicts", row) for row in exported), tasks, TASK_SCREEN, Problems("verdicts")
    )
    return _verdicts(latest), counts


def read_latest(
    paths: Iterable[Path], texts: Texts, screen: LabellingScreen, subject: str
) -> tuple[Latest, dict[str, int]]:
    """Everybody's last complete annotation of each task (those that `texts` has) in some export files.

    Returns:
        The annotations; how many of what kind there were.

    Raises:
        UserError: see `read_exports`; `subject` is what it calls the files.
    """
    problems = Problems(subject)
    exported: list[tuple[str, ExportedTask]] = []
    for path in paths:
        try:
            exported += ((str(path), row) for row in _read(path, texts, screen))
        except UserError as error:
            wanted = "wanted: Label Studio's export format JSON or JSON_MIN, with the tasks of push"
            problems.add(str(path), f"{str(error).removeprefix(f'{path}: ')} ({wanted})")
    return _latest(exported, texts, screen, problems)


def pseudonym(person: int | str | Person | None) -> str:
    """A name that is the same for a person in every export and does not tell who it is. Pseudonyms stay as they are."""
    if isinstance(person, Person):
        person = person.id if person.id is not None else person.email
    if isinstance(person, str) and PSEUDONYM.fullmatch(person):
        return person
    return "unknown" if person is None else f"annotator-{content_key('annotator', str(person))[:8]}"


def _read(path: Path, texts: Texts, screen: LabellingScreen) -> list[ExportedTask]:
    """An export file as rows of the format JSON.

    Raises:
        UserError: it is neither JSON nor JSON_MIN with a task's key in each row.
    """
    rows = read_json(path)
    if isinstance(rows, list) and all(isinstance(row, dict) and "annotation_id" in row for row in rows):
        rows = [_from_min(row, texts, screen) for row in rows]
    try:
        exported = msgspec.convert(rows, list[ExportedTask])
    except msgspec.ValidationError as error:
        raise UserError(f"not what is expected here: {error}") from error
    if without := sum(not isinstance(row.data.get("task"), str) for row in exported):
        raise UserError(f"not what is expected here: {without} rows have no key `task`")
    return exported


def _from_min(row: Mapping[str, Any], texts: Texts, screen: LabellingScreen) -> dict[str, Any]:
    """A row of the format JSON_MIN, one annotation, as one of the format JSON; skipped ones are not in it."""
    asked = texts.get(str(row.get("task")), {})
    chosen = {name: row.get(name) for name in (*screen.questions, *screen.optional)}
    result = [
        {"from_name": name, "value": {"choices": [value]}}
        for name, value in chosen.items()
        if isinstance(value, str) and value != asked.get(name)  # a question without an answer keeps its text
    ]
    renamed = {"id": row["annotation_id"], "completed_by": row.get("annotator"), "result": result}
    return {"data": {"task": row.get("task")}, "annotations": [{**row, **renamed}]}


def _latest(
    exported: Iterable[tuple[str, ExportedTask]],
    known: Collection[str],
    screen: LabellingScreen,
    problems: Problems,
) -> tuple[Latest, dict[str, int]]:
    """Of rows, each with the file it stands in."""
    versions: dict[tuple[str, ...], list[_Given]] = defaultdict(list)
    for where, row in exported:
        for version in (_Given(where, str(row.data.get("task")), given) for given in row.annotations):
            versions[version.identity].append(version)
    counts: Counter[str] = Counter()
    strange: Counter[tuple[str, str]] = Counter()
    latest: Latest = {}
    for same in versions.values():
        different = {version.annotation.content for version in same}
        counts["seen more than once"] += len(same) - len(different)
        counts["corrected later"] += len(different) - 1
        where, task_id, annotation = max(same, key=lambda version: (version.annotation.when, version.where))
        kind = _kind(annotation, screen) if task_id in known else "of another batch"
        counts[kind] += 1
        if kind == "complete":
            key = task_id, _person(same)
            latest[key] = max(latest.get(key, annotation), annotation, key=lambda version: version.when)
        elif kind == "unreadable":
            said = ", ".join(f"`{name}`: {choice!r}" for name, choice in sorted(annotation.chosen.items()))
            strange[where, said] += 1
    wanted = " and ".join(f"`{name}`" for name in screen.questions)
    for (where, said), count in sorted(strange.items()):
        each = ", ".join(screen.choices)
        problems.add(
            where, f"{count} annotations say {said}; wanted are {wanted}, each {each}. {screen.advice}"
        )
    if not counts["complete"] and (other := counts["of another batch"]):
        problems.add("all exports", f"none of their {other} annotations is of a task of this batch")
    problems.raise_if_any()
    counts["replaced by a later one"] = counts["complete"] - len(latest)
    counts["complete"] = len(latest)
    return latest, dict(sorted((kind, count) for kind, count in counts.items() if count))


def _kind(annotation: ExportedAnnotation, screen: LabellingScreen) -> str:
    chosen = annotation.chosen
    answers = [chosen[name] for name in screen.questions if name in chosen]
    if annotation.was_cancelled:
        return "skipped"
    if not chosen:
        return "empty"
    if not answers or not set(answers) <= set(screen.choices):
        return "unreadable"
    return "complete" if len(answers) == len(screen.questions) else "incomplete"


def _person(versions: Sequence[_Given]) -> str:
    """Whose annotation it is: a pseudonym that was given, if any version carries one, before one made from a number."""
    people = [version.annotation.completed_by for version in versions]
    named = sorted(person for person in people if isinstance(person, str) and PSEUDONYM.fullmatch(person))
    return named[0] if named else pseudonym(max(people, key=lambda person: person is not None))


def _verdicts(latest: Latest) -> list[Verdict]:
    """Verdicts in which `order` is the place among the person's own answers."""
    answered: Counter[str] = Counter()
    gaps = _gaps(latest)
    verdicts = []
    for (task_id, person), annotation in sorted(latest.items(), key=lambda given: (given[1].when, given[0])):
        fields = {
            "verdict_id": content_key("verdict", task_id, person),
            "task_id": task_id,
            "annotator": person,
            "order": answered[person],
            "seconds": annotation.lead_time,
            "gap": gaps.get((task_id, person)),
        }
        chosen = annotation.chosen
        controls = chosen.keys() & {*TASK_SCREEN.questions, *TASK_SCREEN.optional}
        verdicts.append(msgspec.convert(fields | {name: chosen[name] for name in controls}, Verdict))
        answered[person] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)


def _gaps(latest: Latest) -> dict[tuple[str, str], float]:
    """Seconds since the same person's submission before, where there is one and both times can be read."""
    submitted: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    for (task_id, person), annotation in latest.items():
        with suppress(ValueError):
            submitted[person].append((datetime.fromisoformat(annotation.created_at), task_id))
    return {
        (task_id, person): (now - before).total_seconds()
        for person, times in submitted.items()
        for (before, _), (now, task_id) in pairwise(sorted(times))
    }
