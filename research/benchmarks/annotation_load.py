"""Measure how long annotators wait for the next task while twelve of them answer at once, on our Label Studio
with 40,000 tasks.

    python -m research.benchmarks.annotation_load [--tasks 40000] [--num-annotators 12] [--answers 100]
    [--pause-seconds 0]

The benchmark starts a server with an empty SQLite database in a temporary folder, and stops it at the end. It
measures: push, and the same push again; the first request of an annotator, during which the server builds the task queue; the time from answer to
next task (p50, p95, maximum; annotators wait `--pause-seconds` on average before they answer); the first step
after a restart of the server; report and pull. Target: p95 under 0.5 s.
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

from annotation.client.consent import save_terms
from annotation.client.credentials import connect
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.server import accounts, environment, process
from pipeline.core.paths import DatasetFolders
from pipeline.core.randomness import make_generator
from pipeline.core.records import SUBSETS, CandidateEstimate, ImageRecord, Task, TaskQuestion
from pipeline.tasks.task_builder import to_label_studio_task
from research.benchmarks.harness import run_benchmark, time_call

PARAMS_YAML = (
    "dataset: benchmark\nbenchmark:\n  annotate: {training_tasks: 0, qualification_tasks: 0, seed: 1}\n"
)


class BrowserSession:
    """A headless client of the annotation page."""

    def __init__(self, link: str) -> None:
        url = link.partition("/annotate/")[0]
        self.http = httpx.Client(base_url=url, timeout=120, trust_env=False, follow_redirects=True)
        found = re.search('data-csrf="([^"]+)"', self.http.get(link).text)
        assert found, "the annotation page has no CSRF token"
        self.http.headers["X-CSRFToken"] = found[1]
        self.state = self.step({})
        if self.state["screen"] == "consent":
            self.state = self.step({"consent": self.state["hash"]})
        if self.state["screen"] == "announcement":
            self.state = self.step({"start": self.state["part"]})

    def step(self, message: dict) -> dict:
        answer = self.http.post("/annotate/step", json=message)
        answer.raise_for_status()
        return answer.json()

    def answer_tasks(self, count: int, pause: float, seed: int) -> list[float]:
        """Answer `count` tasks. Return the seconds from each answer to the next task.

        Images are fetched as by a browser.
        """
        rng, seconds = make_generator(seed, "benchmark"), []
        for _ in range(count):
            self.http.get(self.state["image_url"])
            time.sleep(pause * rng.random() * 2)
            # The second question is a gold question. It is answered correctly.
            is_odd = int(self.state["second"].removesuffix("?").split()[-1]) % 2
            choices = {
                "first": str(rng.choice(["valid", "invalid"])),
                "second": "invalid" if is_odd else "valid",
            }
            begin = time.perf_counter()
            self.state = self.step(
                {"answer": {"assignment": self.state["assignment"], "seconds": 1.0, **choices}}
            )
            seconds.append(time.perf_counter() - begin)
        return seconds


def main(
    tasks: int = 40_000, num_annotators: int = 12, answers: int = 100, pause_seconds: float = 0.0
) -> None:
    python = environment.ensure_environment().absolute()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        os.chdir(folder)
        Path("params.yaml").write_text(PARAMS_YAML)
        save_terms(DatasetFolders(), contact="nobody, a benchmark")
        roster = accounts.add_members(DatasetFolders(), [f"b{number}" for number in range(num_annotators)])
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        accounts.ensure_database(python, port)
        process.start_server(python, port)
        try:
            write_batch(tasks)
            print(
                f"{tasks:,} tasks: push {time_call(push_tasks)[1][0]:.1f} s, again {time_call(push_tasks)[1][0]:.1f} s"
            )
            pages = simulate_traffic(
                [accounts.make_link(person) for person in roster], answers, pause_seconds
            )
            process.stop_server()
            process.start_server(python, port)
            first = time_call(lambda: pages[0].step({}))[1][0]
            print(
                f"restarted: first step {first:.2f} s; report {time_call(connect().get_report)[1][0]:.2f} s"
            )
            print(f"pull {time_call(pull_annotations)[1][0]:.1f} s")
        finally:
            process.stop_server()


def simulate_traffic(links: list[str], answers: int, pause: float) -> list[BrowserSession]:
    begin, people = time.perf_counter(), len(links)
    pages = [BrowserSession(links[0])]
    print(f"first step, with the queue built: {time.perf_counter() - begin:.2f} s")
    with ThreadPoolExecutor(people) as pool:
        pages += pool.map(BrowserSession, links[1:])
        begin = time.perf_counter()
        rows = pool.map(lambda row: row[1].answer_tasks(answers, pause, row[0]), enumerate(pages))
        seconds = np.concatenate(list(rows))
        spent = time.perf_counter() - begin
    p50, p95, maximum = np.percentile(seconds, [50, 95, 100])
    print(
        f"{people} annotators, {len(seconds):,} answers in {spent:.0f} s ({len(seconds) / spent:.1f} a second): "
        f"next task after p50 {p50:.3f} s, p95 {p95:.3f} s, at most {maximum:.3f} s; target p95 0.5 s"
    )
    return pages


def write_batch(count: int) -> None:
    rng = make_generator(1, "benchmark")
    tasks = [make_task(number) for number in range(count)]
    files = {
        "tasks.jsonl": tasks,
        "label_studio_tasks.json": [to_label_studio_task(task, make_image(task)) for task in tasks],
    }
    DatasetFolders().write_stage_outputs("batch", f"{count:,} tasks", files)
    estimates = [
        CandidateEstimate(candidate_id=f"c{number}", p_answerable=float(chance), difficulty="random")
        for number, chance in enumerate(rng.beta(0.5, 2, count))
    ]
    fitted = {"fitted": {"calibrated": True}}
    DatasetFolders().write_stage_outputs(
        "estimate", "random probabilities", {"estimates.jsonl": estimates, "estimate.json": fitted}
    )


def make_task(number: int) -> Task:
    color, cup = (
        f"What color is the umbrella next to bench {number}?",
        f"Is there a red cup on table {number}?",
    )
    return Task(
        task_id=f"{number:016x}",
        image_id=f"n{number % 400}",
        subset=SUBSETS[number % 4],
        priority_block=number // 200,
        first=TaskQuestion(key=f"a{number}", text=color, role="candidate", candidate_id=f"c{number}"),
        second=TaskQuestion(
            key=f"b{number}", text=cup, role="gold", expected_choice="invalid" if number % 2 else "valid"
        ),
    )


def make_image(task: Task) -> ImageRecord:
    path = f"data/benchmark/source/images/{task.image_id}.jpg"
    return ImageRecord(image_id=task.image_id, path=path, width=640, height=480, split="testdev", sha256="")


if __name__ == "__main__":
    run_benchmark(main)
