"""How fast are the scorers? Every figure beside the limit it is held against.

    python -m benchmarks.scorers_speed            one million predictions, from files, the bootstrap, VQA accuracy
    python -m benchmarks.scorers_speed --growth   1,000 to ten million: does it grow like n log n?

Limits: the published script's thirteen numbers, and the eight strict ones, within 4 argsorts of the same confidences
(one million); files of 11,158 predictions to printed numbers within 0.6 s as a whole process, with 1,000 repetitions of the
bootstrap, clustered by picture, within 5 s more. Its peer is the plain way: draw
pictures, gather their items, score them, 1,000 times. VQA accuracy: at least 10 times faster than the loop of VQA's
own code, the same numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import command, tell, timed
from pipeline.scorers import published_scores, realistic_scores, risk_coverage_auc, vqa_accuracy
from pipeline.scorers.bootstrap import draws
from pipeline.scorers.normalize import _official, single_line
from pipeline.scorers.realistic import scores_of
from pipeline.scorers.sweep import order, weighted_sweep

SIZE = 1_000_000
PREDICTIONS, PICTURES = 11_158, 398  # of RGQA's CLIP-Easy
REPETITIONS, PLAIN = 1_000, 50
QUESTIONS, PEOPLE = 20_000, 10
WORDS = ["yes", "no", "two", "the dog", "black-and-white", "dont know", "1,000", "red.", "a man"]


def arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    answerable = rng.random(n) < 0.5
    return rng.random(n) * 0.8 + answerable * 0.2, rng.random(n) < 0.6, answerable


def best(work: Callable[[], object], times: int) -> np.ndarray:
    """The least time of several."""
    return np.min([timed(work)[1] for _ in range(times)], axis=0)


def against_argsort(n: int) -> None:
    confidence, correct, answerable = arrays(n)
    times = 5 if n <= SIZE else 1
    sort = best(lambda: np.argsort(confidence), times)
    scores: dict[str, Callable[[], object]] = {
        "parity, 13 numbers": lambda: published_scores(confidence, correct, answerable),
        "strict, 8 numbers": lambda: realistic_scores(confidence, correct, answerable),
        "risk-coverage AUC": lambda: risk_coverage_auc(confidence, correct & answerable),
    }
    for name, work in scores.items():
        tell(f"{n:,} predictions, {name}", best(work, times), "one argsort", sort)


def from_files(folder: Path) -> None:
    items, said = [], []
    for i, (confidence, correct, answerable) in enumerate(zip(*arrays(PREDICTIONS), strict=True)):
        label = {"red" if answerable else "UQ": 1.0}
        items.append(
            {"img_id": f"n{i % PICTURES}", "question_id": str(i), "sent": "What is it?", "label": label}
        )
        answer = "red" if correct else "blue"
        said.append({"questionId": str(i), "prediction": answer, "confidence": float(confidence)})
    files = {folder / "clip-easy.json": items, folder / "model.json": said}
    for path, rows in files.items():
        path.write_text(json.dumps(rows))
    for repetitions in ("0", str(REPETITIONS)):
        words = [sys.executable, "-m", "pipeline.scorers.command", *files, "--bootstrap", repetitions]
        seconds, _ = best(partial(subprocess.run, words, check=True, capture_output=True), 3)
        what = f"files of {PREDICTIONS:,} predictions to printed numbers, {repetitions} repetitions"
        print(f"{what}: {seconds:.2f} s")


def bootstrap() -> None:
    rng = np.random.default_rng(1)
    confidence, correct, answerable = arrays(PREDICTIONS)
    picture = rng.integers(0, PICTURES, PREDICTIONS)
    members = [np.flatnonzero(picture == p) for p in range(PICTURES)]

    def ours() -> list[np.ndarray]:
        by = order(confidence)
        return [
            scores_of(weighted_sweep(by, correct, answerable, picture, weights))["auaf"]
            for weights in draws(PICTURES, REPETITIONS, 0, PREDICTIONS)
        ]

    def plain() -> None:
        for _ in range(PLAIN):
            again = np.concatenate([members[p] for p in rng.integers(0, PICTURES, PICTURES)])
            realistic_scores(confidence[again], correct[again], answerable[again])

    areas, seconds = timed(ours)
    _, plain_seconds = timed(plain)
    what = f"{REPETITIONS:,} repetitions of eight scores"
    tell(what, seconds, f"the plain way (from {PLAIN})", plain_seconds * REPETITIONS / PLAIN)
    print(f"AUAF {np.concatenate(areas).mean():.4f}")


def published(said: list[str], people: list[list[str]]) -> np.ndarray:
    """The loop of VQA's evaluation (GT-Vision-Lab/VQA a013f00): where people differ every text is normalised where it
    stands; each person is left out in turn, and those of the others who agree are collected."""
    accuracies = []
    normalise = _official.__wrapped__  # without its cache
    for text, answers in zip(said, people, strict=True):
        text, answers = single_line(text), [single_line(answer) for answer in answers]
        if len(set(answers)) > 1:
            text, answers = normalise(text), [normalise(answer) for answer in answers]
        shares = []
        for left_out in range(len(answers)):
            others = [answer for place, answer in enumerate(answers) if place != left_out]
            shares.append(min(1, len([answer for answer in others if answer == text]) / 3))
        accuracies.append(sum(shares) / len(shares))
    return np.array(accuracies)


def vqa() -> None:
    rng = np.random.default_rng(0)
    # As in VQA: a few answers make most of the total, many others come once.
    pool = [f"{a} {b}" for a in WORDS for b in ("", *map(str, range(300)))]
    weights = 1 / np.arange(1, len(pool) + 1)
    drawn = rng.choice(len(pool), (QUESTIONS, 3), p=weights / weights.sum())
    people = [[pool[row[k]] for k in rng.integers(0, 3, PEOPLE)] for row in drawn]
    said = [pool[row[0]] for row in drawn]
    ours, seconds = timed(vqa_accuracy, said, people)
    theirs, plain_seconds = timed(published, said, people)
    tell(f"{QUESTIONS:,} questions of {PEOPLE} answers", seconds, "the published loop", plain_seconds)
    print(f"largest difference {np.abs(ours - theirs).max():.1e}")


def main(growth: bool = False) -> None:
    if growth:
        for n in (1_000, 10_000, 100_000, SIZE, 10_000_000):
            against_argsort(n)
        return
    against_argsort(SIZE)
    with tempfile.TemporaryDirectory() as folder:
        from_files(Path(folder))
    bootstrap()
    vqa()


if __name__ == "__main__":
    command(main)
