"""How fast are the scorers? Every figure beside the limit it is held against.

    python benchmarks/scorers.py            up to one million predictions, and from files
    python benchmarks/scorers.py --growth   1,000 to ten million: does it grow like n log n?

Limits: the published script's thirteen numbers, and the eight strict ones, within 4 argsorts of the same confidences
(one million); files of 11,158 predictions to printed numbers within 0.6 s as a whole process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipeline.scorers import published_scores, realistic_scores, risk_coverage_auc

SIZE = 1_000_000
PREDICTIONS = 11_158  # of RGQA's CLIP-Easy


def best_of(run: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest run: the one least disturbed."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    answerable = rng.random(n) < 0.5
    return rng.random(n) * 0.8 + answerable * 0.2, rng.random(n) < 0.6, answerable


def against_argsort(n: int) -> None:
    confidence, correct, answerable = arrays(n)
    times = 5 if n <= SIZE else 1
    sort = best_of(lambda: np.argsort(confidence), times)
    print(f"{n:>12,} one argsort {1000 * sort:10.2f} ms", end="")
    for name, run in (
        ("parity, 13 numbers", lambda: published_scores(confidence, correct, answerable)),
        ("strict, 8 numbers", lambda: realistic_scores(confidence, correct, answerable)),
        ("risk-coverage AUC", lambda: risk_coverage_auc(confidence, correct & answerable)),
    ):
        seconds = best_of(run, times)
        print(f"   {name} {1000 * seconds:10.2f} ms = {seconds / sort:5.2f} argsorts", end="")
    print()


def from_files(folder: Path) -> None:
    confidence, correct, answerable = arrays(PREDICTIONS)
    rows = [
        {
            "img_id": f"n{i % 398}",
            "question_id": str(i),
            "sent": "What is it?",
            "label": {"red" if answerable[i] else "UQ": 1.0},
        }
        for i in range(PREDICTIONS)
    ]
    said = [
        {
            "questionId": str(i),
            "prediction": "red" if correct[i] else "blue",
            "confidence": float(confidence[i]),
        }
        for i in range(PREDICTIONS)
    ]
    (folder / "clip-easy.json").write_text(json.dumps(rows))
    (folder / "model.json").write_text(json.dumps(said))
    command = [
        sys.executable,
        "-m",
        "pipeline.scorers.command",
        str(folder / "clip-easy.json"),
        str(folder / "model.json"),
        "--bootstrap",
    ]
    for repetitions, limit in (("0", "0.6 s"), ("1000", "5 s more than without")):
        whole = [*command, repetitions]
        seconds = best_of(lambda whole=whole: subprocess.run(whole, check=True, capture_output=True), 3)
        print(
            f"files of {PREDICTIONS:,} predictions to printed numbers, {repetitions} repetitions: {seconds:.2f} s (limit {limit})"
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--growth", action="store_true", help="from 1,000 to ten million")
    if options.parse_args().growth:
        for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
            against_argsort(n)
        return
    against_argsort(SIZE)
    with tempfile.TemporaryDirectory() as folder:
        from_files(Path(folder))


if __name__ == "__main__":
    main()
