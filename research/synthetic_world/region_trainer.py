"""Train and evaluate the sample's region detector on cells of the feature maps of an image tower.

The training uses all cells that contain the center of an object, and a sample of the other cells, with larger
weights. For a cell, the head predicts which kinds of objects have their center there (focal loss, Lin et al.
2017). Given the kind, it predicts the attributes and the box of the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import SceneGraph
from research.reference_models.ground_truth_regions import (
    get_attribute_mask,
    get_relative_box,
    get_setting_mask,
)
from research.reference_models.image_towers import ImageTower
from research.reference_models.net_training import learning_rate_at
from research.reference_models.region_head import (
    DETECTION_THRESHOLD,
    RegionHead,
    RegionNames,
    Regions,
    find_regions,
)
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, KINDS, LOCATIONS, WEATHERS
from research.synthetic_world.vqa_worlds import SEED, WorldSubset, open_pixels, read_worlds

REGION_NAMES = RegionNames(tuple(k.name for k in KINDS), tuple(ATTRIBUTE_TYPES), (*LOCATIONS, *WEATHERS))
# Number of cells without an object that are used for each image.
NUM_EMPTY_CELLS = 18
BATCH_SIZE = 1024
_KIND_INDEX = {name: place for place, name in enumerate(REGION_NAMES.kinds)}


class TrainingCells(NamedTuple):
    """Training cells, objects at some of these cells, and whole maps.

    Attributes:
        maps: Features of the n cells, float16 [n, channels].
        kinds: Kinds of the objects in each cell, bool [n, kinds].
        weights: Weight of each cell, [n].
        cell, kind: For each of t objects, the row of its cell in `maps`, and its kind, [t].
        looks: Attributes of each object, bool [t, attributes].
        boxes: Center of each object relative to the center of its cell, and size, [t, 4], as fractions of the
            image.
        whole: Mean features of the map of each of p images, float16 [p, channels].
        settings: Location and weather of each image, bool [p, settings].
    """

    maps: np.ndarray
    kinds: np.ndarray
    weights: np.ndarray
    cell: np.ndarray
    kind: np.ndarray
    looks: np.ndarray
    boxes: np.ndarray
    whole: np.ndarray
    settings: np.ndarray


def gather_cells(tower: ImageTower, part: WorldSubset, batch: int = 32) -> TrainingCells:
    """Gather the training cells of all images of a subset."""
    scenes, rng = [row.scene for row in read_worlds(part)], make_generator(SEED, "cells", part)
    rows: list[list[np.ndarray]] = [[] for _ in TrainingCells._fields]
    place = first = 0
    for pixels in track(open_pixels(part), f"cells of {part}"):
        for start in range(0, len(pixels), batch):
            maps = tower.compute_maps(pixels[start : start + batch]).numpy()
            for grid in maps:
                taken = _get_image_cells(grid, scenes[place], rng, first)
                for column, value in zip(rows, taken, strict=True):
                    column.append(value)
                place, first = place + 1, first + len(taken.maps)
    return TrainingCells(*(np.concatenate(column) for column in rows))


class SceneObjects(NamedTuple):
    """The objects of an image, with their cells in the map of the image.

    Attributes:
        cell, kind: Cell and kind of each object, [t].
        looks: Attributes of each object, bool [t, attributes].
        boxes: Center of each object relative to the center of its cell, and size, float32 [t, 4], as
            fractions of the image.
    """

    cell: np.ndarray
    kind: np.ndarray
    looks: np.ndarray
    boxes: np.ndarray


def get_scene_objects(scene: SceneGraph, high: int, wide: int) -> SceneObjects:
    """Return the objects of a scene on a map of `high` x `wide` cells.

    An object belongs to the cell that contains its center.
    """
    boxes = np.array([get_relative_box(item, scene) for item in scene.objects])
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    across = np.minimum((middle[:, 0] * wide).astype(int), wide - 1)
    down = np.minimum((middle[:, 1] * high).astype(int), high - 1)
    offset = middle - np.stack([(across + 0.5) / wide, (down + 0.5) / high], 1)
    return SceneObjects(
        down * wide + across,
        np.array([_KIND_INDEX[item.name] for item in scene.objects]),
        np.stack([get_attribute_mask(item, REGION_NAMES) for item in scene.objects]),
        np.concatenate([offset, boxes[:, 2:] - boxes[:, :2]], 1).astype(np.float32),
    )


def _get_image_cells(
    grid: np.ndarray, scene: SceneGraph, rng: np.random.Generator, first: int
) -> TrainingCells:
    """Return the training cells of one image's map [channels, h, w]; `first` is the row of its first cell."""
    channels, high, wide = grid.shape
    things = get_scene_objects(scene, high, wide)
    held, cell = np.unique(things.cell, return_inverse=True)
    empty = rng.permutation(np.setdiff1d(np.arange(high * wide), held))[:NUM_EMPTY_CELLS]
    flat = grid.reshape(channels, -1).T.astype(np.float16)
    kinds = np.zeros((len(held) + len(empty), len(REGION_NAMES.kinds)), bool)
    kinds[cell, things.kind] = True
    weights = np.ones(len(kinds))
    weights[len(held) :] = (high * wide - len(held)) / len(empty)
    return TrainingCells(
        flat[np.concatenate([held, empty])],
        kinds,
        weights.astype(np.float32),
        cell + first,
        *things[1:],
        flat.mean(0, dtype=np.float32)[None].astype(np.float16),
        get_setting_mask(scene, REGION_NAMES)[None],
    )


