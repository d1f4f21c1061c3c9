"""How fast is the bootstrap, clustered by picture? Limit: 1,000 repetitions on 11,158 predictions under 5 s.

The peer is the plain way: draw pictures, gather their items, score them, 1,000 times.

    python benchmarks/bootstrap_speed.py
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.scorers import realistic_scores
from pipeline.scorers.bootstrap import draws
from pipeline.scorers.realistic import scores_of
from pipeline.scorers.sweep import order, weighted_sweep

PREDICTIONS, PICTURES, REPETITIONS, PLAIN = 11_158, 398, 1_000, 50


def main() -> None:
    rng = np.random.default_rng(0)
    answerable, correct = rng.random(PREDICTIONS) < 0.5, rng.random(PREDICTIONS) < 0.6
    confidence, picture = rng.random(PREDICTIONS), rng.integers(0, PICTURES, PREDICTIONS)
    start = time.perf_counter()
    by = order(confidence)
    areas = [
        scores_of(weighted_sweep(by, correct, answerable, picture, weights))["auaf"]
        for weights in draws(PICTURES, REPETITIONS, 0, PREDICTIONS)
    ]
    seconds = time.perf_counter() - start
    mean = np.concatenate(areas).mean()
    print(f"{REPETITIONS:,} repetitions of eight scores: {seconds:.2f} s; AUAF {mean:.4f}")
    members = [np.flatnonzero(picture == p) for p in range(PICTURES)]
    start = time.perf_counter()
    for _ in range(PLAIN):
        again = np.concatenate([members[p] for p in rng.integers(0, PICTURES, PICTURES)])
        realistic_scores(confidence[again], correct[again], answerable[again])
    plain = (time.perf_counter() - start) * REPETITIONS / PLAIN
    print(f"the plain way: {plain:.2f} s (from {PLAIN} repetitions), {plain / seconds:.1f} times as long")


if __name__ == "__main__":
    main()
