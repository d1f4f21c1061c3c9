"""Ranking against the bare matrix product of the same pairs and against FAISS's flat index, in one run.

    python -m benchmarks.rank_speed                                        10,000 pictures x 132,062 questions (minutes)
    python -m benchmarks.rank_speed --pictures 1000 --questions 20000      smaller

Both kinds of vectors: random directions, and clusters with half of the questions repeating another's text. Limits:
at most 1.8 times the product, at least 1.5 times faster than FAISS, under 2 GB. Ours leaves out own questions and
gives exact places with ties by id; the product does nothing with its result; FAISS finds the best and the last of
all questions. Of repeated texts ours scores one: its time is held against the product of the distinct texts too.
"""

from __future__ import annotations

import resource
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import command, tell, timed
from pipeline.core.parallel import threads
from pipeline.core.records import Question
from pipeline.ranking.rank_inputs import QuestionTable, question_table
from pipeline.ranking.topk import ROWS, TEXTS, Ends, ends

CLUSTERS, DIMENSION = 300, 512
BEST, LAST = 2_500, 50  # places wanted


def vectors(rng: np.random.Generator, count: int, centres: np.ndarray | None) -> np.ndarray:
    """Unit vectors, around centres if there are such."""
    rows = rng.standard_normal((count, DIMENSION), dtype=np.float32)
    if centres is not None:
        rows += centres[rng.integers(len(centres), size=count)]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def table(rng: np.random.Generator, pictures: int, questions: int, texts: int) -> QuestionTable:
    """Questions with random owners; each text at least once, the rest are repeats, some texts far oftener than others."""
    text = [*range(texts), *(texts * rng.random(questions - texts) ** 3).astype(int).tolist()]
    owners = rng.integers(pictures, size=questions).tolist()
    asked = [
        Question(question_id=f"{i:08d}", picture_id=str(owner), split="testdev", text=str(row), answer="yes")
        for i, (row, owner) in enumerate(zip(text, owners, strict=True))
    ]
    return question_table(asked, [str(i) for i in range(pictures)], [str(i) for i in range(texts)])


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


def rank(kind: str, pictures_count: int, questions_count: int) -> None:
    """Time one kind of vectors and print the figures."""
    rng = np.random.default_rng(0)
    clustered = kind == "clustered"
    count = questions_count // 2 if clustered else questions_count
    centres = 1.5 * rng.standard_normal((CLUSTERS, DIMENSION), dtype=np.float32) if clustered else None
    pictures, texts = (vectors(rng, n, centres) for n in (pictures_count, count))
    questions = table(rng, pictures_count, questions_count, count)
    ends(pictures[:4], texts[:800], table(rng, 4, 1000, 800), 10, 10)  # compiles

    every = texts[questions.text_rows] if clustered else texts
    _, before = timed(product, pictures, every)  # and again after ours, as the machine may be busier then
    result, ours = timed(ends, pictures, texts, questions, BEST, LAST)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    _, after = timed(product, pictures, every)
    check(result, pictures, texts, questions, rng)
    print(f"{kind}: peak memory {memory:.2f} GB, {result.redone} rows done again")
    tell(kind, ours, "product of the same pairs", (before + after) / 2)
    if clustered:
        tell(kind, ours, "product of distinct texts", timed(product, pictures, texts)[1])
    import faiss  # its memory is not ours

    index = faiss.IndexFlatIP(DIMENSION)
    index.add(every)
    _, peer = timed(lambda: (index.search(pictures, BEST), index.search(-pictures, LAST)))
    tell(kind, ours, "FAISS flat, both ends", peer)


def check(
    result: Ends, pictures: np.ndarray, texts: np.ndarray, table: QuestionTable, rng: np.random.Generator
) -> None:
    """The same as sorting everything, for three rows; a benchmark of wrong results is worth nothing."""
    for row in rng.choice(len(pictures), 3, replace=False):
        products = texts.astype(float) @ pictures[row].astype(float)
        score = np.rint(1e6 * products).astype(int)[table.text_rows]
        order = np.lexsort((np.arange(len(score)), -score))
        own = table.asked[[row]].indices
        order = order[~np.isin(table.text_rows[order], own)]
        best, last = result.best.places[row], result.last.places[row]
        assert (best == order[: len(best)]).all() and (last == order[::-1][: len(last)]).all()


def main(pictures: int = 10_000, questions: int = 132_062) -> None:
    # Each kind in a process of its own, so that its peak memory is its own.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        for kind in ("random", "clustered"):
            pool.submit(rank, kind, pictures, questions).result()


if __name__ == "__main__":
    command(main)
