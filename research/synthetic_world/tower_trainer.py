"""The sample's own picture tower: trained from nothing together with a region head, on pictures and their truth alone.

It takes what `region_trainer` teaches a head on the CLIP's maps, with every cell of every picture; half of the pictures are
mirrored. Checkpoints are compared on part `choose`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from pipeline.core.randomness import generator
from pipeline.core.records import Scene
from research.reference_models.ground_truth_regions import settings_of
from research.reference_models.image_towers import OwnTower
from research.reference_models.net_training import Recipe, rate_at
from research.reference_models.region_head import RegionHead
from research.synthetic_world.region_trainer import (
    NAMES,
    Things,
    kind_losses,
    regions_of,
    settings_loss,
    things_loss,
    things_of,
    tried,
)
from research.synthetic_world.vqa_worlds import SEED, SIZE, Part, pixels_of, worlds_of

MAP = (SIZE[0] // 16, SIZE[1] // 16)  # cells of a map: height, width
BATCH = 16
EPOCHS = 3
RATE = 3e-3


class Shown(NamedTuple):
    """Pictures uint8 [b, 3, h, w] with their things, whose `cell` counts on through all maps, and settings [b, settings]."""

    pixels: np.ndarray
    things: Things
    settings: np.ndarray


class Pictures:
    """All pictures of some parts with their truth; pixels stay on the disk."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._chunks = [chunk for part in parts for chunk in pixels_of(part)]
        scenes = [row.scene for part in parts for row in worlds_of(part)]
        self._things = [things_of(scene, *MAP) for scene in scenes]
        self._settings = np.stack([settings_of(scene, NAMES) for scene in scenes])

    def __len__(self) -> int:
        return len(self._things)

    def shown(self, rows: np.ndarray, mirror: np.ndarray) -> Shown:
        """The pictures at places `rows` [b]; those where `mirror` [b] is true with left and right changed."""
        size = len(self._chunks[0])
        pixels = np.stack([self._chunks[row // size][row % size] for row in rows])
        pixels[mirror] = pixels[mirror, :, :, ::-1]
        things = [
            mirrored(self._things[row]) if turned else self._things[row]
            for row, turned in zip(rows, mirror, strict=True)
        ]
        cells = [one.cell + place * MAP[0] * MAP[1] for place, one in enumerate(things)]
        columns = zip(*(one[1:] for one in things), strict=True)
        return Shown(
            pixels,
            Things(np.concatenate(cells), *(np.concatenate(column) for column in columns)),
            self._settings[rows],
        )


def mirrored(things: Things) -> Things:
    """The things of the picture with left and right changed."""
    down, across = np.divmod(things.cell, MAP[1])
    boxes = things.boxes * np.array([-1, 1, 1, 1], np.float32)
    return things._replace(cell=down * MAP[1] + MAP[1] - 1 - across, boxes=boxes)


class TowerTraining:
    """A tower and its head in training, as `net_training.train` runs it."""

    def __init__(self, pictures: Pictures, recipe: Recipe) -> None:
        self.pictures, self.recipe = pictures, recipe
        torch.manual_seed(SEED)
        self.tower = OwnTower(SIZE)
        self.head = RegionHead(self.tower.widths[-1], NAMES)
        self.net = nn.ModuleDict({"tower": self.tower, "head": self.head})
        self.net.to(memory_format=torch.channels_last)
        self.optimiser = torch.optim.AdamW(self.net.parameters(), lr=recipe.rate, weight_decay=0.02)

    def batch(self, number: int) -> Shown:
        """What step `number` learns from."""
        per_epoch = max(1, len(self.pictures) // self.recipe.batch)
        epoch, place = divmod(number, per_epoch)
        order = generator(SEED, "tower epoch", str(epoch)).permutation(len(self.pictures))
        rows = order[place * self.recipe.batch : (place + 1) * self.recipe.batch]
        turned = generator(SEED, "tower", str(number)).random(len(rows)) < 0.5
        return self.pictures.shown(rows, turned)

    def step(self, number: int, batch: Shown | None = None) -> float:
        """One step; returns its loss. `batch` is what `self.batch(number)` said."""
        loss = tower_loss(self.tower, self.head, batch or self.batch(number))
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(number, self.recipe.steps, self.recipe.rate)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        return {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])

    def score(self, _: object) -> float:
        """The mean (harmonic) of recall and precision on `choose`."""
        found = tried(regions_of(self.tower, self.head, "choose"), _scenes("choose"))
        recall, precision = found["recall"], found["precision"]
        return 2 * recall * precision / max(recall + precision, 1e-9)


def tower_loss(tower: OwnTower, head: RegionHead, shown: Shown) -> torch.Tensor:
    """The head's losses on all cells of the pictures' maps: of kinds as many as there are things (Lin et al. 2017)."""
    x = tower.prepared(shown.pixels).contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        maps = tower(x)
    cells = head.cells(maps.float().permute(0, 2, 3, 1).reshape(-1, head.channels))
    kinds = np.zeros((len(cells), len(NAMES.kinds)), bool)
    kinds[shown.things.cell, shown.things.kind] = True
    kind = kind_losses(head, cells, kinds).sum() / len(shown.things.cell)
    at = torch.from_numpy(shown.things.cell)
    whole = cells.view(len(shown.pixels), -1, head.hidden).mean(1)
    return kind + things_loss(head, cells[at], shown.things) + settings_loss(head, whole, shown.settings)


def recipe_of(pictures: int) -> Recipe:
    """Steps and rate for so many pictures."""
    return Recipe(round(EPOCHS * pictures / BATCH), batch=BATCH, rate=RATE, every=200)


def _scenes(part: Part) -> list[Scene]:
    return [row.scene for row in worlds_of(part)]
