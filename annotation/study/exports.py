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
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import content_hash, read_json
from pipeline.core.records import Category, Choice, Verdict

PULLED_FILENAME = "pulled.json"  # in the folder of the annotations
CHOICES: tuple[Choice, ...] = get_args(Choice)
REASONS = (*get_args(Category), "unclear image")
QUESTION_CONTROLS = {
    "first": CHOICES,
    "second": CHOICES,
}  # the screen's controls to be answered, with their labels
CONTROLS = QUESTION_CONTROLS | {"first_reason": REASONS, "second_reason": REASONS}
LOCAL_FILES_PREFIX = "/data/local-files/?d="  # Label Studio's address of an image, before its path in data/
UNKNOWN_ANNOTATOR = "unknown"  # who gave an annotation that tells nobody
ADJUDICATOR_PREFIX = "expert-"  # so begin the pseudonyms of those whose word decides
PSEUDONYM_PATTERN = re.compile(rf"(annotator-|{ADJUDICATOR_PREFIX})(\d{{2,}}|[0-9a-f]{{8}})")
RENAMED_LABEL_HINT = (
    "A label was renamed in the labelling interface: `rgqa annotate push` puts it back; judge these tasks again, or put the "
    "right words into the file and say so in the release"
)


UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)  # stands for an unknown time


def parse_time(text: str) -> datetime | None:
    """Parse an ISO 8601 time, taken as UTC if it names no time zone; return None if it is not one.

    >>> moment("2026-01-01T02:00:00+02:00") == moment("2026-01-01T00:00:00.000Z")
    True
    """
    try:
        read = datetime.fromisoformat(text.strip())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def normalize_time(text: str) -> str:
    """Normalize a time, so that every way to write one moment gives the same text; other texts are returned unchanged."""
    read = parse_time(text)
    return read.isoformat() if read else text


class ExportedUser(msgspec.Struct):
    id: int | None = None
    email: str | None = None


class ExportedAnnotation(msgspec.Struct):
    """One annotation, or one version of it. Times are ISO 8601 in UTC; `lead_time` is in seconds."""

    id: int | str = 0
    completed_by: int | str | ExportedUser | None = None
    result: list[dict[str, Any]] = []
    was_cancelled: bool | None = None
    lead_time: float | None = None
    created_at: str = ""
    updated_at: str = ""

    @property
    def choices(self) -> dict[str, str]:
        """Name of the control -> what was chosen there."""
        chosen = dict[str, str]()
        for result in self.result:
            match result:
                case {"value": {"choices": str() | [_, *_] as choices}}:
                    choices = [choices] if isinstance(choices, str) else choices
                    name = str(result.get("from_name", ""))
                    # Several, where the screen lets choose one, are none of its labels, so that they are told.
                    chosen[name] = " and ".join(
                        [*([chosen[name]] if name in chosen else []), *map(str, choices)]
                    )
        return chosen

    @property
    def sort_key(self) -> tuple[datetime, str]:
        """For sorting: when it was given last, then its number."""
        return parse_time(self.updated_at or self.created_at) or UNKNOWN_TIME, self.sortable_id

    @property
    def sortable_id(self) -> str:
        """Its number, to be sorted as a text."""
        return str(self.id).zfill(20)

    @property
    def answer_text(self) -> str:
        """What was chosen, in words; equal for equal answers."""
        chosen = ", ".join(f"`{name}`: {choice!r}" for name, choice in sorted(self.choices.items()))
        return f"skipped ({chosen})" if self.was_cancelled else chosen

    @property
    def completeness(self) -> str:
        """complete, or what it is instead."""
        chosen = self.choices
        if self.was_cancelled or not chosen:
            return "skipped" if self.was_cancelled else "empty"
        answered = QUESTION_CONTROLS.keys() & chosen.keys()
        if not answered or any(
            chosen[name] not in CONTROLS[name] for name in chosen.keys() & CONTROLS.keys()
        ):
            return "unreadable"
        return "complete" if answered == QUESTION_CONTROLS.keys() else "incomplete"


