"""Train the sample's region detectors, and write the regions that are the input of the nets.

There are four sources of regions: the detector on the feature maps of the CLIP model, the detector with its
own tower, the regions of the first detector as captions, and the ground truth. Regions are stored in the
folders of the synthetic worlds, one folder for each subset.

Writes  <subset>/detected.npy, boxes.npy, kinds.npy, scores.npy   of the CLIP detector; with suffix `-own_tower` of the other one
        <subset>/caption.npy, ground_truth.npy, boxes-ground_truth.npy
        <subset>/images.json                                      the images' ids
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import field

from pipeline.core.atomic_files import atomic_write
from pipeline.core.json_files import write_json
from pipeline.core.paths import DATA_DIR
from pipeline.core.records import Record
from research.synthetic_world.vqa_worlds import CHUNK_SIZE, WORK_DIR, WORLD_SERIES, WorldSubset, read_worlds

if TYPE_CHECKING:
    from research.reference_models.image_towers import ImageTower
    from research.reference_models.region_head import RegionHead, Regions

CLIP_DIR = DATA_DIR / "sample" / "clip"
HEAD_EPOCHS = 16
# Subsets on which the detector with its own tower is trained.
OWN_TOWER_SUBSETS: tuple[WorldSubset, ...] = ("look", "learn")
MODEL_SUBSETS: tuple[WorldSubset, ...] = ("learn", "choose", "report")


class DetectorRun(Record):
    """The training run of a detector.

    Attributes:
        report: Recall, precision and the proportion of objects with correct attributes, on subset `report`.
        tries: For the detector with its own tower: step of a checkpoint -> score on subset `choose`.
    """

    epochs: int
    images: int
    cpu_seconds: float
    report: dict[str, float]
    tries: dict[str, float] = field(default_factory=dict)


def build_clip_regions(path: Path, known: DetectorRun | None) -> DetectorRun:
    """Train the detector on the feature maps of the CLIP model, and write missing regions.

    The detector in the file `path` is not trained again if its run is `known`.
    """
    import torch

    from research.reference_models.ground_truth_regions import make_ground_truth_regions
    from research.reference_models.image_towers import ClipTower
    from research.reference_models.region_head import load_head, make_caption_features, save_head
    from research.synthetic_world import region_trainer

    torch.set_num_threads(1)
    tower, began = ClipTower(CLIP_DIR), time.process_time()
    if known is None:
        save_head(path, region_trainer.train_head(region_trainer.gather_cells(tower, "look"), HEAD_EPOCHS))
    spent, head = round(time.process_time() - began, 1), load_head(path)
    for part in (*MODEL_SUBSETS, "fit"):
        if known is None or not (WORK_DIR / part / "images.json").exists():
            found = _write_found(tower, head, part)
            scenes = [row.scene for row in read_worlds(part)]
            true = make_ground_truth_regions(scenes, head)
            caption = make_caption_features(found.features, head.names, head.hidden)
            _write(
                part, {"caption": caption, "ground_truth": true.features, "boxes-ground_truth": true.boxes}
            )
            # This file is written last, because its existence means that all files of the subset are
            # complete.
            write_json(WORK_DIR / part / "images.json", [one.image_id for one in scenes])
    images = WORLD_SERIES["look"].chunks * CHUNK_SIZE
    return known or DetectorRun(epochs=HEAD_EPOCHS, images=images, cpu_seconds=spent, report=_report())


def build_own_regions(path: Path, known: DetectorRun | None) -> DetectorRun:
    """Train the detector with its own tower, and write the missing regions.

    An interrupted training continues.
    """
    import torch

    from research.reference_models.net_training import train
    from research.reference_models.region_head import load_head, load_tower, save_head
    from research.synthetic_world import tower_trainer

    torch.set_num_threads(1)
    is_new, run = known is None, known
    if run is None:
        images = tower_trainer.ImageDataset(OWN_TOWER_SUBSETS)
        own = tower_trainer.TowerTraining(images, tower_trainer.make_training_config(len(images)))
        trained = train(own, WORK_DIR / "tower.pt", own.score, partial(print, "own tower:", flush=True))
        save_head(path, own.head, own.tower)
        run = DetectorRun(
            epochs=tower_trainer.NUM_EPOCHS,
            images=len(images),
            cpu_seconds=round(trained.cpu_seconds, 1),
            report={},
            tries={str(step): round(value, 4) for step, value in trained.scores.items()},
        )
    tower, head = load_tower(path, CLIP_DIR), load_head(path)
    for part in MODEL_SUBSETS:
        if is_new or not (WORK_DIR / part / "scores-own_tower.npy").exists():
            _write_found(tower, head, part, "-own_tower")
    if is_new:
        run.report.update(_report("-own_tower"))
    return run


def _write_found(tower: ImageTower, head: RegionHead, part: WorldSubset, kind: str = "") -> Regions:
    """Detect the regions of a subset and write them."""
    from research.synthetic_world.region_trainer import detect_regions

    found = detect_regions(tower, head, part)
    names = (f"{name}{kind}" for name in ("detected", "boxes", "kinds", "scores"))
    _write(part, dict(zip(names, found, strict=True)))
    return found


def _write(part: WorldSubset, arrays: Mapping[str, np.ndarray]) -> None:
    (WORK_DIR / part).mkdir(exist_ok=True)
    for name, array in arrays.items():
        with atomic_write(WORK_DIR / part / f"{name}.npy") as file:
            np.save(file, array)


def _report(kind: str = "") -> dict[str, float]:
    """Compare the written regions with the ground truth, on subset `report`."""
    from research.synthetic_world.region_trainer import Regions, evaluate_regions

    names = ("detected", "boxes", "kinds", "scores")
    columns = (np.load(WORK_DIR / "report" / f"{name}{kind}.npy") for name in names)
    return evaluate_regions(Regions(*columns), [row.scene for row in read_worlds("report")])
