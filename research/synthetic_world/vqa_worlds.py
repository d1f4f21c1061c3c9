"""Render the synthetic worlds for the sample's nets: images with their truth and questions, in
data/cache/sample_vqa.

There are five subsets, which have no image in common. No image is published or was used for the sample's CLIP
model. The region detector is trained on `look`, and the nets on `learn`. Checkpoints, ratios and thresholds
are chosen on `choose`. Calibration and selection are fitted on `fit`. The results of the model card are
measured on `report`. `look` and `learn` are train worlds, the others val worlds.
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
# The seed of the sample's world.
SEED = 2023
# Number of images per file.
CHUNK_SIZE = 256
# Height and width of the images for the sample's CLIP model, in pixels.
IMAGE_SIZE = (192, 256)
WORK_DIR = DATA_DIR / "cache" / "sample_vqa"


@dataclass(frozen=True)
class WorldSeries:
    """Worlds `start`, `start` + 1, ... of a split.

    If the number of questions per image is 0, no questions are generated.
    """

    split: Split
    start: int
    questions_per_image: int
    chunks: int


# The subsets. The sample's CLIP model was trained on train worlds 0 to 51,199. Val worlds 0 to 159 are
# published.
WORLD_SERIES: dict[WorldSubset, WorldSeries] = {
    "look": WorldSeries("train", 100_000, 0, 28),
    "learn": WorldSeries("train", 110_000, 20, 32),
    "choose": WorldSeries("val", 1_000, 13, 4),
    "report": WorldSeries("val", 5_000, 13, 4),
    "fit": WorldSeries("val", 10_000, 20, 8),
}


class SyntheticImage(Record):
    """An image's complete scene graph and its questions.

    Its pixels are in the .npy file of the same chunk.
    """

    scene: SceneGraph
    questions: tuple[SampleQuestion, ...]


def render_chunk(part: WorldSubset, number: int) -> None:
    """Render the worlds of one chunk and write them, unless the file exists."""
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
    """Return every chunk of these subsets."""
    return [(part, number) for part in parts for number in range(WORLD_SERIES[part].chunks)]


def open_pixels(part: WorldSubset) -> Iterator[np.ndarray]:
    """Yield the images of each chunk, uint8 [CHUNK_SIZE, 3, *IMAGE_SIZE], as memory maps."""
    for _, number in list_chunks([part]):
        yield np.load(WORK_DIR / f"{part}-{number:03d}.npy", mmap_mode="r")


def read_worlds(part: WorldSubset) -> list[SyntheticImage]:
    """Return scene graphs and questions of a subset, in the order of the images."""
    return [
        row
        for _, number in list_chunks([part])
        for row in msgspec.json.decode(
            (WORK_DIR / f"{part}-{number:03d}.json").read_bytes(), type=list[SyntheticImage]
        )
    ]