class ExportedTask(msgspec.Struct):
    """A task of an export in the format JSON; of `data`, only `task` is read, our id."""

    data: dict[str, Any]
    annotations: list[ExportedAnnotation]


TaskAnnotation = tuple[str, ExportedAnnotation]  # with the id of its task
AnnotationStore = dict[
    tuple[str, bytes], ExportedAnnotation
]  # by the task's id and the bytes that stand in the file


def deduplicate(annotations: Iterable[TaskAnnotation]) -> AnnotationStore:
    """As they are kept: what is given twice is there once."""
    return {(task_id, msgspec.json.encode(row, order="sorted")): row for task_id, row in annotations}


def flatten_tasks(tasks: Iterable[ExportedTask]) -> list[TaskAnnotation]:
    """All annotations of some tasks."""
    return [(str(task.data.get("task")), annotation) for task in tasks for annotation in task.annotations]


def read_pulled(path: Path) -> AnnotationStore:
    """All that was ever pulled or imported; nothing where there is no such file yet.

    Raises:
        UserError: the file is damaged, or calls people otherwise than by pseudonyms.
    """
    kept = deduplicate(flatten_tasks(read_json(path, list[ExportedTask]))) if path.exists() else {}
    if named := sum(
        not PSEUDONYM_PATTERN.fullmatch(get_annotator(row)) and get_annotator(row) != UNKNOWN_ANNOTATOR
        for row in kept.values()
    ):
        raise UserError(
            f"{path}: {named} annotations call people by other names than pseudonyms; move it elsewhere and run: "
            "rgqa annotate import FILE"
        )
    return kept


def write_pulled(path: Path, annotations: AnnotationStore) -> bool:
    """Write the file, atomically and only if that changes it: tasks by id, annotations by person, number and version.

    Raises:
        UserError: two answers contradict each other (`conflicts`); nothing is written then.
    """
    problems = Problems(f"{path} (nothing is written)")
    for where, what in find_conflicts(annotations):
        problems.add(where, what)
    problems.raise_if_any()

    def place(key: tuple[str, bytes]) -> tuple[str, str, str, str, bytes]:
        row = annotations[key]
        return key[0], str(row.completed_by), row.sortable_id, row.updated_at, key[1]

    tasks = (
        msgspec.json.encode({"data": {"task": task_id}, "annotations": [msgspec.Raw(key[1]) for key in keys]})
        for task_id, keys in groupby(sorted(annotations, key=place), key=lambda key: key[0])
    )
    data = b"[\n" + b",\n".join(tasks) + b"\n]\n"
    if path.exists() and path.read_bytes() == data:
        return False
    with atomic_write(path) as file:
        file.write(data)
    return True


def find_conflicts(annotations: AnnotationStore) -> list[tuple[str, str]]:
    """What cannot both be true: versions of one annotation of one moment that say different things. Where and what, sorted."""
    said: dict[tuple[str, ...], dict[str, ExportedAnnotation]] = defaultdict(dict)
    for (task_id, _), row in annotations.items():
        said[*get_identity(task_id, row), normalize_time(row.updated_at)].setdefault(row.answer_text, row)
    return sorted(
        (
            f"task {key[0]}",
            f"annotation {min(str(row.id) for row in rows.values())} of one moment says {' and '.join(sorted(rows))}",
        )
        for key, rows in said.items()
        if len(rows) > 1
    )


def get_identity(task_id: str, annotation: ExportedAnnotation) -> tuple[str, ...]:
    """What makes two annotations versions of one: the task, number and time of creation; without a number, the person."""
    if annotation.id:
        return task_id, str(annotation.id), normalize_time(annotation.created_at)
    return task_id, get_annotator(annotation), normalize_time(annotation.created_at)


def get_annotator(annotation: ExportedAnnotation) -> str:
    """The pseudonym of whoever gave a kept annotation."""
    return UNKNOWN_ANNOTATOR if annotation.completed_by is None else str(annotation.completed_by)


