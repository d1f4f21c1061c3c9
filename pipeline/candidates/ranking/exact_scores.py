"""Compute exact CLIP scores of single pairs of an image and a text.

A score is the cosine of the two vectors, rounded to millionths. The score is the same on every machine. The
product of two float32 numbers is exact in float64, so only the order of a sum can change its last bits. Here
the order is fixed: eight parallel sums, which are then added pairwise, whatever the vector width of the
processor. If the compiler chose the order for its own processor, about one score in 10**9 would round to a
different millionth on another processor.
"""

# All compiled functions are in this file, because numba compiles a cached function again only if the file of
# that function changes.
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# A number larger than any score in millionths. A sort key of the top of a ranking is (SCORE_CEILING - score,
# question), packed into 54 bits.
SCORE_CEILING = 1 << 21
# A sort key of the bottom of a ranking is KEY_COMPLEMENT - key, so that the lowest score comes first.
# EMPTY_KEY is larger than all other keys.
KEY_COMPLEMENT, EMPTY_KEY = 1 << 55, 1 << 62
SIMD_LANES = 8


def score_pairs(
    images: np.ndarray, texts: np.ndarray, image_rows: np.ndarray, text_rows: np.ndarray
) -> np.ndarray:
    """Score single pairs by the same rule as the ranking.

    Args:
        images, texts: Unit vectors, float32 [n, d] and [m, d].
        image_rows, text_rows: Rows of the image and the text of each pair, int [pairs].

    Returns:
        The cosine of each pair in millionths, int32 [pairs].
    """
    return np.rint(1e6 * compute_dot_products(images, texts, image_rows, text_rows)).astype(np.int32)


def compute_dot_products(
    images: np.ndarray, texts: np.ndarray, image_rows: np.ndarray, text_rows: np.ndarray
) -> np.ndarray:
    """Return the cosines of single pairs before rounding, float64 [pairs]. Arguments as in `score_pairs`."""
    tables = np.ascontiguousarray(images), np.ascontiguousarray(texts)
    return _compute_dot_products(*tables, image_rows.astype(np.int64), text_rows.astype(np.int64))


@njit(cache=True)
def _compute_dot_products(
    images: np.ndarray, texts: np.ndarray, image_rows: np.ndarray, text_rows: np.ndarray
) -> np.ndarray:
    sums, image = np.empty(image_rows.size), np.empty(images.shape[1])
    for pair in range(image_rows.size):
        text = text_rows[pair]
        _copy_row(images, image_rows[pair], image)
        sums[pair] = _dot_four_texts(image, texts, text, text, text, text)[0]
    return sums


@njit(nogil=True, cache=True)
def _copy_row(images: np.ndarray, row: int, image: np.ndarray) -> None:
    """Copy a row number by number.

    For an array assignment, numba would also compile a check of the lengths, which takes 1.5 seconds.
    """
    for i in range(image.size):
        image[i] = images[row, i]


