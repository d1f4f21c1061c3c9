"""`rgqa annotate pull`: fetch what was given in every queue into `annotations/pulled.json`, and never lose any of it.

The file is an export in Label Studio's format JSON, sorted, one task a line, with pseudonyms for people. It only grows:
an annotation that was pulled once stays, whatever happens to it on the server; one that was changed there is added in
its new version. The same content gives the same bytes, so `dvc repro` does nothing when nothing is new.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from annotation.client.label_studio import LabelStudio
from annotation.client.queues import Opener, Queue, Servers, queues
from annotation.study.exports import PULLED, Annotation, Exported, pseudonym, read_exports
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, read_jsonl, replacing
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Task


class _Data(msgspec.Struct, frozen=True):
    task: str


class _Pulled(msgspec.Struct, frozen=True):
    """A line of pulled.json; annotations are kept as their bytes."""

    data: _Data
    annotations: tuple[msgspec.Raw, ...]


Kept = dict[str, set[bytes]]  # task id -> its annotations, each as the bytes that stand in the file


def pull(opener: Opener = LabelStudio) -> None:
    """Fetch all annotations, add what is new to pulled.json, and say what to do next.

    Raises:
        UserError: no server, or a queue that could not be read (the others were, and are written).
    """
    folders = Folders()
    path = folders.annotations / PULLED
    all_queues, unreachable = queues(folders)
    servers = Servers(opener)
    kept = earlier(path)
    before = size(kept)
    problems = Problems("pull (what was pulled before is kept)")
    for line in unreachable:
        problems.add("roster", line)
    for queue in all_queues:
        try:
            for row in track(given(servers.of(queue), queue), f"pull: {queue.name}", unit="task"):
                add(kept, row)
        except UserError as error:
            problems.lines += [line for line in error.problems if line not in problems.lines]
    data = b"".join(lines(kept))
    changed = not path.exists() or path.read_bytes() != data
    if changed and kept:
        with replacing(path) as file:
            file.write(data)
    tell(folders, size(kept), size(kept) - before)
    problems.raise_if_any()


def given(server: LabelStudio, queue: Queue) -> Iterator[Exported]:
    """The tasks of a queue with all that was given there, skipped ones too, under pseudonyms; one page in memory."""
    project = server.project(queue.title)
    if project is None:
        return
    owners = {
        number
        for number, email in server.people().items()
        if queue.annotator and email == queue.annotator.email.lower()
    }
    for row in server.judged(project):
        if row.key is None:
            continue
        annotations = [
            Annotation(
                id=annotation.id,
                completed_by=who(annotation.completed_by, queue, owners),
                result=annotation.result,
                was_cancelled=annotation.was_cancelled,
                lead_time=annotation.lead_time,
                created_at=annotation.created_at,
                updated_at=annotation.updated_at,
            )
            for annotation in row.annotations
        ]
        yield Exported(data={"task": row.key}, annotations=annotations)


def who(person: int | dict[str, Any] | None, queue: Queue, owners: set[int]) -> str:
    """The pseudonym of whoever gave an annotation in a queue.

    A queue is its annotator's. Somebody else who judged there (the study leader, to try it) is told apart as far as
    the server knows the annotator's address; an account that was deleted leaves nobody, and that was the annotator.
    """
    number = person.get("id") if isinstance(person, dict) else person
    if queue.annotator and (number is None or not owners or number in owners):
        return queue.annotator.pseudonym
    return pseudonym(number)


def earlier(path: Any) -> Kept:
    """What was pulled before.

    Raises:
        UserError: the file is damaged; it is never overwritten then.
    """
    kept: Kept = defaultdict(set)
    if path.exists():
        for row in read_json(path, list[_Pulled]):
            kept[row.data.task].update(bytes(annotation) for annotation in row.annotations)
    return kept


def add(kept: Kept, row: Exported) -> None:
    """Add the annotations of a task that are not there yet, or not in this version."""
    kept[row.data["task"]].update(
        msgspec.json.encode(annotation, order="sorted") for annotation in row.annotations
    )


def lines(kept: Kept) -> Iterator[bytes]:
    """The file's content: a JSON list with one task a line; tasks by id, annotations by person, number and version."""
    opening = b"[\n"
    for task_id in sorted(kept):
        rows = sorted(kept[task_id], key=_place)
        if rows:
            yield (
                opening
                + b'{"data":{"task":'
                + msgspec.json.encode(task_id)
                + b'},"annotations":['
                + b",".join(rows)
                + b"]}"
            )
            opening = b",\n"
    yield b"[]\n" if opening == b"[\n" else b"\n]\n"


def _place(row: bytes) -> tuple[str, str, str, bytes]:
    annotation = msgspec.json.decode(row, type=Annotation)
    return str(annotation.completed_by), str(annotation.id).zfill(20), annotation.updated_at, row


def size(kept: Kept) -> int:
    return sum(map(len, kept.values()))


def tell(folders: Folders, total: int, new: int) -> None:
    """Say what there is now, by kind and person."""
    path = folders.annotations / PULLED
    print(f"pull: {new:,} new annotations, {total:,} in all -> {path}")
    if not total:
        return
    tasks = {task.task_id: task for task in read_jsonl(folders.stage("batch") / "tasks.jsonl", Task)}
    verdicts, counts = read_exports([path], tasks)
    print("pull: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
    people: Iterable[tuple[str, int]] = sorted(Counter(verdict.annotator for verdict in verdicts).items())
    print("pull: verdicts of " + ", ".join(f"{name} {count:,}" for name, count in people))
    print("pull: next: dvc repro")
