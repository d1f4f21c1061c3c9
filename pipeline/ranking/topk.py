"""The most and the least similar questions of every picture by CLIP score, exact, in tiles.

A float32 matrix product is fast, but its last bits depend on the shape of the tile and the number of threads. So
it serves as a filter only: what passes a threshold guessed from a random sample is scored again in fixed point
(components in units of 2**-28, products summed as integers, which no order of summation changes) and rounded to
millionths. Questions are ordered by that score, ties by question id. A row is finished when its k-th survivor
lies above everything that the filter can have left out, given the largest error of a float32 product of this
length; otherwise it is done again with a lower threshold. Each distinct text is scored once. Memory: the vectors,
the result and one block of rows, however many questions there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from pipeline.core.randomness import generator
from pipeline.ranking.admissible import QuestionTable

ROWS, TEXTS = 512, 2048  # pictures in a block, texts in a tile: 4 MB of scores, about what the caches hold
FIXED = 2.0**28  # fixed point's one; components of unit vectors are float32 with steps of about 2**-28
MICRO = 1e6 / FIXED**2  # a fixed-point product, in millionths of cosine similarity
TOP = 1 << 21  # above any score in millionths: a sort key is (TOP - score, question), packed in 54 bits
REVERSED, NOTHING = 1 << 55, 1 << 62
BUFFER = 1 << 24  # survivors' keys held at once for each end (128 MB)


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of every picture's ranking.

    Attributes:
        best, last: int32 [pictures, k], positions in the question table: `best` begins with the most similar
            question, `last` with the least similar one; -1 where a picture has fewer admissible questions.
        best_scores, last_scores: int32 of the same shapes, cosine in millionths.
        redone: rows whose first threshold was too high to prove them complete.
    """

    best: np.ndarray
    best_scores: np.ndarray
    last: np.ndarray
    last_scores: np.ndarray
    redone: int


