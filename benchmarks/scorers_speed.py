"""How fast are the scorers? Every figure beside the limit it is held against.

    python benchmarks/scorers_speed.py            one million predictions, and from files
    python benchmarks/scorers_speed.py --growth   1,000 to ten million: does it grow like n log n?

Limits: the published script's thirteen numbers, and the eight strict ones, within 4 argsorts of the same confidences
(one million); files of 11,158 predictions to printed numbers within 0.6 s as a whole process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from timeit import repeat

import numpy as np

from pipeline.scorers import published_scores, realistic_scores, risk_coverage_auc

SIZE = 1_000_000
PREDICTIONS = 11_158  # of RGQA's CLIP-Easy


def arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    answerable = rng.random(n) < 0.5
    return rng.random(n) * 0.8 + answerable * 0.2, rng.random(n) < 0.6, answerable


def against_argsort(n: int) -> None:
    confidence, correct, answerable = arrays(n)
    times = 5 if n <= SIZE else 1
    sort = min(repeat(lambda: np.argsort(confidence), number=1, repeat=times))
    print(f"{n:>12,} one argsort {1000 * sort:10.2f} ms", end="")
    for name, run in (
        ("parity, 13 numbers", lambda: published_scores(confidence, correct, answerable)),
        ("strict, 8 numbers", lambda: realistic_scores(confidence, correct, answerable)),
        ("risk-coverage AUC", lambda: risk_coverage_auc(confidence, correct & answerable)),
    ):
        seconds = min(repeat(run, number=1, repeat=times))
        print(f"   {name} {1000 * seconds:10.2f} ms = {seconds / sort:5.2f} argsorts", end="")
    print()


def from_files(folder: Path) -> None:
    columns = zip(*(column.tolist() for column in arrays(PREDICTIONS)), strict=True)
    items, said = [], []
    for i, (confidence, correct, answerable) in enumerate(columns):
        label = {"red" if answerable else "UQ": 1.0}
        items.append({"img_id": f"n{i % 398}", "question_id": str(i), "sent": "What is it?", "label": label})
        answer = "red" if correct else "blue"
        said.append({"questionId": str(i), "prediction": answer, "confidence": confidence})
    (folder / "clip-easy.json").write_text(json.dumps(items))
    (folder / "model.json").write_text(json.dumps(said))
    files = [str(folder / "clip-easy.json"), str(folder / "model.json")]
    for repetitions, limit in (("0", "0.6 s"), ("1000", "5 s more than without")):
        words = [sys.executable, "-m", "pipeline.scorers.command", *files, "--bootstrap", repetitions]
        seconds = min(
            repeat(partial(subprocess.run, words, check=True, capture_output=True), number=1, repeat=3)
        )
        what = f"files of {PREDICTIONS:,} predictions to printed numbers, {repetitions} repetitions"
        print(f"{what}: {seconds:.2f} s (limit {limit})")


if __name__ == "__main__":
    if "--growth" in sys.argv:
        for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
            against_argsort(n)
    else:
        against_argsort(SIZE)
        with tempfile.TemporaryDirectory() as folder:
            from_files(Path(folder))
