"""Which of the ranked questions become candidates: the paper's draw, or a draw spread evenly.

`places` below are one end of the ranking (`topk.Ends`): int32 [pictures, k], positions in the question table in the
order in which they stand from that end, -1 where there are no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.randomness import generator
from pipeline.core.records import Subset
from pipeline.ranking.admissible import QuestionTable
from pipeline.ranking.fill import Pool, choose


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


def paper_hard(places: np.ndarray, pictures: Sequence[str], draw: int, seed: int) -> Drawn:
    """RGQA's CLIP-Hard: `draw` of each picture's best questions, at random."""
    known = (places >= 0).sum(axis=1)
    drawn = [
        np.sort(generator(seed, "rank", "clip-hard", picture).choice(n, min(draw, n), replace=False))
        if n
        else np.zeros(0, np.int64)
        for picture, n in zip(pictures, known, strict=True)
    ]
    return _drawn(drawn, int(np.minimum(known, draw).sum()))


def paper_easy(places: np.ndarray, last: int) -> Drawn:
    """RGQA's CLIP-Easy: each picture's `last` questions."""
    drawn = [np.arange(min(last, n)) for n in (places >= 0).sum(axis=1)]
    return _drawn(drawn, sum(map(len, drawn)))


def evenly(
    places: np.ndarray,
    table: QuestionTable,
    subset: Subset,
    pictures: Sequence[str],
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
    drawn: list[np.ndarray] = [np.zeros(0, np.int64)] * len(places)
    methods, bound = set(), 0
    for part in (dev, ~dev):
        rows, questions = np.flatnonzero(part), np.flatnonzero(part[table.picture_rows])
        if not len(rows):
            continue
        pool = pair_pool(places, table, subset, pictures, rows, questions, seed)
        choice = choose(pool, per_picture, cap)
        methods.add(choice.method)
        bound += pool.bound(per_picture, cap)
        by_picture = np.split(
            questions[choice.question], np.searchsorted(pool.picture[choice.pair], np.arange(1, len(rows)))
        )
        for row, chosen in zip(rows, by_picture, strict=True):
            drawn[row] = np.flatnonzero(np.isin(places[row], chosen))
    return _drawn(drawn, bound, " and ".join(sorted(methods)))


def pair_pool(
    places: np.ndarray,
    table: QuestionTable,
    subset: Subset,
    pictures: Sequence[str],
    rows: np.ndarray,
    questions: np.ndarray,
    seed: int,
) -> Pool:
    """The pairs of picture and text within `places`, for the pictures `rows` and the texts of `questions`."""
    giver_row = np.full(len(places), -1, np.int32)
    giver_row[rows] = np.arange(len(rows))
    repeats, given = table.repeats(), np.zeros(len(table.text_start) - 1, bool)
    given[table.text_rows[questions]] = True
    picture, text, cost = [], [], []
    for number, row in enumerate(rows):
        here = places[row][places[row] >= 0]
        texts, first, count = np.unique(table.text_rows[here], return_index=True, return_counts=True)
        # A text of which only some questions reach into the pool stands at its very edge: left out, so that the
        # place of whichever question is used is known.
        usable = given[texts] & (count == repeats[texts])
        texts, first = texts[usable], first[usable]
        picture.append(np.full(len(texts), number, np.int32))
        text.append(texts)
        random = subset == "clip-hard"
        cost.append(
            generator(seed, "rank", subset, pictures[row]).random(len(texts))
            if random
            else first / max(1, places.shape[1])
        )
    return Pool(
        np.concatenate(picture),
        np.concatenate(text),
        np.concatenate(cost),
        giver_row[table.picture_rows[questions]],
        table.text_rows[questions],
        len(rows),
        len(given),
    )


def _drawn(places: Sequence[np.ndarray], bound: int, method: str = "paper") -> Drawn:
    picture = np.repeat(np.arange(len(places)), [len(row) for row in places])
    return Drawn(picture, np.concatenate(places) if len(places) else np.zeros(0, np.int64), method, bound)
