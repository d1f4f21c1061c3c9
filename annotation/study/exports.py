"""Label Studio's exports into verdicts: the formats JSON and JSON_MIN, snapshots, and what `rgqa annotate pull` writes.

What was met in exports of version 1.23: several annotations of a task come in no order; skipped ones are
there with `was_cancelled`; results can be empty or lack one of the questions; `completed_by` is a number in
exports and an object elsewhere; a task that was imported twice is there twice; JSON_MIN puts the answer in the place of
the question's text, as both are called `first`. People appear under pseudonyms only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
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
CHOICES = get_args(Choice)
QUESTIONS = ("first", "second")
PSEUDONYM = re.compile(r"annotator-(\d{2,}|[0-9a-f]{8})")


class Person(msgspec.Struct):
    id: int | None = None
    email: str | None = None


class Annotation(msgspec.Struct):
    """One annotation, or one version of it. Times are ISO 8601 in UTC; `lead_time` is in seconds."""

    id: int | str = 0
    completed_by: int | str | Person | None = None
    result: list[dict[str, Any]] = []
    was_cancelled: bool | None = None
    lead_time: float | None = None
    created_at: str = ""
    updated_at: str = ""


class Exported(msgspec.Struct):
    """A task of an export in the format JSON; of `data`, only `task` is needed."""

    data: dict[str, Any]
    annotations: list[Annotation]


class _Min(msgspec.Struct):
    """An annotation in the format JSON_MIN; skipped ones are not in it."""

    task: str
    annotation_id: int | str
    annotator: int | str | Person | None = None
    first: Any = None
    second: Any = None
    first_reason: Any = None
    second_reason: Any = None
    created_at: str = ""
    updated_at: str = ""
    lead_time: float | None = None


class _Given(NamedTuple):
    """An annotation, the file it stands in and its task."""

    where: str
    task_id: str
    annotation: Annotation


def read_exports(paths: Iterable[Path], tasks: Mapping[str, Task]) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts in some export files, sorted by verdict id, and how many annotations of what kind there were.

    One verdict per person and task: the last one given. Of an annotation that was corrected, or is in several files, the
    last version counts. Tasks of another batch are left out and counted.

    Raises:
        UserError: lists the files that are no export of these tasks, and annotations that make no sense.
    """
    problems = Problems("annotation exports")
    given: list[_Given] = []
    for path in paths:
        try:
            rows = read(path, tasks)
        except UserError as error:
            wanted = "wanted: Label Studio's export format JSON or JSON_MIN, with the tasks of push"
            problems.add(str(path), f"{str(error).removeprefix(f'{path}: ')} ({wanted})")
            continue
        given += [
            _Given(str(path), str(row.data["task"]), annotation)
            for row in rows
            for annotation in row.annotations
        ]
    return _counted(given, tasks, problems)


def verdicts_of(rows: Iterable[Exported], tasks: Mapping[str, Task]) -> tuple[list[Verdict], dict[str, int]]:
    """The same for rows that are at hand already."""
    given = [
        _Given("verdicts", str(row.data.get("task")), annotation)
        for row in rows
        for annotation in row.annotations
    ]
    return _counted(given, tasks, Problems("verdicts"))


def read(path: Path, tasks: Mapping[str, Task]) -> list[Exported]:
    """An export file as rows of the format JSON.

    Raises:
        UserError: it is neither JSON nor JSON_MIN with a task's key in each row.
    """
    rows = read_json(path)
    try:
        if (
            isinstance(rows, list)
            and rows
            and all(isinstance(row, dict) and "annotation_id" in row for row in rows)
        ):
            return [_from_min(row, tasks.get(row.task)) for row in msgspec.convert(rows, list[_Min])]
        found = msgspec.convert(rows, list[Exported])
    except msgspec.ValidationError as error:
        raise UserError(f"not what is expected here: {error}") from error
    if without := sum(not isinstance(row.data.get("task"), str) for row in found):
        raise UserError(f"not what is expected here: {without} rows have no key `task` in `data`")
    return found


