"""Choose which pairs to propose so that balancing loses little afterwards.

In the released CLIP subsets every picture has as many UQs as AQs and every text too (see `balancing`). So already
the candidates are spread: each picture is asked as many questions as it gives to others, at most `per_picture`;
no question is used more than `cap` times; texts that are not used yet come first. The choice is a circulation
through pictures and texts, the cheapest by

    FILLED for every pair not made, REUSED x (k - 1) for a text's k-th use, and each pair's own cost in [0, 1).

`exactly` solves it as a linear program; `one_by_one` goes over the pictures in rounds, in memory that the pools
alone decide, for data sets with more pairs than EXACT_PAIRS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.balancing.circulation import cheapest_circulation

FILLED, REUSED = 64.0, 4.0
REUSES = 8  # from the ninth use of a text on, the price stays at REUSED x REUSES, which is less than FILLED
EXACT_PAIRS = 1_000_000  # the 540,000 to 680,000 pairs of GQA testdev take HiGHS half a minute to a minute


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
    method: str


def choose(pool: PairPool, per_picture: int, cap: int) -> ChosenPairs:
    """Choose pairs by the method that the size of the pool allows."""
    method = exactly if len(pool.picture) <= EXACT_PAIRS else one_by_one
    return method(pool, per_picture, cap)


def exactly(pool: PairPool, per_picture: int, cap: int) -> ChosenPairs:
    """The optimum, by a linear program."""
    n, t, pairs, questions = pool.pictures, pool.texts, len(pool.picture), len(pool.giver)
    # nodes: a picture as it is asked, a picture as it gives, a text as it is given, a text as it is asked
    asked, gives, given, used = np.split(np.arange(2 * n + 2 * t), [n, 2 * n, 2 * n + t])
    arcs = [  # tail, head, capacity, cost
        (used[pool.text], asked[pool.picture], np.ones(pairs), pool.cost - FILLED),
        (gives[pool.giver], given[pool.given], np.full(questions, cap), np.zeros(questions)),
        (asked, gives, np.full(n, per_picture), np.zeros(n)),
        *(
            (given, used, np.ones(t) if k < REUSES else np.full(t, pairs), np.full(t, REUSED * k))
            for k in range(REUSES + 1)
        ),
    ]
    flow = cheapest_circulation(*(np.concatenate(column) for column in zip(*arcs, strict=True)))
    pair = np.flatnonzero(flow[:pairs])
    return ChosenPairs(pair, _questions(pool, pool.text[pair], flow[pairs : pairs + questions]), "exact")


def one_by_one(pool: PairPool, per_picture: int, cap: int) -> ChosenPairs:
    """A good choice without a linear program: in every round each picture takes the pair that costs least now."""
    limit = np.minimum(np.bincount(pool.giver, minlength=pool.pictures) * cap, per_picture)
    pairs = np.lexsort((pool.cost, pool.picture)), _starts(pool.picture, pool.pictures)
    questions = np.argsort(pool.given, kind="stable"), _starts(pool.given, pool.texts)
    pair, uses = _take((pool.text, pool.cost, pool.giver), pairs, questions, limit, cap)
    return ChosenPairs(np.sort(pair), _questions(pool, pool.text[np.sort(pair)], uses), "one by one")


def _starts(numbers: np.ndarray, size: int) -> np.ndarray:
    """Where in a sorted list the numbers from 0 to `size` start."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=size))])


def _questions(pool: PairPool, text: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Deal the questions, each as often as it is used, to the pairs of the same text, both in ascending order."""
    dealt = np.repeat(np.arange(len(uses)), uses)
    dealt = dealt[np.argsort(pool.given[dealt], kind="stable")]
    question = np.empty(len(text), np.int64)
    question[np.argsort(text, kind="stable")] = dealt
    return question


@njit(cache=True)
def _take(
    pool: tuple[np.ndarray, np.ndarray, np.ndarray],
    pairs: tuple[np.ndarray, np.ndarray],
    questions: tuple[np.ndarray, np.ndarray],
    limit: np.ndarray,
    cap: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Rounds over the pictures. A text is given by the question used least so far, then by the picture that has
    given least of what it may; a picture that has given all it may gives no more.

    Args:
        pool: its text, cost and giver. pairs: cheapest first, and where each picture's start.
        questions: by text, and where each text's start. limit: of each picture.

    Returns:
        The pairs taken; how often each question is used.
    """
    (text, cost, giver), (order, start), (by_text, text_start) = pool, pairs, questions
    pictures = limit.size
    taken = np.zeros(order.size, np.bool_)
    uses, text_uses = np.zeros(giver.size, np.int64), np.zeros(text_start.size - 1, np.int64)
    gave, got = np.zeros(pictures, np.int64), np.zeros(pictures, np.int64)
    for _ in range(limit.max() if pictures else 0):
        for picture in range(pictures):
            if got[picture] >= limit[picture]:
                continue
            best, best_question, least = -1, -1, np.inf
            for place in range(start[picture], start[picture + 1]):
                pair = order[place]
                if least < cost[pair]:
                    break  # cheapest first: no later pair can cost less
                now = cost[pair] + REUSED * min(text_uses[text[pair]], REUSES)
                if taken[pair] or now >= least:
                    continue
                question, room = -1, 0.0
                for i in range(text_start[text[pair]], text_start[text[pair] + 1]):
                    q = by_text[i]
                    if uses[q] < cap and gave[giver[q]] < limit[giver[q]]:
                        free = 1.0 - gave[giver[q]] / limit[giver[q]] - uses[q]
                        if question < 0 or free > room:
                            question, room = q, free
                if question >= 0:
                    best, best_question, least = pair, question, now
            if best >= 0:
                taken[best] = True
                uses[best_question] += 1
                text_uses[text[best]] += 1
                gave[giver[best_question]] += 1
                got[picture] += 1
    return np.flatnonzero(taken), uses
