"""The most and the least similar questions of each image, by approximate products and exact scores."""

import os
import subprocess
import sys
import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.candidates.ranking import approximate_matmul, topk
from pipeline.candidates.ranking.approximate_matmul import ApproximateMatmul, choose_matmul
from pipeline.candidates.ranking.exact_scores import append_survivors, compute_dot_products, score_pairs
from pipeline.candidates.ranking.topk import top_and_bottom_k
from tests.candidates.ranking.random_worlds import near_ties, random_world, table_of

# Top k


def sorted_by_hand(scores, owners, texts_of, image):
    """(score, question) from the most similar down; ties by id; without the image's own questions and their texts."""
    own = {text for owner, text in zip(owners, texts_of, strict=True) if owner == image}
    rows = [(-scores[image][text], question) for question, text in enumerate(texts_of) if text not in own]
    return [(question, -score) for score, question in sorted(rows)]


def assert_equal_to_sorting(found, scores, owners, texts_of, best, last):
    for image in range(len(scores)):
        order = sorted_by_hand(scores, owners, texts_of, image)
        for (places, values), expected, k in (
            (found.top, order, best),
            (found.bottom, order[::-1], last),
        ):
            k = min(k, len(texts_of))
            padded = expected[:k] + [(-1, 0)] * (k - len(expected))
            assert list(zip(places[image].tolist(), values[image].tolist(), strict=True)) == padded


@st.composite
def worlds(draw):
    images, texts = draw(st.integers(1, 7)), draw(st.integers(1, 40))
    questions = draw(st.integers(1, 90))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    return images, texts, rng.integers(images, size=questions), rng.integers(texts, size=questions), rng


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(0, 100), st.integers(0, 20), st.integers(1, 9), st.integers(1, 45))
def test_top_and_bottom_equal_those_of_a_full_sort_for_any_tiles(world, best, last, rows, tile):
    # 64 components of +-1/8: unit vectors whose products are multiples of 1/32, so nearly all scores are tied.
    images, texts, owners, texts_of, rng = world
    a, b = (rng.choice([-1, 1], (n, 64)) for n in (images, texts))
    found = top_and_bottom_k(
        (a / 8).astype(np.float32),
        (b / 8).astype(np.float32),
        table_of(owners, texts_of, images, texts),
        best,
        last,
        block_images=rows,
        tile_texts=tile,
    )
    exact = (a @ b.T) * 15_625  # 10**6 / 64
    assert_equal_to_sorting(found, exact.tolist(), owners.tolist(), texts_of.tolist(), best, last)


def test_scores_that_differ_by_less_than_float32_errors_are_ordered_by_their_rounded_values():
    a, b, owners, texts_of = near_ties()
    scores = np.rint(1e6 * (a.astype(float) @ b.astype(float).T)).astype(int)
    assert len(set(scores[0].tolist())) < 20  # thousands of questions, a handful of scores
    table = table_of(owners, texts_of, len(a), len(b))
    for rows, tile in ((1, 7), (2, 1000), (512, 2048)):
        assert_equal_to_sorting(
            top_and_bottom_k(a, b, table, 200, 50, block_images=rows, tile_texts=tile),
            scores.tolist(),
            owners.tolist(),
            texts_of.tolist(),
            200,
            50,
        )


