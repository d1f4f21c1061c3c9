"""Measure memory and time of each stage on the sample, scaled to a larger size.

    python -m research.benchmarks.stage_memory --scale 16 --out FOLDER                  source, then all stages up to the release
    python -m research.benchmarks.stage_memory --scale 16 --out FOLDER --again batch    batch again, and what is not measured yet
    python -m research.benchmarks.stage_memory --scale 16 --out FOLDER --again batch --last batch     only batch
    python -m research.benchmarks.stage_memory --questions 943000 --out FOLDER --last batch           as many questions as GQA's train split

Testdev images are generated (160 times the scale, with 13 questions each); train and val have as many graphs
as the sample. With `--questions`, questions are generated from the sample's
(research/benchmarks/scaled_dataset.py), without graphs, with as many images as GQA has for that number, and
rank selects 14 candidates per image: a million for 72,140 images. Random vectors replace CLIP's, because CLIP
would take hours and is not measured: a text has the sum of its words' random vectors, an image the sum of its
questions' vectors and one random vector of the same length, with 256 numbers as in the sample's CLIP.
Verdicts are simulated.

Each stage runs separately. Its memory is the peak over all its processes together, sampled twenty times a
second: `peak` counts their own memory (RssAnon, RssShmem), `with files` also mapped pages of files, which the
system can reclaim. The same command continues an interrupted run. Results are in FOLDER/measured.json.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import psutil

from pipeline.candidates.encoders.clip import Encoder, ModelRecord
from pipeline.candidates.encoders.embedding_cache import (
    CACHE_PATH,
    EmbeddingCache,
    EmbedParams,
    make_cache_keys,
)
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Question, ScreenedCandidate
from pipeline.core.stage_graph import read_stages, stage_module
from research.benchmarks import scaled_dataset
from research.benchmarks.harness import run_benchmark
from research.synthetic_world.private_world import write_world
from research.synthetic_world.scenes import SPLIT_SIZES

DATASET_NAME, SOURCE, RESULTS_FILE = "scaled", "source", "measured.json"
SEED = 64
# Seconds between two measurements of a stage's memory.
SAMPLING_SECONDS = 0.05
QUESTIONS_PER_IMAGE = 13
# Vectors computed at a time.
TEXTS_PER_CHUNK = 4096


class StageCost(msgspec.Struct):
    """What a stage took: wall-clock and CPU seconds, memory in MB (10**6 bytes)."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    peak_with_files_mb: float


# Parameters for --questions. Pools are as large as for GQA.
RANK_PARAMS = {"hard_draw": 8, "hard_pool": 240, "easy_last": 6, "easy_pool": 300}


def main(
    scale: int = 4,
    questions: int = 0,
    out: Path = Path("scaled"),
    again: list[str] | None = None,
    last: str = "release",
) -> None:
    stages = list(read_stages())
    if unknown := {*(again or ()), last} - set(stages):
        raise UserError(f"{', '.join(sorted(unknown))}: no such stage. Stages: {', '.join(stages)}")
    code, home = Path.cwd(), out.absolute()
    size = {"questions": questions} if questions else {"scale": scale}
    if not (home / RESULTS_FILE).exists():
        if questions:
            _write_scaled_project(home, questions)
        else:
            write_world(home, DATASET_NAME, SEED, f"of seed {SEED}", scale)
        write_json(home / RESULTS_FILE, {**size, "stages": {}})
    measured = read_json(home / RESULTS_FILE)
    if {**measured, **size} != measured:
        raise UserError(f"{home}: made with another size (see {RESULTS_FILE} there). Choose another --out.")
    costs = {name: msgspec.convert(cost, StageCost) for name, cost in measured["stages"].items()}
    asked = questions or scale * SPLIT_SIZES["testdev"] * QUESTIONS_PER_IMAGE
    os.chdir(home)  # has the layout of the project
    for stage in stages[: stages.index(last) + 1]:
        if stage in costs and stage not in (again or ()):
            continue
        if stage in ("embed", "similarity"):
            write_random_vectors(stage)
        costs[stage] = measure_stage(stage, code)
        write_json(home / RESULTS_FILE, {**size, "stages": costs})
        print(format_row(stage, costs[stage], asked), flush=True)
    print(f"\n{asked:,} questions\n")
    print("| stage | seconds | CPU seconds | peak MB | with files MB | CPU seconds per 1,000 questions |")
    print("|---|---|---|---|---|---|")
    print("\n".join(format_row(stage, costs[stage], asked) for stage in stages if stage in costs))