def _from_min(row: _Min, task: Task | None) -> Exported:
    texts = {"first": task.first.text, "second": task.second.text} if task else {}
    chosen = {name: getattr(row, name) for name in (*QUESTIONS, "first_reason", "second_reason")}
    result = [
        {"from_name": name, "value": {"choices": [value]}}
        for name, value in chosen.items()
        if isinstance(value, str) and value != texts.get(name)  # a question without an answer keeps its text
    ]
    annotation = Annotation(
        id=row.annotation_id,
        completed_by=row.annotator,
        result=result,
        lead_time=row.lead_time,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
    return Exported(data={"task": row.task}, annotations=[annotation])


def pseudonym(person: int | str | Person | None) -> str:
    """A name that is the same for a person in every export and does not tell who it is. Pseudonyms stay as they are."""
    if isinstance(person, Person):
        person = person.id if person.id is not None else person.email
    if isinstance(person, str) and PSEUDONYM.fullmatch(person):
        return person
    return "unknown" if person is None else f"annotator-{content_key('annotator', str(person))[:8]}"


def _counted(
    given: Iterable[_Given], tasks: Mapping[str, Task], problems: Problems
) -> tuple[list[Verdict], dict[str, int]]:
    counts: Counter[str] = Counter()
    versions: dict[tuple[str, ...], list[_Given]] = defaultdict(list)
    for row in given:
        versions[_identity(row)].append(row)
    complete: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
    strange: Counter[tuple[str, str]] = Counter()
    for rows in versions.values():
        different = {_content(row.annotation) for row in rows}
        counts["seen more than once"] += len(rows) - len(different)
        counts["corrected later"] += len(different) - 1
        where, task_id, annotation = max(rows, key=lambda row: (_when(row.annotation), row.where))
        kind = _kind(annotation, task_id, tasks)
        counts[kind] += 1
        if kind == "complete":
            complete[task_id, _person(rows)].append(annotation)
        elif kind == "unreadable":
            strange[where, _said(annotation)] += 1
    for (where, said), count in sorted(strange.items()):
        problems.add(
            where,
            f"{count} annotations say {said}; wanted are `first` and `second`, each {', '.join(CHOICES)}. A label was renamed in "
            "the labelling interface: `rgqa annotate push` puts it back; judge these tasks again, or put the right words into "
            "the file and say so in the release",
        )
    if not counts["complete"] and counts["of another batch"]:
        problems.add(
            "all exports",
            f"none of their {counts['of another batch']} annotations is of a task of this batch",
        )
    problems.raise_if_any()
    last = {key: max(rows, key=_when) for key, rows in complete.items()}
    counts["replaced by a later one"] = counts["complete"] - len(last)
    counts["complete"] = len(last)
    return _verdicts(last), dict(sorted((kind, count) for kind, count in counts.items() if count))


def _identity(row: _Given) -> tuple[str, ...]:
    """What makes two rows versions of one annotation: number and time of creation, or all of it."""
    annotation = row.annotation
    if annotation.id and annotation.created_at:
        return row.task_id, str(annotation.id), annotation.created_at
    return row.task_id, pseudonym(annotation.completed_by), *_when(annotation), _content(annotation)


def _person(rows: Iterable[_Given]) -> str:
    """Whose annotation it is: a pseudonym that was given, if any version carries one, before one made from a number."""
    people = [row.annotation.completed_by for row in rows]
    named = sorted(p for p in people if isinstance(p, str) and PSEUDONYM.fullmatch(p))
    return named[0] if named else pseudonym(max(people, key=lambda p: p is not None))


def _content(annotation: Annotation) -> str:
    """What one version says and when, in one string: equal for the same version in two formats."""
    return repr((annotation.updated_at, bool(annotation.was_cancelled), sorted(_chosen(annotation).items())))


def _kind(annotation: Annotation, task_id: str, tasks: Mapping[str, Task]) -> str:
    if task_id not in tasks:
        return "of another batch"
    if annotation.was_cancelled:
        return "skipped"
    choices = _choices(annotation)
    if not choices:
        return "unreadable" if _chosen(annotation) else "empty"
    if not set(choices.values()) <= set(CHOICES):
        return "unreadable"
    return "complete" if set(choices) == set(QUESTIONS) else "incomplete"


def _chosen(annotation: Annotation) -> dict[str, str]:
    """Name of the control -> what was chosen there."""
    chosen = {}
    for result in annotation.result:
        value = result.get("value")
        choices = value.get("choices") if isinstance(value, dict) else None
        if isinstance(choices, list) and choices:
            chosen[str(result.get("from_name", ""))] = str(choices[0])
    return chosen


def _choices(annotation: Annotation) -> dict[str, str]:
    chosen = _chosen(annotation)
    return {name: chosen[name] for name in QUESTIONS if name in chosen}


def _said(annotation: Annotation) -> str:
    return ", ".join(f"`{name}`: {choice!r}" for name, choice in sorted(_chosen(annotation).items()))


def _when(annotation: Annotation) -> tuple[str, str]:
    return annotation.updated_at or annotation.created_at, str(annotation.id).zfill(20)


def _verdicts(last: Mapping[tuple[str, str], Annotation]) -> list[Verdict]:
    """Verdicts in which `order` is the place among the person's own answers."""
    answered: Counter[str] = Counter()
    between = _gaps(last)
    verdicts = []
    for (task_id, person), annotation in sorted(last.items(), key=lambda row: (_when(row[1]), row[0])):
        chosen = _chosen(annotation)
        verdicts.append(
            Verdict(
                verdict_id=content_key("verdict", task_id, person),
                task_id=task_id,
                annotator=person,
                first=chosen["first"],
                second=chosen["second"],
                first_reason=chosen.get("first_reason", ""),
                second_reason=chosen.get("second_reason", ""),
                order=answered[person],
                seconds=annotation.lead_time,
                gap=between.get((task_id, person)),
            )
        )
        answered[person] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)


def _gaps(last: Mapping[tuple[str, str], Annotation]) -> dict[tuple[str, str], float]:
    """Seconds since the same person's submission before, where there is one and both times can be read."""
    submitted: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    for (task_id, person), annotation in last.items():
        with suppress(ValueError):
            submitted[person].append((datetime.fromisoformat(annotation.created_at), task_id))
    return {
        (task_id, person): (now - before).total_seconds()
        for person, row in submitted.items()
        for (before, _), (now, task_id) in pairwise(sorted(row))
    }
