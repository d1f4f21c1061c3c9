"""The regions of the pictures that are asked about, calculated in float64 so that processors agree (`looking.DIGITS`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import Problems
from pipeline.core.records import Scene
from research.reference_models.ground_truth_regions import true_regions
from research.reference_models.image_towers import ClipTower, Tower
from research.reference_models.inference import one_thread
from research.reference_models.net_files import Kind
from research.reference_models.region_head import SURE, RegionHead, Regions, decoded, find_regions, told
from research.reference_models.region_stores import ArrayStore

BATCH = 32


class AskedRegions(NamedTuple):
    """Stores by what nets see, and the names of what was found in each picture."""

    stores: dict[Kind, ArrayStore]
    detected: dict[str, frozenset[str]]


def asked_regions(
    clip: Path,
    head: RegionHead,
    pictures: Mapping[str, Path],
    scenes: Mapping[str, Scene] | None = None,
    own: tuple[Tower, RegionHead] | None = None,
) -> AskedRegions:
    """Find the regions of pictures.

    Args:
        clip: the folder of the CLIP whose tower the head stands on.
        pictures: files by picture id.
        scenes: the complete truth by picture id, for nets that see it; None where no net does.
        own: a tower of its own with its head, for nets that see their regions.

    Raises:
        UserError: pictures that are missing or cannot be read, all of them.
    """
    ids = list(pictures)
    found = _found(ClipTower(clip), head, pictures)
    caption = told(found.features, head.names, head.hidden)
    stores: dict[Kind, ArrayStore] = {
        "found": ArrayStore(ids, found.features, found.boxes),
        "told": ArrayStore(ids, caption, np.zeros_like(found.boxes)),  # a caption has no places
    }
    if own is not None:
        others = _found(*own, pictures)
        stores["own"] = ArrayStore(ids, others.features, others.boxes)
    if scenes is not None:
        true = true_regions([scenes[picture] for picture in ids], head)
        stores["true"] = ArrayStore(ids, true.features, true.boxes)
    names = np.array(head.names.kinds)
    detected = [
        frozenset(names[k[s > SURE]].tolist()) for k, s in zip(found.kinds, found.scores, strict=True)
    ]
    return AskedRegions(stores, dict(zip(ids, detected, strict=True)))


def _found(tower: Tower, head: RegionHead, pictures: Mapping[str, Path]) -> Regions:
    """What a head finds on the maps of a tower, calculated in float64 by one thread."""
    tower, head = tower.double(), head.double()
    pixels = _pixels(pictures, tower.size)
    with one_thread():
        parts = [find_regions(tower, head, pixels[at : at + BATCH]) for at in range(0, len(pixels), BATCH)]
    return Regions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _pixels(pictures: Mapping[str, Path], size: tuple[int, int]) -> np.ndarray:
    """All pictures as uint8 [n, 3, *size]."""
    problems, rows = Problems("pictures that the nets cannot see"), []
    for picture, path in pictures.items():
        try:
            rows.append(decoded([path], size))
        except (OSError, ValueError) as error:
            missing = not path.exists()
            problems.add(picture, f"{path} is missing" if missing else f"{path} cannot be read ({error})")
    problems.raise_if_any()
    return np.concatenate(rows)
