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
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
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
    before, start, peak = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = psutil.Popen([sys.executable, *arguments], cwd=folder, env=environment)
    while process.poll() is None:
        with suppress(psutil.Error):  # one has just ended
            every = [process, *process.children(recursive=True)]
            peak = max(peak, sum(each.memory_info().rss for each in every))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - start, used, peak / 1e9)


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
    perturb, screen = costs["perturb"], costs["screen"]
    memory = max(perturb.memory, screen.memory)
    processors = perturb.processors + screen.processors
    costs["perturb and screen"] = Cost(perturb.clock + screen.clock, processors, memory)
    for stage, cost in costs.items():
        speed = questions / cost.clock
        print(f"{stage:<20} {cost.clock:7.1f} {cost.processors:14.1f} {speed:12,.0f} {cost.memory:8.2f}")
    bare = read_and_write(interim)
    print(f"limits: {LIMIT:,.0f} questions/s on two cores, 2 GB")
    print(
        f"perturb and screen, in seconds of processors: {processors / costs['tag'].processors:.1f} times tag, "
        f"{processors / bare:.1f} times reading and writing the same rows ({bare:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--like", type=Path, default=standin.SAMPLE, help="a source folder with GQA's files")
    parser.add_argument("--split", default="testdev", help="the split of it that is used (default testdev)")
    parser.add_argument("--full", action="store_true", help="as many as in GQA's balanced train split")
    parser.add_argument("--folder", type=Path, help="leave the stand-in and all results here")
    a = parser.parse_args()
    questions = standin.QUESTIONS if a.full else standin.QUESTIONS // 50
    with TemporaryDirectory() as scratch:
        folder = a.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        standin.make(a.like, a.split, questions, folder / "data/standin/source")
        measure(folder, questions)


if __name__ == "__main__":
    run(main)
