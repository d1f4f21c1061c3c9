"""What people gave in Label Studio, as verdicts; and `annotations/pulled.json`, the one file it is kept in.

The file is an export in Label Studio's format JSON, one task a line, sorted, with pseudonyms for people. It only grows: an
annotation that was changed on the server stands there in both versions. The same content gives the same bytes, so
`dvc repro` does nothing when nothing is new.

What was met in exports of version 1.23: several annotations of a task come in no order; skipped ones are there with
`was_cancelled`; results can be empty or lack one of the questions; `completed_by` is a number in exports and an object
elsewhere; a task that was imported twice is there twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.files import content_key, read_json, replacing
from pipeline.core.records import Category, Choice, Verdict

PULLED = "pulled.json"  # in the folder of the annotations
CHOICES: tuple[Choice, ...] = get_args(Choice)
REASONS = (*get_args(Category), "unclear picture")
LOCAL = "/data/local-files/?d="  # Label Studio's address of a picture, before its path in data/
PSEUDONYM = re.compile(r"annotator-(\d{2,}|[0-9a-f]{8})")


class LabellingScreen(NamedTuple):
    """What a task asks people: names of the controls that must be answered and of optional ones, each with its labels.

    `advice` is what to do about an answer that is none of the labels.
    """

    questions: Mapping[str, tuple[str, ...]]
    optional: Mapping[str, tuple[str, ...]]
    advice: str


TASK_SCREEN = LabellingScreen(
    {"first": CHOICES, "second": CHOICES},
    {"first_reason": REASONS, "second_reason": REASONS},
    "A label was renamed in the labelling interface: `rgqa annotate push` puts it back; judge these tasks again, or put the "
    "right words into the file and say so in the release",
)


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
    def says(self) -> str:
        """What was chosen, in words; equal for equal answers."""
        chosen = ", ".join(f"{name}: {choice}" for name, choice in sorted(self.chosen.items()))
        return f"skipped ({chosen})" if self.was_cancelled else chosen


class ExportedTask(msgspec.Struct):
    """A task of an export in the format JSON; of `data`, only `task` is read, our id."""

    data: dict[str, Any]
    annotations: list[ExportedAnnotation]


class _Key(msgspec.Struct):
    task: str


class _Kept(msgspec.Struct):
    """A line of pulled.json; annotations are kept as their bytes."""

    data: _Key
    annotations: list[msgspec.Raw]


Kept = set[tuple[str, bytes]]  # task id and an annotation as the bytes that stand in the file
Latest = dict[tuple[str, str], ExportedAnnotation]  # (task id, pseudonym) -> the last complete annotation


def read_pulled(path: Path) -> Kept:
    """All that was ever pulled or imported; nothing where there is no such file yet.

    Raises:
        UserError: the file is damaged.
    """
    rows = read_json(path, list[_Kept]) if path.exists() else []
    return {(row.data.task, bytes(annotation)) for row in rows for annotation in row.annotations}


def write_pulled(path: Path, kept: Kept) -> bool:
    """Write the file, atomically and only if that changes it: tasks by id, annotations by person, number and version.

    Raises:
        UserError: two answers contradict each other (`conflicts`); nothing is written then.
    """
    decoded = {row: msgspec.json.decode(row[1], type=ExportedAnnotation) for row in kept}
    problems = Problems(f"{path} (nothing is written)")
    for where, what in conflicts((row[0], annotation) for row, annotation in decoded.items()):
        problems.add(where, what)
    problems.raise_if_any()

    def place(row: tuple[str, bytes]) -> tuple[str, ...]:
        annotation = decoded[row]
        number = str(annotation.id).zfill(20)
        return row[0], str(annotation.completed_by), number, annotation.updated_at, row[1].decode()

    tasks = (
        _Kept(data=_Key(task_id), annotations=[msgspec.Raw(encoded) for _, encoded in group])
        for task_id, group in groupby(sorted(kept, key=place), key=itemgetter(0))
    )
    data = b"[\n" + b",\n".join(map(msgspec.json.encode, tasks)) + b"\n]\n"
    if path.exists() and path.read_bytes() == data:
        return False
    with replacing(path) as file:
        file.write(data)
    return True


def conflicts(given: Iterable[tuple[str, ExportedAnnotation]]) -> list[tuple[str, str]]:
    """What cannot both be true: versions of one annotation of one moment that say different things. Where and what, sorted.

    Args:
        given: annotations with their tasks' ids.
    """
    said: dict[tuple[str, ...], dict[str, ExportedAnnotation]] = defaultdict(dict)
    for task_id, annotation in given:
        said[*identity(task_id, annotation), annotation.updated_at].setdefault(annotation.says, annotation)
    return sorted(
        (
            f"task {key[0]}",
            f"annotation {min(str(row.id) for row in rows.values())} of one moment says "
            + " and ".join(f"`{says}`" for says in sorted(rows)),
        )
        for key, rows in said.items()
        if len(rows) > 1
    )


def identity(task_id: str, annotation: ExportedAnnotation) -> tuple[str, ...]:
    """What makes two annotations versions of one: the task, number and time of creation; without a number, the person."""
    if annotation.id:
        return task_id, str(annotation.id), annotation.created_at
    return task_id, pseudonym(annotation.completed_by), annotation.created_at


def verdicts_in(path: Path, tasks: Collection[str]) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts in pulled.json, sorted by verdict id, and how many annotations of what kind there were.

    One verdict per person and task: the last one given; of an annotation that was corrected, the last version. Tasks of
    another batch are left out and counted.

    Raises:
        UserError: no such file, or lists what is wrong with it.
    """
    return verdicts_of(read_json(path, list[ExportedTask]), tasks, str(path))


