"""Intervals by resampling pictures: questions about one picture are not independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .answered import Answered, Options

MANY = 100_000  # items of a subset from which on two threads are faster than one
Scoring = Callable[[np.ndarray], dict[str, float]]  # how often each picture is drawn [pictures] -> scores
Replicates = dict[str, dict[str, np.ndarray]]  # subset (and "mean") -> score -> [b], the repetitions


def replicates(
    subsets: Mapping[str, Answered],
    scoring: Callable[[Answered, np.ndarray, Options], Scoring],
    options: Options,
) -> Replicates:
    """Scores of every repetition, [b] each, of every subset and, of several, of their "mean". The same seed draws the
    same pictures for every model, so that differences are paired."""
    count, places = clusters([at.items.clusters.tolist() for at in subsets.values()])
    parted = [*zip(subsets.values(), places, strict=True)]

    def share(first: int) -> list[list[dict[str, float]]]:
        scores_of = [scoring(answered, place, options) for answered, place in parted]
        numbers = range(first, options.bootstrap, threads)
        return [[scores(drawn) for scores in scores_of] for drawn in draws(count, numbers, options.seed)]

    threads = 2 if max(map(len, places)) >= MANY else 1
    with ThreadPoolExecutor(threads) as pool:  # numpy's loops over many items run beside each other
        shares = [*pool.map(share, range(threads))]
    rows = [shares[number % threads][number // threads] for number in range(options.bootstrap)]
    found = {
        name: {score: np.array([row[place][score] for row in rows]) for score in rows[0][place]}
        for place, name in enumerate(subsets)
    }
    if len(subsets) > 1:
        columns = list(found.values())
        shared = [score for score in columns[0] if all(score in column for column in columns)]
        found["mean"] = {score: np.mean([column[score] for column in columns], axis=0) for score in shared}
    return found


def clusters(names: Sequence[Sequence[str]]) -> tuple[int, list[np.ndarray]]:
    """Number the pictures of several subsets together: how many there are, and each item's number."""
    number: dict[str, int] = {}
    places = [np.array([number.setdefault(name, len(number)) for name in subset], int) for subset in names]
    return len(number), places


def draws(count: int, repetitions: Iterable[int], seed: int) -> Iterator[np.ndarray]:
    """How often each of `count` pictures is drawn, with replacement, in each of these repetitions: [count] whole numbers.
    What is drawn in a repetition depends on its number and the seed alone."""
    for repetition in repetitions:
        generator = np.random.default_rng([seed, repetition])
        yield np.bincount(generator.integers(0, count, count), minlength=count)


def interval(replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval; NaN where more than 5 % of the repetitions left the score undefined."""
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < 0.95 * max(len(replicates), 1):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
