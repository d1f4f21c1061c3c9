"""Regions are extracted from images, and named by a head."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.image_towers import ClipTower, ResidualTower
from research.reference_models.region_extraction import extract_regions
from research.reference_models.region_head import (
    DETECTION_THRESHOLD,
    MAX_DETECTIONS,
    MIN_LOG_PROBABILITY,
    RegionHead,
    RegionNames,
    find_regions,
    load_head,
    load_images,
    load_tower,
    make_caption_features,
    save_head,
)

# The regions of images that are asked about, from the sample's own tower.


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


# Regions from the maps of a CLIP's tower.


HEAD_NAMES = RegionNames(("cup", "dog", "hat"), ("red", "blue"), ("park",))
HEAD_IMAGES = sorted(DatasetFolders("sample").source.glob("images/*.jpg"))[:2]
SIZE = (192, 256)


def small_head(channels=6):
    torch.manual_seed(0)
    return RegionHead(channels, HEAD_NAMES, hidden=8).eval()


@pytest.fixture(scope="module")
def tower():
    return ClipTower(DatasetFolders("sample").clip)


def test_images_are_loaded_in_the_size_of_the_tower():
    pixels = load_images(HEAD_IMAGES, SIZE)
    assert pixels.shape == (2, 3, *SIZE) and pixels.dtype == np.uint8
    with Image.open(HEAD_IMAGES[0]) as image:
        corner = np.asarray(image.convert("RGB"))[0, 0]
    np.testing.assert_allclose(pixels[0, :, 0, 0], corner, atol=12)


def with_peaks(*peaks):
    """A head whose kind logits are at given cells (row, column, kind) +5, else -5, on a map of 4 x 5 cells."""
    made, maps = small_head(), torch.zeros(1, 6, 4, 5)
    logits = torch.full((1, 20, 3), -5.0)
    for row, column, kind in peaks:
        logits[0, row * 5 + column, kind] = 5.0
    made.kind.forward = lambda cells: logits  # pyright: ignore[reportAttributeAccessIssue]
    return made, maps


def test_regions_are_peaks_and_the_whole_image_is_last():
    made, maps = with_peaks((1, 1, 0), (1, 1, 2), (3, 4, 1))
    with torch.inference_mode():
        features, boxes, kinds, scores = made.detect(maps)
    assert features.shape == (1, MAX_DETECTIONS + 1, made.feature_size) and boxes.shape == (
        1,
        MAX_DETECTIONS + 1,
        4,
    )
    assert (
        set(kinds[0, :3].tolist()) == {0, 1, 2}
        and (scores[0, :3] > 0.99).all()
        and (scores[0, 3:] < 0.01).all()
    )
    assert boxes[0, -1].tolist() == [0, 0, 1, 1]
    names = features[0, :, made.hidden : -1]
    assert (names[-1, :5] == MIN_LOG_PROBABILITY).all() and (
        names[:-1, 5] == MIN_LOG_PROBABILITY
    ).all()  # settings are the whole's alone


def test_two_objects_at_one_cell_are_distinguished():
    made, maps = with_peaks((1, 1, 0), (1, 1, 2))
    with torch.inference_mode():
        features, _, kinds, _ = made.detect(maps)
    assert sorted(kinds[0, :2].tolist()) == [0, 2]
    for place in (0, 1):
        assert features[0, place, made.hidden : made.hidden + 3].argmax() == kinds[0, place]
    assert not torch.allclose(features[0, 0, : made.hidden], features[0, 1, : made.hidden])


def test_a_box_is_relative_to_its_cell():
    made, maps = with_peaks((1, 1, 0))
    made.box.forward = lambda hidden: torch.tensor([0.01, 0.0, 0.2, 0.4]).expand(*hidden.shape[:-1], 4)  # pyright: ignore[reportAttributeAccessIssue]
    with torch.inference_mode():
        boxes = made.detect(maps)[1]
    # the middle of cell (1, 1) of 4 x 5: x 1.5 / 5 + 0.01 = 0.31, y 1.5 / 4 = 0.375
    assert boxes[0, 0].tolist() == pytest.approx([0.21, 0.175, 0.41, 0.575])


def test_a_head_is_read_from_its_file(tmp_path, tower):
    made = small_head(744)
    save_head(tmp_path / "head.safetensors", made)
    back = load_head(tmp_path / "head.safetensors")
    assert back.names == HEAD_NAMES
    pixels = load_images(HEAD_IMAGES, SIZE)
    first, second = find_regions(tower, made, pixels), find_regions(tower, back, pixels)
    assert first.features.dtype == np.float16 and first.features.shape == (2, MAX_DETECTIONS + 1, 8 + 6 + 1)
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-3)


def test_a_tower_is_in_the_file_of_its_head_or_that_of_the_clip(tmp_path):
    path, size = tmp_path / "head.safetensors", (32, 48)
    torch.manual_seed(1)
    own, made = ResidualTower(size, (4, 5, 6), (1, 0, 1)).eval(), small_head(6)
    save_head(path, made, own)
    back = load_tower(path, tmp_path / "no clip")  # which is not asked for
    assert isinstance(back, ResidualTower) and back.size == size
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3, *size), np.uint8)
    np.testing.assert_allclose(back.compute_maps(pixels), own.compute_maps(pixels), rtol=1e-2, atol=1e-2)
    first, second = find_regions(own, made, pixels), find_regions(back, load_head(path), pixels)
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-3)
    save_head(path, made)
    assert isinstance(load_tower(path, DatasetFolders("sample").clip), ClipTower)


def test_a_caption_has_the_likely_names_of_likely_objects():
    features = np.array(
        [
            [0.7, -9, 0, -0.1, -3, -6, -0.2, -6, 0.9],  # hidden 2, names 6, score
            [0.7, -9, -0.1, -4, -3, -6, -0.2, -6, 0.4],  # no thing
            [0.1, 0.2, -6, -6, -6, -6, -6, -0.5, 1.0],  # the whole
        ],
        np.float16,
    )
    caption = make_caption_features(features, HEAD_NAMES, hidden=2)
    # log(0.5) = -0.69
    assert caption.tolist() == [[0, 0, 1, 1, 0, 0, 1, 0, 0], [0] * 9, [0, 0, 0, 0, 0, 0, 0, 1, 0]]
