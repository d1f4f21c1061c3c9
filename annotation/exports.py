"""Label Studio's JSON export into verdicts.

What was met in exports of version 1.23: several annotations of a task come in no order; skipped ones are
there with `was_cancelled`; results can be empty or lack one of the questions; `completed_by` is a number in
exports and an object elsewhere; a task that was imported twice is there twice. People appear under pseudonyms
only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import content_key, read_json
from pipeline.core.records import Task, Verdict

CHOICES = ("valid", "invalid", "unsure")


class _Person(msgspec.Struct):
    id: int | None = None
    email: str | None = None


class _Value(msgspec.Struct):
    choices: list[str] = []


class _Result(msgspec.Struct):
    from_name: str = ""
    value: _Value = msgspec.field(default_factory=_Value)


class _Annotation(msgspec.Struct):
    completed_by: int | str | _Person | None = None
    result: list[_Result] = []
    was_cancelled: bool | None = None
    id: int | str = 0
    created_at: str = ""
    updated_at: str = ""
    lead_time: float | None = None


class _Data(msgspec.Struct):
    task: str


class _Exported(msgspec.Struct):
    data: _Data
    annotations: list[_Annotation]


def read_exports(paths: Iterable[Path], tasks: Mapping[str, Task]) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts in some export files, sorted by verdict id, and how many annotations of what kind there were.

    One verdict per person and task: the last one given. Tasks of another batch are left out and counted.

    Raises:
        UserError: lists the files that are no JSON export of these tasks, and annotations that make no sense.
    """
    problems = Problems("annotation exports")
    counts: Counter[str] = Counter()
    given: dict[tuple[str, str], list[_Annotation]] = defaultdict(list)
    for path in paths:
        try:
            exported = read_json(path, list[_Exported])
        except UserError as error:
            problems.add(
                str(path),
                str(error).removeprefix(f"{path}: ") + " (wanted: Label Studio's export format JSON)",
            )
            continue
        for row in exported:
            for annotation in row.annotations:
                kind = _kind(annotation, row.data.task, tasks)
                counts[kind] += 1
                if kind == "complete":
                    given[row.data.task, pseudonym(annotation.completed_by)].append(annotation)
                elif kind == "unreadable":
                    problems.add(
                        f"{path}, annotation {annotation.id}",
                        f"choices {_choices(annotation)}, wanted one of {CHOICES} each",
                    )
    if not counts["complete"] and counts["of another batch"]:
        problems.add(
            "all exports",
            f"none of their {counts['of another batch']} annotations is of a task of this batch",
        )
    problems.raise_if_any()
    last = {key: max(rows, key=_when) for key, rows in given.items()}
    counts["replaced by a later one"] = counts["complete"] - len(last)
    counts["complete"] = len(last)
    return _verdicts(last), dict(sorted((kind, count) for kind, count in counts.items() if count))


def pseudonym(person: int | str | _Person | None) -> str:
    """A name that is the same for a person in every export and does not tell who it is."""
    if isinstance(person, _Person):
        person = person.id if person.id is not None else person.email
    return "unknown" if person is None else f"annotator-{content_key('annotator', str(person))[:8]}"


def _kind(annotation: _Annotation, task_id: str, tasks: Mapping[str, Task]) -> str:
    if task_id not in tasks:
        return "of another batch"
    if annotation.was_cancelled:
        return "skipped"
    choices = _choices(annotation)
    if not choices:
        return "empty"
    if set(choices) != {"first", "second"}:
        return "incomplete"
    return "complete" if set(choices.values()) <= set(CHOICES) else "unreadable"


def _chosen(annotation: _Annotation) -> dict[str, str]:
    """Name of the control -> what was chosen there."""
    return {result.from_name: result.value.choices[0] for result in annotation.result if result.value.choices}


def _choices(annotation: _Annotation) -> dict[str, str]:
    chosen = _chosen(annotation)
    return {name: chosen[name] for name in ("first", "second") if name in chosen}


def _when(annotation: _Annotation) -> tuple[str, str]:
    return annotation.updated_at or annotation.created_at, str(annotation.id).zfill(20)


def _verdicts(last: Mapping[tuple[str, str], _Annotation]) -> list[Verdict]:
    """Verdicts in which `order` is the place among the person's own answers."""
    answered: Counter[str] = Counter()
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
            )
        )
        answered[person] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)
