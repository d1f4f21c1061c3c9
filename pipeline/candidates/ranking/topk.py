"""Find the most and the least similar questions of every image by CLIP score, exactly and in tiles.

A matrix product is fast, but its last bits depend on the shape of the tile and the number of threads. So the
matrix product is only a filter. Pairs whose product passes a threshold are scored again one by one
(`exact_scores`), and the score is rounded to millionths. The thresholds are estimated from a random sample of
questions. Questions are ordered by the exact score, and questions with equal scores by their id. A row is
complete if its k-th question scores higher than any question that the filter can have missed, given the
maximum error of a product (`approximate_matmul`). Otherwise the row is computed again with a lower threshold.
Each distinct text is scored once.

Memory holds the vectors, the result and two blocks of rows per thread, whatever the number of questions. With
Ray, the blocks are computed by Ray's actors (docs/guides/cluster.md).
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

# Maximum number of images per block and of texts per tile. The products of a block and a tile take 2 MB.
MAX_BLOCK_IMAGES, MAX_TILE_TEXTS = 512, 1024
# Maximum number of sort keys of a block, each for the top and for the bottom (64 MB).
MAX_BLOCK_KEYS = 1 << 23
# Minimum number of pairs for which starting a Ray actor pays off. One processor takes about ten seconds for
# them.
MIN_PAIRS_PER_ACTOR = 1_000_000_000


class Extreme(NamedTuple):
    """The top or the bottom of every image's ranking.

    Attributes:
        questions: Positions in the question table, int32 [images, k]. The most extreme question comes first.
            The value is -1 where an image has fewer eligible questions.
        scores: Cosines in millionths, int32 [images, k].
    """

    questions: np.ndarray
    scores: np.ndarray


class TopAndBottom(NamedTuple):
    """Both extremes of every image's ranking.

    Attributes:
        top: The most similar questions, the most similar question first.
        bottom: The least similar questions, the least similar question first.
        num_recomputed: Number of images for which the first thresholds did not suffice.
    """

    top: Extreme
    bottom: Extreme
    num_recomputed: int


class RankingContext(NamedTuple):
    """The data that a process needs to rank any block.

    Attributes:
        image_vectors, text_vectors: Unit vectors, float32 [n, d] and [m, d]. They are paths of files until a
            worker process opens the files.
        table: The questions, without ids.
        sample_vectors: Text vectors of a random sample of the questions, [sample, d].
        k_top_bottom: Number of top questions and of bottom questions per image.
        block_images, tile_texts: As in `top_and_bottom_k`.
        matmul: The matrix product that filters pairs, or None until it is chosen. It stays open as long as
            `exit_stack` exists.
        exit_stack: The context in which `matmul` was opened in a worker process, or None in this process.
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
        images, texts: Vectors whose length is 1 within 1 %, float32 [n, d] and [m, d]. `texts` may be a
            memory map.
        table: The questions.
        top_k, bottom_k: Number of most similar and of least similar questions per image.
        npy_paths: The files of `images` and `texts`. The processes of a cluster map these files into memory.
            If None, the vectors are sent to each machine.
        block_images, tile_texts: Number of images and of texts of one matrix product. They change the speed,
            never the result.
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
    """Yield the results of the blocks in order.

    The blocks are computed by Ray actors, or by threads of this process, which share its memory.
    """
    if actors > 1:
        if files:
            context = context._replace(image_vectors=files[0], text_vectors=files[1])
        yield from ordered_map(_rank_block, starts, partial(_open_in_actor, context), actors, 1)
        return
    # Each thread computes whole blocks with a matrix product that uses only this thread. Idle threads of a
    # product on several threads would keep using the cores that the exact scoring needs.
    with (
        choose_matmul(context.image_vectors, context.text_vectors) as product,
        ThreadPoolExecutor(num_local_workers()) as pool,
    ):
        yield from pool.map(partial(_rank_block, context._replace(matmul=product)), starts)


def _open_in_actor(context: RankingContext) -> RankingContext:
    """Load the vectors in a Ray actor, from files if the context has paths, and choose the matrix product."""
    images, texts = (
        np.asarray(np.load(vectors, mmap_mode="r") if isinstance(vectors, Path) else vectors)
        for vectors in context[:2]
    )
    # The context of the matrix product stays open as long as the actor's process, which does nothing else.
    opened = ExitStack()
    product = opened.enter_context(choose_matmul(images, texts))
    return context._replace(image_vectors=images, text_vectors=texts, matmul=product, exit_stack=opened)


def _rank_block(context: RankingContext, start: int) -> tuple[list[Extreme], int]:
    """Rank the block of images that begins at `start`.

    Returns:
        The top and the bottom of the images, and the number of rows that were recomputed.
    """
    images, questions = (
        context.image_vectors[start : start + context.block_images],
        len(context.table.questions_by_text.indices),
    )
    both, product = _empty_extremes(len(images), context.k_top_bottom), context.matmul
    assert product is not None
    todo, depth, num_recomputed = np.arange(len(images)), 1.0, 0
    # The depth grows until all questions pass the thresholds, so this loop ends.
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
    """Return the number of images per block.

    The number is at most `max_images`, and every worker gets equally many blocks.

    Args:
        num_images: The number of images.
        max_images: The maximum number of images per block.
        num_workers: The number of threads or actors. None means the number of local workers.
    """
    num_workers = num_workers or num_local_workers()
    rounds = -(-num_images // (max_images * num_workers))
    return max(1, -(-num_images // (rounds * num_workers)) if rounds else max_images)


def _estimate_thresholds(
    guess: np.ndarray, sizes: tuple[int, int], questions: int, depth: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Estimate thresholds from the scores of a sample.

    Slightly more than k questions should pass a threshold.
    The threshold of the top k is the j-th best score of the sample. j is 3.5 standard deviations larger than
    the expected number of top-k questions in the sample.

    Args:
        guess: Approximate scores of the sample, [rows, sample].
        sizes: Number of top questions and of bottom questions per row.
        questions: Number of all questions.
        depth: Factor of j. It is larger when a row is computed again.

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
            # For a single index, numpy partitions with vector instructions, which is ten times faster.
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
    """Return the sorted keys of the questions that pass each threshold.

    Args:
        context: The data of the ranking.
        images: Vectors of the images `rows`, float32 [rows, d].
        rows: Indices of the images.
        limits: Thresholds for the top and for the bottom, float32 [2, rows].
        capacities: Maximum number of keys per row, for the top and for the bottom.
        product: The matrix product that filters pairs.

    Returns:
        Keys of the top and of the bottom, int64 [rows, maximum number of keys] each. A row with more passing
        questions than its capacity is empty.
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
    """Sort the first `counts` keys of each row in place. A row with too many keys becomes empty."""
    counts[counts > capacity] = 0
    keys = keys[:, : counts.max()]
    keys[np.arange(keys.shape[1]) >= counts[:, None]] = EMPTY_KEY
    keys.sort(axis=1)
    return keys


def _is_complete(end: Extreme, rows: np.ndarray, limits: np.ndarray, last: int, error: float) -> np.ndarray:
    """Return for each row whether the filter cannot have missed any of the first k questions, bool [rows]."""
    if not end.questions.shape[1]:
        return np.ones(len(rows), bool)
    # Scores are rounded to millionths.
    error += 2e-6
    sign = -1 if last else 1
    worst = np.where(end.questions[rows, -1] >= 0, sign * end.scores[rows, -1] * 1e-6, -np.inf)
    return (worst > sign * limits + error) | np.isneginf(sign * limits)
