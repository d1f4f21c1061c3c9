"""The most and the least similar questions of every picture by CLIP score, exact, in tiles.

A float32 matrix product is fast, but its last bits depend on the shape of the tile and the number of threads. So
it serves as a filter only: what passes a threshold guessed from a random sample is scored again, pair by pair
(`exact_scores`), and rounded to millionths. Questions are ordered by that score, ties by question id. A row is finished
when its k-th survivor lies above everything that the filter can have left out, given the largest error of a float32
product of this length; otherwise it is done again with a lower threshold. Each distinct text is scored once.
Memory: the vectors, the result and one block of rows a thread, however many questions there are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.core.engine import threads
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.ranking.exact_scores import NOTHING, append_passing, unpack
from pipeline.ranking.rank_inputs import QuestionTable

ROWS, TEXTS = 512, 1024  # pictures in a block, texts in a tile, at most: 2 MB of products
BUFFER = 1 << 23  # survivors' keys that a block may hold for each end (64 MB)


class End(NamedTuple):
    """One end of every picture's ranking: int32 [pictures, k].

    Attributes:
        places: positions in the question table, from the end inwards; -1 where a picture has fewer admissible ones.
        scores: cosine in millionths.
    """

    places: np.ndarray
    scores: np.ndarray


class Ends(NamedTuple):
    """Both ends: `best` begins with the most similar question, `last` with the least similar one. `redone` counts the
    rows whose first threshold was too high to prove them complete."""

    best: End
    last: End
    redone: int


def ends(
    pictures: np.ndarray,
    texts: np.ndarray,
    table: QuestionTable,
    best: int,
    last: int,
    *,
    rows: int = ROWS,
    tile: int = TEXTS,
) -> Ends:
    """Find the `best` most and the `last` least similar admissible questions of every picture.

    Args:
        pictures, texts: float32 unit vectors (within 1 %), [n, d] and [m, d]; `texts` may be a memory map.
        rows, tile: pictures and texts of one matrix product; they change the speed, never the result.
    """
    (n, dimension), questions = pictures.shape, len(table.questions)
    pictures, sizes = np.ascontiguousarray(pictures), (min(best, questions), min(last, questions))
    both = [End(np.full((n, k), -1, np.int32), np.zeros((n, k), np.int32)) for k in sizes]
    sample = generator(0, "rank", "sample").permutation(questions)[: int(np.clip(questions // 16, 512, 4096))]
    sampled = texts[table.text_rows[sample]].T
    rows = block_rows(n, rows)

    def block(start: int) -> int:
        """Fill in the rows of one block; return how many were done again."""
        todo, depth, redone = np.arange(start, min(start + rows, n)), 1.0, 0
        while len(todo):  # the depth grows until everything passes, so this ends
            limits, rooms = _thresholds(pictures[todo] @ sampled, sizes, questions, depth)
            at_once, complete = max(1, BUFFER // max(1, *rooms)), np.ones(len(todo), bool)
            for part in np.split(np.arange(len(todo)), range(at_once, len(todo), at_once)):
                here = todo[part]
                keys = _survivors(pictures[here], texts, table, here, limits[:, part], rooms, tile)
                for number, end in enumerate(both):
                    unpack(keys[number], bool(number), end.places, end.scores, here)
                    complete[part] &= _sure(end, here, limits[number, part], number, dimension)
            redone += int((~complete).sum()) if depth == 1 else 0
            todo, depth = todo[~complete], 4 * depth
        return redone

    # Blocks side by side, each with a product of its own: a product on several threads would go on spinning on the
    # cores that the filter needs.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads()) as pool:
        redone = sum(track(pool.map(block, range(0, n, rows)), "rank", -(-n // rows), "block"))
    return Ends(both[0], both[1], redone)


def block_rows(pictures: int, most: int = ROWS) -> int:
    """How many pictures make a block: at most so many, and as many blocks for one thread as for another."""
    rounds = -(-pictures // (most * threads()))
    return max(1, -(-pictures // (rounds * threads())) if rounds else most)


def _thresholds(
    guess: np.ndarray, sizes: tuple[int, int], questions: int, depth: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Thresholds [2, rows] that somewhat more questions pass than are wanted of the best and of the last, and room for
    them, from the sample's scores [rows, sample].

    The j-th best of the sample, j three and a half standard deviations above what the k best questions put into it."""
    size = guess.shape[1]
    limits, rooms, ranks = np.empty((2, len(guess)), np.float32), [0, 0], [0, 0]
    for end, (k, nothing) in enumerate(zip(sizes, (np.inf, -np.inf), strict=True)):
        expected = size * k / questions
        ranks[end] = j = int(depth * (expected + 3.5 * expected**0.5 + 3))
        limits[end] = nothing if k == 0 else -nothing
        rooms[end] = (
            0 if k == 0 else questions if j >= size else min(questions, 2 * j * questions // size + 1024)
        )
    places = {
        end: place
        for end, place in enumerate((size - ranks[0], ranks[1] - 1))
        if sizes[end] and ranks[end] < size
    }
    if places:
        ordered = np.partition(guess, sorted(set(places.values())), axis=1)
        for end, place in places.items():
            limits[end] = ordered[:, place]
    return limits, (rooms[0], rooms[1])


def _survivors(
    pictures: np.ndarray,
    texts: np.ndarray,
    table: QuestionTable,
    rows: np.ndarray,
    limits: np.ndarray,
    rooms: tuple[int, int],
    tile: int,
) -> list[np.ndarray]:
    """Sorted keys of the questions that pass the threshold of either end: int64 [rows, most survivors]; a row with
    more of them than there is room for comes out empty."""
    keys = np.empty((len(rows), rooms[0]), np.int64), np.empty((len(rows), rooms[1]), np.int64)
    counts = np.zeros((2, len(rows)), np.int64)
    of_text, of_picture = ((group.indptr, group.indices) for group in (table.of_text, table.asked))
    tile = -(-min(tile, len(texts)) // 4) * 4
    product = np.empty((len(rows), tile), np.float32)
    for first in range(0, len(texts), tile):
        part = np.ascontiguousarray(texts[first : first + tile])
        np.matmul(pictures, part.T, out=product[:, : len(part)])
        append_passing(product, first, limits, pictures, part, rows, of_text, of_picture, keys, counts)
    return [_sorted(*every) for every in zip(keys, counts, rooms, strict=True)]


def _sorted(keys: np.ndarray, counts: np.ndarray, room: int) -> np.ndarray:
    """The first `counts` keys of each row in order, in place; a row with more of them than `room` comes out empty."""
    counts[counts > room] = 0
    keys = keys[:, : counts.max()]
    keys[np.arange(keys.shape[1]) >= counts[:, None]] = NOTHING
    keys.sort(axis=1)
    return keys


def _sure(end: End, rows: np.ndarray, limits: np.ndarray, last: int, dimension: int) -> np.ndarray:
    """Whether the filter can have left out none of the first k questions: bool [rows]."""
    if not end.places.shape[1]:
        return np.ones(len(rows), bool)
    # |float32 product - true| <= d 2**-24 |p||t| in any order of summation (twice that, to be safe); the last term
    # covers the rounding to millionths.
    error = dimension * 2.0**-23 + 2e-6
    sign = -1 if last else 1
    worst = np.where(end.places[rows, -1] >= 0, sign * end.scores[rows, -1] * 1e-6, -np.inf)
    return (worst > sign * limits + error) | np.isneginf(sign * limits)
