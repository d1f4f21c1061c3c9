"""How fast tasks are pushed to a Label Studio and verdicts pulled from it, next to the bare transfer of the same bytes.

    python benchmarks/annotate.py .venv-label-studio/bin/label-studio
    python benchmarks/annotate.py .venv-label-studio/bin/label-studio --tasks 10000

Starts a server with an empty SQLite database in a folder of its own, and stops it at the end. Push: the tasks shared out
to four annotators, put into their projects and counted. Pull: as many annotations (made through the API, marked as
benchmark) into pulled.json. Bare: one POST of all tasks into one project, and one GET of that server's own export.
Targets for 40,000: 60 s each.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from annotation.client.contents import Shown
from annotation.client.label_studio import BATCH, LabelStudio
from annotation.client.pull import pull
from annotation.client.push import push
from annotation.client.queues import queues
from annotation.client.secrets import Connection
from annotation.study.roster import Annotator, write_roster
from pipeline.batching.tasks import shown
from pipeline.core.errors import UserError, run
from pipeline.core.files import read_json, write_json, write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Picture, Task, TaskQuestion

SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")
PARAMS = """dataset: benchmark
benchmark:
  annotate: {votes: 1, overlap: 0.0, most_tasks: 0, seed: 1, pictures: "https://example.org"}
"""
TARGET = 60  # seconds for 40,000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("label_studio", type=Path, help="the executable label-studio")
    parser.add_argument("--tasks", type=int, default=40_000)
    a = parser.parse_args()
    executable = a.label_studio.absolute()
    if not executable.is_file():
        raise UserError(
            f"{executable}: no such file; `make annotate` sets up .venv-label-studio/bin/label-studio"
        )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("params.yaml").write_text(PARAMS)
        server = start(executable, Path(folder) / "label-studio")
        try:
            measure(a.tasks)
        finally:
            server.terminate()
            server.wait(30)


def start(executable: Path, home: Path) -> subprocess.Popen:
    """A server on a free port, its address and token in the environment."""
    home.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(20)
    names = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(home),
        "DJANGO_DB": "sqlite",
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_USERNAME": "benchmark@example.org",
        "LABEL_STUDIO_PASSWORD": secrets.token_hex(8),
        "LABEL_STUDIO_USER_TOKEN": token,
        "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
    }
    command = [
        executable,
        "start",
        "--no-browser",
        "--port",
        str(port),
        "--internal-host",
        "127.0.0.1",
        "--log-level",
        "ERROR",
    ]
    log = (home / "log").open("wb")
    server = subprocess.Popen(command, env={**os.environ, **names}, stdout=log, stderr=log)
    os.environ["LABEL_STUDIO_URL"], os.environ["LABEL_STUDIO_TOKEN"] = f"http://127.0.0.1:{port}", token
    for _ in range(600):
        try:
            LabelStudio(Connection(url=os.environ["LABEL_STUDIO_URL"], token=token)).check()
        except UserError:
            if server.poll() is not None:
                raise SystemExit((home / "log").read_text()) from None
            time.sleep(1)
        else:
            return server
    raise SystemExit("Label Studio did not start in ten minutes")


def measure(count: int) -> None:
    folders = Folders()
    tasks = [made(number) for number in range(count)]
    home = folders.stage("batch")
    write_jsonl(home / "tasks.jsonl", tasks)
    write_json(home / "label_studio_tasks.json", [shown(task, picture(task)) for task in tasks])
    rows = [msgspec.to_builtins(row) for row in read_json(home / "label_studio_tasks.json", list[Shown])]
    people = [
        Annotator(name=f"b{n}", pseudonym=f"annotator-0{n}", email=f"b{n}@example.org") for n in range(1, 5)
    ]
    write_roster(folders, people)
    print(f"{count:,} tasks, {len(msgspec.json.encode(rows)) / 1e6:.1f} MB; target {TARGET} s for 40,000")
    found, _ = queues(folders)
    server = LabelStudio(found[0].connection)
    bare_project = server.made(
        {"title": "bare", "label_config": "<View><Text name='t' value='$first'/></View>"}
    )

    bare = timed(lambda: server.put(bare_project, rows))
    pushed = timed(push)
    tell("push", pushed, bare, count)
    again = timed(push)
    print(f"push again {again:.1f} s (nothing to do)")

    by_key = {row["data"]["task"]: row for row in rows}
    for queue in found:
        project = server.project(queue.title)
        keys = [task.key for task in server.tasks(project)]
        server.delete(project, [task.id for task in server.tasks(project)])
        for begin in range(0, len(keys), BATCH):
            server.put(
                project, [by_key[key] | {"annotations": [ANSWER]} for key in keys[begin : begin + BATCH]]
            )
    pulled = timed(pull)
    bare = timed(lambda: [export(server, queue.title) for queue in found])
    tell("pull", pulled, bare, count)
    print(f"pulled.json {(folders.annotations / 'pulled.json').stat().st_size / 1e6:.1f} MB")
    again = timed(pull)
    print(f"pull again {again:.1f} s (nothing new)")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB in this process")


ANSWER = {
    "lead_time": 5.0,
    "result": [
        {
            "from_name": name,
            "to_name": "image",
            "type": "choices",
            "value": {"choices": ["valid"]},
            "meta": {"text": ["benchmark"]},
        }
        for name in ("first", "second")
    ],
}


def made(number: int) -> Task:
    first = TaskQuestion(
        key=f"a{number}",
        text=f"What color is the umbrella next to bench {number}?",
        role="candidate",
        candidate_id=f"c{number}",
    )
    second = TaskQuestion(
        key=f"b{number}", text="Is there a red cup on the table?", role="filter", expected="valid"
    )
    return Task(
        task_id=f"{number:016x}",
        picture_id=f"n{number % 400}",
        subset=SUBSETS[number % 4],
        first=first,
        second=second,
    )


def picture(task: Task) -> Picture:
    path = f"data/benchmark/source/images/{task.picture_id}.jpg"
    return Picture(picture_id=task.picture_id, path=path, width=640, height=480, split="testdev", sha256="")


def export(server: LabelStudio, title: str) -> object:
    project = server.project(title)
    return server._ask("GET", f"api/projects/{project.id}/export", {"exportType": "JSON"})


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def tell(what: str, ours: float, bare: float, count: int) -> None:
    print(
        f"{what} {ours:.1f} s, {count / ours:,.0f} a second; bare {bare:.1f} s: {ours / bare:.2f} times as long; "
        f"40,000 would take {ours * 40_000 / count:.0f} s"
    )


if __name__ == "__main__":
    run(main)
