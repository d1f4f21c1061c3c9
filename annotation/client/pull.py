"""`rgqa annotate pull`: fetch what was given in every queue into `annotations/pulled.json`, and never lose any of it.

The file is an export in Label Studio's format JSON, sorted, one task a line, with pseudonyms for people. It only grows:
an annotation that was pulled once stays, whatever happens to it on the server; one that was changed there is added in
its new version. The same content gives the same bytes, so `dvc repro` does nothing when nothing is new.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import msgspec

from annotation.client.contents import answers
from annotation.client.queues import noted, open_queues
from annotation.study.exports import PULLED, ExportedAnnotation, ExportedTask, read_exports
from pipeline.core.errors import Problems
from pipeline.core.files import read_json, read_jsonl, replacing
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Task


class _Data(msgspec.Struct, frozen=True):
    task: str


class _Pulled(msgspec.Struct, frozen=True):
    """A line of pulled.json; annotations are kept as their bytes."""

    data: _Data
    annotations: list[msgspec.Raw]


Kept = dict[str, set[bytes]]  # task id -> its annotations, each as the bytes that stand in the file


def pull() -> None:
    """Fetch all annotations, add what is new to pulled.json, and say what to do next.

    Raises:
        UserError: no server, or a queue that could not be read (the others were, and are written).
    """
    folders, problems = Folders(), Problems("pull (what was pulled before is kept)")
    path = folders.annotations / PULLED
    queues = open_queues(folders, problems)
    kept = earlier(path)
    before = sum(map(len, kept.values()))
    for queue in queues:
        with noted(problems):
            for task in track(answers(queue), f"pull: {queue.name}", unit="task"):
                add(kept, task)
    data, total = content(kept), sum(map(len, kept.values()))
    if total and not (path.exists() and path.read_bytes() == data):
        with replacing(path) as file:
            file.write(data)
    print(f"pull: {total - before:,} new annotations, {total:,} in all -> {path}")
    if total:
        tell(folders, path)
    problems.raise_if_any()


def earlier(path: Path) -> Kept:
    """What was pulled before.

    Raises:
        UserError: the file is damaged; it is never overwritten then.
    """
    kept: Kept = defaultdict(set)
    for task in read_json(path, list[_Pulled]) if path.exists() else ():
        kept[task.data.task].update(map(bytes, task.annotations))
    return kept


def add(kept: Kept, task: ExportedTask) -> None:
    """Add the annotations of a task that are not there yet, or not in this version."""
    encoded = (msgspec.json.encode(annotation, order="sorted") for annotation in task.annotations)
    kept[task.data["task"]].update(encoded)


def content(kept: Kept) -> bytes:
    """The file's content: a JSON list with one task a line; tasks by id, annotations by person, number and version."""
    tasks = (
        _Pulled(
            data=_Data(task_id), annotations=[msgspec.Raw(row) for row in sorted(annotations, key=_place)]
        )
        for task_id, annotations in sorted(kept.items())
        if annotations
    )
    return b"[\n" + b",\n".join(map(msgspec.json.encode, tasks)) + b"\n]\n"


def _place(encoded: bytes) -> tuple[str, str, str, bytes]:
    annotation = msgspec.json.decode(encoded, type=ExportedAnnotation)
    return str(annotation.completed_by), str(annotation.id).zfill(20), annotation.updated_at, encoded


def tell(folders: Folders, path: Path) -> None:
    """Say what there is now, by kind and person."""
    tasks = {task.task_id: task for task in read_jsonl(folders.stage("batch") / "tasks.jsonl", Task)}
    verdicts, counts = read_exports([path], tasks)
    print("pull: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
    people = sorted(Counter(verdict.annotator for verdict in verdicts).items())
    print("pull: verdicts of " + ", ".join(f"{name} {count:,}" for name, count in people))
    print("pull: next: dvc repro")