def train_head(cells: TrainingCells, epochs: int, rate: float = 3e-3) -> RegionHead:
    """Train a region head."""
    torch.manual_seed(SEED)
    head = RegionHead(cells.maps.shape[1], REGION_NAMES)
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.02)
    per_epoch = len(cells.maps) // BATCH_SIZE
    things, whole = len(cells.kind) // per_epoch, max(8, len(cells.whole) // per_epoch)
    for number in track(range(epochs * per_epoch), "region head", epochs * per_epoch, "step"):
        rng = make_generator(SEED, "head", str(number))
        rows, some, images = (
            rng.integers(0, len(array), count)
            for array, count in ((cells.maps, BATCH_SIZE), (cells.kind, things), (cells.whole, whole))
        )
        loss = head_loss(head, cells, rows, some, images)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate_at(number, epochs * per_epoch, rate)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return head.eval()


def head_loss(
    head: RegionHead, cells: TrainingCells, rows: np.ndarray, things: np.ndarray, images: np.ndarray
) -> torch.Tensor:
    """Return the loss on these cells, objects and whole images."""
    x = np.concatenate([cells.maps[rows], cells.maps[cells.cell[things]], cells.whole[images]])
    hidden = head.embed_cells(torch.from_numpy(x.astype(np.float32)))
    of_cells, of_things, of_whole = hidden.split([len(rows), len(things), len(images)])
    kind = (
        kind_focal_losses(head, of_cells, cells.kinds[rows]) * torch.from_numpy(cells.weights[rows])
    ).mean()
    targets = SceneObjects(rows[:0], cells.kind[things], cells.looks[things], cells.boxes[things])
    return kind + objects_loss(head, of_things, targets) + scene_loss(head, of_whole, cells.settings[images])


def kind_focal_losses(head: RegionHead, cells: torch.Tensor, kinds: np.ndarray) -> torch.Tensor:
    """Return the focal loss [n] of cells [n, hidden] with these kinds, [n, kinds] bool."""
    wanted = torch.from_numpy(kinds).float()
    plain = functional.binary_cross_entropy_with_logits(head.kind(cells), wanted, reduction="none")
    # exp(-plain) is the probability that the head gives the true label.
    return ((1 - torch.exp(-plain)) ** 2 * plain).sum(1)


def objects_loss(head: RegionHead, cells: torch.Tensor, things: SceneObjects) -> torch.Tensor:
    """Return the loss of attributes and boxes of objects at cells [t, hidden]."""
    _, looks, boxes = head.predict_objects(cells, torch.from_numpy(things.kind))
    look = functional.binary_cross_entropy_with_logits(looks, torch.from_numpy(things.looks).float())
    return 10 * look + 20 * functional.l1_loss(boxes, torch.from_numpy(things.boxes))


def scene_loss(head: RegionHead, whole: torch.Tensor, settings: np.ndarray) -> torch.Tensor:
    """Return the loss of locations and weathers [p, settings] bool of whole images [p, hidden]."""
    wanted = torch.from_numpy(settings).float()
    return 2 * functional.binary_cross_entropy_with_logits(head.setting(whole), wanted)


def detect_regions(tower: ImageTower, head: RegionHead, part: WorldSubset, batch: int = 32) -> Regions:
    """Detect the regions of all images of a subset."""
    found = [
        find_regions(tower, head, pixels[start : start + batch])
        for pixels in track(open_pixels(part), f"regions of {part}")
        for start in range(0, len(pixels), batch)
    ]
    return Regions(*(np.concatenate(column) for column in zip(*found, strict=True)))


def evaluate_regions(
    regions: Regions, scenes: Sequence[SceneGraph], least: float = DETECTION_THRESHOLD
) -> dict[str, float]:
    """Compute recall, precision, and the proportion of detected objects with only correct attributes.

    Only regions with a score of at least `least` are counted. A region is correct if its kind is correct and
    the intersection over union of its box and the box of the object is at least 0.5.
    """
    found = there = num_detected = right_looks = 0
    for features, boxes, kinds, scores, scene in zip(*regions, scenes, strict=True):
        there += len(scene.objects)
        num_detected += int((scores >= least).sum())
        free = list(np.flatnonzero(scores >= least))
        for item in scene.objects:
            fits = [
                r
                for r in free
                if kinds[r] == _KIND_INDEX[item.name]
                and _compute_iou(boxes[r], get_relative_box(item, scene)) >= 0.5
            ]
            if fits:
                found += 1
                free.remove(fits[0])
                first = features.shape[1] - 1 - len(REGION_NAMES.looks) - len(REGION_NAMES.settings)
                said = features[fits[0], first : first + len(REGION_NAMES.looks)] > np.log(0.5)
                right_looks += bool((said == get_attribute_mask(item, REGION_NAMES)).all())
    return {
        "recall": found / there,
        "precision": found / max(num_detected, 1),
        "looks right": right_looks / max(found, 1),
    }


def _compute_iou(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the intersection over union of two boxes."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    shared = max(width, 0) * max(height, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return shared / (areas - shared)
