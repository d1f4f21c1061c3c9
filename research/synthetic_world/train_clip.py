"""Train the sample's own small CLIP on synthetic train images and their texts: `rgqa sample train-clip`.

Renders the images, trains in three phases with `open_clip.ClipLoss`, and writes data/sample/clip.

1. Texts only. A question is matched with the description of its scene. The description consists of the noun phrases ("a small red
   cup") of the objects, pooled like the cells of the image tower. This phase needs no pixels and is cheap.
2. Small images with fixed texts (LiT, Zhai et al. 2022), so that each text is encoded only once. The feature map at the center
   of each object is matched with the noun phrase of the object. The vector of the image is matched with its
   questions and the description of its scene.
3. Full-sized images. The encoder of questions is trained, too. A finer map inside the tower is trained to recognize the names of
   objects, because most objects are small.

The number of images determines how well the model generalizes. With 14,336 images, it memorized many of them.

An interrupted run continues from the last checkpoint in data/cache/sample_clip. `--resume-from FOLDER` starts
with the weights of an earlier run. training.json lists all runs that led to a model.
"""

from __future__ import annotations

import math
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.core.atomic_files import atomic_write
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DATA_DIR
from pipeline.core.progress import report_written, track
from research.synthetic_world.clip_training_data import (
    CHUNK_SIZE,
    IMAGE_SIZE,
    SEED,
    WORK_DIR,
    load_chunks,
    render_chunk,
)

if TYPE_CHECKING:
    from research.synthetic_world.clip_trainer import ClipTrainer

OUTPUT_DIR = DATA_DIR / "sample" / "clip"


def learning_rate_at(step: int, steps: int) -> float:
    """Return the learning rate within a phase: 100 steps of warm-up, then a cosine from 2e-3 to 2e-5."""
    return 2e-3 * min(1, (step + 1) / 100) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def train(
    trainer: ClipTrainer, text_steps: int, small_steps: int, image_steps: int, every: int = 200
) -> None:
    """Run the three phases. Every `every` steps, a checkpoint and a usable model are written."""
    import torch

    from research.synthetic_world.clip_trainer import SMALL_IMAGE_SIZE

    path, steps = WORK_DIR / "checkpoint.pt", [text_steps, small_steps, image_steps]
    # First step of each phase, and total number of steps.
    first = [0, text_steps, text_steps + small_steps, sum(steps)]
    start, recent = 0, []
    if path.exists():
        saved = torch.load(path, weights_only=True)
        if saved["steps"] == steps:
            trainer.load_state_dict(saved)
            start = saved["done"]
    for number in track(range(start, first[3]), "train_clip", first[3] - start, "step"):
        rng = np.random.default_rng([SEED, number])
        phase = sum(number >= begin for begin in first[1:3])
        rate = learning_rate_at(number - first[phase], steps[phase])
        if phase == 0:
            recent.append(trainer.text_step(rng, rate))
        else:
            if number in (start, first[1]):
                trainer.cache_text_embeddings()
            recent.append(trainer.image_step(rng, rate, (SMALL_IMAGE_SIZE, IMAGE_SIZE)[phase - 1]))
        if (number + 1) % every == 0 or number + 1 in first:
            print(f"step {number + 1} of {first[3]}, loss {np.mean(recent):.3f}", flush=True)
            recent.clear()
            with atomic_write(path) as file:
                torch.save({**trainer.state_dict(), "done": number + 1, "steps": steps}, file)
            trainer.export(OUTPUT_DIR)


def train_sample_clip(
    chunks: int, steps: tuple[int, int, int], start: Path | None = None, threads: int = 2
) -> None:
    """Render the images, train, and write data/sample/clip.

    Args:
        chunks: Number of chunks of CHUNK_SIZE train images.
        steps: Numbers of steps on texts only, on small images and on full-sized images.
        start: A folder with the weights of an earlier run, from which the training starts; None to start from
            random weights.
        threads: Number of processors to use.
    """
    earlier = read_json(start / "training.json", list[dict[str, int]]) if start else []
    WORK_DIR.mkdir(parents=True, exist_ok=True)
    with Pool(threads) as pool:
        for _ in track(pool.imap_unordered(render_chunk, range(chunks)), "render", chunks, "chunk"):
            pass
    # torch is imported after the pool has finished, because the processes of the pool do not need it.
    import torch

    from research.synthetic_world.clip_trainer import ClipTrainer

    torch.set_num_threads(threads)
    train(ClipTrainer(*load_chunks(chunks), start=start), *steps)
    names = ("text_steps", "small_steps", "image_steps")
    run = {"images": chunks * CHUNK_SIZE, **dict(zip(names, steps, strict=True))}
    write_json(OUTPUT_DIR / "training.json", [*earlier, run])
    text_steps, small_steps, image_steps = steps
    report_written(
        "train_clip",
        f"{chunks * CHUNK_SIZE:,} images, {text_steps:,} + {small_steps:,} + {image_steps:,} steps",
        OUTPUT_DIR,
    )