def ends(
    pictures: np.ndarray, texts: np.ndarray, table: QuestionTable, best: int, last: int, *,
    rows: int = ROWS, tile: int = TEXTS, finished: Callable[[int], object] = lambda rows: None,
) -> Ends:
    """Find the `best` most and the `last` least similar admissible questions of every picture.

    Args:
        pictures, texts: float32 unit vectors (within 1 %), [n, d] and [m, d]; `texts` may be a memory map.
        rows, tile: pictures and texts of one matrix product; they change the speed, never the result.
        finished: told the number of rows after each block.
    """
    n, questions = len(pictures), len(table.ids)
    sizes = min(best, questions), min(last, questions)
    found = [np.full((n, k), -1, np.int32) for k in sizes]
    scores = [np.zeros((n, k), np.int32) for k in sizes]
    sample = generator(0, "rank", "sample").permutation(questions)[: int(np.clip(questions // 16, 512, 4096))]
    sampled = texts[table.text_rows[sample]].T
    redone = 0
    for start in range(0, n, rows):
        todo, depth = np.arange(start, min(start + rows, n)), 1.0
        while len(todo):  # the depth grows until everything passes, so this ends
            guess = pictures[todo] @ sampled
            limits = [_threshold(sign * guess, k, questions, depth) for sign, k in zip((1, -1), sizes, strict=True)]
            at_once = max(1, BUFFER // max(1, *(capacity for _, capacity in limits)))
            complete = np.zeros(len(todo), bool)
            for low in range(0, len(todo), at_once):
                part = slice(low, low + at_once)
                keys = _survivors(pictures[todo[part]], texts, table, todo[part], [(t[part], c) for t, c in limits], tile)
                complete[part] = True
                for end, k in enumerate(sizes):
                    place, score, sure = _first(keys[end], k, limits[end][0][part], end, pictures.shape[1])
                    found[end][todo[part]], scores[end][todo[part]] = place, score
                    complete[part] &= sure
            redone += int((~complete).sum()) if depth == 1 else 0
            todo, depth = todo[~complete], 4 * depth
        finished(min(rows, n - start))
    return Ends(found[0], scores[0], found[1], scores[1], redone)


def scores_of(pictures: np.ndarray, texts: np.ndarray, picture_rows: np.ndarray, text_rows: np.ndarray) -> np.ndarray:
    """Score single pairs by the same rule as `ends`: int32, cosine in millionths."""
    products = np.empty(len(picture_rows), np.int32)
    for start in range(0, len(products), TEXTS):
        part = slice(start, start + TEXTS)
        a, b = _fixed(pictures[picture_rows[part]]).astype(np.int64), _fixed(texts[text_rows[part]])
        products[part] = np.rint(np.einsum("ij,ij->i", a, b, dtype=np.int64) * MICRO)
    return products


def _threshold(guess: np.ndarray, k: int, questions: int, depth: float) -> tuple[np.ndarray, int]:
    """A threshold [rows] that about `depth` x 1.4 k questions pass, from the sample's scores, and room for them.

    The j-th best of the sample, j three standard deviations above what the k best questions put into it."""
    size = guess.shape[1]
    if k == 0:
        return np.full(len(guess), np.inf, np.float32), 0
    expected = size * k / questions
    j = int(depth * (expected + 3 * expected**0.5 + 3))
    if j >= size:
        return np.full(len(guess), -np.inf, np.float32), questions
    return np.partition(guess, size - j, axis=1)[:, size - j], min(questions, 2 * j * questions // size + 1024)


def _survivors(
    pictures: np.ndarray, texts: np.ndarray, table: QuestionTable, rows: np.ndarray,
    limits: list[tuple[np.ndarray, int]], tile: int,
) -> list[np.ndarray]:
    """Sorted keys of the questions that pass the threshold of either end: int64 [rows, most survivors]; a row with
    more of them than there is room for is empty."""
    (upper, best_room), (lower, last_room) = limits
    keys = [np.full((len(rows), room), NOTHING, np.int64) for room in (best_room, last_room)]
    counts = np.zeros((2, len(rows)), np.int64)
    fixed, product = _fixed(pictures), np.empty((len(rows), tile), np.float32)
    for first in range(0, len(texts), tile):
        part = np.ascontiguousarray(texts[first : first + tile])
        scores = np.matmul(pictures, part.T, out=product[:, : len(part)]) if len(part) == tile else pictures @ part.T
        _compact(scores, first, upper, -lower, fixed, _fixed(part), table.text_start, table.of_text,
                 table.asked_start[rows], table.asked_start[rows + 1], table.asked, *keys, counts)
    for end, room in enumerate((best_room, last_room)):
        keys[end][counts[end] > room] = NOTHING
        keys[end] = np.sort(keys[end][:, : min(room, counts[end].max())], axis=1)
    return keys


def _first(keys: np.ndarray, k: int, threshold: np.ndarray, end: int, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k first questions of each row, their scores, and whether the row is sure to be complete."""
    place, score = np.full((len(keys), k), -1, np.int32), np.zeros((len(keys), k), np.int32)
    keys = keys[:, :k]
    known = keys < NOTHING
    keys = np.where(known, REVERSED - keys if end else keys, 0)
    place[:, : keys.shape[1]] = np.where(known, keys & 0xFFFFFFFF, -1)
    score[:, : keys.shape[1]] = np.where(known, TOP - (keys >> 32), 0)
    if k == 0:
        return place, score, np.ones(len(keys), bool)
    # |float32 product - true| <= d 2**-24 |p||t| in any order of summation (twice that, to be safe); the last term
    # covers the rounding to millionths.
    error = dimension * 2.0**-23 + 2e-6
    worst = np.where(place[:, -1] >= 0, (-score if end else score)[:, -1] * 1e-6, -np.inf)
    return place, score, (worst > threshold + error) | np.isneginf(threshold)


def _fixed(vectors: np.ndarray) -> np.ndarray:
    return np.rint(vectors * np.float32(FIXED)).astype(np.int32)


@njit(parallel=True, cache=True)
def _compact(scores, first, upper, lower, pictures, texts, text_start, of_text, asked_from, asked_to, asked, best, last, counts):  # noqa: ANN001, ANN202
    """Append the keys of the questions whose text scores at least `upper` or at most `lower` to their row's list."""
    for row in prange(scores.shape[0]):
        for column in range(scores.shape[1]):
            high, low = scores[row, column] >= upper[row], scores[row, column] <= lower[row]
            if not (high or low):
                continue
            text = first + column
            own = False
            for i in range(asked_from[row], asked_to[row]):
                own = own or asked[i] == text
            if own:
                continue
            product = np.int64(0)
            for i in range(pictures.shape[1]):
                product += np.int64(pictures[row, i]) * np.int64(texts[column, i])
            score = np.int64(np.rint(np.float64(product) * MICRO))
            for i in range(text_start[text], text_start[text + 1]):
                key = ((TOP - score) << 32) | of_text[i]
                if high:
                    if counts[0, row] < best.shape[1]:
                        best[row, counts[0, row]] = key
                    counts[0, row] += 1
                if low:
                    if counts[1, row] < last.shape[1]:
                        last[row, counts[1, row]] = REVERSED - key
                    counts[1, row] += 1
