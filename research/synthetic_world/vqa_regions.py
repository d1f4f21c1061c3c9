"""The regions that the sample's nets see: of the detector on the CLIP's maps, of another with a tower of its own, as a caption
tells them, and as they are. Both detectors are trained here; regions lie beside the drawn worlds, in a folder for each part.

Writes  <part>/found.npy, boxes.npy, kinds.npy, scores.npy    of the detector; the same with `-own` of the own tower's
        <part>/told.npy, true.npy, boxes-true.npy             as a caption tells them; the truth
        <part>/pictures.json                                  the pictures' ids
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import field

from pipeline.core.atomic_files import replacing
from pipeline.core.json_files import write_json
from pipeline.core.paths import DATA
from pipeline.core.records import Record
from research.synthetic_world.vqa_worlds import CHUNK, SERIES, WORK, Part, worlds_of

if TYPE_CHECKING:
    from research.reference_models.image_towers import Tower
    from research.reference_models.region_head import RegionHead, Regions

CLIP = DATA / "sample" / "clip"
HEAD_EPOCHS = 16
OWN_PARTS: tuple[Part, ...] = ("look", "learn")  # teach the tower of its own
NET_PARTS: tuple[Part, ...] = ("learn", "choose", "report")


class HeadRun(Record):
    """A detector's training: recall, precision, share of looks told right on `report`. Of one with a tower of its own also
    what its checkpoints were chosen by (on `choose`), by step."""

    epochs: int
    pictures: int
    cpu_seconds: float
    report: dict[str, float]
    tries: dict[str, float] = field(default_factory=dict)


def found_regions(path: Path, known: HeadRun | None) -> HeadRun:
    """Train the detector at `path` unless its training is known, and write the regions that are not there."""
    import torch

    from research.reference_models.ground_truth_regions import true_regions
    from research.reference_models.image_towers import ClipTower
    from research.reference_models.region_head import load_head, save_head, told
    from research.synthetic_world import region_trainer

    torch.set_num_threads(1)
    tower, began = ClipTower(CLIP), time.process_time()
    if known is None:
        save_head(path, region_trainer.train_head(region_trainer.gather(tower, "look"), HEAD_EPOCHS))
    spent, head = round(time.process_time() - began, 1), load_head(path)
    for part in (*NET_PARTS, "fit"):
        if known is None or not (WORK / part / "pictures.json").exists():
            found = _write_found(tower, head, part)
            scenes = [row.scene for row in worlds_of(part)]
            true = true_regions(scenes, head)
            caption = told(found.features, head.names, head.hidden)
            _write(part, {"told": caption, "true": true.features, "boxes-true": true.boxes})
            write_json(
                WORK / part / "pictures.json", [one.picture_id for one in scenes]
            )  # last: all is there
    pictures = SERIES["look"].chunks * CHUNK
    return known or HeadRun(epochs=HEAD_EPOCHS, pictures=pictures, cpu_seconds=spent, report=_report())


def own_regions(path: Path, known: HeadRun | None) -> HeadRun:
    """The same for the detector with a tower of its own, which never sees the CLIP; a training that was killed goes on."""
    import torch

    from research.reference_models.net_training import train
    from research.reference_models.region_head import load_head, load_tower, save_head
    from research.synthetic_world import tower_trainer

    torch.set_num_threads(1)
    anew, run = known is None, known
    if run is None:
        pictures = tower_trainer.Pictures(OWN_PARTS)
        own = tower_trainer.TowerTraining(pictures, tower_trainer.recipe_of(len(pictures)))
        trained = train(own, WORK / "tower.pt", own.score, partial(print, "own tower:", flush=True))
        save_head(path, own.head, own.tower)
        run = HeadRun(
            epochs=tower_trainer.EPOCHS,
            pictures=len(pictures),
            cpu_seconds=round(trained.cpu_seconds, 1),
            report={},
            tries={str(step): round(value, 4) for step, value in trained.scores.items()},
        )
    tower, head = load_tower(path, CLIP), load_head(path)
    for part in NET_PARTS:
        if anew or not (WORK / part / "scores-own.npy").exists():
            _write_found(tower, head, part, "-own")
    if anew:
        run.report.update(_report("-own"))
    return run


def _write_found(tower: Tower, head: RegionHead, part: Part, kind: str = "") -> Regions:
    """The regions of a part as they are found, also written."""
    from research.synthetic_world.region_trainer import regions_of

    found = regions_of(tower, head, part)
    names = (f"{name}{kind}" for name in ("found", "boxes", "kinds", "scores"))
    _write(part, dict(zip(names, found, strict=True)))
    return found


def _write(part: Part, arrays: Mapping[str, np.ndarray]) -> None:
    (WORK / part).mkdir(exist_ok=True)
    for name, array in arrays.items():
        with replacing(WORK / part / f"{name}.npy") as file:
            np.save(file, array)


def _report(kind: str = "") -> dict[str, float]:
    """How the regions that were written compare with the truth, on `report`."""
    from research.synthetic_world.region_trainer import Regions, tried

    names = ("found", "boxes", "kinds", "scores")
    columns = (np.load(WORK / "report" / f"{name}{kind}.npy") for name in names)
    return tried(Regions(*columns), [row.scene for row in worlds_of("report")])