@pytest.mark.parametrize("fault", ["too high", "no capacity"])
def test_a_row_with_a_bad_threshold_is_recomputed(monkeypatch, fault):
    a, b, owners, texts_of, table = random_world(6, 4000, 24)
    right = top_and_bottom_k(a, b, table, 100, 30)
    assert right.num_recomputed == 0
    thresholds = topk._estimate_thresholds

    def spoilt(guess, sizes, questions, depth):
        limits, capacities = thresholds(guess, sizes, questions, depth)
        if depth > 1:
            return limits, capacities
        stricter = np.array([[0.2], [-0.2]], np.float32)
        return (
            (limits + stricter, capacities) if fault == "too high" else (limits, (sizes[0] + 5, sizes[1] + 5))
        )

    monkeypatch.setattr(topk, "_estimate_thresholds", spoilt)
    again = top_and_bottom_k(a, b, table, 100, 30)
    assert again.num_recomputed == 6
    for end, right_end in ((again.top, right.top), (again.bottom, right.bottom)):
        assert (end.questions == right_end.questions).all() and (end.scores == right_end.scores).all()
    scores = np.rint(1e6 * (a.astype(float) @ b.astype(float).T)).astype(int)
    assert_equal_to_sorting(again, scores.tolist(), owners.tolist(), texts_of.tolist(), 100, 30)


@pytest.mark.parametrize("error", [0.003, 0.03, 0.3])
def test_errors_of_the_filter_within_its_bound_change_nothing(monkeypatch, error):
    # Each product is moved by the whole error, up or down, never the same way twice.
    a, b, owners, texts_of, table = random_world(6, 4000, 24)
    rng = np.random.default_rng(0)

    def multiply(one, other, out):
        out[:] = one @ other.T + error * rng.choice([-0.99, 0.99], out.shape)

    monkeypatch.setattr(topk, "choose_matmul", lambda *_: nullcontext(ApproximateMatmul(multiply, error)))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # one generator
    scores = np.rint(1e6 * (a.astype(float) @ b.astype(float).T)).astype(int)
    found = top_and_bottom_k(a, b, table, 100, 30, tile_texts=300)
    assert_equal_to_sorting(found, scores.tolist(), owners.tolist(), texts_of.tolist(), 100, 30)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    a, b, _, _, table = random_world(40, 3000, 24)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        results.append(top_and_bottom_k(a, b, table, 200, 50, block_images=7, tile_texts=100))
    assert len({b"".join(a.tobytes() for end in (r.top, r.bottom) for a in end) for r in results}) == 1


