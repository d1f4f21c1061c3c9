"""Extract the regions of images, in float64 so that different processors give equal results
(`inference.SIGNIFICANT_DIGITS`).
"""

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
    """Region source -> region store, and image id -> names of the objects that were detected in the image."""

    stores: dict[RegionSource, ArrayStore]
    detected_names: dict[str, frozenset[str]]


def extract_regions(
    clip: Path,
    head: RegionHead,
    images: Mapping[str, Path],
    scenes: Mapping[str, SceneGraph] | None = None,
    own_tower: tuple[ImageTower, RegionHead] | None = None,
) -> ExtractedRegions:
    """Extract the regions of images.

    Args:
        clip: Folder of the CLIP model of the region head.
        head: The region head.
        images: Image id -> file.
        scenes: Image id -> complete scene graph, if there are nets that use ground-truth regions; else None.
        own_tower: A tower that is independent of CLIP and its region head, if there are nets that use their
            regions; else None.

    Raises:
        UserError: An image is missing or cannot be read. All such images are listed.
    """
    ids = list(images)
    detections = _detect_regions(ClipTower(clip), head, images)
    caption = make_caption_features(detections.features, head.names, head.hidden)
    stores: dict[RegionSource, ArrayStore] = {
        "detected": ArrayStore(ids, detections.features, detections.boxes),
        # A caption has no positions, so all boxes are 0.
        "caption": ArrayStore(ids, caption, np.zeros_like(detections.boxes)),
    }
    if own_tower is not None:
        own = _detect_regions(*own_tower, images)
        stores["own_tower"] = ArrayStore(ids, own.features, own.boxes)
    if scenes is not None:
        true = make_ground_truth_regions([scenes[image] for image in ids], head)
        stores["ground_truth"] = ArrayStore(ids, true.features, true.boxes)
    names = np.array(head.names.kinds)
    detected = [
        frozenset(names[k[s > DETECTION_THRESHOLD]].tolist())
        for k, s in zip(detections.kinds, detections.scores, strict=True)
    ]
    return ExtractedRegions(stores, dict(zip(ids, detected, strict=True)))


def _detect_regions(tower: ImageTower, head: RegionHead, images: Mapping[str, Path]) -> Regions:
    """Detect regions with a tower and its head, in float64 and with one thread."""
    tower, head = tower.double(), head.double()
    pixels = _load_pixels(images, tower.size)
    with single_threaded():
        parts = [
            find_regions(tower, head, pixels[start : start + IMAGE_BATCH_SIZE])
            for start in range(0, len(pixels), IMAGE_BATCH_SIZE)
        ]
    return Regions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _load_pixels(images: Mapping[str, Path], size: tuple[int, int]) -> np.ndarray:
    """Load all images as uint8 [n, 3, *size]."""
    problems, rows = Problems("images that cannot be loaded; restore them"), []
    for image, path in images.items():
        try:
            rows.append(load_images([path], size))
        except (OSError, ValueError) as error:
            missing = not path.exists()
            problems.add(image, f"{path} is missing" if missing else f"{path} cannot be read ({error})")
    problems.raise_if_any()
    return np.concatenate(rows)
