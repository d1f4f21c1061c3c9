"""Regions from the ground truth, in the format of the region head: the input of a net with a perfect
detector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.region_head import (
    MAX_DETECTIONS,
    MIN_LOG_PROBABILITY,
    RegionHead,
    RegionNames,
    Regions,
)


def get_relative_box(scene_object: SceneObject, scene: SceneGraph) -> tuple[float, float, float, float]:
    """Return the box of an object as fractions of the image: left, top, right, bottom."""
    right, bottom = scene_object.x + scene_object.w, scene_object.y + scene_object.h
    return (
        scene_object.x / scene.width,
        scene_object.y / scene.height,
        right / scene.width,
        bottom / scene.height,
    )


def get_attribute_mask(scene_object: SceneObject, names: RegionNames) -> np.ndarray:
    """Return for each attribute in `names` whether the object has this attribute, bool [attributes]."""
    return np.isin(names.looks, scene_object.attributes)


def get_setting_mask(scene: SceneGraph, names: RegionNames) -> np.ndarray:
    """Return for each setting in `names` whether it is the location or the weather of the scene, bool
    [settings].
    """
    return np.isin(names.settings, (scene.location, scene.weather))


def make_ground_truth_regions(scenes: Sequence[SceneGraph], head: RegionHead) -> Regions:
    """Return regions for the first `MAX_DETECTIONS` objects of each scene, and for the whole image.

    In the features, hidden vectors are 0, and log-probabilities are 0 or `MIN_LOG_PROBABILITY`.
    """
    n, known = len(scenes), head.names
    kind_of = {name: index for index, name in enumerate(known.kinds)}
    features = np.zeros((n, MAX_DETECTIONS + 1, head.feature_size), np.float16)
    name_log_probabilities = features[:, :, head.hidden : -1]
    name_log_probabilities[:] = MIN_LOG_PROBABILITY
    boxes = np.zeros((n, MAX_DETECTIONS + 1, 4), np.float32)
    kinds = np.zeros((n, MAX_DETECTIONS), np.int64)
    attributes_end = len(known.kinds) + len(known.looks)
    for row, scene in enumerate(scenes):
        for slot, item in enumerate(scene.objects[:MAX_DETECTIONS]):
            kinds[row, slot] = kind_of[item.name]
            name_log_probabilities[row, slot, kinds[row, slot]] = 0
            name_log_probabilities[row, slot, len(known.kinds) : attributes_end][
                get_attribute_mask(item, known)
            ] = 0
            boxes[row, slot], features[row, slot, -1] = get_relative_box(item, scene), 1
        name_log_probabilities[row, -1, attributes_end:][get_setting_mask(scene, known)] = 0
        boxes[row, -1], features[row, -1, -1] = (0, 0, 1, 1), 1
    return Regions(features, boxes, kinds, features[:, :MAX_DETECTIONS, -1].astype(np.float32))
