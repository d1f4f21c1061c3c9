"""Compare ranking with the matrix product of the same pairs and with FAISS's flat index, alternately, in one
run.

    python -m research.benchmarks.rank_speed                                        10,000 images x 132,062 questions (minutes)
    python -m research.benchmarks.rank_speed --images 398 --questions 12578       GQA's testdev
    python -m research.benchmarks.rank_speed --images 2000 --no-faiss             without FAISS: times of the parts
    python -m research.benchmarks.rank_speed --images 1024 --mapped FOLDER        943,000 texts in a memory-mapped file of 2 GB

Two kinds of vectors are used: random directions, and clusters where half of the questions repeat another
question's text. Our ranking leaves out an image's own questions and gives exact ranks, with ties ordered by
id. The product does nothing with its result. FAISS finds the best and the last of all questions. Our ranking
scores repeated texts once, so it is also compared with the product of the distinct texts. Product, ours and
FAISS take turns, because the load of the machine may change; ratios are computed per turn. The times of the
parts are CPU seconds of our ranking.
"""

from __future__ import annotations

import resource
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.candidates.ranking import topk
from pipeline.candidates.ranking.rank_inputs import QuestionTable, build_question_table
from pipeline.candidates.ranking.topk import MAX_TILE_TEXTS, TopAndBottom, choose_block_size, top_and_bottom_k
from pipeline.core.parallel import num_local_workers
from pipeline.core.records import Question
from research.benchmarks.harness import run_benchmark, time_call

NUM_CLUSTERS, DIMENSION = 300, 512
BEST, LAST = 2_500, 50  # how many ranks from each end
ROWS_PER_CHUNK = 8192  # texts written or checked at a time


def make_vectors(rng: np.random.Generator, count: int, centres: np.ndarray | None) -> np.ndarray:
    """Return random unit vectors, around centres if given."""
    rows = rng.standard_normal((count, DIMENSION), dtype=np.float32)
    if centres is not None:
        rows += centres[rng.integers(len(centres), size=count)]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_question_table(rng: np.random.Generator, images: int, questions: int, texts: int) -> QuestionTable:
    """Return questions about random images.

    Each text occurs at least once, some texts much more often than others.
    """
    text = [*range(texts), *(texts * rng.random(questions - texts) ** 3).astype(int).tolist()]
    owners = rng.integers(images, size=questions).tolist()
    asked = [
        Question(question_id=f"{i:08d}", image_id=str(owner), split="testdev", text=str(row), answer="yes")
        for i, (row, owner) in enumerate(zip(text, owners, strict=True))
    ]
    return build_question_table(asked, [str(i) for i in range(images)], [str(i) for i in range(texts)])


def multiply_tiles(images: np.ndarray, texts: np.ndarray) -> None:
    """Compute only the product, in the tiles of our ranking, one block per thread.

    This is at least as fast here as one product on several threads.
    """

    height = choose_block_size(len(images))

    def block(start: int) -> None:
        rows = images[start : start + height]
        out = np.empty((len(rows), MAX_TILE_TEXTS), np.float32)
        for first in range(0, len(texts), MAX_TILE_TEXTS):
            part = texts[first : first + MAX_TILE_TEXTS]
            np.matmul(rows, part.T, out=out[:, : len(part)])

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(num_local_workers()) as pool:
        list(pool.map(block, range(0, len(images), height)))


@contextmanager
def track_anonymous_memory() -> Iterator[list[float]]:
    """Measure the peak of this process's own memory in GB while the context lasts, without pages of mapped
    files.
    """
    peak, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            lines = Path("/proc/self/status").read_text().splitlines()
            peak[0] = max(
                peak[0], *(int(line.split()[1]) / 1e6 for line in lines if line.startswith("RssAnon"))
            )

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def rank_mapped(folder: Path, images_count: int, count: int) -> None:
    """Rank texts in a mapped file. The file is kept for the next run."""
    rng, path = np.random.default_rng(0), folder / f"texts-{count}.npy"
    if not path.exists():
        texts = np.lib.format.open_memmap(path, "w+", np.float32, (count, DIMENSION))
        for start in range(0, count, ROWS_PER_CHUNK):
            texts[start : start + ROWS_PER_CHUNK] = make_vectors(
                rng, min(ROWS_PER_CHUNK, count - start), None
            )
        texts.flush()
    images, texts = make_vectors(rng, images_count, None), np.load(path, mmap_mode="r")
    questions = make_question_table(rng, images_count, count, count)
    top_and_bottom_k(
        images[:4], texts[:800].copy(), make_question_table(rng, 4, 1000, 800), 10, 10
    )  # warm-up: compiles the code
    with track_anonymous_memory() as before:
        time.sleep(0.2)
    with track_anonymous_memory() as peak:
        result, (clock, processors) = time_call(top_and_bottom_k, images, texts, questions, BEST, LAST)
    check_ranking(result, images, texts, questions, rng)
    pairs = images_count * count / 1e6
    print(f"{images_count:,} x {count:,}, texts mapped: {clock:.4g} s wall clock, {processors:.4g} CPU-s")
    print(f"  {pairs / processors:.3g} million pairs per CPU second; {result.num_recomputed} rows recomputed")
    print(f"  own memory {before[0]:.2f} GB before (images, questions), at most {peak[0]:.2f} GB", flush=True)


# Functions of `topk`, and what they do.
TIMED_FUNCTIONS = {
    "_estimate_thresholds": "thresholds from the scores of a sample",
    "append_survivors": "compare, score survivors exactly, append",
    "_sort_keys": "sort",
    "unpack_keys": "unpack",
    "_is_complete": "check completeness",
}