def _write_scaled_project(home: Path, questions: int) -> None:
    clip = DatasetFolders("sample").clip
    target = home / "data" / DATASET_NAME / clip.name
    changes = {
        "embed": {"model": f"local-dir:data/{DATASET_NAME}/{clip.name}", "pretrained": ""},
        "rank": RANK_PARAMS,
    }
    scaled_dataset.write_scaled_project(
        home, DATASET_NAME, scaled_dataset.SAMPLE, "testdev", questions, changes
    )
    shutil.copytree(clip, target, dirs_exist_ok=True)


def format_row(stage: str, cost: StageCost, questions: int) -> str:
    """Format a row of the table."""
    each = 1000 * cost.cpu_seconds / questions
    cells = (
        f"{cost.seconds:.1f}",
        f"{cost.cpu_seconds:.1f}",
        f"{cost.peak_mb:,.0f}",
        f"{cost.peak_with_files_mb:,.0f}",
        f"{each:.2f}",
    )
    return f"| {stage} | {' | '.join(cells)} |"


def measure_stage(stage: str, code: Path) -> StageCost:
    """Run a stage in the working directory with the code in folder `code`.

    Raises:
        UserError: The stage failed.
    """
    shutil.rmtree(DatasetFolders().stage_dir(stage), ignore_errors=True)
    path = os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH", "")]))
    start, before = time.perf_counter(), os.times()
    process = subprocess.Popen(
        [sys.executable, "-m", stage_module(stage)], env=os.environ | {"PYTHONPATH": path}
    )
    peak = with_files = 0
    tree = psutil.Process(process.pid)
    while process.poll() is None:
        own, mapped = read_memory(tree)
        peak, with_files = max(peak, own), max(with_files, own + mapped)
        time.sleep(SAMPLING_SECONDS)
    seconds, after = time.perf_counter() - start, os.times()
    if process.returncode:
        raise UserError(f"stage {stage} failed (see its message). Run the same command to continue.")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return StageCost(round(seconds, 1), round(used, 1), round(peak / 1e3, 1), round(with_files / 1e3, 1))


def read_memory(tree: psutil.Process) -> tuple[int, int]:
    """Return the memory of a process and its descendants in kB: their own, and pages of files."""
    own = mapped = 0
    try:
        members = [tree, *tree.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0, 0
    for member in members:
        try:
            lines = Path(f"/proc/{member.pid}/status").read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, ProcessLookupError):  # the process has ended
            continue
        held = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")}
        own += held.get("RssAnon", 0) + held.get("RssShmem", 0)
        mapped += held.get("RssFile", 0)
    return own, mapped


def write_random_vectors(stage: str) -> None:
    """Write random vectors to the cache of embed and similarity."""
    p, folders = params.load_params("embed", EmbedParams), DatasetFolders()
    model = Encoder(p.model, p.pretrained).record
    words = RandomWordVectors(model.dimension)
    with closing(EmbeddingCache(CACHE_PATH, model.dimension)) as cache:
        if stage == "similarity":
            _cache_texts(
                cache, model, {row.candidate.text for row in folders.read_records(ScreenedCandidate)}, words
            )
            return
        images = {row.image_id: row.sha256 for row in folders.read_records(ImageRecord)}
        place = {key: number for number, key in enumerate(images)}
        sums, texts = np.zeros((len(images), model.dimension), np.float32), set[str]()
        for question in folders.read_records(Question):
            if question.image_id in place:
                sums[place[question.image_id]] += words.embed_text(question.text)
                texts.add(question.text)
        own = _normalize_rows(np.random.default_rng(SEED).standard_normal(sums.shape))
        cache.put(
            make_cache_keys(model, "image", images.values()), _normalize_rows(_normalize_rows(sums) + own)
        )
        _cache_texts(cache, model, texts, words)


class RandomWordVectors:
    """Random vectors of words."""

    def __init__(self, dimension: int) -> None:
        self._dimension, self._vectors = dimension, dict[str, np.ndarray]()

    def embed_text(self, text: str) -> np.ndarray:
        """Return the normalized sum of the vectors of a text's words."""
        return _normalize_rows(
            sum(map(self._word_vector, text.lower().strip("?").split()), np.zeros(self._dimension))[None]
        )[0]

    def _word_vector(self, word: str) -> np.ndarray:
        if word not in self._vectors:
            seed = int.from_bytes(word.encode(), "big")
            self._vectors[word] = np.random.default_rng(seed).standard_normal(self._dimension)
        return self._vectors[word]


def _cache_texts(
    cache: EmbeddingCache, model: ModelRecord, texts: Iterable[str], words: RandomWordVectors
) -> None:
    ordered = sorted(texts)
    for start in range(0, len(ordered), TEXTS_PER_CHUNK):
        some = ordered[start : start + TEXTS_PER_CHUNK]
        cache.put(
            make_cache_keys(model, "text", some),
            np.array([words.embed_text(text) for text in some], np.float32),
        )


def _normalize_rows(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


if __name__ == "__main__":
    run_benchmark(main)
