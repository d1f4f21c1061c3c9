"""Train the sample's own small CLIP on drawn train images and their texts, with open_clip's contrastive loss:
`rgqa sample train-clip` draws the images, trains, and writes data/sample/clip.

Three phases, all with `open_clip.ClipLoss`. First texts alone: a question against its scene as texts tell it, which is
the noun phrases ("a small red cup") of its things, pooled as the image tower pools its cells; no pixel is needed, so
it is cheap, and the texts find their places. Then images, with the texts locked (Zhai et al. 2022, LiT), so that each
text is encoded only once: the feature map at the middle of each thing against the thing's noun phrase, which teaches what
things look like, and the image's vector against its questions and its scene as told. Images are small at first and
full-sized in the third phase, where the questions learn along, and a finer map inside the tower learns the things' names
too, since most things are small. How many are drawn decides how well the model does on images that it has not seen:
with 14,336 it learned many by heart.

An interrupted run goes on from the last checkpoint in data/cache/sample_clip; `--resume-from FOLDER` begins with the weights of
an earlier run, and training.json lists the runs that a model has behind it.
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
    """Learning rate within a phase: 100 steps of warming up, then a cosine from 2e-3 to 2e-5."""
    return 2e-3 * min(1, (step + 1) / 100) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def train(
    trainer: ClipTrainer, text_steps: int, small_steps: int, image_steps: int, every: int = 200
) -> None:
    """The three phases; a checkpoint and a usable model every so many steps."""
    import torch

    from research.synthetic_world.clip_trainer import SMALL_IMAGE_SIZE

    path, steps = WORK_DIR / "checkpoint.pt", [text_steps, small_steps, image_steps]
    first = [0, text_steps, text_steps + small_steps, sum(steps)]  # the step that each phase begins with
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
    """Draw the images, train, and write data/sample/clip.

    Args:
        chunks: drawn train images, in units of CHUNK. steps: of texts alone, of small images, of full-sized ones.
        start: a folder with the weights of an earlier run, to go on from.
    """
    earlier = read_json(start / "training.json", list[dict[str, int]]) if start else []
    WORK_DIR.mkdir(parents=True, exist_ok=True)
    with Pool(threads) as pool:
        for _ in track(pool.imap_unordered(render_chunk, range(chunks)), "draw", chunks, "chunk"):
            pass
    import torch  # after the pool, whose processes do not need it

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
