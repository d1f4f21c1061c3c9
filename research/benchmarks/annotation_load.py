"""How long annotators wait for the next task while twelve of them answer at once, on our own Label Studio with 40,000 tasks.

    python -m research.benchmarks.annotation_load [--tasks 40000] [--people 12] [--answers 100] [--pause 0]

Starts a server with an empty SQLite database in a folder of its own, and stops it at the end. Told: push and a push again;
the first step, for which the queue is built; from answer to next task (p50, p95, most), `pause` seconds lie between a task and
its answer; the first step after the server was started again; report and pull. Target: p95 under 0.5 s.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np

from annotation.client.consent import keep_terms
from annotation.client.credentials import connection
from annotation.client.pull import pull
from annotation.client.push import push
from annotation.server import accounts, environment, process
from pipeline.core.paths import Folders
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, Estimate, Picture, Task, TaskQuestion
from pipeline.tasks.task_builder import shown
from research.benchmarks.harness import command, timed

PARAMS = "dataset: benchmark\nbenchmark:\n  annotate: {training: 0, test: 0, seed: 1}\n"


class Page:
    """What a browser does at the desk; nothing is shown."""

    def __init__(self, link: str) -> None:
        url = link.partition("/desk/")[0]
        self.http = httpx.Client(base_url=url, timeout=120, trust_env=False, follow_redirects=True)
        found = re.search('data-csrf="([^"]+)"', self.http.get(link).text)
        assert found, "the desk's page has no token"
        self.http.headers["X-CSRFToken"] = found[1]
        self.shown = self.step({})
        if self.shown["show"] == "consent":
            self.shown = self.step({"consent": self.shown["hash"]})

    def step(self, said: dict) -> dict:
        answer = self.http.post("/desk/step", json=said)
        answer.raise_for_status()
        return answer.json()

    def answer(self, count: int, pause: float, seed: int) -> list[float]:
        """Seconds from answer to next task, `count` times; each picture is fetched, as a browser does."""
        rng, seconds = generator(seed, "benchmark"), []
        for _ in range(count):
            self.http.get(self.shown["picture"])
            time.sleep(pause * rng.random() * 2)
            odd = int(self.shown["second"].removesuffix("?").split()[-1]) % 2  # the filter, answered as known
            choices = {
                "first": str(rng.choice(["valid", "invalid"])),
                "second": "invalid" if odd else "valid",
            }
            begin = time.perf_counter()
            self.shown = self.step({"answer": {"place": self.shown["place"], "seconds": 1.0, **choices}})
            seconds.append(time.perf_counter() - begin)
        return seconds


def main(tasks: int = 40_000, people: int = 12, answers: int = 100, pause: float = 0.0) -> None:
    python = environment.ensure().absolute()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        os.chdir(folder)
        Path("params.yaml").write_text(PARAMS)
        keep_terms(Folders(), contact="nobody, a benchmark")
        roster = accounts.join(Folders(), [f"b{number}" for number in range(people)])
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        accounts.ensure(python, port)
        process.start(python, port)
        try:
            batch(tasks)
            print(f"{tasks:,} tasks: push {timed(push)[1][0]:.1f} s, again {timed(push)[1][0]:.1f} s")
            pages = traffic([accounts.link(person) for person in roster], answers, pause)
            process.stop()
            process.start(python, port)
            first = timed(lambda: pages[0].step({}))[1][0]
            print(f"started again: first step {first:.2f} s; report {timed(connection().report)[1][0]:.2f} s")
            print(f"pull {timed(pull)[1][0]:.1f} s")
        finally:
            process.stop()


def traffic(links: list[str], answers: int, pause: float) -> list[Page]:
    begin, people = time.perf_counter(), len(links)
    pages = [Page(links[0])]
    print(f"first step, with the queue built: {time.perf_counter() - begin:.2f} s")
    with ThreadPoolExecutor(people) as pool:
        pages += pool.map(Page, links[1:])
        begin = time.perf_counter()
        rows = pool.map(lambda row: row[1].answer(answers, pause, row[0]), enumerate(pages))
        seconds = np.concatenate(list(rows))
        spent = time.perf_counter() - begin
    p50, p95, most = np.percentile(seconds, [50, 95, 100])
    print(
        f"{people} annotators, {len(seconds):,} answers in {spent:.0f} s ({len(seconds) / spent:.1f} a second): "
        f"next task after p50 {p50:.3f} s, p95 {p95:.3f} s, at most {most:.3f} s; target p95 0.5 s"
    )
    return pages


def batch(count: int) -> None:
    rng = generator(1, "benchmark")
    tasks = [task_of(number) for number in range(count)]
    files = {
        "tasks.jsonl": tasks,
        "label_studio_tasks.json": [shown(task, picture_of(task)) for task in tasks],
    }
    Folders().finish("batch", f"{count:,} tasks", files)
    estimates = [
        Estimate(candidate_id=f"c{number}", answerable=float(chance), difficulty="random")
        for number, chance in enumerate(rng.beta(0.5, 2, count))
    ]
    fitted = {"fitted": {"calibrated": True}}
    Folders().finish("estimate", "chances by lot", {"estimates.jsonl": estimates, "estimate.json": fitted})


def task_of(number: int) -> Task:
    color, cup = (
        f"What color is the umbrella next to bench {number}?",
        f"Is there a red cup on table {number}?",
    )
    return Task(
        task_id=f"{number:016x}",
        picture_id=f"n{number % 400}",
        subset=SUBSETS[number % 4],
        block=number // 200,
        first=TaskQuestion(key=f"a{number}", text=color, role="candidate", candidate_id=f"c{number}"),
        second=TaskQuestion(
            key=f"b{number}", text=cup, role="filter", expected="invalid" if number % 2 else "valid"
        ),
    )


def picture_of(task: Task) -> Picture:
    path = f"data/benchmark/source/images/{task.picture_id}.jpg"
    return Picture(picture_id=task.picture_id, path=path, width=640, height=480, split="testdev", sha256="")


if __name__ == "__main__":
    command(main)
