"""Which of the ranked questions become candidates: the paper's draw, or a draw spread evenly.

`places` below are one end of the ranking (`topk.End`): int32 [pictures, k], positions in the question table in the
order in which they stand from that end, -1 where there are no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.randomness import generator
from pipeline.core.records import Subset
from pipeline.ranking.admissible import QuestionTable
from pipeline.ranking.fill import PairPool, choose

PairCost = Callable[
    [int, np.ndarray], np.ndarray
]  # row of a picture, columns [n] of `places` -> costs [n] in [0, 1)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pairs drawn, sorted by picture, then place.

    Attributes:
        picture: row of the picture. place: column in `places` of the question drawn. Both int64 [pairs].
        method: how they were chosen. bound: no method can draw more pairs than this under the same limits.
    """

    picture: np.ndarray
    place: np.ndarray
    method: str
    bound: int


def draw_by_the_paper(
    subset: Subset, places: np.ndarray, picture_ids: Sequence[str], draw: int, seed: int
) -> Drawn:
    """RGQA's draw: CLIP-Hard takes `draw` of each picture's questions at random, CLIP-Easy the `draw` last ones."""
    chosen = (places >= 0) & (np.arange(places.shape[1]) < draw)
    if subset == "clip-hard":
        known, chosen = (places >= 0).sum(axis=1), np.zeros_like(chosen)
        for row, picture_id in enumerate(picture_ids):
            rng = generator(seed, "rank", subset, picture_id)
            chosen[row, rng.choice(known[row], min(draw, known[row]), replace=False)] = True
    picture, place = np.nonzero(chosen)
    return Drawn(picture, place, "paper", len(place))


def draw_evenly(
    subset: Subset,
    places: np.ndarray,
    table: QuestionTable,
    dev: np.ndarray,
    per_picture: int,
    cap: int,
    seed: int,
) -> Drawn:
    """Draw up to `per_picture` questions for each picture so that it is asked as many as it gives to others and no
    question is used more than `cap` times (see `fill`). Questions pass only between pictures of the same part.

    CLIP-Hard draws at random within these limits, CLIP-Easy prefers the places nearest to the end.

    Args:
        dev: bool [pictures], which part each picture belongs to.
    """

    def cost(row: int, columns: np.ndarray) -> np.ndarray:
        if subset == "clip-easy":
            return columns / max(1, places.shape[1])
        return generator(seed, "rank", subset, table.picture_ids[row]).random(len(columns))

    chosen, methods, bound = np.zeros(places.shape, bool), set(), 0
    for part in (dev, ~dev):
        rows, questions = np.flatnonzero(part), np.flatnonzero(part[table.picture_rows])
        if not len(rows):
            continue
        pool = pair_pool(places, table, rows, questions, cost)
        choice = choose(pool, per_picture, cap)
        methods.add(choice.method)
        bound += pool.bound(per_picture, cap)
        ends = np.searchsorted(pool.picture[choice.pair], np.arange(1, len(rows)))
        for row, used in zip(rows, np.split(questions[choice.question], ends), strict=True):
            chosen[row] = np.isin(places[row], used)
    picture, place = np.nonzero(chosen)
    return Drawn(picture, place, " and ".join(sorted(methods)), bound)


def pair_pool(
    places: np.ndarray, table: QuestionTable, rows: np.ndarray, questions: np.ndarray, cost: PairCost
) -> PairPool:
    """The pairs of picture and text within `places`, for the pictures `rows` and the texts of `questions`."""
    giver_row = np.full(len(places), -1, np.int32)
    giver_row[rows] = np.arange(len(rows))
    repeats = table.repeats()
    given = np.bincount(table.text_rows[questions], minlength=len(repeats)) > 0
    columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for number, row in enumerate(rows.tolist()):
        here = places[row][places[row] >= 0]
        texts, first, count = np.unique(table.text_rows[here], return_index=True, return_counts=True)
        # A text of which only some questions reach into the pool stands at its very edge: left out, so that the
        # place of whichever question is used is known.
        usable = given[texts] & (count == repeats[texts])
        costs = cost(row, first[usable])
        columns.append((np.full(len(costs), number, np.int32), texts[usable], costs))
    picture, text, costs = map(np.concatenate, zip(*columns, strict=True))
    givers = giver_row[table.picture_rows[questions]]
    return PairPool(picture, text, costs, givers, table.text_rows[questions], len(rows), len(given))