@contextmanager
def time_parts(seconds: dict[str, float]) -> Iterator[None]:
    """While the context lasts, add the CPU seconds of each part of ranking to `seconds`."""
    lock, originals = threading.Lock(), {name: getattr(topk, name) for name in TIMED_FUNCTIONS}

    def timing(name: str) -> Callable[..., object]:
        def work(*args: object) -> object:
            start = time.thread_time()
            result = originals[name](*args)
            with lock:
                seconds[name] += time.thread_time() - start
            return result

        return work

    for name in TIMED_FUNCTIONS:
        setattr(topk, name, timing(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(topk, name, original)


def measure_ranking(kind: str, images_count: int, questions_count: int, turns: int, faiss: bool) -> None:
    """Time one kind of vectors and print the figures."""
    rng = np.random.default_rng(0)
    clustered = kind == "clustered"
    count = questions_count // 2 if clustered else questions_count
    centres = 1.5 * rng.standard_normal((NUM_CLUSTERS, DIMENSION), dtype=np.float32) if clustered else None
    images, texts = (make_vectors(rng, n, centres) for n in (images_count, count))
    questions = make_question_table(rng, images_count, questions_count, count)
    top_and_bottom_k(images[:4], texts[:800], make_question_table(rng, 4, 1000, 800), 10, 10)  # compiles

    every = texts[questions.text_rows] if clustered else texts
    rivals: dict[str, Callable[[], object]] = {
        "product of the same pairs": lambda: multiply_tiles(images, every)
    }
    if clustered:
        rivals["product of distinct texts"] = lambda: multiply_tiles(images, texts)
    ours, others, seconds = [], defaultdict(list), dict.fromkeys(TIMED_FUNCTIONS, 0.0)
    for turn in range(turns):
        for name, rival in rivals.items():
            others[name].append(time_call(rival)[1])
        with time_parts(seconds):
            result, took = time_call(top_and_bottom_k, images, texts, questions, BEST, LAST)
        ours.append(took)
        if not turn:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            check_ranking(result, images, texts, questions, rng)
            print(f"{kind}: peak memory {memory:.2f} GB, {result.num_recomputed} rows recomputed")
            if faiss:
                rivals["FAISS flat, both ends"] = search_with_faiss(images, every)
                others["FAISS flat, both ends"].append(time_call(rivals["FAISS flat, both ends"])[1])
    for name, its in others.items():
        print_comparison(kind, np.array(ours), name, np.array(its))
    whole = sum(took[1] for took in ours)
    print(f"{kind}: parts of our {whole / turns:.3g} CPU seconds")
    for name, what in TIMED_FUNCTIONS.items():
        print(f"  {what:<45} {seconds[name] / turns:8.3g}  {seconds[name] / whole:6.1%}")
    rest = whole - sum(seconds.values())
    print(
        f"  {'matrix products, and everything else':<45} {rest / turns:8.3g}  {rest / whole:6.1%}",
        flush=True,
    )


def search_with_faiss(images: np.ndarray, texts: np.ndarray) -> Callable[[], object]:
    """Return a call that searches both ends with FAISS."""
    import faiss

    index = faiss.IndexFlatIP(DIMENSION)
    index.add(texts)
    return lambda: (index.search(images, BEST), index.search(-images, LAST))


def print_comparison(kind: str, ours: np.ndarray, peer: str, its: np.ndarray) -> None:
    """Print mean, minimum and maximum of times and ratios.

    Times have shape [turns, 2]: wall clock and CPU.
    """
    print(f"{kind}, ours against {peer}: wall clock / CPU")
    rows = {
        "ours, seconds": ours,
        f"{peer}, seconds": its,
        "ours / its": ours / its,
        "its / ours": its / ours,
    }
    for name, values in rows.items():
        mean, minimum, maximum = values.mean(0), values.min(0), values.max(0)
        figures = (f"{mean[k]:8.3g} [{minimum[k]:.3g}, {maximum[k]:.3g}]" for k in (0, 1))
        print(f"  {name:<40} {' / '.join(figures)}", flush=True)


def check_ranking(
    result: TopAndBottom,
    images: np.ndarray,
    texts: np.ndarray,
    table: QuestionTable,
    rng: np.random.Generator,
) -> None:
    """Check for three rows that the result is that of sorting all scores.

    The speed is measured only after this check.
    """
    for row in rng.choice(len(images), 3, replace=False):
        image, starts = images[row].astype(float), range(0, len(texts), ROWS_PER_CHUNK)
        products = np.concatenate([texts[i : i + ROWS_PER_CHUNK].astype(float) @ image for i in starts])
        score = np.rint(1e6 * products).astype(int)[table.text_rows]
        order = np.lexsort((np.arange(len(score)), -score))
        own = table.texts_by_image[[row]].indices
        order = order[~np.isin(table.text_rows[order], own)]
        best, last = result.top.questions[row], result.bottom.questions[row]
        assert (best == order[: len(best)]).all() and (last == order[::-1][: len(last)]).all()


def main(
    images: int = 10_000,
    questions: int = 132_062,
    turns: int = 5,
    faiss: bool = True,
    mapped: Path | None = None,
    texts: int = 943_000,
) -> None:
    if mapped:
        rank_mapped(mapped, images, texts)
        return
    # Each kind runs in its own process, so that peak memory is measured separately.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        for kind in ("random", "clustered"):
            pool.submit(measure_ranking, kind, images, questions, turns, faiss).result()


if __name__ == "__main__":
    run_benchmark(main)
