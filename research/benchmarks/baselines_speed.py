"""Measure time and memory of `rgqa baselines` on random region features of GQA's shape, [36, 2048] per image.

    python -m research.benchmarks.baselines_speed [--questions 1000000] [--steps 8]

Questions are read from a file in GQA's format into arrays. Nets are trained in steps of 256 answerable
questions, and all available models of the leaderboard answer batches of 256 questions. In the same run, the
time of a step is compared with that of a matrix product of as many operations as torch counts in the step,
and the time of reading with that of reading only the features of as many images from the memory-mapped file. GQA's HDF5 is read in disk order, and row by row in the requested order.
"""

from __future__ import annotations

import json
import resource
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from pipeline.sources.training_questions import read_training_questions
from research.benchmarks.harness import run_benchmark, time_call
from research.reference_models.baseline_nets import TRAIN_BATCH_SIZE, BaselineConfig, TrainingData
from research.reference_models.baseline_rows import AVAILABLE_ROWS
from research.reference_models.inference import LoadedModel, forward
from research.reference_models.leaderboard_rows import LEADERBOARD_ROWS
from research.reference_models.net_configs import (
    NET_CONFIGS,
    initialize_net,
    make_shape,
    make_training_config,
)
from research.reference_models.net_training import NetTraining
from research.reference_models.question_arrays import QuestionCollector, take_rows
from research.reference_models.region_stores import Hdf5Store, open_region_store

NUM_IMAGES, REGIONS_PER_IMAGE, FEATURE_SIZE = 1000, 36, 2048
NUM_ANSWERS, NUM_WORDS, QUESTION_LENGTH = 1842, 3000, 9
TRAINED_NETS = ("vanilla", "rp", "mix", "resample")


def write_arrays(folder: Path, rng: np.random.Generator) -> None:
    folder.mkdir()
    ids = [f"n{i}" for i in range(NUM_IMAGES)]
    (folder / "images.json").write_text(json.dumps(ids))
    shape = (NUM_IMAGES, REGIONS_PER_IMAGE, FEATURE_SIZE)
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float16, shape)
    for start in range(0, NUM_IMAGES, 100):
        features[start : start + 100] = rng.random((100, REGIONS_PER_IMAGE, FEATURE_SIZE), np.float32)
    features.flush()
    boxes = np.sort(rng.random((NUM_IMAGES, REGIONS_PER_IMAGE, 2, 2), np.float32), axis=2)
    np.save(folder / "boxes.npy", boxes.reshape(NUM_IMAGES, REGIONS_PER_IMAGE, 4))


def write_questions(path: Path, count: int, rng: np.random.Generator) -> None:
    """Write questions of QUESTION_LENGTH words, with small values in GQA's other fields."""
    rest = (
        ', "isBalanced": true, "semantic": [{"operation": "select", "dependencies": [], "argument": "x (1)"}]'
    )
    with path.open("w") as file:
        for i, words in enumerate(rng.integers(0, NUM_WORDS, (count, QUESTION_LENGTH))):
            text = " ".join(f"w{word}" for word in words)
            answer = int(rng.zipf(1.5)) % (2 * NUM_ANSWERS)
            row = f'"imageId": "n{i % NUM_IMAGES}", "question": "{text}?", "answer": "a{answer}"{rest}'
            file.write(f'{"," if i else "{"}\n"{i:08d}": {{{row}}}')
        file.write("}\n")


