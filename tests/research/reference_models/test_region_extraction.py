"""The regions of images that are asked about, from the sample's own tower."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.image_towers import ClipTower, ResidualTower
from research.reference_models.region_extraction import extract_regions
from research.reference_models.region_head import (
    DETECTION_THRESHOLD,
    RegionHead,
    RegionNames,
    find_regions,
    load_images,
)

CLIP = DatasetFolders("sample").clip
IMAGES = {path.stem: path for path in sorted(DatasetFolders("sample").source.glob("images/*.jpg"))[:3]}
NAMES = RegionNames(("cup", "dog", "hat"), ("red", "blue"), ("park",))


def head():
    torch.manual_seed(0)
    made = RegionHead(56 * 4 + 152 + 368, NAMES, hidden=8).eval()
    torch.nn.init.constant_(made.kind.bias, -0.8)  # Scores near DETECTION_THRESHOLD.
    return made


@pytest.fixture(scope="module")
def regions():
    return extract_regions(CLIP, head(), IMAGES)


def test_regions_are_those_of_the_head(regions):
    tower = ClipTower(CLIP)
    expected = find_regions(tower, head(), load_images([*IMAGES.values()], tower.size))
    assert [*regions.stores["detected"].index_of] == [*IMAGES]
    np.testing.assert_allclose(
        np.sort(regions.stores["detected"].features[..., -1], axis=1),
        np.sort(expected.features[..., -1], axis=1),
        atol=2e-3,
    )
    assert regions.stores["detected"].boxes.dtype == np.float32


def test_regions_above_the_threshold_count_as_detected(regions):
    scores = regions.stores["detected"].features[:, :-1, -1].astype(float)
    for row, image in zip(scores, IMAGES, strict=True):
        assert bool(regions.detected_names[image]) == bool((row > DETECTION_THRESHOLD).any())
        assert regions.detected_names[image] <= set(NAMES.kinds)
    assert any(regions.detected_names.values())


def test_captions_have_no_positions_and_ground_truth_is_optional(regions):
    assert (regions.stores["caption"].boxes == 0).all() and "ground_truth" not in regions.stores
    dog = SceneObject(object_id="1", name="dog", x=0, y=0, w=5, h=5)
    scene = SceneGraph(image_id="x", split="testdev", width=10, height=10, objects=(dog,))
    scenes = dict.fromkeys(IMAGES, scene)
    true = extract_regions(CLIP, head(), IMAGES, scenes).stores["ground_truth"]
    assert true.boxes[0, 0].tolist() == [0, 0, 0.5, 0.5] and true.features[0, 0, 8 + 1] == 0


def test_the_own_tower_has_separate_regions(regions):
    torch.manual_seed(0)
    tower, own = ResidualTower((96, 128)).eval(), RegionHead(128, NAMES, hidden=8).eval()
    expected = find_regions(tower, own, load_images([*IMAGES.values()], tower.size))
    stores = extract_regions(CLIP, head(), IMAGES, own_tower=(tower, own)).stores
    np.testing.assert_allclose(stores["own_tower"].features[:, -1], expected.features[:, -1], atol=2e-3)
    np.testing.assert_array_equal(stores["detected"].features, regions.stores["detected"].features)
    assert "own_tower" not in regions.stores and next(tower.parameters()).dtype == torch.float64


def test_every_unreadable_image_is_named(tmp_path):
    (tmp_path / "b.jpg").write_bytes(b"\xff\xd8 broken")
    bad = {**IMAGES, "a": tmp_path / "a.jpg", "b": tmp_path / "b.jpg"}
    with pytest.raises(UserError) as caught:
        extract_regions(CLIP, head(), bad)
    assert (
        "a.jpg is missing" in caught.value.problems[1] and "b.jpg cannot be read" in caught.value.problems[2]
    )
