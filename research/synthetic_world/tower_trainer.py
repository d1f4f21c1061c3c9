"""Train the sample's own image tower from scratch together with a region head, using only images and their
complete scene graphs.

The targets are the same as in `region_trainer`, but for every cell of every image. A random half of the
images is mirrored. Checkpoints are compared on subset `choose`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from pipeline.core.randomness import make_generator
from pipeline.core.records import SceneGraph
from research.reference_models.ground_truth_regions import get_setting_mask
from research.reference_models.image_towers import ResidualTower
from research.reference_models.net_training import TrainingConfig, learning_rate_at
from research.reference_models.region_head import RegionHead
from research.synthetic_world.region_trainer import (
    REGION_NAMES,
    SceneObjects,
    detect_regions,
    evaluate_regions,
    get_scene_objects,
    kind_focal_losses,
    objects_loss,
    scene_loss,
)
from research.synthetic_world.vqa_worlds import IMAGE_SIZE, SEED, WorldSubset, open_pixels, read_worlds

# Height and width of a map in cells.
MAP_SIZE = (IMAGE_SIZE[0] // 16, IMAGE_SIZE[1] // 16)
BATCH_SIZE = 16
NUM_EPOCHS = 3
LEARNING_RATE = 3e-3


class ImageBatch(NamedTuple):
    """Images uint8 [b, 3, h, w], their objects, and settings [b, settings].

    The indices of cells run through all maps.
    """

    pixels: np.ndarray
    things: SceneObjects
    settings: np.ndarray


class ImageDataset:
    """All images of some subsets with their truth. Pixels stay on disk."""

    def __init__(self, parts: Sequence[WorldSubset]) -> None:
        self._chunks = [chunk for part in parts for chunk in open_pixels(part)]
        scenes = [row.scene for part in parts for row in read_worlds(part)]
        self._things = [get_scene_objects(scene, *MAP_SIZE) for scene in scenes]
        self._settings = np.stack([get_setting_mask(scene, REGION_NAMES) for scene in scenes])

    def __len__(self) -> int:
        return len(self._things)

    def get_batch(self, rows: np.ndarray, mirror: np.ndarray) -> ImageBatch:
        """Return the images with indices `rows` [b].

        Images for which `mirror` [b] is true are mirrored left to right.
        """
        size = len(self._chunks[0])
        pixels = np.stack([self._chunks[row // size][row % size] for row in rows])
        pixels[mirror] = pixels[mirror, :, :, ::-1]
        things = [
            mirror_objects(self._things[row]) if turned else self._things[row]
            for row, turned in zip(rows, mirror, strict=True)
        ]
        cells = [one.cell + place * MAP_SIZE[0] * MAP_SIZE[1] for place, one in enumerate(things)]
        columns = zip(*(one[1:] for one in things), strict=True)
        return ImageBatch(
            pixels,
            SceneObjects(np.concatenate(cells), *(np.concatenate(column) for column in columns)),
            self._settings[rows],
        )


def mirror_objects(things: SceneObjects) -> SceneObjects:
    """Mirror the objects of an image left to right."""
    down, across = np.divmod(things.cell, MAP_SIZE[1])
    boxes = things.boxes * np.array([-1, 1, 1, 1], np.float32)
    return things._replace(cell=down * MAP_SIZE[1] + MAP_SIZE[1] - 1 - across, boxes=boxes)


class TowerTraining:
    """A tower and its head in training, with the interface that `net_training.train` needs."""

    def __init__(self, images: ImageDataset, recipe: TrainingConfig) -> None:
        self.images, self.config = images, recipe
        torch.manual_seed(SEED)
        self.tower = ResidualTower(IMAGE_SIZE)
        self.head = RegionHead(self.tower.widths[-1], REGION_NAMES)
        self.net = nn.ModuleDict({"tower": self.tower, "head": self.head})
        self.net.to(memory_format=torch.channels_last)
        self.optimiser = torch.optim.AdamW(self.net.parameters(), lr=recipe.learning_rate, weight_decay=0.02)

    def make_batch(self, step: int) -> ImageBatch:
        """Return the batch of a step."""
        per_epoch = max(1, len(self.images) // self.config.batch_size)
        epoch, place = divmod(step, per_epoch)
        order = make_generator(SEED, "tower epoch", str(epoch)).permutation(len(self.images))
        rows = order[place * self.config.batch_size : (place + 1) * self.config.batch_size]
        turned = make_generator(SEED, "tower", str(step)).random(len(rows)) < 0.5
        return self.images.get_batch(rows, turned)

    def step(self, step: int, batch: ImageBatch | None = None) -> float:
        """Train for one step and return the loss.

        `batch` is the result of `make_batch(step)`; None to call it.
        """
        loss = tower_loss(self.tower, self.head, batch or self.make_batch(step))
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate_at(step, self.config.num_steps, self.config.learning_rate)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def state_dict(self) -> dict[str, Any]:
        return {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])

    def score(self, _: object) -> float:
        """Return the harmonic mean of recall and precision on subset `choose`."""
        found = evaluate_regions(detect_regions(self.tower, self.head, "choose"), _read_scenes("choose"))
        recall, precision = found["recall"], found["precision"]
        return 2 * recall * precision / max(recall + precision, 1e-9)


def tower_loss(tower: ResidualTower, head: RegionHead, shown: ImageBatch) -> torch.Tensor:
    """Return the head's losses on all cells of the images' maps.

    The loss of kinds is divided by the number of objects.
    """
    x = tower.normalize(shown.pixels).contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        maps = tower(x)
    cells = head.embed_cells(maps.float().permute(0, 2, 3, 1).reshape(-1, head.channels))
    kinds = np.zeros((len(cells), len(REGION_NAMES.kinds)), bool)
    kinds[shown.things.cell, shown.things.kind] = True
    kind = kind_focal_losses(head, cells, kinds).sum() / len(shown.things.cell)
    at = torch.from_numpy(shown.things.cell)
    whole = cells.view(len(shown.pixels), -1, head.hidden).mean(1)
    return kind + objects_loss(head, cells[at], shown.things) + scene_loss(head, whole, shown.settings)


def make_training_config(images: int) -> TrainingConfig:
    """Return the training configuration (steps and learning rate) for a number of images."""
    return TrainingConfig(
        round(NUM_EPOCHS * images / BATCH_SIZE),
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        checkpoint_interval=200,
    )


def _read_scenes(part: WorldSubset) -> list[SceneGraph]:
    return [row.scene for row in read_worlds(part)]
