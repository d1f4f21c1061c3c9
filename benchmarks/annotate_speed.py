"""How fast tasks are pushed to our own Label Studio and verdicts pulled from it, next to the bare transfer of the same bytes.

    python -m benchmarks.annotate_speed [--tasks 10000]

Starts a server with an empty SQLite database in a folder of its own, and stops it at the end. Push: the tasks shared out
to four annotators, put into their projects and counted. Pull: as many annotations (made through the API, marked as
benchmark) into pulled.json. Bare: one import of all tasks into one project, and one export of all projects.
Targets for 40,000: 60 s each.
"""

from __future__ import annotations

import os
import resource
import socket
import tempfile
from pathlib import Path

import msgspec
import numpy as np

from annotation.client.label_studio import BATCH, LabelStudio
from annotation.client.pull import pull
from annotation.client.push import push
from annotation.client.queues import open_queues, read_batch
from annotation.server import accounts, environment, process
from annotation.server.accounts import join
from annotation.study.plan import AnnotateParams
from annotation.study.roster import read_roster
from benchmarks.harness import command, tell, timed
from pipeline.batching.tasks import shown
from pipeline.core.errors import Problems
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import SUBSETS, Picture, Task, TaskQuestion

PARAMS = """dataset: benchmark
benchmark:
  annotate: {votes: 1, overlap: 0.0, most_tasks: 0, seed: 1, pictures: "https://example.org"}
"""
TARGET = 60  # seconds for 40,000
CHOSEN = {
    "to_name": "image",
    "type": "choices",
    "value": {"choices": ["valid"]},
    "meta": {"text": ["benchmark"]},
}
ANSWER = {"lead_time": 5.0, "result": [{"from_name": name, **CHOSEN} for name in ("first", "second")]}


def main(tasks: int = 40_000) -> None:
    python = environment.ensure().absolute()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        os.chdir(folder)
        Path("params.yaml").write_text(PARAMS)
        join(Folders(), ["b1", "b2", "b3", "b4"])
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        accounts.ensure(python, read_roster(Folders()), port)
        process.start(python, port)
        try:
            measure(tasks)
        finally:
            process.stop()


def measure(count: int) -> None:
    folders = Folders()
    tasks = [task_of(number) for number in range(count)]
    seen = [shown(task, picture_of(task)) for task in tasks]
    folders.finish("batch", f"{count:,} tasks", {"tasks.jsonl": tasks, "label_studio_tasks.json": seen})
    _, data = read_batch(folders, load("annotate", AnnotateParams))
    rows = [{"data": row} for row in data.values()]
    print(f"{count:,} tasks, {len(msgspec.json.encode(rows)) / 1e6:.1f} MB; target {TARGET} s for 40,000")
    queues = open_queues(folders, Problems("benchmark"))
    server = queues[0].server
    config = "<View><Text name='t' value='$first'/></View>"
    bare_project = server.ensure_project({"title": "bare", "label_config": config})

    _, bare = timed(server.put, bare_project, rows)
    _, pushed = timed(push)
    report("push", pushed, "one import of all", bare, count)
    print(f"push again {timed(push)[1][0]:.1f} s (nothing to do)")

    projects = [(queue.server, queue.server.project(queue.title) or 0) for queue in queues]
    for server, project in projects:
        there = list(server.tasks(project))
        server.delete(project, [task.id for task in there])
        judged = [{"data": task.data, "annotations": [ANSWER]} for task in there]
        for begin in range(0, len(judged), BATCH):
            server.put(project, judged[begin : begin + BATCH])
    _, pulled = timed(pull)
    _, bare = timed(lambda: [export(server, project) for server, project in projects])
    report("pull", pulled, "the server's own export", bare, count)
    print(f"pulled.json {(folders.annotations / 'pulled.json').stat().st_size / 1e6:.1f} MB")
    print(f"pull again {timed(pull)[1][0]:.1f} s (nothing new)")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB in this process")


def task_of(number: int) -> Task:
    color, cup = f"What color is the umbrella next to bench {number}?", "Is there a red cup on the table?"
    return Task(
        task_id=f"{number:016x}",
        picture_id=f"n{number % 400}",
        subset=SUBSETS[number % 4],
        first=TaskQuestion(key=f"a{number}", text=color, role="candidate", candidate_id=f"c{number}"),
        second=TaskQuestion(key=f"b{number}", text=cup, role="filter", expected="valid"),
    )


def picture_of(task: Task) -> Picture:
    path = f"data/benchmark/source/images/{task.picture_id}.jpg"
    return Picture(picture_id=task.picture_id, path=path, width=640, height=480, split="testdev", sha256="")


def export(server: LabelStudio, project: int) -> int:
    """The bytes of the server's own export."""
    chunks = server.sdk.projects.exports.download_sync(project, export_type="JSON")
    return sum(map(len, chunks))


def report(what: str, ours: np.ndarray, bare: str, its: np.ndarray, count: int) -> None:
    tell(what, ours, bare, its)
    print(f"  {count / ours[0]:,.0f} a second; 40,000 would take {ours[0] * 40_000 / count:.0f} s")


if __name__ == "__main__":
    command(main)