def make_pseudonym(person: int | str | ExportedUser | None, salt: str) -> str:
    """A name that is the same for a person in every export and, without the salt, does not tell who it is. Pseudonyms stay as they are."""
    if isinstance(person, ExportedUser):
        person = person.id if person.id is not None else person.email
    if isinstance(person, str) and PSEUDONYM_PATTERN.fullmatch(person):
        return person
    return (
        UNKNOWN_ANNOTATOR
        if person is None
        else f"annotator-{content_hash('annotator', salt, str(person))[:8]}"
    )


def read_verdicts(path: Path, tasks: Collection[str]) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts in pulled.json, none while there is no such file; see `verdicts_of`."""
    return to_verdicts(read_pulled(path), tasks, str(path))


def to_verdicts(
    annotations: AnnotationStore, tasks: Collection[str], subject: str = "verdicts", strict: bool = True
) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts, sorted by verdict id, and how many annotations of what kind there were.

    One verdict per person and task: the last one given; of an annotation that was corrected, the last version. Tasks of
    another batch are left out and counted. `strict`: there must be one of this batch, if there are any.

    Raises:
        UserError: lists conflicts, and answers that the screen does not offer; `subject` is what it calls the rows.
    """
    problems, counts, strange = Problems(subject), Counter[str](), Counter[str]()
    for where, what in find_conflicts(annotations):
        problems.add(where, what)
    versions: dict[tuple[str, ...], list[ExportedAnnotation]] = defaultdict(list)
    for (task_id, _), row in annotations.items():
        versions[get_identity(task_id, row)].append(row)
    latest: dict[tuple[str, str], ExportedAnnotation] = {}  # by task id and pseudonym, complete ones
    for (task_id, *_), same in versions.items():
        counts["corrected later"] += (
            len({(normalize_time(row.updated_at), row.answer_text) for row in same}) - 1
        )
        last = max(same, key=lambda row: row.sort_key)
        kind = last.completeness if task_id in tasks else "of another batch"
        counts[kind] += 1
        if kind == "complete":
            key = task_id, get_annotator(last)
            latest[key] = max(latest.get(key, last), last, key=lambda row: row.sort_key)
        elif kind == "unreadable":
            strange[last.answer_text] += 1
    wanted = "; ".join(f"`{name}` one of {', '.join(labels)}" for name, labels in QUESTION_CONTROLS.items())
    for said, count in sorted(strange.items()):
        problems.add("answers", f"{count} annotations say {said}; wanted are {wanted}. {RENAMED_LABEL_HINT}")
    if strict and not counts["complete"] and (other := counts["of another batch"]):
        problems.add("all", f"none of the {other} annotations is of a task of this batch")
    problems.raise_if_any()
    counts["replaced by a later one"] = counts["complete"] - len(latest)
    counts["complete"] = len(latest)
    return _build_verdicts(latest), dict(sorted((kind, count) for kind, count in counts.items() if count))


def _build_verdicts(latest: Mapping[tuple[str, str], ExportedAnnotation]) -> list[Verdict]:
    """Verdicts in which `order` is the place among the person's own answers, and `gap` the seconds since the one submitted before."""
    answered, submitted, verdicts = Counter[str](), dict[str, datetime](), list[Verdict]()
    order = sorted(
        latest.items(),
        key=lambda given: (parse_time(given[1].created_at) or UNKNOWN_TIME, given[1].sortable_id, given[0]),
    )
    for (task_id, person), row in order:
        fields: dict[str, Any] = {"verdict_id": content_hash("verdict", task_id, person), "task_id": task_id}
        fields |= {"annotator": person, "order": answered[person], "seconds": row.lead_time}
        if now := parse_time(row.created_at):
            if person in submitted:
                fields["gap"] = (now - submitted[person]).total_seconds()
            submitted[person] = now
        fields |= {name: choice for name, choice in row.choices.items() if name in CONTROLS}
        verdicts.append(msgspec.convert(fields, Verdict))
        answered[person] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)
