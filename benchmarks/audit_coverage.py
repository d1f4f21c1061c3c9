"""How often the intervals of `rgqa leaks` and `rgqa audit` hold 0.5 where labels are drawn by lot, with and without what they
are widened by for learning.

python -m benchmarks.leaks_coverage               30 sets of 600 rows, four attackers, folds by text and by picture
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from pipeline.leaks.leak_figures import ATTACKERS

from benchmarks.harness import command
from pipeline.auditing.attackers import Folds, attack, text_groups
from pipeline.core.randomness import generator

TRIED = ("word n-grams", "word pairs, Bayes", "language model", "first three words")
FOLDS = 5


def main(sets: int = 30, rows: int = 600) -> None:
    held: Counter[str] = Counter()
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        words = rng.integers(40, size=(rows, 2)).tolist()
        texts = [
            f"Is the {'unicorn' if rng.random() < 0.3 else 'horse'} by thing{a} or thing{b}?"
            for a, b in words
        ]
        labels, pictures = rng.integers(2, size=rows), rng.integers(rows // 5, size=rows)
        for groups in (text_groups(texts, texts), pictures):
            folds = Folds(labels, groups, FOLDS, seed)
            for name in TRIED:
                scores = ATTACKERS[name](texts, folds)
                for which, learned in (("widened", True), ("of one course of learning", False)):
                    found = attack(scores, folds, 200, generator(seed, name), learned)
                    assert found.low is not None and found.high is not None
                    held[which] += found.low <= 0.5 <= found.high
    cases = sets * 2 * len(TRIED)
    for which, times in held.items():
        print(f"{which}: {times} of {cases} intervals hold 0.5 ({100 * times / cases:.0f} %)")


if __name__ == "__main__":
    command(main)
