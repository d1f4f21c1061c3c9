"""Read and write `annotations/pulled.json`, the file that stores all annotations, and convert annotations to
verdicts.

The file is an export in Label Studio's format JSON: one task per line, sorted, with pseudonyms in place of
people. Annotations are only added. If an annotation is changed on the server, both versions are stored: the
first version counts for gold questions, and the last one for candidates. The same content gives the same bytes, so `dvc repro` does nothing if there are no new annotations.

Exports of Label Studio 1.23 have these properties: the annotations of a task are unordered; skipped
annotations have `was_cancelled`; results can be empty or lack one question; `completed_by` is a number in
exports and an object elsewhere; and a task that was imported twice occurs twice.
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
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import content_hash, read_json
from pipeline.core.records import Category, Choice, Verdict

# Name of the file in the folder annotations/ of a data set.
PULLED_FILENAME = "pulled.json"
CHOICES: tuple[Choice, ...] = get_args(Choice)
REASONS = (*get_args(Category), "unclear image")
# Required controls of the labelling interface -> their labels.
QUESTION_CONTROLS = {"first": CHOICES, "second": CHOICES}
# All controls of the labelling interface -> their labels.
CONTROLS = QUESTION_CONTROLS | {"first_reason": REASONS, "second_reason": REASONS}
# URL prefix of an image in Label Studio, before its path in data/.
LOCAL_FILES_PREFIX = "/data/local-files/?d="
# Name of the annotator for annotations that name no annotator.
UNKNOWN_ANNOTATOR = "unknown"
# Prefix of the pseudonyms of adjudicators.
ADJUDICATOR_PREFIX = "adjudicator-"
PSEUDONYM_PATTERN = re.compile(rf"(annotator-|{ADJUDICATOR_PREFIX})(\d{{2,}}|[0-9a-f]{{8}})")
RENAMED_LABEL_HINT = (
    "A label was renamed in the labelling interface. Restore it with `rgqa annotate push`, then judge these tasks again, or correct "
    "the labels in the file and document this in the release"
)
# Value for an unknown time.
UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)


def parse_time(text: str) -> datetime | None:
    """Parse an ISO 8601 time. A time without a time zone is taken as UTC. Return None for other texts.

    >>> parse_time("2026-01-01T02:00:00+02:00") == parse_time("2026-01-01T00:00:00.000Z")
    True
    """
    try:
        time = datetime.fromisoformat(text.strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def normalize_time(text: str) -> str:
    """Normalize a time, so that equal times give equal texts. Other texts are returned unchanged."""
    time = parse_time(text)
    return time.isoformat() if time else text


class ExportedUser(msgspec.Struct):
    """The account that gave an annotation."""

    id: int | None = None
    email: str | None = None


class ExportedAnnotation(msgspec.Struct):
    """One version of an annotation. Times are in ISO 8601 and UTC; `lead_time` is in seconds."""

    id: int | str = 0
    completed_by: int | str | ExportedUser | None = None
    result: list[dict[str, Any]] = []
    was_cancelled: bool | None = None
    lead_time: float | None = None
    created_at: str = ""
    updated_at: str = ""

    @property
    def choices(self) -> dict[str, str]:
        """Return control name -> chosen label."""
        chosen = dict[str, str]()
        for result in self.result:
            match result:
                case {"value": {"choices": str() | [_, *_] as choices}}:
                    choices = [choices] if isinstance(choices, str) else choices
                    name = str(result.get("from_name", ""))
                    # The interface allows one label per control. Several labels are joined, so that they are
                    # reported as an unknown label.
                    chosen[name] = " and ".join(
                        [*([chosen[name]] if name in chosen else []), *map(str, choices)]
                    )
        return chosen

    @property
    def sort_key(self) -> tuple[datetime, str]:
        """Return the sort key: the time of the last change, then the id."""
        return parse_time(self.updated_at or self.created_at) or UNKNOWN_TIME, self.sortable_id

    @property
    def sortable_id(self) -> str:
        """Return the id as a text that sorts like a number."""
        return str(self.id).zfill(20)

    @property
    def answer_text(self) -> str:
        """Return the chosen labels as a text, which is equal for equal answers."""
        chosen = ", ".join(f"`{name}`: {choice!r}" for name, choice in sorted(self.choices.items()))
        return f"skipped ({chosen})" if self.was_cancelled else chosen

    @property
    def completeness(self) -> str:
        """Return whether the annotation is complete, incomplete, empty, skipped or unreadable."""
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
    """A task of an export in the format JSON. Of `data`, only the entry `task` (our task id) is used."""

    data: dict[str, Any]
    annotations: list[ExportedAnnotation]


# A task id and an annotation of this task.
TaskAnnotation = tuple[str, ExportedAnnotation]
# The task id and the stored bytes of each annotation -> the annotation.
AnnotationStore = dict[tuple[str, bytes], ExportedAnnotation]


def deduplicate(annotations: Iterable[TaskAnnotation]) -> AnnotationStore:
    """Build a store of annotations, in which equal annotations occur only once."""
    return {(task_id, msgspec.json.encode(row, order="sorted")): row for task_id, row in annotations}


def flatten_tasks(tasks: Iterable[ExportedTask]) -> list[TaskAnnotation]:
    """Return all annotations of some tasks, with their task ids."""
    return [(str(task.data.get("task")), annotation) for task in tasks for annotation in task.annotations]


def read_pulled(path: Path) -> AnnotationStore:
    """Read all annotations pulled or imported so far; an empty store if the file does not exist.

    Raises:
        UserError: The file is damaged, or contains names that are not pseudonyms.
    """
    annotations = deduplicate(flatten_tasks(read_json(path, list[ExportedTask]))) if path.exists() else {}
    if named := sum(
        not PSEUDONYM_PATTERN.fullmatch(get_annotator(row)) and get_annotator(row) != UNKNOWN_ANNOTATOR
        for row in annotations.values()
    ):
        raise UserError(
            f"{format_count(named, 'annotation')} without a pseudonym: {path}. Move the file to another folder and run: "
            "rgqa annotate import FILE"
        )
    return annotations


def write_pulled(path: Path, annotations: AnnotationStore) -> bool:
    """Write the file atomically, sorted by task id, annotator, annotation id and version.

    Returns:
        Whether the content changed. An unchanged file is not touched.

    Raises:
        UserError: Two answers contradict each other (`find_conflicts`). Nothing is written then.
    """
    problems = Problems(f"{path} (nothing is written)")
    for where, what in find_conflicts(annotations):
        problems.add(where, what)
    problems.raise_if_any()

    def sort_key(key: tuple[str, bytes]) -> tuple[str, str, str, str, bytes]:
        row = annotations[key]
        return key[0], str(row.completed_by), row.sortable_id, row.updated_at, key[1]

    tasks = (
        msgspec.json.encode({"data": {"task": task_id}, "annotations": [msgspec.Raw(key[1]) for key in keys]})
        for task_id, keys in groupby(sorted(annotations, key=sort_key), key=lambda key: key[0])
    )
    data = b"[\n" + b",\n".join(tasks) + b"\n]\n"
    if path.exists() and path.read_bytes() == data:
        return False
    with atomic_write(path) as file:
        file.write(data)
    return True


def find_conflicts(annotations: AnnotationStore) -> list[tuple[str, str]]:
    """Find versions of the same annotation that have the same time but different answers.

    Returns:
        Sorted pairs of location and problem.
    """
    answers: dict[tuple[str, ...], dict[str, ExportedAnnotation]] = defaultdict(dict)
    for (task_id, _), row in annotations.items():
        answers[*get_identity(task_id, row), normalize_time(row.updated_at)].setdefault(row.answer_text, row)
    return sorted(
        (
            f"task {key[0]}",
            f"annotation {min(str(row.id) for row in rows.values())} has different answers with the same time: {' and '.join(sorted(rows))}",
        )
        for key, rows in answers.items()
        if len(rows) > 1
    )


def get_identity(task_id: str, annotation: ExportedAnnotation) -> tuple[str, ...]:
    """Return what identifies an annotation across its versions: task, id and creation time.

    If there is no id, the annotator is used in its place.
    """
    if annotation.id:
        return task_id, str(annotation.id), normalize_time(annotation.created_at)
    return task_id, get_annotator(annotation), normalize_time(annotation.created_at)


def get_annotator(annotation: ExportedAnnotation) -> str:
    """Return the pseudonym of the annotator of a stored annotation."""
    return UNKNOWN_ANNOTATOR if annotation.completed_by is None else str(annotation.completed_by)


def make_pseudonym(person: int | str | ExportedUser | None, salt: str) -> str:
    """Return the pseudonym of a person, which is the same for every export.

    Without the salt, the pseudonym does not reveal the person. A text that already is a pseudonym is returned
    unchanged.
    """
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
    """Read the verdicts in pulled.json, and the number of annotations by kind (`to_verdicts`)."""
    return to_verdicts(read_pulled(path), tasks, str(path))


def to_verdicts(
    annotations: AnnotationStore, tasks: Collection[str], subject: str = "verdicts", strict: bool = True
) -> tuple[list[Verdict], dict[str, int]]:
    """Convert annotations to verdicts, one per annotator and task.

    If an annotator made several annotations of a task, or if an annotation has several versions, the last one
    counts. The first one is kept in `Verdict.first_answer` if it differs. Gold questions count by it, so that
    nobody can try out answers to them.

    Args:
        annotations: The annotations.
        tasks: Ids of the tasks of this batch. Annotations of other tasks are only counted.
        subject: Name of the annotations in error messages.
        strict: Whether to raise an error if there are annotations, but none of them is of this batch.

    Returns:
        The verdicts, sorted by verdict id, and the number of annotations by kind.

    Raises:
        UserError: Annotations contradict each other, or contain labels that the interface does not offer.
    """
    problems, counts, unreadable = Problems(subject), Counter[str](), Counter[str]()
    for where, what in find_conflicts(annotations):
        problems.add(where, what)
    versions: dict[tuple[str, ...], list[ExportedAnnotation]] = defaultdict(list)
    for (task_id, _), row in annotations.items():
        versions[get_identity(task_id, row)].append(row)
    # (task id, annotator) -> first and last complete annotation.
    given: dict[tuple[str, str], tuple[ExportedAnnotation, ExportedAnnotation]] = {}
    for (task_id, *_), group in versions.items():
        counts["corrected later"] += (
            len({(normalize_time(row.updated_at), row.answer_text) for row in group}) - 1
        )
        last = max(group, key=lambda row: row.sort_key)
        kind = last.completeness if task_id in tasks else "of another batch"
        counts[kind] += 1
        if kind == "complete":
            key = task_id, get_annotator(last)
            complete = [*given.get(key, ()), *(row for row in group if row.completeness == "complete")]
            given[key] = (
                min(complete, key=lambda row: row.sort_key),
                max(complete, key=lambda row: row.sort_key),
            )
        elif kind == "unreadable":
            unreadable[last.answer_text] += 1
    expected = "; ".join(f"`{name}` one of {', '.join(labels)}" for name, labels in QUESTION_CONTROLS.items())
    for answer, count in sorted(unreadable.items()):
        problems.add(
            "answers",
            f"{format_count(count, 'annotation')} with unknown labels: {answer}. Expected: {expected}. {RENAMED_LABEL_HINT}",
        )
    if strict and not counts["complete"] and (other := counts["of another batch"]):
        problems.add("all", f"{format_count(other, 'annotation')}, but none is of a task of this batch")
    problems.raise_if_any()
    counts["replaced by a later one"] = counts["complete"] - len(given)
    counts["complete"] = len(given)
    return _build_verdicts(given), dict(sorted((kind, count) for kind, count in counts.items() if count))


def _build_verdicts(
    given: Mapping[tuple[str, str], tuple[ExportedAnnotation, ExportedAnnotation]],
) -> list[Verdict]:
    """Build verdicts, with their index in the annotator's sequence of answers and the seconds since the
    previous submission.

    Args:
        given: (task id, annotator) -> first and last answer. The times are those of the first one.
    """
    answered, submitted, verdicts = Counter[str](), dict[str, datetime](), list[Verdict]()
    order = sorted(
        given.items(),
        key=lambda row: (parse_time(row[1][0].created_at) or UNKNOWN_TIME, row[1][0].sortable_id, row[0]),
    )
    for (task_id, person), (first, last) in order:
        fields: dict[str, Any] = {"verdict_id": content_hash("verdict", task_id, person), "task_id": task_id}
        fields |= {"annotator": person, "sequence_index": answered[person]}
        # In earlier versions, a clock that was set back could give a negative time. It says nothing.
        fields["duration_seconds"] = first.lead_time if (first.lead_time or 0) >= 0 else None
        if now := parse_time(first.created_at):
            if person in submitted:
                fields["seconds_since_previous"] = (now - submitted[person]).total_seconds()
            submitted[person] = now
        before, after = (
            {name: choice for name, choice in row.choices.items() if name in CONTROLS}
            for row in (first, last)
        )
        fields |= after | ({"first_answer": before} if before != after else {})
        verdicts.append(msgspec.convert(fields, Verdict))
        answered[person] += 1
    return sorted(verdicts, key=lambda verdict: verdict.verdict_id)