@njit(nogil=True, cache=True)
def append_survivors(
    products: np.ndarray,
    first_text: int,
    thresholds: np.ndarray,
    images: np.ndarray,
    texts: np.ndarray,
    rows: np.ndarray,
    questions_by_text: tuple[np.ndarray, np.ndarray],
    texts_by_image: tuple[np.ndarray, np.ndarray],
    keys: tuple[np.ndarray, np.ndarray],
    counts: np.ndarray,
) -> None:
    """Append the sort keys of the questions whose text passes a threshold.

    Each row has a list of keys for the top and a list for the bottom. Keys are appended as far as the
    capacity of a list allows. Texts of the image's own questions are skipped.

    Args:
        products: Approximate products of the images and the texts of this tile, float32 [rows, num_texts],
            where num_texts is padded to a multiple of 4. Entries of skipped texts are set to NaN.
        first_text: Index of the tile's first text.
        thresholds: Lower bound for the top and upper bound for the bottom, float32 [2, rows].
        images: Vectors of the images, float32 [rows, d].
        texts: Vectors of the texts of this tile, float32 [texts, d].
        rows: Index of the image of each row.
        questions_by_text: `indptr` and `indices` of `QuestionTable.questions_by_text`.
        texts_by_image: `indptr` and `indices` of `QuestionTable.texts_by_image`.
        keys: Output: keys for the top and for the bottom, int64 [rows, capacity] each.
        counts: Output: number of questions that have passed so far, int64 [2, rows]. It may exceed the
            capacity.
    """
    (text_start, questions), (own_start, own_texts), (top, bottom) = questions_by_text, texts_by_image, keys
    width = products.shape[1]
    passes, groups = np.empty(width, np.uint8), np.empty(width // 4, np.int64)
    passed, score = np.zeros(width + 4, np.int64), np.empty(width + 4)
    image = np.empty(images.shape[1])
    for row in range(products.shape[0]):
        # NaN passes no threshold.
        products[row, texts.shape[0] :] = np.nan
        for i in range(own_start[rows[row]], own_start[rows[row] + 1]):
            if first_text <= own_texts[i] < first_text + width:
                products[row, own_texts[i] - first_text] = np.nan
        up, down = thresholds[0, row], thresholds[1, row]
        many = _find_passing_columns(products[row], up, down, passes, groups, passed)
        passed[many : many + 4] = 0
        _copy_row(images, row, image)
        for i in range(0, many, 4):
            score[i], score[i + 1], score[i + 2], score[i + 3] = _dot_four_texts(
                image, texts, passed[i], passed[i + 1], passed[i + 2], passed[i + 3]
            )
        high, low = counts[0, row], counts[1, row]
        for i in range(many):
            text, product = first_text + passed[i], products[row, passed[i]]
            score_key = SCORE_CEILING - np.int64(np.rint(1e6 * score[i]))
            for j in range(text_start[text], text_start[text + 1]):
                key = (score_key << 32) | questions[j]
                if product >= up:
                    if high < top.shape[1]:
                        top[row, high] = key
                    high += 1
                if product <= down:
                    if low < bottom.shape[1]:
                        bottom[row, low] = KEY_COMPLEMENT - key
                    low += 1
        counts[0, row], counts[1, row] = high, low


@njit(nogil=True, cache=True)
def _find_passing_columns(
    products: np.ndarray, up: float, down: float, passes: np.ndarray, groups: np.ndarray, passed: np.ndarray
) -> int:
    """Write the columns that pass a threshold into `passed`, and return their number.

    Few columns pass, and the processor cannot predict which columns. So whole vectors are compared first.
    Then two loops without branches find the groups of four columns in which at least one column passes, and
    the passing columns of these groups. The arrays `passes` and `groups` are working memory.
    """
    for column in range(products.size):
        passes[column] = (products[column] >= up) | (products[column] <= down)
    fours = passes.view(np.uint32)
    some = many = 0
    for group in range(fours.size):
        groups[some] = group
        some += fours[group] != 0
    for i in range(some):
        for column in range(4 * groups[i], 4 * groups[i] + 4):
            passed[many] = column
            many += passes[column]
    return many


@njit(nogil=True, cache=True)
def unpack_keys(
    keys: np.ndarray, is_bottom: bool, questions: np.ndarray, scores: np.ndarray, rows: np.ndarray
) -> None:
    """Write the first k questions of each row of sorted keys into `questions` and `scores`.

    Args:
        keys: Sorted keys, int64 [n, any number]. The keys of a row end at the first EMPTY_KEY, after which
            the existing values stay.
        is_bottom: Whether the keys are keys of the bottom.
        questions, scores: Output, int32 [all rows, k].
        rows: Rows of the output, int [n].
    """
    for i in range(rows.size):
        for j in range(min(keys.shape[1], questions.shape[1])):
            if keys[i, j] == EMPTY_KEY:
                break
            key = KEY_COMPLEMENT - keys[i, j] if is_bottom else keys[i, j]
            questions[rows[i], j], scores[rows[i], j] = key & 0xFFFFFFFF, SCORE_CEILING - (key >> 32)


# Four texts at a time take half the time of single texts, because each number of the image is loaded once for
# four products.
@njit(nogil=True, cache=True)
def _dot_four_texts(
    image: np.ndarray, texts: np.ndarray, a: int, b: int, c: int, d: int
) -> tuple[float, float, float, float]:
    """Return the products of an image, float64 [d], with four of the texts, float32 [m, d]."""
    whole = image.size // SIMD_LANES * SIMD_LANES
    ab, bb, cb, db = _simd_dot(image, texts, a, b, c, d, whole)
    for i in range(whole, image.size):
        ab += image[i] * np.float64(texts[a, i])
        bb += image[i] * np.float64(texts[b, i])
        cb += image[i] * np.float64(texts[c, i])
        db += image[i] * np.float64(texts[d, i])
    return ab, bb, cb, db


def _build_simd_dot(typing: Any, image: Any, texts: Any, a: Any, b: Any, c: Any, d: Any, whole: Any) -> Any:
    """Build the dot products of the first `whole` numbers of an image and four texts, as LLVM instructions.

    `whole` is a multiple of SIMD_LANES. Each product is SIMD_LANES parallel sums, added in a fixed order.
    """
    result = types.UniTuple(types.float64, 4)
    signature = result(image, texts, a, b, c, d, whole)
    doubles, floats = (ir.VectorType(number, SIMD_LANES) for number in (ir.DoubleType(), ir.FloatType()))
    count, zero = ir.IntType(64), ir.Constant(doubles, None)
    # The products are exact, so multiplying and adding in one step gives the same result.
    fused = ("contract",)

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        xs, ts = (
            context.make_array(kind)(context, b, value)
            for kind, value in zip(signature.args, args[:2], strict=False)
        )
        d = b.extract_value(ts.shape, 1)
        starts = [b.gep(ts.data, [b.mul(row, d)]) for row in args[2:6]]
        before, loop, after = b.block, b.append_basic_block("loop"), b.append_basic_block("after")
        b.cbranch(b.icmp_signed(">", args[6], ir.Constant(count, 0)), loop, after)
        b.position_at_end(loop)
        i, sums = b.phi(count), [b.phi(doubles) for _ in starts]
        x = b.load(b.bitcast(b.gep(xs.data, [i]), doubles.as_pointer()), align=8)
        added = []
        for total, start in zip(sums, starts, strict=True):
            t = b.fpext(b.load(b.bitcast(b.gep(start, [i]), floats.as_pointer()), align=4), doubles)
            added.append(b.fadd(total, b.fmul(x, t, flags=fused), flags=fused))
        further = b.add(i, ir.Constant(count, SIMD_LANES))
        b.cbranch(b.icmp_signed("<", further, args[6]), loop, after)
        counted = i, ir.Constant(count, 0), further
        for phi, start, end in (counted, *((s, zero, e) for s, e in zip(sums, added, strict=True))):
            phi.add_incoming(start, before)
            phi.add_incoming(end, loop)
        b.position_at_end(after)
        parts = [b.phi(doubles) for _ in starts]
        for phi, end in zip(parts, added, strict=True):
            phi.add_incoming(zero, before)
            phi.add_incoming(end, loop)

        def halves(one: Any, other: Any, left: list[int], right: list[int]) -> Any:
            """Add the lanes `right` of both vectors to their lanes `left`."""
            picks = (ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes) for lanes in (left, right))
            return b.fadd(*(b.shuffle_vector(one, other, pick) for pick in picks))

        fours = [halves(p, p, [0, 1, 2, 3], [4, 5, 6, 7]) for p in parts]
        pairs = [halves(fours[k], fours[k + 1], [0, 4, 1, 5], [2, 6, 3, 7]) for k in (0, 2)]
        every = halves(pairs[0], pairs[1], [0, 1, 4, 5], [2, 3, 6, 7])
        return context.make_tuple(
            b, result, [b.extract_element(every, ir.Constant(count, k)) for k in range(4)]
        )

    return signature, build


_simd_dot: Any = intrinsic(_build_simd_dot)
