"""`rgqa annotate pull`: fetch what was given in every queue into `annotations/pulled.json`, and never lose any of it.

The file is an export in Label Studio's format JSON, sorted, one task a line, with pseudonyms for people. It only grows:
an annotation that was pulled once stays, whatever happens to it on the server; one that was changed there is added in
its new version. The same content gives the same bytes, so `dvc repro` does nothing when nothing is new.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from annotation.client.queues import answers, noted, open_queues
from annotation.study.exports import PULLED, ExportedAnnotation, read_exports
from pipeline.core.errors import Problems
from pipeline.core.files import read_json, replacing
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Task


class _Key(msgspec.Struct):
    task: str


class _Pulled(msgspec.Struct):
    """A line of pulled.json; annotations are kept as their bytes."""

    data: _Key
    annotations: list[msgspec.Raw]


Kept = set[tuple[str, bytes]]  # task id and an annotation as the bytes that stand in the file


def pull() -> None:
    """Fetch all annotations, add what is new to pulled.json, and say what to do next.

    Raises:
        UserError: no server, a damaged file (never overwritten then), or a queue that could not be read (the others were,
            and are written).
    """
    folders, problems = Folders(), Problems("pull (what was pulled before is kept)")
    path = folders.annotations / PULLED
    queues = open_queues(folders, problems)
    kept = {
        (task.data.task, bytes(annotation))
        for task in (read_json(path, list[_Pulled]) if path.exists() else ())
        for annotation in task.annotations
    }
    before = len(kept)
    for queue in queues:
        with noted(problems):
            for task in track(answers(queue), f"pull: {queue.name}", unit="task"):
                encoded = (msgspec.json.encode(annotation, order="sorted") for annotation in task.annotations)
                kept.update((task.data["task"], annotation) for annotation in encoded)
    data = content(kept)
    if kept and not (path.exists() and path.read_bytes() == data):
        with replacing(path) as file:
            file.write(data)
    print(f"pull: {len(kept) - before:,} new annotations, {len(kept):,} in all -> {path}")
    if kept:
        tell(folders, path)
    problems.raise_if_any()


def content(kept: Kept) -> bytes:
    """The file's content: a JSON list with one task a line; tasks by id, annotations by person, number and version."""
    tasks = (
        _Pulled(data=_Key(task_id), annotations=[msgspec.Raw(encoded) for _, encoded in group])
        for task_id, group in groupby(sorted(kept, key=_place), key=itemgetter(0))
    )
    return b"[\n" + b",\n".join(map(msgspec.json.encode, tasks)) + b"\n]\n"


def _place(row: tuple[str, bytes]) -> tuple[str, str, str, str, bytes]:
    task_id, encoded = row
    annotation = msgspec.json.decode(encoded, type=ExportedAnnotation)
    number = str(annotation.id).zfill(20)
    return task_id, str(annotation.completed_by), number, annotation.updated_at, encoded


def tell(folders: Folders, path: Path) -> None:
    """Say what there is now, by kind and person."""
    tasks = {task.task_id: task for task in folders.rows(Task)}
    verdicts, counts = read_exports([path], tasks)
    print("pull: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
    people = sorted(Counter(verdict.annotator for verdict in verdicts).items())
    print("pull: verdicts of " + ", ".join(f"{name} {count:,}" for name, count in people))
    print("pull: next: dvc repro")
