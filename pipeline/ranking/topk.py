"""The most and the least similar questions of every picture by CLIP score, exact, in tiles.

A float32 matrix product is fast, but its last bits depend on the shape of the tile and the number of threads. So
it serves as a filter only: what passes a threshold guessed from a random sample is scored again, pair by pair in
float64, and rounded to millionths. Questions are ordered by that score, ties by question id. A row is finished when
its k-th survivor lies above everything that the filter can have left out, given the largest error of a float32
product of this length; otherwise it is done again with a lower threshold. Each distinct text is scored once.
Memory: the vectors, the result and one block of rows a thread, however many questions there are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from pipeline.core.parallel import threads
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.ranking.rank_inputs import QuestionTable

ROWS, TEXTS = 512, 2048  # pictures in a block, texts in a tile: 4 MB of products, about what the caches hold
TOP = 1 << 21  # above any score in millionths: a sort key is (TOP - score, question), packed in 54 bits
REVERSED, NOTHING = 1 << 55, 1 << 62
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
    sizes = min(best, questions), min(last, questions)
    both = [End(np.full((n, k), -1, np.int32), np.zeros((n, k), np.int32)) for k in sizes]
    sample = generator(0, "rank", "sample").permutation(questions)[: int(np.clip(questions // 16, 512, 4096))]
    sampled = texts[table.text_rows[sample]].T

    def block(start: int) -> int:
        """Fill in the rows of one block; return how many were done again."""
        todo, depth, redone = np.arange(start, min(start + rows, n)), 1.0, 0
        while len(todo):  # the depth grows until everything passes, so this ends
            guess = pictures[todo] @ sampled
            upper, high_room = _threshold(guess, sizes[0], questions, depth)
            lower, low_room = _threshold(-guess, sizes[1], questions, depth)
            limits, rooms = np.stack([upper, lower]), (high_room, low_room)
            at_once, complete = max(1, BUFFER // max(1, *rooms)), np.ones(len(todo), bool)
            for part in np.split(np.arange(len(todo)), range(at_once, len(todo), at_once)):
                here = todo[part]
                keys = _survivors(pictures[here], texts, table, here, limits[:, part], rooms, tile)
                for number, (end, k) in enumerate(zip(both, sizes, strict=True)):
                    first = _first(keys[number], k, limits[number, part], number, dimension)
                    end.places[here], end.scores[here], sure = first
                    complete[part] &= sure
            redone += int((~complete).sum()) if depth == 1 else 0
            todo, depth = todo[~complete], 4 * depth
        return redone

    # Blocks side by side, each with a product of its own: a product on several threads would go on spinning on the
    # cores that the filter needs.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads()) as pool:
        redone = sum(track(pool.map(block, range(0, n, rows)), "rank", -(-n // rows), "block"))
    return Ends(both[0], both[1], redone)


@njit(cache=True)
def scores_of(
    pictures: np.ndarray, texts: np.ndarray, picture_rows: np.ndarray, text_rows: np.ndarray
) -> np.ndarray:
    """Score single pairs by the same rule as `ends`: int32 [pairs], cosine in millionths."""
    scores = np.empty(picture_rows.size, np.int32)
    for pair in range(picture_rows.size):
        text = text_rows[pair]
        scores[pair] = np.rint(
            1e6 * _four(pictures[picture_rows[pair]].astype(np.float64), texts, text, text, text, text)[0]
        )
    return scores


def _threshold(guess: np.ndarray, k: int, questions: int, depth: float) -> tuple[np.ndarray, int]:
    """A threshold [rows] that somewhat more than k questions pass, from the sample's scores, and room for them.

    The j-th best of the sample, j three and a half standard deviations above what the k best questions put into it."""
    size = guess.shape[1]
    if k == 0:
        return np.full(len(guess), np.inf, np.float32), 0
    expected = size * k / questions
    j = int(depth * (expected + 3.5 * expected**0.5 + 3))
    if j >= size:
        return np.full(len(guess), -np.inf, np.float32), questions
    return np.partition(guess, size - j, axis=1)[:, size - j].copy(), min(
        questions, 2 * j * questions // size + 1024
    )


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
    keys = tuple(np.full((len(rows), room), NOTHING, np.int64) for room in rooms)
    counts = np.zeros((2, len(rows)), np.int64)
    of_text, of_picture = ((group.indptr, group.indices) for group in (table.of_text, table.asked))
    product = np.empty((len(rows), tile), np.float32)
    for first in range(0, len(texts), tile):
        part = np.asarray(texts[first : first + tile])
        whole = product if len(part) == tile else product[:, : len(part)].copy()
        np.matmul(pictures, part.T, out=whole)
        _compact(whole, first, limits, pictures, part, rows, of_text, of_picture, keys, counts)
    for end, count, room in zip(keys, counts, rooms, strict=True):
        end[count > room] = NOTHING
    return [np.sort(end[:, : count.max()], axis=1) for end, count in zip(keys, counts, strict=True)]


def _first(
    keys: np.ndarray, k: int, threshold: np.ndarray, end: int, dimension: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k first questions of each row, their scores, and whether the row is sure to be complete."""
    place, score = np.full((len(keys), k), -1, np.int32), np.zeros((len(keys), k), np.int32)
    if k == 0:
        return place, score, np.ones(len(keys), bool)
    keys = keys[:, :k]
    known = keys < NOTHING
    keys = np.where(known, REVERSED - keys if end else keys, 0)
    place[:, : keys.shape[1]] = np.where(known, keys & 0xFFFFFFFF, -1)
    score[:, : keys.shape[1]] = np.where(known, TOP - (keys >> 32), 0)
    # |float32 product - true| <= d 2**-24 |p||t| in any order of summation (twice that, to be safe); the last term
    # covers the rounding to millionths.
    error = dimension * 2.0**-23 + 2e-6
    worst = np.where(place[:, -1] >= 0, (-score if end else score)[:, -1] * 1e-6, -np.inf)
    return place, score, (worst > threshold + error) | np.isneginf(threshold)


