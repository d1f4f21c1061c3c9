"""Time and memory of `rgqa baselines` on random region features of GQA's shape, [36, 2048] a picture.

    python -m research.benchmarks.baselines_speed [--questions 1000000] [--steps 8]

Questions are read from a file in GQA's form and become arrays; nets make steps of 256 answerable questions on them; all rows that
can be made answer batches of 256. Peers, in the same run: a bare matrix product of as many operations as torch counts in the
step, and reading the features of as many pictures from the mapped file alone. GQA's HDF5 is read in the order of the disk, and row by
row in the order asked for.
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

from pipeline.sources.training_questions import asked_questions
from research.benchmarks.harness import command, timed
from research.reference_models.baseline_nets import BATCH, Data, Plan
from research.reference_models.baseline_rows import POSSIBLE
from research.reference_models.inference import Asked, see
from research.reference_models.leaderboard_rows import ROWS
from research.reference_models.net_configs import NETS, new_net, recipe_of, shape_of
from research.reference_models.net_training import NetTraining
from research.reference_models.question_arrays import Gathered, rows_of
from research.reference_models.region_files import open_regions
from research.reference_models.region_stores import HdfStore

PICTURES, REGIONS, WIDTH = 1000, 36, 2048
ANSWERS, WORDS, LENGTH = 1842, 3000, 9
TRAINED = ("vanilla", "rp", "mix", "resample")


def write_arrays(folder: Path, rng: np.random.Generator) -> None:
    folder.mkdir()
    ids = [f"n{i}" for i in range(PICTURES)]
    (folder / "pictures.json").write_text(json.dumps(ids))
    shape = (PICTURES, REGIONS, WIDTH)
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float16, shape)
    for start in range(0, PICTURES, 100):
        features[start : start + 100] = rng.random((100, REGIONS, WIDTH), np.float32)
    features.flush()
    boxes = np.sort(rng.random((PICTURES, REGIONS, 2, 2), np.float32), axis=2)
    np.save(folder / "boxes.npy", boxes.reshape(PICTURES, REGIONS, 4))


def write_questions(path: Path, count: int, rng: np.random.Generator) -> None:
    """Each has LENGTH words and the other fields that GQA's have, filled with little."""
    rest = (
        ', "isBalanced": true, "semantic": [{"operation": "select", "dependencies": [], "argument": "x (1)"}]'
    )
    with path.open("w") as file:
        for i, words in enumerate(rng.integers(0, WORDS, (count, LENGTH))):
            text = " ".join(f"w{word}" for word in words)
            answer = int(rng.zipf(1.5)) % (2 * ANSWERS)
            row = f'"imageId": "n{i % PICTURES}", "question": "{text}?", "answer": "a{answer}"{rest}'
            file.write(f'{"," if i else "{"}\n"{i:08d}": {{{row}}}')
        file.write("}\n")


def peak() -> float:
    """GB of memory at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def product(operations: float) -> float:
    """CPU seconds of a bare matrix product of so many operations."""
    size = 1024
    one, repeats = torch.rand(size, size), max(1, round(operations / (2 * size**3)))
    _, seconds = timed(lambda: [one @ one for _ in range(repeats)])
    return seconds[1] * operations / (2 * size**3 * repeats)


def train_speed(data: Data, plan: Plan, steps: int) -> None:
    per_million = 1e6 / BATCH
    for name in TRAINED:
        how = NETS[name]
        shape = shape_of(how, data.words, len(data.answers), data.store, plan.match)
        run = NetTraining(
            new_net(shape, data.moments, 0),
            data.train,
            data.store,
            recipe_of(how, 9, steps + 2, False, 0.0),
            0,
        )
        run.step(0)
        with FlopCounterMode(display=False) as counted:
            run.step(1)
        _, seconds = timed(lambda run=run: [run.step(2 + number) for number in range(steps)])
        bare = product(counted.get_total_flops())
        step = seconds[1] / steps
        print(
            f"train {name}: {step:.2f} CPU-s a step of {BATCH}, {step * per_million / 3600:.1f} CPU-h a million; "
            f"{counted.get_total_flops() / 1e9:.1f} GFLOP, {step / bare:.1f} times their bare product; peak {peak():.2f} GB",
            flush=True,
        )
    places = data.train.pictures[: 4 * BATCH].reshape(4, BATCH)
    _, seconds = timed(lambda: [data.store.take(part) for part in places])
    print(f"reading the regions of a batch from the mapped file: {seconds[1] / 4:.3f} CPU-s")


def answer_speed(data: Data, plan: Plan) -> None:
    nets = {}
    for name in {net for row in POSSIBLE for net in ROWS[row].nets}:
        how = NETS[name]
        shape = shape_of(how, data.words, len(data.answers), data.store, plan.match)
        names = ("answerable",) if how.one else data.answers
        nets[name] = Asked(new_net(shape, data.moments, 0).eval(), data.words, names)
    batch = (data.train.tokens[:BATCH].astype(np.int64), *data.store.take(data.train.pictures[:BATCH]))
    _, seconds = timed(lambda: [see(net, batch, 1e-4 * (name == "vanilla")) for name, net in nets.items()])
    hours = seconds[1] * 1e6 / BATCH / 3600
    print(
        f"answer, {len(nets)} nets: {seconds[1]:.2f} CPU-s a batch, {hours:.1f} CPU-h a million; {peak():.2f} GB"
    )


def hdf_speed(folder: Path, rng: np.random.Generator, pictures: int = 400) -> None:
    folder.mkdir()
    with h5py.File(folder / "gqa_objects_0.h5", "w") as file:
        features = file.create_dataset("features", (pictures, 100, WIDTH), np.float32)
        for row in range(pictures):
            features[row] = rng.random((100, WIDTH), np.float32)
        file["bboxes"] = rng.random((pictures, 100, 4), np.float32)
    info = {f"n{i}": {"file": 0, "idx": i, "width": 1, "height": 1} for i in range(pictures)}
    (folder / "gqa_objects_info.json").write_text(json.dumps(info))
    store, places = HdfStore(folder), rng.integers(0, pictures, BATCH)
    _, ours = timed(store.take, places)
    with h5py.File(folder / "gqa_objects_0.h5") as file:
        at: Any = file["features"]
        _, single = timed(lambda: np.stack([at[place, :REGIONS] for place in places]))
    print(f"HDF5, a batch: {ours[1]:.3f} CPU-s; row by row in the order asked for {single[1]:.3f}")


def main(questions: int = 1_000_000, steps: int = 8) -> None:
    rng, plan = np.random.default_rng(0), Plan(answers=ANSWERS)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_arrays(home / "features", rng)
        write_questions(home / "train.json", questions, rng)
        store = open_regions(home / "features")
        before = peak()
        gathered, seconds = timed(Gathered, asked_questions(home / "train.json"))
        words, answers = gathered.known_words(), gathered.frequent_answers(plan.answers)
        numbers = gathered.numbered(words, answers, store, home)
        train = rows_of(numbers, np.flatnonzero(numbers.answers >= 0))
        held = sum(array.nbytes for array in (train.tokens, train.pictures, train.answers)) / len(
            train.answers
        )
        print(
            f"{questions:,} questions read in {seconds[1]:.1f} CPU-s; {held:.0f} bytes each are kept; "
            f"peak {peak():.2f} GB ({before:.2f} before, the mapped file's pages included)",
            flush=True,
        )
        del gathered, numbers
        data = Data(train, train, words, answers, store)
        train_speed(data, plan, steps)
        answer_speed(data, plan)
        hdf_speed(home / "hdf5", rng)


if __name__ == "__main__":
    command(main)