@pytest.mark.parametrize(
    "processor",
    [{"OPENBLAS_CORETYPE": "Nehalem"}, {"OPENBLAS_CORETYPE": "Haswell"}]
    + [{"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""} for name in ("generic", "nehalem")],
    ids=lambda processor: next(iter(processor.values())),
)
def test_the_bytes_are_the_same_on_every_processor(processor):
    # One process ranks and sums pairs with all instructions of this machine, one with those of an older one only.
    ours, theirs = (
        subprocess.run(
            [sys.executable, "-m", "tests.candidates.ranking.rank_in_subprocess"],
            env=os.environ | {"OMP_NUM_THREADS": "1"} | more,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for more in ({}, processor)
    )
    assert ours == theirs
    assert len(ours.split()) == 2


def test_memory_does_not_grow_with_the_number_of_questions():
    # The matrix of one block of rows against 80,000 more questions would be 64 * 80,000 * 4 bytes = 20 MB.
    peaks = []
    for questions in (80_000, 160_000):
        a, b, _, _, table = random_world(64, questions, 8)
        tracemalloc.start()
        top_and_bottom_k(a, b, table, 100, 20, block_images=64, tile_texts=512)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 3e6  # the sample is drawn from a permutation of the questions, 8 bytes each


def test_the_number_of_actors_depends_on_the_number_of_pairs(monkeypatch):
    asked = []
    monkeypatch.setattr(topk, "get_engine", lambda: "ray")
    monkeypatch.setattr(topk, "choose_num_workers", lambda pairs, each: asked.append((pairs, each)) or 1)
    images, texts = np.eye(3, 8, dtype=np.float32), np.eye(5, 8, dtype=np.float32)
    top_and_bottom_k(images, texts, table_of([0, 1, 2], [3, 4, 0], 3, 5), 1, 1)
    assert asked == [(15, topk.MIN_PAIRS_PER_ACTOR)]  # 3 images by 5 texts


# Approximate matmul


@pytest.fixture
def make_processor(monkeypatch, tmp_path):
    """A function that makes the processor one with these abilities, and any number of pairs many."""

    def give(flags):
        path = tmp_path / "cpuinfo"
        path.write_text(f"processor : 0\nflags : {flags} fpu\n")
        monkeypatch.setattr(approximate_matmul, "CPU_INFO_PATH", path)
        monkeypatch.setattr(approximate_matmul, "MIN_PAIRS_FOR_TORCH", 1)

    return give


def units(kind, count, dimension=256):
    rng = np.random.default_rng(0)
    rows = {
        "normal": rng.normal(size=(count, dimension)),
        # All lie just above or below the middle of two bfloat16 numbers, 1 and 1 + 2**-7 times a power of two, and have
        # one sign: errors of rounding add up to nearly the most that is possible.
        "up": np.full((count, dimension), 1 + 2.0**-8 + 2.0**-20),
        "down": np.full((count, dimension), 1 + 2.0**-8 - 2.0**-20),
    }[kind]
    length = 16 if kind != "normal" else np.linalg.norm(rows, axis=1, keepdims=True)  # 1 within 1 %
    return (rows / length).astype(np.float32)


@pytest.mark.parametrize("flags", ["amx_bf16 amx_tile", "avx2"])
@pytest.mark.parametrize("kinds", [("normal", "normal"), ("up", "up"), ("down", "down"), ("up", "down")])
def test_a_product_is_off_by_no_more_than_it_says(make_processor, flags, kinds):
    make_processor(flags)
    one, other = (units(kind, count) for kind, count in zip(kinds, (33, 70), strict=True))
    out = np.empty((33, 70), np.float32)
    with choose_matmul(one, other) as product:
        product.multiply(one, other, out)
    error = np.abs(out - one.astype(float) @ other.astype(float).T).max()
    # 8 bits of a number are kept: 2**-8 of it is lost at most, of two numbers twice that.
    most = 256 * 2.0**-23 + (1.04 * 2.0**-7 if "amx" in flags else 0)
    assert error <= product.max_error <= most


def test_bfloat16_is_for_many_pairs_on_a_processor_that_multiplies_it(make_processor, monkeypatch):
    def rounded(images=1):
        with choose_matmul(units("normal", 2)[:images], units("normal", 2)) as product:
            return product.max_error > 0.001

    make_processor("amx_bf16 amx_tile")
    assert rounded()
    assert not rounded(images=0)
    make_processor("amx_tile avx512_bf16")
    assert not rounded()
    monkeypatch.setattr(approximate_matmul, "CPU_INFO_PATH", approximate_matmul.CPU_INFO_PATH.parent / "none")
    assert not rounded()


def test_torch_is_left_as_it_was(make_processor):
    import torch

    make_processor("amx_bf16")
    before = torch.get_float32_matmul_precision(), torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), choose_matmul(units("normal", 2), units("normal", 2)):
        assert torch.get_float32_matmul_precision() == "medium"
        raise ZeroDivisionError
    assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == before


def test_a_mapped_file_is_multiplied_without_a_warning(make_processor, tmp_path, recwarn):
    make_processor("amx_bf16")
    texts = units("normal", 20)
    np.save(tmp_path / "texts.npy", texts)
    mapped = np.load(tmp_path / "texts.npy", mmap_mode="r")
    with choose_matmul(texts, mapped) as product:
        product.multiply(texts, mapped, np.empty((20, 20), np.float32))
    assert not recwarn.list


def test_the_ranking_is_the_same_by_either_product(make_processor):
    a, b, _, _, table = random_world(40, 3000, 64)
    results = []
    for flags in ("avx2", "amx_bf16"):
        make_processor(flags)
        found = top_and_bottom_k(a, b, table, 200, 50, block_images=7, tile_texts=100)
        results.append([array.tobytes() for end in (found.top, found.bottom) for array in end])
    assert results[0] == results[1]


# Exact scores


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
