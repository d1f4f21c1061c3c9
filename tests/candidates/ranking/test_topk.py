import os
import subprocess
import sys
import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.candidates.ranking import topk
from pipeline.candidates.ranking.approximate_matmul import ApproximateMatmul
from pipeline.candidates.ranking.rank_inputs import build_question_table
from pipeline.candidates.ranking.topk import top_and_bottom_k
from pipeline.core.records import Question


def table_of(owners, texts_of, images, texts):
    rows = [
        Question(
            question_id=f"{i:06d}",
            image_id=str(owner),
            split="testdev",
            text=str(text),
            answer="x",
            detailed="query",
        )
        for i, (owner, text) in enumerate(zip(owners, texts_of, strict=True))
    ]
    return build_question_table(rows, [str(i) for i in range(images)], [str(i) for i in range(texts)])


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


def near_ties(images=5, texts=3000, dimension=96, seed=0):
    """Texts so close to each other that float32 products of different tiles put them in different orders."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(images, dimension))
    b = rng.normal(size=dimension) + 2e-6 * rng.normal(size=(texts, dimension))
    a, b = ((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32) for x in (a, b))
    return a, b, rng.integers(images, size=texts), np.arange(texts)


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


def random_world(images, questions, dimension, seed=1):
    rng = np.random.default_rng(seed)
    texts = questions * 2 // 3
    a, b = (rng.normal(size=(n, dimension)) for n in (images, texts))
    a, b = ((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32) for x in (a, b))
    owners, texts_of = (
        rng.integers(images, size=questions),
        np.concatenate([np.arange(texts), rng.integers(texts, size=questions - texts)]),
    )
    return a, b, owners, texts_of, table_of(owners, texts_of, images, texts)


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
