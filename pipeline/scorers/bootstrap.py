"""Intervals by resampling pictures: questions about one picture are not independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from .items import Answered, Options

CHUNK = 1 << 19  # items x repetitions handled at once: keeps the arrays inside the cache's reach

Scoring = Callable[
    [np.ndarray], dict[str, np.ndarray]
]  # weights of the pictures [b, pictures] -> scores, [b] each
Replicates = dict[str, dict[str, np.ndarray]]  # subset (and "mean") -> score -> [b], the repetitions


def replicates(
    subsets: Mapping[str, Answered], scoring: Callable[[Answered, np.ndarray], Scoring], options: Options
) -> Replicates:
    """Scores of every repetition, [b] each, of every subset and, of several, of their "mean". The same seed draws the
    same pictures for every model, so that differences are paired."""
    count, places = clusters([[item.picture or item.id for item in at.items] for at in subsets.values()])
    scores_of = [scoring(answered, place) for answered, place in zip(subsets.values(), places, strict=True)]
    weights = draws(count, options.bootstrap, options.seed, max(map(len, places)))
    blocks = zip(*([scores(drawn) for scores in scores_of] for drawn in weights), strict=True)
    found = {
        name: {score: np.concatenate([block[score] for block in parts]) for score in parts[0]}
        for name, parts in zip(subsets, blocks, strict=True)
    }
    if len(subsets) > 1:
        rows = list(found.values())
        shared = [score for score in rows[0] if all(score in row for row in rows)]
        found["mean"] = {score: np.mean([row[score] for row in rows], axis=0) for score in shared}
    return found


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
