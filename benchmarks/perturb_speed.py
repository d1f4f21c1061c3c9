"""How long perturb and screen take on a large set of questions, after tagging, and in how much memory.

    python -m benchmarks.perturb_speed                            a fiftieth of GQA's balanced train questions, of the sample's
    python -m benchmarks.perturb_speed --full                     943,000 questions on 72,140 pictures
    python -m benchmarks.perturb_speed --like data/gqa/source     of the questions of this folder (its split: --split)

The questions are a stand-in (benchmarks/standin.py). The stages run on it as `dvc repro` runs them, one process for
each core, files read and written. Limit: 943,000 questions through perturb and screen in 12 minutes on two cores, so 1,310
questions a second; 2 GB of memory, all processes together. Peers: tagging each distinct text once by spaCy (`tag`), and
reading and writing once every row that perturb and screen read and write.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import NamedTuple

import psutil
import yaml

from benchmarks import standin
from pipeline.core.errors import run
from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.core.records import Candidate, Dropped, Question, Screened, Tagged

ROOT = Path(__file__).parent.parent
STAGES = ("ingest", "vocabulary", "tag", "perturb", "screen")
LIMIT = standin.QUESTIONS / (12 * 60)
ROWS = {  # of perturb and screen
    "ingest/questions": Question,
    "tag/tags": Tagged,
    "perturb/candidates": Candidate,
    "perturb/unperturbed": Dropped,
    "screen/screened": Screened,
    "screen/dropped": Dropped,
}


class Cost(NamedTuple):
    """Seconds on the clock and of all processors, and the most memory of all processes together, in GB."""

    clock: float
    processors: float
    memory: float


def watched(arguments: list[str], folder: Path) -> Cost:
    """Run a Python program in a folder and watch it and the processes that it starts."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    peak, ended = [0], Event()

    def watch() -> None:
        while not ended.wait(0.2):
            try:
                found = psutil.Process(process.pid)
                every = [found, *found.children(recursive=True)]
                peak[0] = max(peak[0], sum(one.memory_info().rss for one in every))
            except psutil.Error:  # one has just ended
                continue

    watching = Thread(target=watch)
    watching.start()
    failed = process.wait()
    ended.set()
    watching.join()
    if failed:
        raise SystemExit(f"{' '.join(arguments)} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - start, used, peak[0] / 1e9)


def data_set(folder: Path) -> Path:
    """A project in a folder whose data set is the stand-in; returns where its stages write."""
    parameters = yaml.safe_load((ROOT / "params.yaml").read_text())["gqa"]
    parameters["ingest"] = {"split": "train", "question_splits": ["train"], "graph_splits": []}
    (folder / "params.yaml").write_text(
        yaml.safe_dump({"dataset": "standin", "version": "1.0.0", "standin": parameters})
    )
    interim = folder / "data/standin/interim"
    (interim / "rank").mkdir(parents=True, exist_ok=True)
    (interim / "rank/candidates.jsonl").touch()  # CLIP proposes nothing: this is about perturbed questions
    return interim


def read_and_write(interim: Path) -> float:
    """Seconds of the processor for reading every row of perturb and screen into its record and writing it, once."""
    start = time.process_time()
    for name, kind in ROWS.items():
        write_jsonl(interim / "copy.jsonl", read_jsonl(interim / f"{name}.jsonl", kind))
    (interim / "copy.jsonl").unlink()
    return time.process_time() - start


def measure(folder: Path, questions: int) -> None:
    """Run the stages and print what each costs, then the peers."""
    interim, costs = data_set(folder), {}
    print(f"{'':<20} seconds  of processors  questions/s   GB, all processes together")
    for stage in STAGES:
        costs[stage] = watched(["-m", f"pipeline.stages.{stage}"], folder)
        _tell(stage, costs[stage], questions)
    perturb, screen = costs["perturb"], costs["screen"]
    both = Cost(
        perturb.clock + screen.clock,
        perturb.processors + screen.processors,
        max(perturb.memory, screen.memory),
    )
    _tell("perturb and screen", both, questions)
    bare = read_and_write(interim)
    print(f"limits: {LIMIT:,.0f} questions/s on two cores, 2 GB")
    print(
        f"perturb and screen, in seconds of processors: {both.processors / costs['tag'].processors:.1f} times tag, "
        f"{both.processors / bare:.1f} times reading and writing the same rows ({bare:.1f})"
    )


def _tell(what: str, cost: Cost, questions: int) -> None:
    print(
        f"{what:<20} {cost.clock:7.1f} {cost.processors:14.1f} {questions / cost.clock:12,.0f} {cost.memory:8.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    standin.arguments(parser)
    parser.set_defaults(questions=standin.QUESTIONS // 50)
    parser.add_argument(
        "--full", action="store_true", help="as many questions and pictures as in GQA's balanced train split"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="make the stand-in and all results here and leave them; default: a folder that goes",
    )
    a = parser.parse_args()
    if a.full:
        a.questions, a.pictures = standin.QUESTIONS, standin.PICTURES
    with TemporaryDirectory() as scratch:
        folder = a.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        standin.made_by(a, folder / "data/standin/source")
        measure(folder, a.questions)


if __name__ == "__main__":
    run(main)
