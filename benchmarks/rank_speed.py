"""Ranking against the bare matrix product of the same pairs and against FAISS's flat index, in one run.

    python benchmarks/rank.py                                        10,000 pictures x 132,062 questions (minutes)
    python benchmarks/rank.py --pictures 1000 --questions 20000      smaller
    python benchmarks/rank.py --fill                                 also: the even draw, exact and one by one

Both kinds of vectors: random directions, and clusters with half of the questions repeating another's text. Limits:
at most 1.8 times the product, at least 1.5 times faster than FAISS, under 2 GB. Ours leaves out own questions and
gives exact places with ties by id; the product does nothing with its result; FAISS finds the best and the last of
all questions. Of repeated texts ours scores one: its time is held against the product of the distinct texts too.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.core.errors import run
from pipeline.core.records import Question
from pipeline.ranking.admissible import QuestionTable, question_table
from pipeline.ranking.draw import pair_pool
from pipeline.ranking.fill import exactly, one_by_one, price
from pipeline.ranking.topk import ROWS, TEXTS, ends, threads


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def vectors(
    rng: np.random.Generator, n: int, texts: int, dimension: int, clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    pictures, questions = (rng.standard_normal((size, dimension), dtype=np.float32) for size in (n, texts))
    if clusters:
        centres = 1.5 * rng.standard_normal((clusters, dimension), dtype=np.float32)
        pictures += centres[rng.integers(clusters, size=n)]
        questions += centres[rng.integers(clusters, size=texts)]
    return unit(pictures), unit(questions)


def table(rng: np.random.Generator, n: int, questions: int, texts: int) -> QuestionTable:
    """Questions with random owners; each text at least once, the rest are repeats, some texts far oftener than others."""
    text = np.concatenate([np.arange(texts), (texts * rng.random(questions - texts) ** 3).astype(int)])
    owner = rng.integers(n, size=questions)
    records = [
        Question(
            question_id=f"{i:08d}", picture_id=str(o), split="testdev", text=str(t), answer="x", detailed="x"
        )
        for i, (o, t) in enumerate(zip(owner, text, strict=True))
    ]
    return question_table(records, [str(i) for i in range(n)], [str(i) for i in range(texts)])


def bare(pictures: np.ndarray, texts: np.ndarray) -> None:
    """The product alone, in the tiles that ours uses, each thread its own block (at least as fast here as a product on
    several threads)."""

    def block(start: int) -> None:
        rows, out = (
            pictures[start : start + ROWS],
            np.empty((min(ROWS, len(pictures) - start), TEXTS), np.float32),
        )
        for first in range(0, len(texts), TEXTS):
            part = texts[first : first + TEXTS]
            np.matmul(rows, part.T, out=out[:, : len(part)])

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads()) as pool:
        list(pool.map(block, range(0, len(pictures), ROWS)))


def timed(work: Callable[[], object]) -> np.ndarray:
    """Seconds on the clock and of the processors; on a machine with other work to do the latter say more."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return np.array([time.perf_counter() - clock, time.process_time() - processor])


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def rank(kind: str, a: argparse.Namespace) -> None:
    rng = np.random.default_rng(a.seed)
    texts = a.questions if kind == "random" else a.questions // 2
    pictures, text_vectors = vectors(rng, a.pictures, texts, a.dimension, 0 if kind == "random" else 300)
    questions = table(rng, a.pictures, a.questions, texts)
    small = table(rng, 4, 1000, 800)
    ends(pictures[:4], text_vectors[:800], small, 10, 10)  # compiles

    found = []
    every = text_vectors if kind == "random" else text_vectors[questions.text_rows]
    before = timed(
        lambda: bare(pictures, every)
    )  # and once more after ours, in case the machine is busier by then
    ours = timed(lambda: found.append(ends(pictures, text_vectors, questions, a.best, a.last)))
    memory = peak()
    product = (before + timed(lambda: bare(pictures, every))) / 2
    _check(found[0], pictures, text_vectors, questions, rng)
    print(
        f"{kind}: peak memory {memory:.2f} GB, {found[0].redone} rows done again; below: seconds on the clock / of the processors"
    )
    print(
        f"  product of the same pairs   {_pair(product, 1)}    ours {_pair(ours, 1)}    ratio {_pair(ours / product, 2)}"
    )
    if kind != "random":
        distinct = timed(lambda: bare(pictures, text_vectors))
        print(
            f"  product of distinct texts   {_pair(distinct, 1)}    ours {_pair(ours, 1)}    ratio {_pair(ours / distinct, 2)}"
        )
    if not a.no_faiss:
        import faiss

        index = faiss.IndexFlatIP(a.dimension)
        index.add(every)
        peer = timed(lambda: (index.search(pictures, a.best), index.search(-pictures, a.last)))
        print(
            f"  FAISS flat, both ends       {_pair(peer, 1)}    ours {_pair(ours, 1)}    ours is faster by {_pair(peer / ours, 2)}",
            flush=True,
        )


