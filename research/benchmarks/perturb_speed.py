"""Measure time and memory of the stages perturb and screen on a large set of questions, after tagging.

    python -m research.benchmarks.perturb_speed                            a fiftieth as many questions as GQA's train split, from the sample
    python -m research.benchmarks.perturb_speed --full                     943,000 questions on 72,140 images
    python -m research.benchmarks.perturb_speed --source data/gqa/source     from the questions of this folder (its split: --split)

The questions are generated (research/benchmarks/scaled_dataset.py). The stages run as in `dvc repro`, one
process per core, with files read and written. Limits: 2,000 questions per second through perturb and screen
on two cores, so one CPU millisecond per question; 2 GB of memory for all processes. A small run uses one
process. The times are compared with tagging each distinct text once with spaCy (`tag`), and with copying all
rows that perturb and screen read and write once.
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
MIN_QUESTIONS_PER_SECOND = 2_000  # on two cores
# What perturb and screen read and write.
RECORD_TYPES = {
    "ingest/questions": Question,
    "tag/tags": TaggedText,
    "perturb/candidates": Candidate,
    "perturb/unedited": DroppedCandidate,
    "screen/screened": ScreenedCandidate,
    "screen/dropped": DroppedCandidate,
}


def run_monitored(arguments: list[str], folder: Path) -> np.ndarray:
    """Run a Python program in a folder and watch it and its child processes.

    Returns:
        Wall-clock seconds, CPU seconds, and peak memory of all processes together in GB, [3].
    """
    before, start, peak = os.times(), time.perf_counter(), 0
    environment = {**os.environ, "PYTHONPATH": str(scaled_dataset.ROOT)}
    process = psutil.Popen([sys.executable, *arguments], cwd=folder, env=environment)
    while process.poll() is None:
        # A process may have just ended.
        with suppress(psutil.Error):
            every = [process, *process.children(recursive=True)]
            peak = max(peak, sum(each.memory_info().rss for each in every))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return np.array([time.perf_counter() - start, used, peak / 1e9])


def measure_stages(folder: Path, interim: Path, questions: int) -> None:
    """Run the stages on the generated questions. Print what each costs, and the comparisons."""
    costs = {stage: run_monitored(["-m", stage_module(stage)], folder) for stage in STAGES}
    both = np.array([costs["perturb"], costs["screen"]])
    costs["perturb and screen"] = np.append(both[:, :2].sum(axis=0), both[:, 2].max())
    print(f"{'':<20} seconds  CPU seconds    questions/s   GB, all processes together")
    for stage, (clock, used, memory) in costs.items():
        print(f"{stage:<20} {clock:7.1f} {used:14.1f} {questions / clock:12,.0f} {memory:8.2f}")
    used = costs["perturb and screen"][1]
    copies = [
        time_call(write_jsonl, interim / "copy.jsonl", read_jsonl(interim / f"{name}.jsonl", kind))
        for name, kind in RECORD_TYPES.items()
    ]
    bare = sum(processors for _, (_, processors) in copies)
    print(
        f"limits: {MIN_QUESTIONS_PER_SECOND:,} questions/s on two cores, 2 GB; two fully used cores: {2 * questions / used:,.0f} questions/s"
    )
    print(
        f"perturb and screen, in CPU seconds: {used / costs['tag'][1]:.1f} times tag, "
        f"{used / bare:.1f} times reading and writing the same rows ({bare:.1f})"
    )


def main(
    source: Annotated[
        Path, typer.Option(help="Use the questions of this folder with GQA's files.")
    ] = scaled_dataset.SAMPLE,
    split: Annotated[Split, typer.Option(help="Use this split of the source.")] = "testdev",
    full: Annotated[
        bool, typer.Option(help="Generate as many questions as GQA's balanced train split has.")
    ] = False,
) -> None:
    questions = scaled_dataset.GQA_QUESTIONS if full else scaled_dataset.GQA_QUESTIONS // 50
    with TemporaryDirectory() as folder:
        interim = Path(folder) / "data/scaled/interim"
        scaled_dataset.write_scaled_project(Path(folder), "scaled", source, split, questions, {})
        # Without CLIP candidates: only perturbed questions are measured.
        write_jsonl(interim / "rank/candidates.jsonl", ())
        measure_stages(Path(folder), interim, questions)


if __name__ == "__main__":
    run_benchmark(main)
