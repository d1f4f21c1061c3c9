"""The scores of every row, and what each comes to on the same thousand draws of pictures.

A row of several seeds has the mean of their scores, in the data and in every draw: each seed is scored by itself, on the same
draw. Seeds are no further pictures, so more of them do not make an interval narrow that pictures leave wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.progress import track
from pipeline.leaderboard.board_rows import BoardRow
from pipeline.leaderboard.drawn_scores import on_draws
from pipeline.scorers import auaf
from pipeline.scorers.answered import Answered, Options, Predictions
from pipeline.scorers.bootstrap import clusters, draws, interval
from pipeline.scorers.by_kind import FEW
from pipeline.scorers.by_kind import SHOWN as SCORES
from pipeline.scorers.items import Benchmark, Items
from pipeline.scorers.join import join
from pipeline.scorers.realistic import realistic_scores

MEAN = "mean"  # over subsets, unweighted


class Measured(NamedTuple):
    """A score of a row.

    Attributes:
        seeds: [seeds], each seed's score. drawn: [repetitions], the mean over seeds on each draw; NaN where undefined.
    """

    seeds: np.ndarray
    drawn: np.ndarray

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(self.seeds.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, pictures resampled."""
        return interval(self.drawn)


class RowScores(NamedTuple):
    """What a row reaches.

    Attributes:
        places: by subset, and "mean" where the row has all of them, the scores named in `SCORES`.
        kinds: by subset, AUAF against the UQs of each category and each difficulty of which there are 20 or more.
    """

    row: BoardRow
    places: dict[str, dict[str, Measured]]
    kinds: dict[str, dict[str, Measured]]


def measure(benchmark: Benchmark, rows: Sequence[BoardRow], options: Options) -> list[RowScores]:
    """Score rows on the parts that they have predictions for. Pictures are those of all subsets, and drawn once for all rows,
    also for those that have some subsets alone."""
    count, numbers = clusters([items.clusters.tolist() for items in benchmark.subsets.values()])
    pictures = dict(zip(benchmark.subsets, numbers, strict=True))
    drawn = np.array([*draws(count, range(options.bootstrap), options.seed)])
    seeds = [(row, seed) for row in rows for seed in row.seeds]
    measured = iter(
        [
            _seed(benchmark, seed, pictures, drawn, options)
            for _, seed in track(seeds, "leaderboard", unit="seed")
        ]
    )
    return [_together(row, [next(measured) for _ in row.seeds]) for row in rows]


def kinds_of(items: Items) -> dict[str, np.ndarray]:
    """Of each category and each difficulty of UQs that is not rare, its UQs and all AQs, [n]."""
    answerable = items.answerable
    parts = {
        kind: answerable | (items[name] == kind)
        for name in ("category", "difficulty")
        for kind in sorted({*items[name][~answerable]} - {""})
    }
    enough = answerable.sum() >= FEW
    return {kind: which for kind, which in parts.items() if enough and (which & ~answerable).sum() >= FEW}


def answered(items: Items, said: Predictions, options: Options) -> Answered:
    """The scored items of a subset with what a row says of them; where it has no confidences, its words are read."""
    return join(items, said, options._replace(free_text=said.confidence is None))


Columns = dict[
    tuple[str, str, str], tuple[float, np.ndarray]
]  # (subset, kind or "", score) -> value, on each draw


def _seed(
    benchmark: Benchmark,
    seed: Mapping[str, Predictions],
    pictures: Mapping[str, np.ndarray],
    drawn: np.ndarray,
    options: Options,
) -> Columns:
    """The scores of one seed, by subset, those of kinds after those of the whole subset."""
    found: Columns = {}
    for subset in (name for name in benchmark.subsets if name in seed):
        at = answered(benchmark.subsets[subset], seed[subset], options)
        values, kinds = realistic_scores(*at.columns), kinds_of(at.items)
        repeated = on_draws(at, pictures[subset], drawn, kinds)
        for score in SCORES:
            found[subset, "", score] = values[score], repeated["", score]
        for kind, which in kinds.items():
            columns = (column[which] for column in at.columns)
            found[subset, kind, "auaf"] = auaf(*columns), repeated[kind, "auaf"]
    if len(seed) == len(benchmark.subsets):
        for score in SCORES:
            values, repeated = zip(*(found[subset, "", score] for subset in benchmark.subsets), strict=True)
            found[MEAN, "", score] = float(np.mean(values)), np.mean(repeated, axis=0)
    return found


def _together(row: BoardRow, seeds: Sequence[Columns]) -> RowScores:
    """A row's scores from those of its seeds."""
    scores = RowScores(row, {}, {})
    for subset, kind, score in seeds[0]:
        values, repeated = zip(*(seed[subset, kind, score] for seed in seeds), strict=True)
        measured = Measured(np.array(values), np.mean(repeated, axis=0))
        if kind:
            scores.kinds.setdefault(subset, {})[kind] = measured
        else:
            scores.places.setdefault(subset, {})[score] = measured
    return scores
