"""Measure the speed of the scorers, each compared with a reference.

    python -m research.benchmarks.scorers_speed                    measure scoring in memory (one million predictions), scoring from files, the bootstrap and VQA accuracy
    python -m research.benchmarks.scorers_speed --measure-growth   measure whether the time grows like n log n, from 1,000 to ten million predictions

These are the limits:

    scores in memory                                  limit
    the thirteen published and eight strict scores    3 argsorts of the same confidences (4 for ten million)
    VQA accuracy                                      a tenth of the time of VQA's own code, with equal results

    files to printed scores, as a whole process       no bootstrap    1,000 replicates    memory
    11,158 predictions                                0.6 s           1.2 s
    600,000 predictions                               3 s             8 s                 0.5 GB

The times from files are compared with the method of the published script (`research.benchmarks.published_rgqa`),
which has no bootstrap. In memory, the bootstrap is compared with a naive method, which samples images, collects
their items and scores them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipeline.scoring import published_scores, realistic_scores, risk_coverage_auc, vqa_accuracy
from pipeline.scoring.bootstrap import bootstrap_batches
from pipeline.scoring.bootstrap_scores import make_realistic_statistic
from pipeline.scoring.normalize import _normalize_official, to_single_line
from pipeline.scoring.threshold_sweep import rank_items
from research.benchmarks.harness import print_comparison, run_benchmark, time_call

NUM_PREDICTIONS = 1_000_000
# Run by a small process, because the peak memory of a child includes what its parent held when it started.
MEASURE_SCRIPT = """import resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - begin, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""
# (predictions, images, replicates of the naive method). The first row has the size of RGQA's CLIP-Easy, the second 50 times that of GQA's testdev.
FILE_SIZES = (11_158, 398, 50), (600_000, 75_000, 3)
NUM_REPETITIONS, NUM_ANSWERS, NUM_RUNS = 1_000, 1_800, 3
NUM_QUESTIONS, ANSWERS_PER_QUESTION = 20_000, 10
ANSWER_TEXTS = ["yes", "no", "two", "the dog", "black-and-white", "dont know", "1,000", "red.", "a man"]


def make_arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    answerable = rng.random(n) < 0.5
    return rng.random(n) * 0.8 + answerable * 0.2, rng.random(n) < 0.6, answerable


def time_best(work: Callable[[], object], times: int) -> np.ndarray:
    """Return the shortest of several times."""
    return np.min([time_call(work)[1] for _ in range(times)], axis=0)


def compare_with_argsort(n: int) -> None:
    confidence, correct, answerable = make_arrays(n)
    times = 5 if n <= NUM_PREDICTIONS else 1
    sort = time_best(lambda: np.argsort(confidence), times)
    scores: dict[str, Callable[[], object]] = {
        "published, 13 scores": lambda: published_scores(confidence, correct, answerable),
        "strict, 8 scores": lambda: realistic_scores(confidence, correct, answerable),
        "risk-coverage AUC": lambda: risk_coverage_auc(confidence, correct & answerable),
    }
    for name, work in scores.items():
        print_comparison(f"{n:,} predictions, {name}", time_best(work, times), "one argsort", sort)


def measure_files(folder: Path, count: int, images: int) -> None:
    """Measure the time from reading the files to printing the scores. Every process reads the same files."""
    rng = np.random.default_rng(2)
    items, predicted = [], []
    for i, (confidence, correct, answerable) in enumerate(zip(*make_arrays(count), strict=True)):
        label, answer = (f"thing {place}" for place in rng.integers(0, NUM_ANSWERS, 2))
        image = f"n{rng.integers(0, images)}"
        row = {"img_id": image, "question_id": str(i), "sent": "What is on the left of the table?"}
        items.append(row | {"label": {label if answerable else "UQ": 1.0}})
        prediction = label if correct else answer
        predicted.append({"questionId": str(i), "prediction": prediction, "confidence": float(confidence)})
    files = folder / "clip-easy.json", folder / "model.json"
    for path, rows in zip(files, (items, predicted), strict=True):
        path.write_text(json.dumps(rows))
    names = {
        "method of the published script": ["research.benchmarks.published_rgqa", *files],
        "ours, no repetitions": ["pipeline.scoring.cli", *files, "--bootstrap", "0"],
        f"ours, {NUM_REPETITIONS:,} repetitions": [
            "pipeline.scoring.cli",
            *files,
            "--bootstrap",
            str(NUM_REPETITIONS),
        ],
    }
    print(
        f"files of {count:,} predictions to printed scores, best of {NUM_RUNS}: wall-clock seconds, peak memory"
    )
    for name, words in names.items():
        seconds, memory = np.min(
            [run_process([sys.executable, "-m", *map(str, words)]) for _ in range(NUM_RUNS)], axis=0
        )
        print(f"  {name:<40} {seconds:8.2f} {memory / 1e9:8.2f} GB", flush=True)