def _pair(values: np.ndarray, digits: int) -> str:
    return " / ".join(f"{value:.{digits}f}" for value in values)


def _check(
    found,
    pictures: np.ndarray,
    texts: np.ndarray,
    questions: QuestionTable,
    rng: np.random.Generator,
    rows: int = 3,
) -> None:
    """The same as sorting everything, for a few rows; a benchmark of wrong results is worth nothing."""
    for row in rng.choice(len(pictures), rows, replace=False):
        score = np.rint(1e6 * (texts.astype(float) @ pictures[row].astype(float))).astype(int)[
            questions.text_rows
        ]
        order = np.lexsort((np.arange(len(score)), -score))
        own = questions.asked[questions.asked_start[row] : questions.asked_start[row + 1]]
        order = order[~np.isin(questions.text_rows[order], own)]
        assert (found.best[row] == order[: found.best.shape[1]]).all()
        assert (found.last[row] == order[::-1][: found.last.shape[1]]).all()


def fill(a: argparse.Namespace) -> None:
    """The even draw at the size of GQA's testdev: the linear program against the rounds."""
    n, count, texts, best, draw, cap = 398, 12_578, 8_500, 2_500, 85, 3
    rng = np.random.default_rng(a.seed)
    pictures, text_vectors = vectors(rng, n, texts, 64, 40)
    questions = table(rng, n, count, texts)
    places = ends(pictures, text_vectors, questions, best, 1).best
    pool = pair_pool(
        places, questions, "clip-hard", [str(i) for i in range(n)], np.arange(n), np.arange(count), a.seed
    )
    bound, prices = pool.bound(draw, cap), {}
    for method in (exactly, one_by_one, one_by_one):  # the second time it is compiled
        chosen = []
        seconds = timed(lambda method=method, chosen=chosen: chosen.append(method(pool, draw, cap)))
        prices[chosen[0].method] = price(pool, chosen[0], bound), len(chosen[0].pair), seconds
    (best_price, most, exact_seconds), (other_price, fewer, seconds) = prices["exact"], prices["one by one"]
    print(
        f"even draw  {len(pool.picture):,} pairs: exact {most:,} of at most {bound:,} in {exact_seconds[0]:.1f} s; "
        f"one by one {fewer:,} in {seconds[0]:.1f} s: {1 - fewer / most:.2%} fewer pairs, {other_price / best_price - 1:.2%} dearer"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (
        ("pictures", 10_000),
        ("questions", 132_062),
        ("dimension", 512),
        ("best", 2_500),
        ("last", 50),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument(
        "--kinds", nargs="+", choices=["random", "clustered"], default=["random", "clustered"]
    )
    parser.add_argument("--no-faiss", action="store_true")
    parser.add_argument("--fill", action="store_true")
    a = parser.parse_args()
    for kind in a.kinds:  # in a process of its own, so that its peak memory is its own
        process = get_context("spawn").Process(target=rank, args=(kind, a))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)
    if a.fill:
        fill(a)


if __name__ == "__main__":
    run(main)
