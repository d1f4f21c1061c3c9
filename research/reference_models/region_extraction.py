"""The regions of the images that are asked about, calculated in float64 so that processors agree (`looking.DIGITS`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import Problems
from pipeline.core.records import SceneGraph
from research.reference_models.ground_truth_regions import make_ground_truth_regions
from research.reference_models.image_towers import ClipTower, ImageTower
from research.reference_models.inference import single_threaded
from research.reference_models.net_files import RegionSource
from research.reference_models.region_head import (
    DETECTION_THRESHOLD,
    RegionHead,
    Regions,
    find_regions,
    load_images,
    make_caption_features,
)
from research.reference_models.region_stores import ArrayStore

IMAGE_BATCH_SIZE = 32


class ExtractedRegions(NamedTuple):
    """Stores by what nets see, and the names of what was found in each image."""

    stores: dict[RegionSource, ArrayStore]
    detected_names: dict[str, frozenset[str]]


def extract_regions(
    clip: Path,
    head: RegionHead,
    images: Mapping[str, Path],
    scenes: Mapping[str, SceneGraph] | None = None,
    own_tower: tuple[ImageTower, RegionHead] | None = None,
) -> ExtractedRegions:
    """Find the regions of images.

    Args:
        clip: the folder of the CLIP whose tower the head stands on.
        images: files by image id.
        scenes: the complete truth by image id, for nets that see it; None where no net does.
        own: a tower of its own with its head, for nets that see their regions.

    Raises:
        UserError: images that are missing or cannot be read, all of them.
    """
    ids = list(images)
    found = _detect_regions(ClipTower(clip), head, images)
    caption = make_caption_features(found.features, head.names, head.hidden)
    stores: dict[RegionSource, ArrayStore] = {
        "found": ArrayStore(ids, found.features, found.boxes),
        "told": ArrayStore(ids, caption, np.zeros_like(found.boxes)),  # a caption has no places
    }
    if own_tower is not None:
        others = _detect_regions(*own_tower, images)
        stores["own"] = ArrayStore(ids, others.features, others.boxes)
    if scenes is not None:
        true = make_ground_truth_regions([scenes[image] for image in ids], head)
        stores["true"] = ArrayStore(ids, true.features, true.boxes)
    names = np.array(head.names.kinds)
    detected = [
        frozenset(names[k[s > DETECTION_THRESHOLD]].tolist())
        for k, s in zip(found.kinds, found.scores, strict=True)
    ]
    return ExtractedRegions(stores, dict(zip(ids, detected, strict=True)))


def _detect_regions(tower: ImageTower, head: RegionHead, images: Mapping[str, Path]) -> Regions:
    """What a head finds on the maps of a tower, calculated in float64 by one thread."""
    tower, head = tower.double(), head.double()
    pixels = _load_pixels(images, tower.size)
    with single_threaded():
        parts = [
            find_regions(tower, head, pixels[at : at + IMAGE_BATCH_SIZE])
            for at in range(0, len(pixels), IMAGE_BATCH_SIZE)
        ]
    return Regions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _load_pixels(images: Mapping[str, Path], size: tuple[int, int]) -> np.ndarray:
    """All images as uint8 [n, 3, *size]."""
    problems, rows = Problems("images that the nets cannot see"), []
    for image, path in images.items():
        try:
            rows.append(load_images([path], size))
        except (OSError, ValueError) as error:
            missing = not path.exists()
            problems.add(image, f"{path} is missing" if missing else f"{path} cannot be read ({error})")
    problems.raise_if_any()
    return np.concatenate(rows)