def run_process(words: list[str]) -> list[float]:
    """Return the wall-clock seconds of a process and its peak memory in bytes."""
    process = subprocess.run(
        [sys.executable, "-c", MEASURE_SCRIPT, *words], check=True, capture_output=True, text=True
    )
    return [float(number) for number in process.stdout.split()]


def measure_bootstrap(count: int, images: int, plain_repetitions: int) -> None:
    rng = np.random.default_rng(1)
    confidence, correct, answerable = make_arrays(count)
    image = rng.integers(0, images, count)
    members = np.split(np.argsort(image, kind="stable"), np.cumsum(np.bincount(image, minlength=images))[:-1])

    def ours(repetitions: int) -> list[object]:
        scores = make_realistic_statistic(rank_items(confidence, correct, answerable), image)
        return bootstrap_batches(scores, images, repetitions, 0, num_rows=count)

    def plain() -> None:
        for _ in range(plain_repetitions):
            again = np.concatenate([members[p] for p in rng.integers(0, images, images)])
            realistic_scores(confidence[again], correct[again], answerable[again])

    _, seconds = time_call(ours, NUM_REPETITIONS)
    _, plain_seconds = time_call(plain)
    what = f"{NUM_REPETITIONS:,} repetitions of eight scores, {count:,} predictions, {images:,} images"
    print_comparison(
        what,
        seconds,
        f"plain method (from {plain_repetitions})",
        plain_seconds * NUM_REPETITIONS / plain_repetitions,
    )


def score_like_published_vqa(given: list[str], people: list[list[str]]) -> np.ndarray:
    """Compute accuracies with the loop of VQA's evaluation (GT-Vision-Lab/VQA a013f00).

    Where people differ, every text is normalized. For each person left out in turn, the others who gave the
    predicted answer are counted.
    """
    accuracies = []
    normalise = _normalize_official.__wrapped__  # without cache
    for text, answers in zip(given, people, strict=True):
        text, answers = to_single_line(text), [to_single_line(answer) for answer in answers]
        if len(set(answers)) > 1:
            text, answers = normalise(text), [normalise(answer) for answer in answers]
        scores = []
        for left_out in range(len(answers)):
            others = [answer for place, answer in enumerate(answers) if place != left_out]
            scores.append(min(1, len([answer for answer in others if answer == text]) / 3))
        accuracies.append(sum(scores) / len(scores))
    return np.array(accuracies)


def measure_vqa_accuracy() -> None:
    rng = np.random.default_rng(0)
    # As in VQA: a few answers make up most of the total, many others occur once.
    pool = [f"{a} {b}" for a in ANSWER_TEXTS for b in ("", *map(str, range(300)))]
    weights = 1 / np.arange(1, len(pool) + 1)
    drawn = rng.choice(len(pool), (NUM_QUESTIONS, 3), p=weights / weights.sum())
    people = [[pool[row[k]] for k in rng.integers(0, 3, ANSWERS_PER_QUESTION)] for row in drawn]
    given = [pool[row[0]] for row in drawn]
    ours, seconds = time_call(vqa_accuracy, given, people)
    theirs, plain_seconds = time_call(score_like_published_vqa, given, people)
    print_comparison(
        f"{NUM_QUESTIONS:,} questions with {ANSWERS_PER_QUESTION} answers each",
        seconds,
        "published loop",
        plain_seconds,
    )
    print(f"largest difference {np.abs(ours - theirs).max():.1e}")


def main(measure_growth: bool = False) -> None:
    if measure_growth:
        for n in (1_000, 10_000, 100_000, NUM_PREDICTIONS, 10_000_000):
            compare_with_argsort(n)
        return
    compare_with_argsort(NUM_PREDICTIONS)
    with tempfile.TemporaryDirectory() as folder:
        for count, images, plain in FILE_SIZES:
            measure_files(Path(folder), count, images)
            measure_bootstrap(count, images, plain)
    measure_vqa_accuracy()


if __name__ == "__main__":
    run_benchmark(main)
