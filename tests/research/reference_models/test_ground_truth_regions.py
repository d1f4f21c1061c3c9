"""The truth in the form of the region head's finds."""

from __future__ import annotations

import numpy as np

from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.ground_truth_regions import (
    get_relative_box,
    get_setting_mask,
    make_ground_truth_regions,
)
from research.reference_models.region_head import MAX_DETECTIONS, MIN_LOG_PROBABILITY, RegionHead, RegionNames

NAMES = RegionNames(("cup", "dog"), ("brown", "red", "sitting"), ("park", "street", "sunny"))
CUP = SceneObject(object_id="1", name="cup", x=44, y=33, w=90, h=67, attributes=("red", "small"))
DOG = SceneObject(object_id="2", name="dog", x=224, y=168, w=112, h=84, attributes=("brown", "sitting"))
SCENE = SceneGraph(
    image_id="1", split="val", width=448, height=336, objects=(CUP, DOG), location="park", weather="sunny"
)


def test_a_box_is_a_fraction_of_the_image():
    assert get_relative_box(DOG, SCENE) == (0.5, 0.5, 0.75, 0.75)


def test_location_and_weather_are_settings():
    assert get_setting_mask(SCENE, NAMES).tolist() == [True, False, True]


def test_objects_come_first_and_the_whole_image_last():
    regions = make_ground_truth_regions([SCENE], RegionHead(6, NAMES, hidden=4))
    names = regions.features[0, :, 4:-1]
    said = [{NAMES.all_names[i] for i in np.flatnonzero(row == 0)} for row in names]
    assert said == [
        {"cup", "red"},
        {"dog", "brown", "sitting"},
        *[set()] * (MAX_DETECTIONS - 2),
        {"park", "sunny"},
    ]
    assert set(np.unique(names)) == {MIN_LOG_PROBABILITY, 0} and (regions.features[..., :4] == 0).all()
    assert (
        regions.scores[0].tolist() == [1, 1, *[0] * (MAX_DETECTIONS - 2)] and regions.features[0, -1, -1] == 1
    )
    assert regions.boxes[0, 1].tolist() == [0.5, 0.5, 0.75, 0.75] and regions.boxes[0, -1].tolist() == [
        0,
        0,
        1,
        1,
    ]


def test_the_first_objects_are_kept():
    many = SceneGraph(
        image_id="1", split="val", width=448, height=336, objects=(DOG, *[CUP] * MAX_DETECTIONS)
    )
    regions = make_ground_truth_regions([many], RegionHead(6, NAMES, hidden=4))
    assert regions.kinds[0].tolist() == [1, *[0] * (MAX_DETECTIONS - 1)]
