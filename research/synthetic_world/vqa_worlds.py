"""The worlds that the sample's nets learn from and are tried on: pictures with their truth and questions, drawn in
chunks into data/cache/sample_vqa.

Five parts, disjoint in pictures, none of them published or seen by the sample's CLIP: `look` teaches the region
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

from pipeline.core.atomic_files import replacing
from pipeline.core.paths import DATA
from pipeline.core.records import Record, Scene, Split
from research.synthetic_world.questions import SampleQuestion

Part = Literal["look", "learn", "choose", "report", "fit"]
SEED = 2023  # of the sample's world
CHUNK = 256  # pictures per file
SIZE = (192, 256)  # height, width of pictures as the sample's CLIP sees them
WORK = DATA / "cache" / "sample_vqa"


@dataclass(frozen=True)
class Series:
    """Worlds `start`, `start` + 1, ... of a split, with so many questions of each (0: none are needed)."""

    split: Split
    start: int
    asked: int
    chunks: int


# The sample's CLIP was trained on train worlds 0 to 51,199; val worlds 0 to 159 are published.
SERIES: dict[Part, Series] = {
    "look": Series("train", 100_000, 0, 28),
    "learn": Series("train", 110_000, 20, 32),
    "choose": Series("val", 1_000, 13, 4),
    "report": Series("val", 5_000, 13, 4),
    "fit": Series("val", 10_000, 20, 8),
}


class DrawnWorld(Record):
    """A picture's complete truth and its questions; its pixels are in the .npy file beside it."""

    scene: Scene
    questions: tuple[SampleQuestion, ...]


def draw_chunk(part: Part, number: int) -> None:
    """Draw the worlds of one chunk and write them; what is there already stays."""
    from research.synthetic_world.questions import questions
    from research.synthetic_world.rendering import render
    from research.synthetic_world.scene_graphs import truth
    from research.synthetic_world.scenes import picture_id, scene

    path, series = WORK / f"{part}-{number:03d}.npy", SERIES[part]
    if path.exists():
        return
    pixels, rows = [], []
    first = series.start + number * CHUNK
    for index in range(first, first + CHUNK):
        world = scene(SEED, picture_id(series.split, index), series.split, index)
        known = truth(world)
        pixels.append(render(world, SIZE[1], SIZE[0]))
        asked = questions([known], SEED, series.asked) if series.asked else []
        rows.append(DrawnWorld(scene=known, questions=tuple(asked)))
    with replacing(path.with_suffix(".json")) as file:
        file.write(msgspec.json.encode(rows))
    with replacing(path) as file:
        np.save(file, np.stack(pixels).transpose(0, 3, 1, 2))


def chunks_of(parts: Sequence[Part]) -> list[tuple[Part, int]]:
    """Every chunk of these parts."""
    return [(part, number) for part in parts for number in range(SERIES[part].chunks)]


def pixels_of(part: Part) -> Iterator[np.ndarray]:
    """Pictures uint8 [CHUNK, 3, *SIZE], chunk by chunk, left on the disk until they are needed."""
    for _, number in chunks_of([part]):
        yield np.load(WORK / f"{part}-{number:03d}.npy", mmap_mode="r")


def worlds_of(part: Part) -> list[DrawnWorld]:
    """What is known of the pictures of a part, in the order of the pictures."""
    return [
        row
        for _, number in chunks_of([part])
        for row in msgspec.json.decode(
            (WORK / f"{part}-{number:03d}.json").read_bytes(), type=list[DrawnWorld]
        )
    ]
