"""The most and the least similar questions of every picture by CLIP score, exact, in tiles.

A matrix product is fast, but its last bits depend on the shape of the tile and the number of threads. So
it serves as a filter only: what passes a threshold guessed from a random sample is scored again, pair by pair
(`exact_scores`), and rounded to millionths. Questions are ordered by that score, ties by question id. A row is finished
when its k-th survivor lies above everything that the filter can have left out, given the largest error of a product
(`filter_product`); otherwise it is done again with a lower threshold. Each distinct text is scored once.
Memory: the vectors, the result and two blocks of rows a thread, however many questions there are. With Ray the blocks go to
its actors (docs/cluster.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.candidates.ranking.approximate_matmul import Product, filter_product
from pipeline.candidates.ranking.exact_scores import NOTHING, append_passing, unpack
from pipeline.candidates.ranking.rank_inputs import QuestionTable
from pipeline.core.parallel import engine, ordered_map, processes, threads
from pipeline.core.progress import track
from pipeline.core.randomness import generator

ROWS, TEXTS = 512, 1024  # pictures in a block, texts in a tile, at most: 2 MB of products
BUFFER = 1 << 23  # survivors' keys that a block may hold for each end (64 MB)
WORTH = 1_000_000_000  # pairs for which an actor of Ray is worth its start: some ten seconds of a processor


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


class Block(NamedTuple):
    """What any block is ranked by, whichever process does it.

    Attributes:
        pictures, texts: float32 unit vectors [n, d] and [m, d]; before a process sets itself up, perhaps their files.
        table: without the questions themselves. sampled: vectors of a sample of them, [sample, d].
        sizes: how many of the best and of the last are wanted. rows, tile: as of `ends`.
        product: the filter, once a process has set itself up; open as long as `opened` is there.
    """

    pictures: Any
    texts: Any
    table: QuestionTable
    sampled: np.ndarray
    sizes: tuple[int, int]
    rows: int
    tile: int
    product: Product | None = None
    opened: ExitStack | None = None


def ends(
    pictures: np.ndarray,
    texts: np.ndarray,
    table: QuestionTable,
    best: int,
    last: int,
    *,
    files: tuple[Path, Path] | None = None,
    rows: int = ROWS,
    tile: int = TEXTS,
) -> Ends:
    """Find the `best` most and the `last` least similar admissible questions of every picture.

    Args:
        pictures, texts: float32 unit vectors (within 1 %), [n, d] and [m, d]; `texts` may be a memory map.
        files: where both lie; processes of a cluster map them there, else they are sent to each machine.
        rows, tile: pictures and texts of one matrix product; they change the speed, never the result.
    """
    n, questions = len(pictures), len(table.questions)
    sizes = min(best, questions), min(last, questions)
    actors = processes(n * len(texts), WORTH) if engine() == "ray" else 1
    rows = block_rows(n, rows, actors if actors > 1 else threads())
    both, redone, starts = _no_ends(n, sizes), 0, range(0, n, rows)
    sample = generator(0, "rank", "sample").permutation(questions)[: int(np.clip(questions // 16, 512, 4096))]
    sampled = texts[table.text_rows[sample]]
    given = Block(np.ascontiguousarray(pictures), texts, table.bare(), sampled, sizes, rows, tile)
    results = track(_side_by_side(given, files, starts, actors), "rank", len(starts), "block")
    for start, (found, again) in zip(starts, results, strict=True):
        for whole, part in zip(both, found, strict=True):
            whole.places[start : start + rows], whole.scores[start : start + rows] = part
        redone += again
    return Ends(both[0], both[1], redone)


def _side_by_side(
    given: Block, files: tuple[Path, Path] | None, starts: Sequence[int], actors: int
) -> Iterator[tuple[list[End], int]]:
    """What comes of the blocks, in order: by so many actors of Ray; else by threads of this process, which share its memory."""
    if actors > 1:
        if files:
            given = given._replace(pictures=files[0], texts=files[1])
        yield from ordered_map(_ranked, starts, partial(_mapped, given), actors, 1)
        return
    # Blocks side by side, each with a product of its own: a product on several threads would go on spinning on the
    # cores that the filter needs.
    with filter_product(given.pictures, given.texts) as product, ThreadPoolExecutor(threads()) as pool:
        yield from pool.map(partial(_ranked, given._replace(product=product)), starts)


def _mapped(given: Block) -> Block:
    """Of an actor: the vectors, out of their files if it was given those, and its product."""
    pictures, texts = (
        np.asarray(np.load(vectors, mmap_mode="r") if isinstance(vectors, Path) else vectors)
        for vectors in given[:2]
    )
    opened = ExitStack()  # and left open: its process does nothing else
    product = opened.enter_context(filter_product(pictures, texts))
    return given._replace(pictures=pictures, texts=texts, product=product, opened=opened)


def _ranked(given: Block, start: int) -> tuple[list[End], int]:
    """Both ends of the pictures of the block from `start` on, and how many of them were done again."""
    pictures, questions = given.pictures[start : start + given.rows], len(given.table.of_text.indices)
    both, product = _no_ends(len(pictures), given.sizes), given.product
    assert product is not None
    todo, depth, redone = np.arange(len(pictures)), 1.0, 0
    while len(todo):  # the depth grows until everything passes, so this ends
        guess = np.empty((len(todo), len(given.sampled)), np.float32)
        product.multiply(pictures[todo], given.sampled, guess)
        limits, rooms = _thresholds(guess, given.sizes, questions, depth)
        limits += np.array([[-product.error], [product.error]], np.float32)
        at_once, complete = max(1, BUFFER // max(1, *rooms)), np.ones(len(todo), bool)
        for part in np.split(np.arange(len(todo)), range(at_once, len(todo), at_once)):
            here = todo[part]
            keys = _survivors(given, pictures[here], start + here, limits[:, part], rooms, product)
            for number, end in enumerate(both):
                unpack(keys[number], bool(number), end.places, end.scores, here)
                complete[part] &= _sure(end, here, limits[number, part], number, product.error)
        redone += int((~complete).sum()) if depth == 1 else 0
        todo, depth = todo[~complete], 4 * depth
    return both, redone


def _no_ends(pictures: int, sizes: tuple[int, int]) -> list[End]:
    """Both ends before anything is found."""
    return [End(np.full((pictures, k), -1, np.int32), np.zeros((pictures, k), np.int32)) for k in sizes]


def block_rows(pictures: int, most: int = ROWS, workers: int | None = None) -> int:
    """How many pictures make a block: at most so many, and as many blocks for one worker (thread or actor) as for another."""
    workers = workers or threads()
    rounds = -(-pictures // (most * workers))
    return max(1, -(-pictures // (rounds * workers)) if rounds else most)


def _thresholds(
    guess: np.ndarray, sizes: tuple[int, int], questions: int, depth: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Thresholds [2, rows] that somewhat more questions pass than are wanted of the best and of the last, and room for
    them, from the sample's scores [rows, sample].

    The j-th best of the sample, j three and a half standard deviations above what the k best questions put into it."""
    size = guess.shape[1]
    limits, rooms = np.empty((2, len(guess)), np.float32), [0, 0]
    for end, (k, everything) in enumerate(zip(sizes, (-np.inf, np.inf), strict=True)):
        expected = size * k / questions
        rank = int(depth * (expected + 3.5 * expected**0.5 + 3))
        if k == 0:
            limits[end] = -everything
        elif rank >= size:
            limits[end], rooms[end] = everything, questions
        else:
            place = rank - 1 if end else size - rank
            # one place alone: numpy then uses whole vectors, and is ten times faster
            limits[end] = np.partition(guess, place, axis=1)[:, place]
            rooms[end] = min(questions, 2 * rank * questions // size + 1024)
    return limits, (rooms[0], rooms[1])


def _survivors(
    given: Block,
    pictures: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
    rooms: tuple[int, int],
    product: Product,
) -> list[np.ndarray]:
    """Sorted keys of the questions that pass the threshold of either end: int64 [rows, most survivors]; a row with
    more of them than there is room for comes out empty. `pictures` are the vectors of `rows`."""
    texts, table = given.texts, given.table
    keys = np.empty((len(rows), rooms[0]), np.int64), np.empty((len(rows), rooms[1]), np.int64)
    counts = np.zeros((2, len(rows)), np.int64)
    of_text, of_picture = ((group.indptr, group.indices) for group in (table.of_text, table.asked))
    tile = -(-min(given.tile, len(texts)) // 4) * 4
    products = np.empty((len(rows), tile), np.float32)
    for first in range(0, len(texts), tile):
        part = np.ascontiguousarray(texts[first : first + tile])
        product.multiply(pictures, part, products[:, : len(part)])
        append_passing(products, first, limits, pictures, part, rows, of_text, of_picture, keys, counts)
    return [_sorted(*every) for every in zip(keys, counts, rooms, strict=True)]


def _sorted(keys: np.ndarray, counts: np.ndarray, room: int) -> np.ndarray:
    """The first `counts` keys of each row in order, in place; a row with more of them than `room` comes out empty."""
    counts[counts > room] = 0
    keys = keys[:, : counts.max()]
    keys[np.arange(keys.shape[1]) >= counts[:, None]] = NOTHING
    keys.sort(axis=1)
    return keys


def _sure(end: End, rows: np.ndarray, limits: np.ndarray, last: int, error: float) -> np.ndarray:
    """Whether the filter can have left out none of the first k questions: bool [rows]."""
    if not end.places.shape[1]:
        return np.ones(len(rows), bool)
    error += 2e-6  # the rounding to millionths
    sign = -1 if last else 1
    worst = np.where(end.places[rows, -1] >= 0, sign * end.scores[rows, -1] * 1e-6, -np.inf)
    return (worst > sign * limits + error) | np.isneginf(sign * limits)
