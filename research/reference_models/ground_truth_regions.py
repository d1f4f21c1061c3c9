"""Regions as the truth has them, in the form of the region head's: what a net sees that finds everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.core.records import Scene, SceneObject
from research.reference_models.region_head import FLOOR, FOUND, RegionHead, RegionNames, Regions


def box_of(item: SceneObject, scene: Scene) -> tuple[float, float, float, float]:
    """A thing's box as shares of the picture: left, top, right, bottom."""
    right, bottom = item.x + item.w, item.y + item.h
    return item.x / scene.width, item.y / scene.height, right / scene.width, bottom / scene.height


def looks_of(item: SceneObject, names: RegionNames) -> np.ndarray:
    """Which looks a thing has, bool [looks]."""
    return np.isin(names.looks, item.attributes)


def settings_of(scene: Scene, names: RegionNames) -> np.ndarray:
    """Place and weather, bool [settings]."""
    return np.isin(names.settings, (scene.location, scene.weather))


def true_regions(scenes: Sequence[Scene], head: RegionHead) -> Regions:
    """The first FOUND things of each scene, and the whole: hidden vectors are 0, log-probabilities 0 or FLOOR."""
    n, known = len(scenes), head.names
    kind_of = {name: place for place, name in enumerate(known.kinds)}
    features = np.zeros((n, FOUND + 1, head.width), np.float16)
    names = features[:, :, head.hidden : -1]
    names[:] = FLOOR
    boxes = np.zeros((n, FOUND + 1, 4), np.float32)
    kinds = np.zeros((n, FOUND), np.int64)
    looks = len(known.kinds) + len(known.looks)
    for row, scene in enumerate(scenes):
        for place, item in enumerate(scene.objects[:FOUND]):
            kinds[row, place] = kind_of[item.name]
            names[row, place, kinds[row, place]] = 0
            names[row, place, len(known.kinds) : looks][looks_of(item, known)] = 0
            boxes[row, place], features[row, place, -1] = box_of(item, scene), 1
        names[row, -1, looks:][settings_of(scene, known)] = 0
        boxes[row, -1], features[row, -1, -1] = (0, 0, 1, 1), 1
    return Regions(features, boxes, kinds, features[:, :FOUND, -1].astype(np.float32))