# Four at a time, as the picture's numbers then serve four products: half the time of one at a time. The sums may be
# taken in the order that suits the machine; it is the same for all pairs, as every pair goes through this function.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _four(
    picture: np.ndarray, texts: np.ndarray, a: int, b: int, c: int, d: int
) -> tuple[float, float, float, float]:
    """Products of a picture, float64 [d], with four of the texts, float32 [m, d]."""
    ab = bb = cb = db = 0.0
    for i in range(picture.size):
        x = picture[i]
        ab += x * np.float64(texts[a, i])
        bb += x * np.float64(texts[b, i])
        cb += x * np.float64(texts[c, i])
        db += x * np.float64(texts[d, i])
    return ab, bb, cb, db


@njit(nogil=True, cache=True)
def _compact(
    products: np.ndarray,
    first: int,
    limits: np.ndarray,
    pictures: np.ndarray,
    texts: np.ndarray,
    rows: np.ndarray,
    of_text: tuple[np.ndarray, np.ndarray],
    of_picture: tuple[np.ndarray, np.ndarray],
    keys: tuple[np.ndarray, ...],
    counts: np.ndarray,
) -> None:
    """Append the keys of the questions whose text passes a limit to their row's list, as far as there is room. Texts
    asked of the picture itself are passed over."""
    (text_start, questions), (asked_start, asked), (best, last) = of_text, of_picture, keys
    width = products.shape[1]
    passed, score = np.zeros(width + 4, np.int64), np.empty(width + 4)
    picture = np.empty(pictures.shape[1])
    for row in range(products.shape[0]):
        for i in range(asked_start[rows[row]], asked_start[rows[row] + 1]):
            if first <= asked[i] < first + width:
                products[row, asked[i] - first] = np.nan  # compares false
        up, down, many = limits[0, row], -limits[1, row], 0
        for column in range(width):  # without a branch: three times faster than with one
            passed[many] = column
            many += (products[row, column] >= up) | (products[row, column] <= down)
        passed[many : many + 4] = 0
        picture[:] = pictures[row]
        for i in range(0, many, 4):
            score[i], score[i + 1], score[i + 2], score[i + 3] = _four(
                picture, texts, passed[i], passed[i + 1], passed[i + 2], passed[i + 3]
            )
        high, low = counts[0, row], counts[1, row]
        for i in range(many):
            text, product = first + passed[i], products[row, passed[i]]
            place = TOP - np.int64(np.rint(1e6 * score[i]))
            for j in range(text_start[text], text_start[text + 1]):
                key = (place << 32) | questions[j]
                if product >= up:
                    if high < best.shape[1]:
                        best[row, high] = key
                    high += 1
                if product <= down:
                    if low < last.shape[1]:
                        last[row, low] = REVERSED - key
                    low += 1
        counts[0, row], counts[1, row] = high, low
