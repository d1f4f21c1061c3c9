"""The worlds that the sample's nets learn from and are tried on: images with their truth and questions, drawn in
chunks into data/cache/sample_vqa.

Five parts, disjoint in images, none of them published or seen by the sample's CLIP: `look` teaches the region
detector, `learn` the nets; on `choose` checkpoints, ratios and thresholds are chosen, on `report` the figures of the model
card are measured; on `fit` what is said of a net's confidence is fitted. The first two are train worlds, the others val
worlds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from pipeline.core.atomic_files import atomic_write
from pipeline.core.paths import DATA_DIR
from pipeline.core.records import Record, SceneGraph, Split
from research.synthetic_world.questions import SampleQuestion

WorldSubset = Literal["look", "learn", "choose", "report", "fit"]
SEED = 2023  # of the sample's world
CHUNK_SIZE = 256  # images per file
IMAGE_SIZE = (192, 256)  # height, width of images as the sample's CLIP sees them
WORK_DIR = DATA_DIR / "cache" / "sample_vqa"


@dataclass(frozen=True)
class WorldSeries:
    """Worlds `start`, `start` + 1, ... of a split, with so many questions of each (0: none are needed)."""

    split: Split
    start: int
    questions_per_image: int
    chunks: int


# The sample's CLIP was trained on train worlds 0 to 51,199; val worlds 0 to 159 are published.
WORLD_SERIES: dict[WorldSubset, WorldSeries] = {
    "look": WorldSeries("train", 100_000, 0, 28),
    "learn": WorldSeries("train", 110_000, 20, 32),
    "choose": WorldSeries("val", 1_000, 13, 4),
    "report": WorldSeries("val", 5_000, 13, 4),
    "fit": WorldSeries("val", 10_000, 20, 8),
}


class SyntheticImage(Record):
    """An image's complete truth and its questions; its pixels are in the .npy file beside it."""

    scene: SceneGraph
    questions: tuple[SampleQuestion, ...]


def render_chunk(part: WorldSubset, number: int) -> None:
    """Draw the worlds of one chunk and write them; what is there already stays."""
    from research.synthetic_world.questions import generate_questions
    from research.synthetic_world.rendering import render_scene
    from research.synthetic_world.scene_graphs import build_complete_graph
    from research.synthetic_world.scenes import generate_scene, make_image_id

    path, series = WORK_DIR / f"{part}-{number:03d}.npy", WORLD_SERIES[part]
    if path.exists():
        return
    pixels, rows = [], []
    first = series.start + number * CHUNK_SIZE
    for index in range(first, first + CHUNK_SIZE):
        world = generate_scene(SEED, make_image_id(series.split, index), series.split, index)
        known = build_complete_graph(world)
        pixels.append(render_scene(world, IMAGE_SIZE[1], IMAGE_SIZE[0]))
        asked = (
            generate_questions([known], SEED, series.questions_per_image)
            if series.questions_per_image
            else []
        )
        rows.append(SyntheticImage(scene=known, questions=tuple(asked)))
    with atomic_write(path.with_suffix(".json")) as file:
        file.write(msgspec.json.encode(rows))
    with atomic_write(path) as file:
        np.save(file, np.stack(pixels).transpose(0, 3, 1, 2))


def list_chunks(parts: Sequence[WorldSubset]) -> list[tuple[WorldSubset, int]]:
    """Every chunk of these parts."""
    return [(part, number) for part in parts for number in range(WORLD_SERIES[part].chunks)]


def open_pixels(part: WorldSubset) -> Iterator[np.ndarray]:
    """Images uint8 [CHUNK, 3, *SIZE], chunk by chunk, left on the disk until they are needed."""
    for _, number in list_chunks([part]):
        yield np.load(WORK_DIR / f"{part}-{number:03d}.npy", mmap_mode="r")


def read_worlds(part: WorldSubset) -> list[SyntheticImage]:
    """What is known of the images of a part, in the order of the images."""
    return [
        row
        for _, number in list_chunks([part])
        for row in msgspec.json.decode(
            (WORK_DIR / f"{part}-{number:03d}.json").read_bytes(), type=list[SyntheticImage]
        )
    ]
