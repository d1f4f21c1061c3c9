"""The most and the least similar questions of every image by CLIP score, exact, in tiles.

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

from pipeline.candidates.ranking.approximate_matmul import ApproximateMatmul, choose_matmul
from pipeline.candidates.ranking.exact_scores import EMPTY_KEY, append_survivors, unpack_keys
from pipeline.candidates.ranking.rank_inputs import QuestionTable
from pipeline.core.parallel import choose_num_workers, get_engine, num_local_workers, ordered_map
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator

MAX_BLOCK_IMAGES, MAX_TILE_TEXTS = (
    512,
    1024,
)  # images in a block, texts in a tile, at most: 2 MB of products
MAX_BLOCK_KEYS = 1 << 23  # survivors' keys that a block may hold for each end (64 MB)
MIN_PAIRS_PER_ACTOR = (
    1_000_000_000  # pairs for which an actor of Ray is worth its start: some ten seconds of a processor
)


class Extreme(NamedTuple):
    """One end of every image's ranking: int32 [images, k].

    Attributes:
        places: positions in the question table, from the end inwards; -1 where an image has fewer admissible ones.
        scores: cosine in millionths.
    """

    questions: np.ndarray
    scores: np.ndarray


class TopAndBottom(NamedTuple):
    """Both ends: `best` begins with the most similar question, `last` with the least similar one. `redone` counts the
    rows whose first threshold was too high to prove them complete."""

    top: Extreme
    bottom: Extreme
    num_recomputed: int


class RankingContext(NamedTuple):
    """What any block is ranked by, whichever process does it.

    Attributes:
        images, texts: float32 unit vectors [n, d] and [m, d]; before a process sets itself up, perhaps their files.
        table: without the questions themselves. sampled: vectors of a sample of them, [sample, d].
        sizes: how many of the best and of the last are wanted. rows, tile: as of `ends`.
        product: the filter, once a process has set itself up; open as long as `opened` is there.
    """

    image_vectors: Any
    text_vectors: Any
    table: QuestionTable
    sample_vectors: np.ndarray
    k_top_bottom: tuple[int, int]
    block_images: int
    tile_texts: int
    matmul: ApproximateMatmul | None = None
    exit_stack: ExitStack | None = None


def top_and_bottom_k(
    images: np.ndarray,
    texts: np.ndarray,
    table: QuestionTable,
    top_k: int,
    bottom_k: int,
    *,
    npy_paths: tuple[Path, Path] | None = None,
    block_images: int = MAX_BLOCK_IMAGES,
    tile_texts: int = MAX_TILE_TEXTS,
) -> TopAndBottom:
    """Find the `best` most and the `last` least similar admissible questions of every image.

    Args:
        images, texts: float32 unit vectors (within 1 %), [n, d] and [m, d]; `texts` may be a memory map.
        files: where both lie; processes of a cluster map them there, else they are sent to each machine.
        rows, tile: images and texts of one matrix product; they change the speed, never the result.
    """
    n, questions = len(images), len(table.question_ids)
    sizes = min(top_k, questions), min(bottom_k, questions)
    actors = choose_num_workers(n * len(texts), MIN_PAIRS_PER_ACTOR) if get_engine() == "ray" else 1
    block_images = choose_block_size(n, block_images, actors if actors > 1 else num_local_workers())
    both, redone, starts = _empty_extremes(n, sizes), 0, range(0, n, block_images)
    sample = make_generator(0, "rank", "sample").permutation(questions)[
        : int(np.clip(questions // 16, 512, 4096))
    ]
    sampled = texts[table.text_rows[sample]]
    given = RankingContext(
        np.ascontiguousarray(images), texts, table.without_ids(), sampled, sizes, block_images, tile_texts
    )
    results = track(_rank_blocks(given, npy_paths, starts, actors), "rank", len(starts), "block")
    for start, (found, again) in zip(starts, results, strict=True):
        for whole, part in zip(both, found, strict=True):
            whole.questions[start : start + block_images], whole.scores[start : start + block_images] = part
        redone += again
    return TopAndBottom(both[0], both[1], redone)


def _rank_blocks(
    given: RankingContext, files: tuple[Path, Path] | None, starts: Sequence[int], actors: int
) -> Iterator[tuple[list[Extreme], int]]:
    """What comes of the blocks, in order: by so many actors of Ray; else by threads of this process, which share its memory."""
    if actors > 1:
        if files:
            given = given._replace(image_vectors=files[0], text_vectors=files[1])
        yield from ordered_map(_rank_block, starts, partial(_open_in_actor, given), actors, 1)
        return
    # Blocks side by side, each with a product of its own: a product on several threads would go on spinning on the
    # cores that the filter needs.
    with (
        choose_matmul(given.image_vectors, given.text_vectors) as product,
        ThreadPoolExecutor(num_local_workers()) as pool,
    ):
        yield from pool.map(partial(_rank_block, given._replace(matmul=product)), starts)


def _open_in_actor(given: RankingContext) -> RankingContext:
    """Of an actor: the vectors, out of their files if it was given those, and its product."""
    images, texts = (
        np.asarray(np.load(vectors, mmap_mode="r") if isinstance(vectors, Path) else vectors)
        for vectors in given[:2]
    )
    opened = ExitStack()  # and left open: its process does nothing else
    product = opened.enter_context(choose_matmul(images, texts))
    return given._replace(image_vectors=images, text_vectors=texts, matmul=product, exit_stack=opened)


def _rank_block(given: RankingContext, start: int) -> tuple[list[Extreme], int]:
    """Both ends of the images of the block from `start` on, and how many of them were done again."""
    images, questions = (
        given.image_vectors[start : start + given.block_images],
        len(given.table.questions_by_text.indices),
    )
    both, product = _empty_extremes(len(images), given.k_top_bottom), given.matmul
    assert product is not None
    todo, depth, redone = np.arange(len(images)), 1.0, 0
    while len(todo):  # the depth grows until everything passes, so this ends
        guess = np.empty((len(todo), len(given.sample_vectors)), np.float32)
        product.multiply(images[todo], given.sample_vectors, guess)
        limits, rooms = _estimate_thresholds(guess, given.k_top_bottom, questions, depth)
        limits += np.array([[-product.max_error], [product.max_error]], np.float32)
        at_once, complete = max(1, MAX_BLOCK_KEYS // max(1, *rooms)), np.ones(len(todo), bool)
        for part in np.split(np.arange(len(todo)), range(at_once, len(todo), at_once)):
            here = todo[part]
            keys = _find_survivors(given, images[here], start + here, limits[:, part], rooms, product)
            for number, end in enumerate(both):
                unpack_keys(keys[number], bool(number), end.questions, end.scores, here)
                complete[part] &= _is_complete(end, here, limits[number, part], number, product.max_error)
        redone += int((~complete).sum()) if depth == 1 else 0
        todo, depth = todo[~complete], 4 * depth
    return both, redone


def _empty_extremes(images: int, sizes: tuple[int, int]) -> list[Extreme]:
    """Both ends before anything is found."""
    return [Extreme(np.full((images, k), -1, np.int32), np.zeros((images, k), np.int32)) for k in sizes]


def choose_block_size(
    num_images: int, max_images: int = MAX_BLOCK_IMAGES, num_workers: int | None = None
) -> int:
    """How many images make a block: at most so many, and as many blocks for one worker (thread or actor) as for another."""
    num_workers = num_workers or num_local_workers()
    rounds = -(-num_images // (max_images * num_workers))
    return max(1, -(-num_images // (rounds * num_workers)) if rounds else max_images)


def _estimate_thresholds(
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


def _find_survivors(
    given: RankingContext,
    images: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
    rooms: tuple[int, int],
    product: ApproximateMatmul,
) -> list[np.ndarray]:
    """Sorted keys of the questions that pass the threshold of either end: int64 [rows, most survivors]; a row with
    more of them than there is room for comes out empty. `images` are the vectors of `rows`."""
    texts, table = given.text_vectors, given.table
    keys = np.empty((len(rows), rooms[0]), np.int64), np.empty((len(rows), rooms[1]), np.int64)
    counts = np.zeros((2, len(rows)), np.int64)
    of_text, of_image = (
        (group.indptr, group.indices) for group in (table.questions_by_text, table.texts_by_image)
    )
    tile = -(-min(given.tile_texts, len(texts)) // 4) * 4
    products = np.empty((len(rows), tile), np.float32)
    for first in range(0, len(texts), tile):
        part = np.ascontiguousarray(texts[first : first + tile])
        product.multiply(images, part, products[:, : len(part)])
        append_survivors(products, first, limits, images, part, rows, of_text, of_image, keys, counts)
    return [_sort_keys(*every) for every in zip(keys, counts, rooms, strict=True)]


def _sort_keys(keys: np.ndarray, counts: np.ndarray, room: int) -> np.ndarray:
    """The first `counts` keys of each row in order, in place; a row with more of them than `room` comes out empty."""
    counts[counts > room] = 0
    keys = keys[:, : counts.max()]
    keys[np.arange(keys.shape[1]) >= counts[:, None]] = EMPTY_KEY
    keys.sort(axis=1)
    return keys


def _is_complete(end: Extreme, rows: np.ndarray, limits: np.ndarray, last: int, error: float) -> np.ndarray:
    """Whether the filter can have left out none of the first k questions: bool [rows]."""
    if not end.questions.shape[1]:
        return np.ones(len(rows), bool)
    error += 2e-6  # the rounding to millionths
    sign = -1 if last else 1
    worst = np.where(end.questions[rows, -1] >= 0, sign * end.scores[rows, -1] * 1e-6, -np.inf)
    return (worst > sign * limits + error) | np.isneginf(sign * limits)
