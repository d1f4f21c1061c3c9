"""How long perturb and screen take on a large set of questions, after tagging, and in how much memory.

    python -m research.benchmarks.perturb_speed                            a fiftieth of GQA's balanced train questions, of the sample's
    python -m research.benchmarks.perturb_speed --full                     943,000 questions on 72,140 images
    python -m research.benchmarks.perturb_speed --source data/gqa/source     of the questions of this folder (its split: --split)

The questions are a stand-in (research/benchmarks/scaled_dataset.py). The stages run on it as `dvc repro` runs them, one process for
each core, files read and written. Limit: 2,000 questions a second through perturb and screen on two cores, so a thousandth of
a second of a processor for each; 2 GB of memory, all processes together. A small run is the work of one process. Peers:
tagging each distinct text once by spaCy (`tag`), and reading and writing once every row that perturb and screen read and write.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import psutil
import typer

from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.records import Candidate, DroppedCandidate, Question, ScreenedCandidate, Split, TaggedText
from pipeline.core.stage_graph import stage_module
from research.benchmarks import scaled_dataset
from research.benchmarks.harness import run_benchmark, time_call

STAGES = ("ingest", "vocabulary", "tag", "perturb", "screen")
MAX_SECONDS = 2_000  # questions a second on two cores
RECORD_TYPES = {  # of perturb and screen
    "ingest/questions": Question,
    "tag/tags": TaggedText,
    "perturb/candidates": Candidate,
    "perturb/unedited": DroppedCandidate,
    "screen/screened": ScreenedCandidate,
    "screen/dropped": DroppedCandidate,
}


def run_monitored(arguments: list[str], folder: Path) -> np.ndarray:
    """Run a Python program in a folder and watch it and the processes that it starts: seconds on the clock and of all
    processors, and the most memory of all processes together, in GB."""
    before, start, peak = os.times(), time.perf_counter(), 0
    environment = {**os.environ, "PYTHONPATH": str(scaled_dataset.ROOT)}
    process = psutil.Popen([sys.executable, *arguments], cwd=folder, env=environment)
    while process.poll() is None:
        with suppress(psutil.Error):  # one has just ended
            every = [process, *process.children(recursive=True)]
            peak = max(peak, sum(each.memory_info().rss for each in every))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return np.array([time.perf_counter() - start, used, peak / 1e9])


def measure_stages(folder: Path, interim: Path, questions: int) -> None:
    """Run the stages on the stand-in and print what each costs, then the peers."""
    costs = {stage: run_monitored(["-m", stage_module(stage)], folder) for stage in STAGES}
    both = np.array([costs["perturb"], costs["screen"]])
    costs["perturb and screen"] = np.append(both[:, :2].sum(axis=0), both[:, 2].max())
    print(f"{'':<20} seconds  of processors  questions/s   GB, all processes together")
    for stage, (clock, used, memory) in costs.items():
        print(f"{stage:<20} {clock:7.1f} {used:14.1f} {questions / clock:12,.0f} {memory:8.2f}")
    used = costs["perturb and screen"][1]
    copies = [
        time_call(write_jsonl, interim / "copy.jsonl", read_jsonl(interim / f"{name}.jsonl", kind))
        for name, kind in RECORD_TYPES.items()
    ]
    bare = sum(processors for _, (_, processors) in copies)
    print(
        f"limits: {MAX_SECONDS:,} questions/s on two cores, 2 GB; two busy ones: {2 * questions / used:,.0f} questions/s"
    )
    print(
        f"perturb and screen, in seconds of processors: {used / costs['tag'][1]:.1f} times tag, "
        f"{used / bare:.1f} times reading and writing the same rows ({bare:.1f})"
    )


def main(
    source: Annotated[Path, typer.Option(help="a source folder with GQA's files")] = scaled_dataset.SAMPLE,
    split: Annotated[Split, typer.Option(help="the split of it that is used")] = "testdev",
    full: Annotated[bool, typer.Option(help="as many as in GQA's balanced train split")] = False,
) -> None:
    questions = scaled_dataset.GQA_QUESTIONS if full else scaled_dataset.GQA_QUESTIONS // 50
    with TemporaryDirectory() as folder:
        interim = Path(folder) / "data/standin/interim"
        scaled_dataset.write_scaled_project(Path(folder), "standin", source, split, questions, {})
        # CLIP proposes nothing: this is about perturbed questions
        write_jsonl(interim / "rank/candidates.jsonl", ())
        measure_stages(Path(folder), interim, questions)


if __name__ == "__main__":
    run_benchmark(main)