def peak_memory_gb() -> float:
    """Return the peak memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def time_matrix_product(operations: float) -> float:
    """Return the CPU seconds of a matrix product of that many operations."""
    size = 1024
    one, repeats = torch.rand(size, size), max(1, round(operations / (2 * size**3)))
    _, seconds = time_call(lambda: [one @ one for _ in range(repeats)])
    return seconds[1] * operations / (2 * size**3 * repeats)


def measure_training(data: TrainingData, plan: BaselineConfig, steps: int) -> None:
    per_million = 1e6 / TRAIN_BATCH_SIZE
    for name in TRAINED_NETS:
        how = NET_CONFIGS[name]
        shape = make_shape(how, data.vocabulary, len(data.answers), data.store, plan.use_match)
        run = NetTraining(
            initialize_net(shape, data.feature_moments, 0),
            data.train,
            data.store,
            make_training_config(how, 9, steps + 2, False, 0.0),
            0,
        )
        run.step(0)
        with FlopCounterMode(display=False) as counted:
            run.step(1)
        _, seconds = time_call(lambda run=run: [run.step(2 + number) for number in range(steps)])
        bare = time_matrix_product(counted.get_total_flops())
        step = seconds[1] / steps
        print(
            f"train {name}: {step:.2f} CPU-s per step of {TRAIN_BATCH_SIZE}, {step * per_million / 3600:.1f} CPU-h per million; "
            f"{counted.get_total_flops() / 1e9:.1f} GFLOP, {step / bare:.1f} times the matrix product; peak {peak_memory_gb():.2f} GB",
            flush=True,
        )
    places = data.train.image_indices[: 4 * TRAIN_BATCH_SIZE].reshape(4, TRAIN_BATCH_SIZE)
    _, seconds = time_call(lambda: [data.store.get_regions(part) for part in places])
    print(f"reading the regions of a batch from the memory-mapped file: {seconds[1] / 4:.3f} CPU-s")


def measure_answering(data: TrainingData, plan: BaselineConfig) -> None:
    nets = {}
    for name in {net for row in AVAILABLE_ROWS for net in LEADERBOARD_ROWS[row].required_nets}:
        how = NET_CONFIGS[name]
        shape = make_shape(how, data.vocabulary, len(data.answers), data.store, plan.use_match)
        names = ("answerable",) if how.has_single_output else data.answers
        nets[name] = LoadedModel(
            initialize_net(shape, data.feature_moments, 0).eval(), data.vocabulary, names
        )
    batch = (
        data.train.tokens[:TRAIN_BATCH_SIZE].astype(np.int64),
        *data.store.get_regions(data.train.image_indices[:TRAIN_BATCH_SIZE]),
    )
    _, seconds = time_call(
        lambda: [forward(net, batch, 1e-4 * (name == "vanilla")) for name, net in nets.items()]
    )
    hours = seconds[1] * 1e6 / TRAIN_BATCH_SIZE / 3600
    print(
        f"answer, {len(nets)} nets: {seconds[1]:.2f} CPU-s per batch, {hours:.1f} CPU-h per million; {peak_memory_gb():.2f} GB"
    )


def measure_hdf5(folder: Path, rng: np.random.Generator, images: int = 400) -> None:
    folder.mkdir()
    with h5py.File(folder / "gqa_objects_0.h5", "w") as file:
        features = file.create_dataset("features", (images, 100, FEATURE_SIZE), np.float32)
        for row in range(images):
            features[row] = rng.random((100, FEATURE_SIZE), np.float32)
        file["bboxes"] = rng.random((images, 100, 4), np.float32)
    info = {f"n{i}": {"file": 0, "idx": i, "width": 1, "height": 1} for i in range(images)}
    (folder / "gqa_objects_info.json").write_text(json.dumps(info))
    store, places = Hdf5Store(folder), rng.integers(0, images, TRAIN_BATCH_SIZE)
    _, ours = time_call(store.get_regions, places)
    with h5py.File(folder / "gqa_objects_0.h5") as file:
        at: Any = file["features"]
        _, single = time_call(lambda: np.stack([at[place, :REGIONS_PER_IMAGE] for place in places]))
    print(f"HDF5, per batch: {ours[1]:.3f} CPU-s; row by row in the requested order {single[1]:.3f}")


def main(questions: int = 1_000_000, steps: int = 8) -> None:
    rng, plan = np.random.default_rng(0), BaselineConfig(num_answers=NUM_ANSWERS)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_arrays(home / "features", rng)
        write_questions(home / "train.json", questions, rng)
        store = open_region_store(home / "features")
        before = peak_memory_gb()
        gathered, seconds = time_call(QuestionCollector, read_training_questions(home / "train.json"))
        words, answers = gathered.build_vocabulary(), gathered.top_answers(plan.num_answers)
        numbers = gathered.to_question_set(words, answers, store, home)
        train = take_rows(numbers, np.flatnonzero(numbers.answers >= 0))
        held = sum(array.nbytes for array in (train.tokens, train.image_indices, train.answers)) / len(
            train.answers
        )
        print(
            f"{questions:,} questions read in {seconds[1]:.1f} CPU-s; {held:.0f} bytes per question are kept; "
            f"peak {peak_memory_gb():.2f} GB ({before:.2f} before, including pages of the mapped file)",
            flush=True,
        )
        del gathered, numbers
        data = TrainingData(train, train, words, answers, store)
        measure_training(data, plan, steps)
        measure_answering(data, plan)
        measure_hdf5(home / "hdf5", rng)


if __name__ == "__main__":
    run_benchmark(main)
