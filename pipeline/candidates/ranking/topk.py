"""Find the most and the least similar questions of every image by CLIP score, exactly and in tiles.

A matrix product is fast, but its last bits depend on the shape of the tile and the number of threads. So it only filters: what passes a
threshold estimated from a random sample is scored again, pair by pair (`exact_scores`), and rounded to millionths. Questions are
ordered by that score, ties by question id. A row is complete when its k-th survivor scores higher than everything that the filter can
have missed, given the largest error of a product (`approximate_matmul`). Otherwise it is computed again with a lower threshold. Each
distinct text is scored once.

Memory holds the vectors, the result and two blocks of rows per thread, whatever the number of questions. With Ray, the blocks are
computed by its actors (docs/guides/cluster.md).
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

# A block of images times a tile of texts has 2 MB of products.
MAX_BLOCK_IMAGES, MAX_TILE_TEXTS = 512, 1024
# Keys of survivors that a block may hold for the top and for the bottom (64 MB).
MAX_BLOCK_KEYS = 1 << 23
# Starting a Ray actor pays off from this number of pairs on, which take one processor about ten seconds.
MIN_PAIRS_PER_ACTOR = 1_000_000_000


class Extreme(NamedTuple):
    """The top or the bottom of every image's ranking: int32 [images, k].

    Attributes:
        questions: Positions in the question table, from the extreme inwards; -1 if an image has fewer eligible questions.
        scores: Cosine in millionths.
    """

    questions: np.ndarray
    scores: np.ndarray


class TopAndBottom(NamedTuple):
    """The top begins with the most similar question, the bottom with the least similar one.

    `num_recomputed` counts the rows whose first threshold was too high to prove them complete.
    """

    top: Extreme
    bottom: Extreme
    num_recomputed: int


class RankingContext(NamedTuple):
    """What a process needs to rank any block.

    Attributes:
        image_vectors, text_vectors: float32 unit vectors [n, d] and [m, d], or paths of their files until a worker process opens them.
        table: The questions, without ids.
        sample_vectors: Vectors of a random sample of the questions, [sample, d].
        k_top_bottom: Number of top and of bottom questions per image.
        block_images, tile_texts: See `top_and_bottom_k`.
        matmul: The filter, once it is chosen. It stays open as long as `exit_stack` exists.
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
    """Find the `top_k` most and the `bottom_k` least similar eligible questions of every image.

    Args:
        images, texts: float32 vectors [n, d] and [m, d] whose length is 1 within 1 %. `texts` may be a memory map.
        npy_paths: Files of both. Processes of a cluster map them there; without them, the vectors are sent to each machine.
        block_images, tile_texts: Images and texts of one matrix product. They change the speed, never the result.
    """
    n, questions = len(images), len(table.question_ids)
    sizes = min(top_k, questions), min(bottom_k, questions)
    actors = choose_num_workers(n * len(texts), MIN_PAIRS_PER_ACTOR) if get_engine() == "ray" else 1
    block_images = choose_block_size(n, block_images, actors if actors > 1 else num_local_workers())
    both, num_recomputed, starts = _empty_extremes(n, sizes), 0, range(0, n, block_images)
    sample = make_generator(0, "rank", "sample").permutation(questions)[
        : int(np.clip(questions // 16, 512, 4096))
    ]
    sampled = texts[table.text_rows[sample]]
    context = RankingContext(
        np.ascontiguousarray(images), texts, table.without_ids(), sampled, sizes, block_images, tile_texts
    )
    results = track(_rank_blocks(context, npy_paths, starts, actors), "rank", len(starts), "block")
    for start, (found, recomputed) in zip(starts, results, strict=True):
        for whole, block in zip(both, found, strict=True):
            whole.questions[start : start + block_images], whole.scores[start : start + block_images] = block
        num_recomputed += recomputed
    return TopAndBottom(both[0], both[1], num_recomputed)


def _rank_blocks(
    context: RankingContext, files: tuple[Path, Path] | None, starts: Sequence[int], actors: int
) -> Iterator[tuple[list[Extreme], int]]:
    """Yield the results of the blocks in order, computed by Ray actors, or by threads of this process, which share its memory."""
    if actors > 1:
        if files:
            context = context._replace(image_vectors=files[0], text_vectors=files[1])
        yield from ordered_map(_rank_block, starts, partial(_open_in_actor, context), actors, 1)
        return
    # Each thread computes blocks with a product of its own. A product on several threads would keep spinning on the cores that the
    # filter needs.
    with (
        choose_matmul(context.image_vectors, context.text_vectors) as product,
        ThreadPoolExecutor(num_local_workers()) as pool,
    ):
        yield from pool.map(partial(_rank_block, context._replace(matmul=product)), starts)


def _open_in_actor(context: RankingContext) -> RankingContext:
    """Load the vectors in an actor, from their files if it was given paths, and choose its matrix product."""
    images, texts = (
        np.asarray(np.load(vectors, mmap_mode="r") if isinstance(vectors, Path) else vectors)
        for vectors in context[:2]
    )
    # It stays open as long as the process, which does nothing else.
    opened = ExitStack()
    product = opened.enter_context(choose_matmul(images, texts))
    return context._replace(image_vectors=images, text_vectors=texts, matmul=product, exit_stack=opened)


def _rank_block(context: RankingContext, start: int) -> tuple[list[Extreme], int]:
    """Return both extremes of the images of the block that begins at `start`, and how many rows were recomputed."""
    images, questions = (
        context.image_vectors[start : start + context.block_images],
        len(context.table.questions_by_text.indices),
    )
    both, product = _empty_extremes(len(images), context.k_top_bottom), context.matmul
    assert product is not None
    todo, depth, num_recomputed = np.arange(len(images)), 1.0, 0
    # The depth grows until everything passes, so this loop ends.
    while len(todo):
        guess = np.empty((len(todo), len(context.sample_vectors)), np.float32)
        product.multiply(images[todo], context.sample_vectors, guess)
        limits, capacities = _estimate_thresholds(guess, context.k_top_bottom, questions, depth)
        limits += np.array([[-product.max_error], [product.max_error]], np.float32)
        at_once, complete = max(1, MAX_BLOCK_KEYS // max(1, *capacities)), np.ones(len(todo), bool)
        for chunk in np.split(np.arange(len(todo)), range(at_once, len(todo), at_once)):
            here = todo[chunk]
            keys = _find_survivors(context, images[here], start + here, limits[:, chunk], capacities, product)
            for number, end in enumerate(both):
                unpack_keys(keys[number], bool(number), end.questions, end.scores, here)
                complete[chunk] &= _is_complete(end, here, limits[number, chunk], number, product.max_error)
        num_recomputed += int((~complete).sum()) if depth == 1 else 0
        todo, depth = todo[~complete], 4 * depth
    return both, num_recomputed


def _empty_extremes(images: int, sizes: tuple[int, int]) -> list[Extreme]:
    return [Extreme(np.full((images, k), -1, np.int32), np.zeros((images, k), np.int32)) for k in sizes]


def choose_block_size(
    num_images: int, max_images: int = MAX_BLOCK_IMAGES, num_workers: int | None = None
) -> int:
    """Return the number of images per block: at most `max_images`, and equally many blocks for each worker (thread or actor)."""
    num_workers = num_workers or num_local_workers()
    rounds = -(-num_images // (max_images * num_workers))
    return max(1, -(-num_images // (rounds * num_workers)) if rounds else max_images)


def _estimate_thresholds(
    guess: np.ndarray, sizes: tuple[int, int], questions: int, depth: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Estimate thresholds that slightly more questions pass than are wanted, from the scores of a sample.

    The threshold of the top k is the j-th best of the sample, where j lies 3.5 standard deviations above the number of top-k questions
    expected in the sample.

    Args:
        guess: Scores of the sample, [rows, sample].

    Returns:
        Thresholds [2, rows], and the capacity needed for the top and for the bottom.
    """
    size = guess.shape[1]
    limits, capacities = np.empty((2, len(guess)), np.float32), [0, 0]
    for end, (k, everything) in enumerate(zip(sizes, (-np.inf, np.inf), strict=True)):
        expected = size * k / questions
        rank = int(depth * (expected + 3.5 * expected**0.5 + 3))
        if k == 0:
            limits[end] = -everything
        elif rank >= size:
            limits[end], capacities[end] = everything, questions
        else:
            index = rank - 1 if end else size - rank
            # For a single index numpy partitions with vector instructions, ten times faster.
            limits[end] = np.partition(guess, index, axis=1)[:, index]
            capacities[end] = min(questions, 2 * rank * questions // size + 1024)
    return limits, (capacities[0], capacities[1])


def _find_survivors(
    context: RankingContext,
    images: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
    capacities: tuple[int, int],
    product: ApproximateMatmul,
) -> list[np.ndarray]:
    """Return the sorted keys of the questions that pass each threshold: int64 [rows, most survivors].

    A row with more survivors than its capacity comes out empty. `images` are the vectors of `rows`.
    """
    texts, table = context.text_vectors, context.table
    keys = np.empty((len(rows), capacities[0]), np.int64), np.empty((len(rows), capacities[1]), np.int64)
    counts = np.zeros((2, len(rows)), np.int64)
    of_text, of_image = (
        (group.indptr, group.indices) for group in (table.questions_by_text, table.texts_by_image)
    )
    tile = -(-min(context.tile_texts, len(texts)) // 4) * 4
    products = np.empty((len(rows), tile), np.float32)
    for first in range(0, len(texts), tile):
        tile_vectors = np.ascontiguousarray(texts[first : first + tile])
        product.multiply(images, tile_vectors, products[:, : len(tile_vectors)])
        append_survivors(products, first, limits, images, tile_vectors, rows, of_text, of_image, keys, counts)
    return [_sort_keys(*every) for every in zip(keys, counts, capacities, strict=True)]


def _sort_keys(keys: np.ndarray, counts: np.ndarray, capacity: int) -> np.ndarray:
    """Sort the first `counts` keys of each row in place. A row with more keys than `capacity` comes out empty."""
    counts[counts > capacity] = 0
    keys = keys[:, : counts.max()]
    keys[np.arange(keys.shape[1]) >= counts[:, None]] = EMPTY_KEY
    keys.sort(axis=1)
    return keys


def _is_complete(end: Extreme, rows: np.ndarray, limits: np.ndarray, last: int, error: float) -> np.ndarray:
    """Return whether the filter cannot have missed any of the first k questions: bool [rows]."""
    if not end.questions.shape[1]:
        return np.ones(len(rows), bool)
    # Scores are rounded to millionths.
    error += 2e-6
    sign = -1 if last else 1
    worst = np.where(end.questions[rows, -1] >= 0, sign * end.scores[rows, -1] * 1e-6, -np.inf)
    return (worst > sign * limits + error) | np.isneginf(sign * limits)
