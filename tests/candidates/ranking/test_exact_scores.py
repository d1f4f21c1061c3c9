import numpy as np
import pytest

from pipeline.candidates.ranking.exact_scores import append_survivors, compute_dot_products, score_pairs
from pipeline.candidates.ranking.topk import top_and_bottom_k
from tests.candidates.ranking.test_topk import random_world


def test_single_pairs_are_scored_as_in_the_ranking():
    a, b, _, texts_of, table = random_world(6, 4000, 24)
    found = top_and_bottom_k(a, b, table, 300, 300)
    rows = np.repeat(np.arange(6), 300)
    for places, scores in (found.top, found.bottom):
        assert (score_pairs(a, b, rows, texts_of[places.ravel()].astype(np.int64)) == scores.ravel()).all()


def in_the_written_order(a, b):
    """Eight sums side by side, halves onto halves, then what is left over; numpy's own sums take another order."""
    products = a.astype(float) * b.astype(float)  # exact: 24 + 24 bits
    whole = len(products) // 8 * 8
    eight = np.zeros(8)
    for start in range(0, whole, 8):
        eight = eight + products[start : start + 8]
    four = eight[:4] + eight[4:]
    total = (four[0] + four[2]) + (four[1] + four[3])
    for product in products[whole:]:
        total = total + product
    return total


@pytest.mark.parametrize("dimension", [1, 7, 8, 61, 512])
def test_sums_are_taken_in_the_order_that_is_written_down_to_the_last_bit(dimension):
    rng = np.random.default_rng(dimension)
    a, b = (rng.normal(size=(200, dimension)).astype(np.float32) for _ in range(2))
    pairs = np.arange(200)
    assert compute_dot_products(a, b, pairs, pairs).tolist() == [
        in_the_written_order(x, y) for x, y in zip(a, b, strict=True)
    ]


def test_a_score_halfway_between_two_millionths_is_rounded_to_the_even_one():
    # 2**-7 * 2**-6 * 1e6 = 122.0703125; 2**-7 * 1e6 = 7812.5, which is exactly between 7812 and 7813
    a, b = np.array([[2.0**-7]], np.float32), np.array([[2.0**-6], [1.0]], np.float32)
    assert score_pairs(a, b, np.zeros(2, int), np.arange(2)).tolist() == [122, 7812]


def test_survivors_beyond_the_capacity_are_counted_and_written_to_no_other_row():
    # All eight questions, one a text, pass both limits of the first image, none those of the second; there is room for three.
    images, texts = np.eye(2, 4, dtype=np.float32), np.ones((8, 4), np.float32) / 2
    limits = np.array([[-np.inf, np.inf], [np.inf, -np.inf]], np.float32)
    one_each, none = (
        (np.arange(9, dtype=np.int32), np.arange(8, dtype=np.int32)),
        (np.zeros(3, np.int32), np.zeros(0, np.int32)),
    )
    best, last, counts = np.full((2, 3), -1), np.full((2, 3), -1), np.zeros((2, 2), np.int64)
    append_survivors(
        images @ texts.T, 0, limits, images, texts, np.arange(2), one_each, none, (best, last), counts
    )
    assert counts.tolist() == [[8, 0], [8, 0]]
    for keys in (best, last):
        assert (keys[0] >= 0).all() and (keys[1] == -1).all()
