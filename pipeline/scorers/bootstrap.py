"""Intervals by resampling pictures: questions about one picture are not independent of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

CHUNK = 1 << 19  # items x repetitions handled at once: keeps the arrays inside the cache's reach


def clusters(names: Sequence[Sequence[str]]) -> tuple[int, list[np.ndarray]]:
    """Number the pictures of several subsets together: how many there are, and each item's number."""
    number: dict[str, int] = {}
    places = [np.array([number.setdefault(name, len(number)) for name in subset], int) for subset in names]
    return len(number), places


def draws(count: int, repetitions: int, seed: int, items: int) -> Iterator[np.ndarray]:
    """How often each of `count` pictures is drawn, with replacement, in each repetition: blocks of [b, count]."""
    generator = np.random.default_rng(seed)
    block = max(1, CHUNK // max(items, 1))
    for start in range(0, repetitions, block):
        size = min(block, repetitions - start)
        yield generator.multinomial(count, np.full(count, 1 / count), size=size).astype(float)


def interval(replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval; NaN where more than 5 % of the repetitions left the score undefined."""
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < 0.95 * max(len(replicates), 1):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
