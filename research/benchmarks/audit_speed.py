"""Measure `rgqa audit` on a synthetic data set of yes-no questions as large as VQA: five questions per image,
Zipf-distributed word frequencies.

    python -m research.benchmarks.audit_speed                    100,000 rows
    python -m research.benchmarks.audit_speed --rows 20000       fewer rows
    python -m research.benchmarks.audit_speed --balance          and a balanced subset

The benchmark prints wall-clock seconds and CPU seconds of all processes. CPU seconds are more reliable on a
busy machine. Limit: two minutes on two free cores for 100,000 rows.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from pipeline.cli.audit import AuditOptions, run_audit
from research.benchmarks.harness import run_benchmark

TEMPLATES = (
    "Is the {a} {n} {r} the {m}?",
    "Is there a {n} {r} the {m}?",
    "Is there a {n}?",
    "Does it look {a}?",
    "Are the {n} and the {m} both {a}?",
    "Is this {n} {a} or is the {m} {r} it?",
    "Do you see a {a} {n} that is {r} the {m} in the picture?",
)
NUM_NOUNS, NUM_ATTRIBUTES, NUM_RELATIONS = 3000, 300, 60


def sample_zipf(rng: np.random.Generator, kinds: int, count: int) -> np.ndarray:
    """Return word numbers. Word n is n times rarer than word 1 (Zipf)."""
    chances = 1 / np.arange(1, kinds + 1)
    return rng.choice(kinds, count, p=chances / chances.sum())


def write_questions(path: Path, rows: int) -> None:
    """Write a file in POPE's format. For a third of the attributes, "yes" is more likely."""
    rng = np.random.default_rng(0)
    nouns, others, attributes = (
        sample_zipf(rng, NUM_NOUNS, rows),
        sample_zipf(rng, NUM_NOUNS, rows),
        sample_zipf(rng, NUM_ATTRIBUTES, rows),
    )
    places, kinds = rng.integers(NUM_RELATIONS, size=rows), rng.integers(len(TEMPLATES), size=rows)
    yes = rng.random(rows) < np.where(attributes % 3 == 0, 0.7, 0.5)
    with path.open("w") as file:
        for i in range(rows):
            text = TEMPLATES[kinds[i]].format(
                a=f"attribute{attributes[i]}",
                n=f"noun{nouns[i]}",
                m=f"noun{others[i]}",
                r=f"place{places[i]}",
            )
            row = {"question_id": i, "image": f"p{i // 5}", "text": text, "label": ("no", "yes")[int(yes[i])]}
            file.write(json.dumps(row) + "\n")


def main(rows: int = 100_000, balance: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, balanced = Path(folder) / "made.jsonl", Path(folder) / "balanced.jsonl"
        write_questions(path, rows)
        start, before = time.perf_counter(), os.times()
        run_audit(AuditOptions(str(path), balanced_subset=balanced if balance else None))
        used = sum(os.times()[:4]) - sum(before[:4])
        peak = max(
            resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        print(
            f"{rows:,} rows: {time.perf_counter() - start:.0f} s wall clock, {used:.0f} CPU-s, at most {peak / 1e6:.1f} GB in a process"
        )


if __name__ == "__main__":
    run_benchmark(main)