def verdicts_of(
    exported: Iterable[ExportedTask], tasks: Collection[str], subject: str = "verdicts", strict: bool = True
) -> tuple[list[Verdict], dict[str, int]]:
    """The same for rows that are at hand already. `strict`: there must be one of this batch, if there are any."""
    latest, counts = latest_of(exported, tasks, TASK_SCREEN, subject, strict)
    return _verdicts(latest), counts


def latest_of(
    exported: Iterable[ExportedTask],
    known: Collection[str],
    screen: LabellingScreen,
    subject: str,
    strict: bool = True,
) -> tuple[Latest, dict[str, int]]:
    """Everybody's last complete annotation of each task that is known, and how many annotations of what kind there were.

    Raises:
        UserError: lists conflicts, and answers that the screen does not offer; `subject` is what it calls the rows.
    """
    problems, counts, strange = Problems(subject), Counter[str](), Counter[str]()
    given = [(str(row.data.get("task")), annotation) for row in exported for annotation in row.annotations]
    for where, what in conflicts(given):
        problems.add(where, what)
    versions: dict[tuple[str, ...], list[ExportedAnnotation]] = defaultdict(list)
    for task_id, annotation in given:
        versions[identity(task_id, annotation)].append(annotation)
    latest: Latest = {}
    for (task_id, *_), same in versions.items():
        different = {(version.updated_at, version.says) for version in same}
        counts["seen more than once"] += len(same) - len(different)
        counts["corrected later"] += len(different) - 1
        annotation = max(same, key=lambda version: version.when)
        kind = _kind(annotation, screen) if task_id in known else "of another batch"
        counts[kind] += 1
        if kind == "complete":
            key = task_id, pseudonym(annotation.completed_by)
            latest[key] = max(latest.get(key, annotation), annotation, key=lambda version: version.when)
        elif kind == "unreadable":
            strange[
                ", ".join(f"`{name}`: {choice!r}" for name, choice in sorted(annotation.chosen.items()))
            ] += 1
    wanted = "; ".join(f"`{name}` one of {', '.join(each)}" for name, each in screen.questions.items())
    for said, count in sorted(strange.items()):
        problems.add("answers", f"{count} annotations say {said}; wanted are {wanted}. {screen.advice}")
    if strict and not counts["complete"] and (other := counts["of another batch"]):
        problems.add("all", f"none of the {other} annotations is of a task of this batch")
    problems.raise_if_any()
    counts["replaced by a later one"] = counts["complete"] - len(latest)
    counts["complete"] = len(latest)
    return latest, dict(sorted((kind, count) for kind, count in counts.items() if count))


def pseudonym(person: int | str | Person | None) -> str:
    """A name that is the same for a person in every export and does not tell who it is. Pseudonyms stay as they are."""
    if isinstance(person, Person):
        person = person.id if person.id is not None else person.email
    if isinstance(person, str) and PSEUDONYM.fullmatch(person):
        return person
    return "unknown" if person is None else f"annotator-{content_key('annotator', str(person))[:8]}"


def _kind(annotation: ExportedAnnotation, screen: LabellingScreen) -> str:
    chosen = annotation.chosen
    if annotation.was_cancelled:
        return "skipped"
    if not chosen:
        return "empty"
    labels = {**screen.questions, **screen.optional}
    answered = [name for name in screen.questions if name in chosen]
    if not answered or any(chosen[name] not in labels[name] for name in chosen.keys() & labels):
        return "unreadable"
    return "complete" if len(answered) == len(screen.questions) else "incomplete"


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
