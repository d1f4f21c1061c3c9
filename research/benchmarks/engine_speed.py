"""The two engines of `pipeline/core/parallel.py` on this machine in one run: its processes, and Ray's actors.

    OMP_NUM_THREADS=2 python -m research.benchmarks.engine_speed                     two of each
    OMP_NUM_THREADS=2 python -m research.benchmarks.engine_speed --questions 60000

embed runs on the sample (its images and texts, by its own CLIP, nothing kept from before), perturb and screen on a stand-in for
GQA's questions (research/benchmarks/scaled_dataset.py), the ranking of `rank` on random vectors (--ranked FOLDER is what is started for that).
What a stage writes must be the same bytes. Each stage is a command of its own, so each begins a Ray and ends it; on a cluster that
is there already (RAY_ADDRESS) that time falls away. `first` is what the command's own process uses of it, which no cluster
shares: all of it over that is how many times faster a stage can get. Printed beside it: what it takes to begin a Ray, a million
empty items through either engine, what embed's own process can plan and keep in a second, and rank's own read and number.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import EmbeddingCache
from pipeline.candidates.ranking.rank_inputs import build_question_table
from pipeline.candidates.ranking.topk import top_and_bottom_k
from pipeline.core.images import load_rgb
from pipeline.core.json_files import read_json, read_jsonl, write_jsonl
from pipeline.core.parallel import ENGINES, num_local_workers, ordered_map
from pipeline.core.ray_pool import connect_ray
from pipeline.core.records import Question
from pipeline.core.stage_graph import stage_module
from research.benchmarks import scaled_dataset
from research.benchmarks.embed_speed import write_model
from research.benchmarks.harness import run_benchmark, time_call
from research.benchmarks.rank_speed import BEST, LAST, make_question_table, make_vectors
from research.benchmarks.scaled_dataset import ROOT

NUM_ITEMS = 1_000_000
TEXT_BATCH_SIZE = 128  # texts, as in params.yaml
NUM_TURNS = 10
NUM_VECTORS = {"images": 8_192, "texts": 264_124}  # enough pairs to be worth two actors


def run_monitored(arguments: list[str], folder: Path) -> tuple[float, float, float, float]:
    """Run a Python program in a folder and look at it and all processes below it ten times a second: seconds on the clock, of
    processors, of them its own process's, and the most memory of all together, in GB."""
    start, used, peak = time.perf_counter(), dict[int, float](), 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = psutil.Popen([sys.executable, *arguments], cwd=folder, env=environment)
    while process.poll() is None:
        with suppress(psutil.Error):  # one has just ended
            every = [process, *process.children(recursive=True)]
            used |= {each.pid: sum(each.cpu_times()[:2]) for each in every}
            peak = max(peak, sum(each.memory_info().rss for each in every))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return time.perf_counter() - start, sum(used.values()), used[process.pid], peak / 1e9


def hash_folder(folder: Path) -> str:
    """What depends on the names and bytes of all files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


def compare_engines(folder: Path, interim: Path, stage: str, *, by: Sequence[str] = ()) -> None:
    """Run a stage, or what stands for it, by each engine and print what it costs."""
    sums = set()
    for engine in ENGINES:
        os.environ["RGQA_ENGINE"] = engine
        shutil.rmtree(folder / "data/cache", ignore_errors=True)  # the vectors that embed kept
        clock, used, first, memory = run_monitored(["-m", *(by or [stage_module(stage)])], folder)
        print(f"{stage:<10} {engine:<6} {clock:8.1f} {used:14.1f} {first:8.1f} {memory:8.2f}", flush=True)
        sums.add(hash_folder(interim / stage))
    if len(sums) > 1:
        raise SystemExit(f"{stage}: the engines differ")


def measure_towers() -> None:
    """What a copy of the network does: both towers of ViT-B-32 (random weights, which change no speed) on one processor."""
    import torch

    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        write_model(Path(folder), image_layers=12)
        encoder = clip.Encoder(f"local-dir:{folder}", device="cpu")
    images = sorted((ROOT / "data/sample/source/images").iterdir())[:32]
    _, (_, used) = time_call(lambda: [encoder._transform(load_rgb(path)) for path in images])
    print(f"images prepared: {len(images) / used:,.0f} a second of one processor")
    asked = read_json(
        ROOT / "data/sample/source/questions1.2/testdev_balanced_questions.json", dict[str, Any]
    )
    texts = sorted({question["question"] for question in asked.values()})[:TEXT_BATCH_SIZE]
    for name, batches, count in (
        ("images", encoder.encode_images(images, 32), len(images)),
        ("texts", encoder.encode_texts(texts, TEXT_BATCH_SIZE), len(texts)),
    ):
        _, (clock, used) = time_call(list, batches)
        print(
            f"{name} encoded: {count / used:,.1f} a second of one processor ({count / clock:,.1f} on the clock)",
            flush=True,
        )


def measure_embed_overhead() -> None:
    """What embed does in its own process whatever the engine: texts to tokens, vectors to the cache."""
    encoder = clip.Encoder(f"local-dir:{ROOT}/data/sample/clip", device="cpu")
    texts = [f"{number} big cups on the table to the left of the red plate?" for number in range(40_000)]
    _, (clock, used) = time_call(encoder._tokenize, texts)
    print(f"texts to tokens: {len(texts) / clock:,.0f} a second, {len(texts) / used:,.0f} of one processor")
    ones = np.ones((TEXT_BATCH_SIZE, 512), np.float32)
    with (
        TemporaryDirectory() as folder,
        closing(EmbeddingCache(Path(folder) / "vectors.sqlite", 512)) as cache,
    ):
        batches = [
            [(place + row).to_bytes(32, "big") for row in range(TEXT_BATCH_SIZE)]
            for place in range(0, len(texts), TEXT_BATCH_SIZE)
        ]
        _, (clock, used) = time_call(lambda: [cache.put(keys, ones) for keys in batches])
        print(f"vectors kept: {len(texts) / clock:,.0f} a second, {len(texts) / used:,.0f} of one processor")


def return_item(_: int, item: int) -> int:
    return item


def measure_sample(folder: Path) -> None:
    """embed of the sample, by its own CLIP."""
    (folder / "data/sample").mkdir(parents=True)
    for part in ("source", "clip"):
        (folder / "data/sample" / part).symlink_to(ROOT / "data/sample" / part)
    shutil.copy(ROOT / "params.yaml", folder)
    run_monitored(["-m", "pipeline.stages.ingest"], folder)
    interim = folder / "data/sample/interim"
    compare_engines(folder, interim, "embed")
    measure_rank_questions(interim / "ingest/questions.jsonl")


def measure_rank_questions(path: Path) -> None:
    """What rank's own process does with the questions whatever the engine: read, hold and number them."""
    tracemalloc.start()
    questions = list(read_jsonl(path, Question))
    held = tracemalloc.get_traced_memory()[0] / len(questions)
    tracemalloc.stop()
    images, texts = sorted({q.image_id for q in questions}), sorted({q.text for q in questions})
    _, (_, reading) = time_call(
        lambda: [sum(1 for _ in read_jsonl(path, Question)) for _ in range(NUM_TURNS)]
    )
    _, (_, numbering) = time_call(
        lambda: [build_question_table(questions, images, texts) for _ in range(NUM_TURNS)]
    )
    read, numbered = (NUM_TURNS * len(questions) / used for used in (reading, numbering))
    print(
        f"rank's questions: {read:,.0f} read, {numbered:,.0f} numbered a second of one processor, {held:,.0f} bytes each"
    )


