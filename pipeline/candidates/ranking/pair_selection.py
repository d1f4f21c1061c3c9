"""Which of the ranked questions become candidates: the paper's draw, or a draw spread evenly.

`places` below are one end of the ranking (`topk.End`): int32 [pictures, k], positions in the question table in the
order in which they stand from that end, -1 where there are no more.

In the released CLIP subsets every picture has as many UQs as AQs and every text too (see `balancing`). So that
balancing loses little afterwards, already the even draw is spread: each picture is asked as many questions as it gives to
others, at most `per_picture`; no question is used more than `cap` times; texts that are not used yet come first. The
choice is a circulation through pictures and texts, the cheapest by

    FILLED for every pair not made, REUSED x (k - 1) for a text's k-th use, and each pair's own cost in [0, 1).

It is the best one; in a large data set of the cheapest pairs of each text, as many as a network may have arcs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pipeline.candidates.ranking.rank_inputs import QuestionTable
from pipeline.core.min_cost_circulation import cheapest_circulation
from pipeline.core.randomness import generator
from pipeline.core.records import Subset

FILLED, REUSED = 64.0, 4.0
REUSES = 8  # from the ninth use of a text on, the price stays at REUSED x REUSES, which is less than FILLED
MOST_ARCS = 6_000_000  # of a network: some 150 bytes each


class Drawn(NamedTuple):
    """Pairs drawn, sorted by picture, then place.

    Attributes:
        picture: row of the picture. place: column in `places` of the question drawn. Both int64 [pairs].
        method: how they were chosen. bound: no method can draw more pairs than this under the same limits.
    """

    picture: np.ndarray
    place: np.ndarray
    method: str
    bound: int


@dataclass(frozen=True, slots=True)
class PairPool:
    """Pairs that may be proposed, sorted by picture, then text; and the questions that give the texts.

    Attributes:
        picture, text: int32 [pairs]. cost: float64 [pairs], in [0, 1); the cheaper the sooner chosen.
        giver, given: int32 [questions], the picture and the text of each question; the same numbering.
    """

    picture: np.ndarray
    text: np.ndarray
    cost: np.ndarray
    giver: np.ndarray
    given: np.ndarray
    pictures: int
    texts: int

    def arcs(self) -> int:
        """How many arcs the network has."""
        return len(self.picture) + len(self.giver) + self.pictures + (REUSES + 1) * len(np.unique(self.text))

    def thinned(self, most: int) -> PairPool:
        """At most so many pairs, of each text the cheapest ones, as many of one text as of another; at least one of each.

        A picture must be asked as many questions as it gives, so that its own have to stay within reach of others: by
        the cheapest pairs of each picture a fifth to a half of the candidates would be lost (docs/size.md).
        """
        if len(self.picture) <= most:
            return self
        order, counts = np.lexsort((self.cost, self.text)), np.bincount(self.text)
        place = np.empty(len(order), np.int32)  # of a pair among those of its text
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        stay = place < max(1, int(np.searchsorted(np.cumsum(np.bincount(place)), most, "right")))
        return replace(self, picture=self.picture[stay], text=self.text[stay], cost=self.cost[stay])

    def bound(self, per_picture: int, cap: int) -> int:
        """More pairs than this nobody can choose: a picture is asked no more than `per_picture`, than it can give,
        and than its pool holds."""
        gives = np.bincount(self.giver, minlength=self.pictures) * cap
        asked = np.bincount(self.picture, minlength=self.pictures)
        return int(np.minimum(np.minimum(gives, asked), per_picture).sum())


@dataclass(frozen=True, slots=True)
class ChosenPairs:
    """Chosen pairs: `pair` are positions in the pool, ascending; `question` the question that each uses."""

    pair: np.ndarray
    question: np.ndarray


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
    most_arcs: int = MOST_ARCS,
) -> Drawn:
    """Draw up to `per_picture` questions for each picture so that it is asked as many as it gives to others and no
    question is used more than `cap` times (see `choose`). Questions pass only between pictures of the same part.

    CLIP-Hard draws at random within these limits, CLIP-Easy prefers the places nearest to the end.

    Args:
        dev: bool [pictures], which part each picture belongs to. most_arcs: of the network of a part; of more, each text's
            cheapest pairs alone are in it.
    """

    def cost(row: int, columns: np.ndarray) -> np.ndarray:
        if subset == "clip-easy":
            return columns / max(1, places.shape[1])
        return generator(seed, "rank", subset, table.picture_ids[row]).random(len(columns))

    chosen, bound, left_out = np.zeros(places.shape, bool), 0, False
    for part in (dev, ~dev):
        rows, questions = np.flatnonzero(part), np.flatnonzero(part[table.picture_rows])
        if not len(rows):
            continue
        whole = pair_pool(places, table, rows, questions, cost)
        bound += whole.bound(per_picture, cap)
        pool = whole.thinned(len(whole.picture) - max(0, whole.arcs() - most_arcs))
        left_out |= pool is not whole
        choice = choose(pool, per_picture, cap)
        ends = np.searchsorted(pool.picture[choice.pair], np.arange(1, len(rows)))
        for row, used in zip(rows, np.split(questions[choice.question], ends), strict=True):
            chosen[row] = np.isin(places[row], used)
    picture, place = np.nonzero(chosen)
    return Drawn(picture, place, "exact, of each text's cheapest pairs" if left_out else "exact", bound)


def pair_pool(
    places: np.ndarray,
    table: QuestionTable,
    rows: np.ndarray,
    questions: np.ndarray,
    cost: Callable[[int, np.ndarray], np.ndarray],
) -> PairPool:
    """The pairs of picture and text within `places`, for the pictures `rows` and the texts of `questions`.

    Args:
        cost: row of a picture, columns [n] of `places` -> costs [n] in [0, 1).
    """
    giver_row = np.full(len(places), -1, np.int32)
    giver_row[rows] = np.arange(len(rows))
    repeats = table.repeats()
    given = np.bincount(table.text_rows[questions], minlength=len(repeats)) > 0
    most = int(np.count_nonzero(places[rows] >= 0))
    picture, text, costs = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most)
    end = 0
    for number, row in enumerate(rows.tolist()):
        here = places[row][places[row] >= 0]
        texts, first, count = np.unique(table.text_rows[here], return_index=True, return_counts=True)
        # A text of which only some questions reach into the pool stands at its very edge: left out, so that the
        # place of whichever question is used is known.
        usable = given[texts] & (count == repeats[texts])
        start, end = end, end + int(usable.sum())
        picture[start:end], text[start:end] = number, texts[usable]
        costs[start:end] = cost(row, first[usable])
    givers = giver_row[table.picture_rows[questions]]
    return PairPool(
        picture[:end], text[:end], costs[:end], givers, table.text_rows[questions], len(rows), len(given)
    )


def choose(pool: PairPool, per_picture: int, cap: int) -> ChosenPairs:
    """Choose the pairs that cost least together (see the module's head), and the question that each uses."""
    n, t, pairs, there = pool.pictures, pool.texts, len(pool.picture), np.unique(pool.text)
    # nodes: a picture as it is asked, a picture as it gives, a text as it is given, a text as it is asked
    asked, gives, given, used = np.split(np.arange(2 * n + 2 * t, dtype=np.int32), [n, 2 * n, 2 * n + t])
    taken, uses, *_ = cheapest_circulation(  # tail, head, capacity, cost
        (used[pool.text], asked[pool.picture], 1, pool.cost - FILLED),
        (gives[pool.giver], given[pool.given], cap, 0.0),
        (asked, gives, per_picture, 0.0),
        *((given[there], used[there], 1 if k < REUSES else pairs, REUSED * k) for k in range(REUSES + 1)),
    )
    pair = np.flatnonzero(taken)
    # Deal the questions, each as often as it is used, to the pairs of the same text, both in ascending order.
    dealt, question = np.repeat(np.arange(len(uses)), uses), np.empty(len(pair), np.int64)
    question[np.argsort(pool.text[pair], kind="stable")] = dealt[np.argsort(pool.given[dealt], kind="stable")]
    return ChosenPairs(pair, question)
