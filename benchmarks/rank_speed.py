"""Ranking against the bare matrix product of the same pairs and against FAISS's flat index, in one run.

    python -m benchmarks.rank_speed                                        10,000 pictures x 132,062 questions (minutes)
    python -m benchmarks.rank_speed --pictures 1000 --questions 20000      smaller

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
from pipeline.core.parallel import threads
from pipeline.core.records import Question
from pipeline.ranking.admissible import QuestionTable, question_table
from pipeline.ranking.topk import ROWS, TEXTS, Ends, ends

SIZES = {"pictures": 10_000, "questions": 132_062, "dimension": 512, "best": 2_500, "last": 50, "seed": 0}
CLUSTERS = 300


def vectors(
    rng: np.random.Generator, pictures: int, texts: int, dimension: int, clustered: bool
) -> list[np.ndarray]:
    """Unit vectors of pictures and texts."""
    rows = [rng.standard_normal((size, dimension), dtype=np.float32) for size in (pictures, texts)]
    if clustered:
        centres = 1.5 * rng.standard_normal((CLUSTERS, dimension), dtype=np.float32)
        rows = [part + centres[rng.integers(CLUSTERS, size=len(part))] for part in rows]
    return [part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows]


def table(rng: np.random.Generator, pictures: int, questions: int, texts: int) -> QuestionTable:
    """Questions with random owners; each text at least once, the rest are repeats, some texts far oftener than others."""
    text = np.concatenate([np.arange(texts), (texts * rng.random(questions - texts) ** 3).astype(int)])
    records = [
        Question(
            question_id=f"{i:08d}",
            picture_id=str(rng.integers(pictures)),
            split="testdev",
            text=str(t),
            answer="x",
            detailed="x",
        )
        for i, t in enumerate(text)
    ]
    return question_table(records, [str(i) for i in range(pictures)], [str(i) for i in range(texts)])


def product(pictures: np.ndarray, texts: np.ndarray) -> None:
    """The product alone, in the tiles that ours uses, each thread its own block (at least as fast here as a product on
    several threads)."""

    def block(start: int) -> None:
        rows = pictures[start : start + ROWS]
        out = np.empty((len(rows), TEXTS), np.float32)
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


def rank(kind: str, a: argparse.Namespace) -> None:
    """Time one kind of vectors and print the figures."""
    rng, clustered = np.random.default_rng(a.seed), kind == "clustered"
    texts = a.questions // 2 if clustered else a.questions
    pictures, text_vectors = vectors(rng, a.pictures, texts, a.dimension, clustered)
    questions = table(rng, a.pictures, a.questions, texts)
    ends(pictures[:4], text_vectors[:800], table(rng, 4, 1000, 800), 10, 10)  # compiles

    results: list[Ends] = []
    every = text_vectors[questions.text_rows] if clustered else text_vectors
    before = timed(
        lambda: product(pictures, every)
    )  # and again after ours, as the machine may be busier then
    ours = timed(lambda: results.append(ends(pictures, text_vectors, questions, a.best, a.last)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    both = (before + timed(lambda: product(pictures, every))) / 2
    check(results[0], pictures, text_vectors, questions, rng)
    print(f"{kind}: peak memory {memory:.2f} GB, {results[0].redone} rows done again")
    tell("product of the same pairs", both, ours, ours / both)
    if clustered:
        distinct = timed(lambda: product(pictures, text_vectors))
        tell("product of distinct texts", distinct, ours, ours / distinct)
    if not a.no_faiss:
        import faiss

        index = faiss.IndexFlatIP(a.dimension)
        index.add(every)
        peer = timed(lambda: (index.search(pictures, a.best), index.search(-pictures, a.last)))
        tell("FAISS flat, both ends", peer, ours, peer / ours, "ours is faster by")


def tell(peer: str, its: np.ndarray, ours: np.ndarray, ratio: np.ndarray, how: str = "ratio") -> None:
    """A line of seconds on the clock / of the processors."""
    times, our_times = (" / ".join(f"{value:.1f}" for value in values) for values in (its, ours))
    print(f"  {peer:<26}  {times}    ours {our_times}    {how} {ratio[0]:.2f} / {ratio[1]:.2f}", flush=True)


def check(
    result: Ends, pictures: np.ndarray, texts: np.ndarray, table: QuestionTable, rng: np.random.Generator
) -> None:
    """The same as sorting everything, for three rows; a benchmark of wrong results is worth nothing."""
    for row in rng.choice(len(pictures), 3, replace=False):
        products = texts.astype(float) @ pictures[row].astype(float)
        score = np.rint(1e6 * products).astype(int)[table.text_rows]
        order = np.lexsort((np.arange(len(score)), -score))
        own = table.asked[table.asked_start[row] : table.asked_start[row + 1]]
        order = order[~np.isin(table.text_rows[order], own)]
        best, last = result.best.places[row], result.last.places[row]
        assert (best == order[: len(best)]).all() and (last == order[::-1][: len(last)]).all()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    kinds = ["random", "clustered"]
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--no-faiss", action="store_true")
    a = parser.parse_args()
    for kind in a.kinds:  # in a process of its own, so that its peak memory is its own
        process = get_context("spawn").Process(target=rank, args=(kind, a))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)


if __name__ == "__main__":
    run(main)
