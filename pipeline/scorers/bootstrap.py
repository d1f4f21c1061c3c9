"""Intervals by resampling pictures: questions about one picture are not independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from .items import Answered, Options

Scoring = Callable[[np.ndarray], dict[str, float]]  # how often each picture is drawn [pictures] -> scores
Replicates = dict[str, dict[str, np.ndarray]]  # subset (and "mean") -> score -> [b], the repetitions


def replicates(
    subsets: Mapping[str, Answered],
    scoring: Callable[[Answered, np.ndarray, Options], Scoring],
    options: Options,
) -> Replicates:
    """Scores of every repetition, [b] each, of every subset and, of several, of their "mean". The same seed draws the
    same pictures for every model, so that differences are paired."""
    count, places = clusters([[item.picture or item.id for item in at.items] for at in subsets.values()])
    scores_of = [
        scoring(answered, place, options) for answered, place in zip(subsets.values(), places, strict=True)
    ]
    rows: list[list[dict[str, float]]] = [[] for _ in subsets]
    for drawn in draws(count, options.bootstrap, options.seed):
        for row, scores in zip(rows, scores_of, strict=True):
            row.append(scores(drawn))
    found = {
        name: {score: np.array([repetition[score] for repetition in row]) for score in row[0]}
        for name, row in zip(subsets, rows, strict=True)
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


def draws(count: int, repetitions: int, seed: int) -> Iterator[np.ndarray]:
    """How often each of `count` pictures is drawn, with replacement, in each repetition: [count] whole numbers."""
    generator = np.random.default_rng(seed)
    for _ in range(repetitions):
        yield np.bincount(generator.integers(0, count, count), minlength=count)


def interval(replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval; NaN where more than 5 % of the repetitions left the score undefined."""
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < 0.95 * max(len(replicates), 1):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
