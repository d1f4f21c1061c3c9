"""Measure how often the intervals of `rgqa audit` contain 0.5 for random labels, with and without the
widening of intervals that accounts for the variance of training (Nadeau and Bengio, 2003).

python -m research.benchmarks.audit_coverage               30 sets of 600 rows, four attackers, folds grouped by text and by image
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from pipeline.benchmark.auditing.attack_evaluation import evaluate_attack
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.text_attackers import ATTACKERS
from pipeline.benchmark.auditing.text_audit import AuditSettings, GroupBy, make_folds
from research.benchmarks.harness import run_benchmark

TESTED_ATTACKERS = ("word n-grams", "word pairs, naive Bayes", "language model", "first three words")
GROUPINGS: tuple[GroupBy, ...] = ("text", "image")


def main(sets: int = 30, rows: int = 600) -> None:
    held: Counter[str] = Counter()
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        words = rng.integers(40, size=(rows, 2)).tolist()
        texts = [
            f"Is the {'unicorn' if rng.random() < 0.3 else 'horse'} by thing{a} or thing{b}?"
            for a, b in words
        ]
        labels, images = rng.integers(2, size=rows), rng.integers(rows // 5, size=rows)
        made = LabelledRows(texts=texts, labels=labels, images=[str(i) for i in images]).in_canonical_order()
        for by in GROUPINGS:
            folds = make_folds(made, by, AuditSettings(seed=seed))
            for name in TESTED_ATTACKERS:
                scores = ATTACKERS[name](made.texts, folds)
                for which, learned in (("widened", True), ("not widened", False)):
                    found = evaluate_attack(scores, folds, 200, is_trained=learned)
                    assert found.low is not None and found.high is not None
                    held[which] += found.low <= 0.5 <= found.high
    cases = sets * 2 * len(TESTED_ATTACKERS)
    for which, times in held.items():
        print(f"{which}: {times} of {cases} intervals contain 0.5 ({100 * times / cases:.0f} %)")


if __name__ == "__main__":
    run_benchmark(main)