def measure_scaled_questions(folder: Path, questions: int) -> None:
    """perturb and screen of a stand-in for so many questions."""
    interim = folder / "data/standin/interim"
    scaled_dataset.write_scaled_project(folder, "standin", scaled_dataset.SAMPLE, "testdev", questions, {})
    write_jsonl(
        interim / "rank/candidates.jsonl", ()
    )  # CLIP proposes nothing: this is about perturbed questions
    for stage in ("ingest", "vocabulary", "tag"):
        run_monitored(["-m", stage_module(stage)], folder)
    for stage in ("perturb", "screen"):
        compare_engines(folder, interim, stage)


def measure_random_ranking(folder: Path) -> None:
    """The ranking of random vectors that lie in files."""
    (folder / "rank").mkdir()
    rng = np.random.default_rng(0)
    for name, count in NUM_VECTORS.items():
        np.save(folder / f"{name}.npy", make_vectors(rng, count, None))
    compare_engines(folder, folder, "rank", by=["research.benchmarks.engine_speed", "--ranked", str(folder)])


def rank_folder(folder: Path) -> None:
    """Rank the vectors of a folder, as stage rank does."""
    files = folder / "images.npy", folder / "texts.npy"
    images, texts = np.load(files[0]), np.load(files[1], mmap_mode="r")
    asked = make_question_table(np.random.default_rng(0), len(images), len(texts), len(texts))
    found = top_and_bottom_k(images, texts, asked, BEST, LAST, npy_paths=files)
    for name, end in (("best", found.top), ("last", found.bottom)):
        np.save(folder / f"rank/{name}.npy", np.stack(end))


def measure_empty_items() -> None:
    """How long a Ray takes to begin, and how fast either engine hands out items and takes results."""
    start = time.perf_counter()
    connect_ray(num_local_workers())
    print(f"a Ray of this machine's own begins in {time.perf_counter() - start:.1f} s", flush=True)
    for engine in ENGINES:
        os.environ["RGQA_ENGINE"] = engine
        results = ordered_map(return_item, repeat(1, NUM_ITEMS), partial(int, 0), 2)
        next(results)  # the processes have begun
        total, (clock, used) = time_call(sum, results)
        print(
            f"{engine:<6} {total / clock:10,.0f} empty items/s, {total / used:,.0f} of this process's processor"
        )


def main(questions: int = scaled_dataset.GQA_QUESTIONS // 36, ranked: Path | None = None) -> None:
    if ranked:
        rank_folder(ranked)
        return
    os.environ["RGQA_ENGINE"] = "local"
    print(f"{num_local_workers()} processes; load average before {os.getloadavg()[0]:.1f}", flush=True)
    measure_empty_items()
    os.environ["RGQA_ENGINE"] = "local"
    measure_towers()
    measure_embed_overhead()
    print(f"{'':<17} seconds  of processors    first   GB, all processes together", flush=True)
    with TemporaryDirectory() as name:
        measure_sample(Path(name))
    os.environ["RGQA_ENGINE"] = "local"
    with TemporaryDirectory() as name:
        measure_scaled_questions(Path(name), questions)
    with TemporaryDirectory() as name:
        measure_random_ranking(Path(name))


if __name__ == "__main__":
    run_benchmark(main)
