"""Regions of images in stores, and regions of the ground truth."""

from __future__ import annotations

import json
import sys

import h5py
import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import SceneGraph, SceneObject
from research.reference_models.ground_truth_regions import (
    get_relative_box,
    get_setting_mask,
    make_ground_truth_regions,
)
from research.reference_models.region_head import MAX_DETECTIONS, MIN_LOG_PROBABILITY, RegionHead, RegionNames
from research.reference_models.region_stores import (
    ArrayStore,
    Hdf5Store,
    NpzStore,
    ValidatedStore,
    compute_feature_moments,
    open_region_store,
)

# Regions read a batch at a time.


def arrays(images=3, regions=2, width=4):
    features = np.arange(images * regions * width, dtype=np.float16).reshape(images, regions, width)
    return features, np.full((images, regions, 4), 0.5, np.float32)


def test_images_are_read_in_the_given_order_with_repetitions():
    store = ArrayStore(["a", "b", "c"], *arrays())
    features, boxes = store.get_regions(np.array([2, 0, 2]))
    assert features[:, 0, 0].tolist() == [16, 0, 16] and features.dtype == np.float32
    assert boxes.shape == (3, 2, 4) and store.index_of["c"] == 2 and store.shape == (2, 4)


def test_arrays_are_memory_mapped(tmp_path):
    features, boxes = arrays()
    np.save(tmp_path / "features.npy", features)
    np.save(tmp_path / "boxes.npy", boxes)
    (tmp_path / "images.json").write_text(json.dumps(["a", "b", "c"]))
    store = ArrayStore.from_folder(tmp_path)
    assert isinstance(store.features, np.memmap)
    np.testing.assert_array_equal(store.get_regions(np.array([1]))[0][0], features[1])


def test_arrays_of_different_shapes_are_rejected(tmp_path):
    features, boxes = arrays()
    with pytest.raises(UserError, match=r"2 ids, features \(3, 2, 4\)"):
        ArrayStore(["a", "b"], features, boxes)
    with pytest.raises(UserError, match=r"boxes \(3, 1, 4\)"):
        ArrayStore(["a", "b", "c"], features, boxes[:, :1])
    with pytest.raises(UserError, match="no such file"):
        ArrayStore.from_folder(tmp_path)
    np.save(tmp_path / "features.npy", features)
    (tmp_path / "images.json").write_text('["a", "b", "c"]')
    with pytest.raises(UserError, match="cannot be read"):
        ArrayStore.from_folder(tmp_path)


def test_moments_are_those_of_all_regions():
    features = np.random.default_rng(0).normal(3, 2, (40, 5, 3)).astype(np.float32)
    features[:, :, 2] = 7  # never changes
    store = ArrayStore([str(i) for i in range(40)], features, np.zeros((40, 5, 4), np.float32))
    mean, spread = compute_feature_moments(store, batch=16)
    np.testing.assert_allclose(mean, features.mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(spread[:2], features.std((0, 1))[:2], rtol=1e-4)
    assert spread[2] == 1


def test_gqa_files_are_read_and_boxes_become_fractions(tmp_path):
    features = np.arange(2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
    with h5py.File(tmp_path / "gqa_objects_4.h5", "w") as file:
        file["features"] = features
        file["bboxes"] = np.tile(np.array([10, 20, 50, 100], np.float32), (2, 3, 1))
    info = {
        "7": {"file": 4, "idx": 1, "width": 100, "height": 200, "objectsNum": 3},
        "8": {"file": 4, "idx": 0, "width": 50, "height": 100, "objectsNum": 3},
    }
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))
    store = Hdf5Store(tmp_path, regions=2)
    took, placed = store.get_regions(
        np.array([store.index_of["8"], store.index_of["7"], store.index_of["8"]])
    )
    np.testing.assert_array_equal(took, features[[0, 1, 0], :2])
    np.testing.assert_allclose(placed[0, 0], [0.2, 0.2, 1, 1])  # 10/50, 20/100, 50/50, 100/100
    np.testing.assert_allclose(placed[1, 0], [0.1, 0.1, 0.5, 0.5])  # 10/100, 20/200, 50/100, 100/200


def test_files_that_the_info_names_and_that_are_missing_are_listed(tmp_path):
    row = {"idx": 0, "width": 9, "height": 9}
    info = {"7": {"file": 4, **row}, "8": {"file": 11, **row}}
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match=r"gqa_objects_4\.h5\n.*gqa_objects_11\.h5"):
        Hdf5Store(tmp_path)


def test_without_h5py_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UserError, match="pip install h5py"):
        Hdf5Store(tmp_path)


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ({"features": (2, 3, 5)}, "not object features"),
        ({"features": (2, 3, 5), "bboxes": (2, 2, 4)}, "do not match"),
        ({"features": (2, 15), "bboxes": (2, 3, 4)}, "do not match"),
        (None, "not object features"),
    ],
)
def test_a_file_without_object_features_is_rejected(datasets, message, tmp_path):
    row = {"file": 0, "idx": 0, "width": 9, "height": 9}
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps({"7": row}))
    if datasets is None:
        (tmp_path / "gqa_objects_0.h5").write_bytes(b"cut off")
    else:
        with h5py.File(tmp_path / "gqa_objects_0.h5", "w") as file:
            for name, shape in datasets.items():
                file[name] = np.zeros(shape, np.float32)
    with pytest.raises(UserError, match=message):
        Hdf5Store(tmp_path)


def test_an_incomplete_info_file_is_rejected(tmp_path):
    (tmp_path / "gqa_objects_info.json").write_text('{"7": {"file": 0, "idx": 0}}')
    with pytest.raises(UserError, match="width"):
        Hdf5Store(tmp_path)


def npz(folder, name, count=3, **changes):
    """An image as OpenVQA writes it: 100 wide, 200 high; region i is all i + 1."""
    arrays = {
        "x": np.arange(1, count + 1, dtype=np.float32)[:, None].repeat(4, 1),
        "bbox": np.tile(np.float32([10, 20, 50, 100]), (count, 1)),
        "width": 100,
        "height": 200,
    }
    np.savez(folder / name, **{**arrays, **changes})


def test_npz_files_are_truncated_or_padded_and_boxes_become_fractions(tmp_path):
    npz(tmp_path, "7.npz", count=3)
    npz(tmp_path, "8.jpg.npz", count=1)
    store = NpzStore(tmp_path, regions=2)
    features, boxes = store.get_regions(
        np.array([store.index_of["8"], store.index_of["7"], store.index_of["8"]])
    )
    assert features[:, :, 0].tolist() == [[1, 0], [1, 2], [1, 0]] and store.shape == (2, 4)
    np.testing.assert_allclose(boxes[1, 0], [0.1, 0.1, 0.5, 0.5])  # 10/100, 20/200, 50/100, 100/200
    assert boxes[0, 1].tolist() == [0, 0, 0, 0]


def test_keys_of_bottom_up_attention_are_read_without_unpickling(tmp_path):
    names = {"x": "features", "bbox": "boxes", "width": "image_w", "height": "image_h"}
    npz(tmp_path, "7.npz")
    with np.load(tmp_path / "7.npz") as file:
        renamed = {names[key]: file[key] for key in file.files}
    np.savez(tmp_path / "7.npz", **renamed, info=np.array({"image_id": "7"}, object), num_bbox=3)
    assert open_region_store(tmp_path).get_regions(np.array([0]))[0].shape == (1, 36, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bbox": np.zeros((2, 4))}, r"7\.npz: features \(3, 4\), boxes \(2, 4\)"),
        ({"x": np.zeros((3, 2, 2))}, r"wanted \[n, d\] and \[n, 4\]"),
    ],
)
def test_other_shapes_are_named(changes, message, tmp_path):
    npz(tmp_path, "7.npz", **changes)
    with pytest.raises(UserError, match=message):
        NpzStore(tmp_path)


def test_a_damaged_file_a_missing_key_and_another_width_are_named(tmp_path):
    npz(tmp_path, "7.npz")
    (tmp_path / "8.npz").write_bytes(b"nothing of the kind")
    np.savez(tmp_path / "9.npz", x=np.zeros((3, 4)))
    npz(tmp_path, "99.npz", x=np.zeros((3, 5)))
    store = NpzStore(tmp_path)
    for image, message in (
        ("8", "cannot be read"),
        ("9", "no array bbox or boxes"),
        ("99", "5 features per region"),
    ):
        with pytest.raises(UserError, match=message):
            store.get_regions(np.array([store.index_of[image]]))


def constant_arrays():
    return np.ones((3, 2, 4), np.float32), np.full((3, 2, 4), 0.5, np.float32)


def test_values_that_are_not_finite_and_boxes_in_pixels_are_rejected(tmp_path):
    features, boxes = constant_arrays()
    features[1, 0, 2] = np.nan
    boxes[2] = 300
    store = ValidatedStore(ArrayStore(["a", "b", "c"], features, boxes), tmp_path)
    assert store.get_regions(np.array([0]))[0].shape == (1, 2, 4)
    with pytest.raises(UserError, match="image b: a value that is not finite"):
        store.get_regions(np.array([0, 1, 2]))
    with pytest.raises(UserError, match="image c: .* not pixels"):
        store.get_regions(np.array([2, 0]))


def test_each_layout_is_recognized_by_its_files(tmp_path):
    features, boxes = constant_arrays()
    for name in ("gqa", "arrays", "npz", "none"):
        (tmp_path / name).mkdir()
    with h5py.File(tmp_path / "gqa" / "gqa_objects_0.h5", "w") as file:
        file["features"], file["bboxes"] = features, boxes
    row = {"file": 0, "width": 1, "height": 1}
    info = {"a": {"idx": 0, **row}, "b": {"idx": 1, **row}, "c": {"idx": 2, **row}}
    (tmp_path / "gqa" / "gqa_objects_info.json").write_text(json.dumps(info))
    np.save(tmp_path / "arrays" / "features.npy", features)
    np.save(tmp_path / "arrays" / "boxes.npy", boxes)
    (tmp_path / "arrays" / "images.json").write_text('["a", "b", "c"]')
    for image in "abc":
        npz(tmp_path / "npz", f"{image}.npz", x=features[0], bbox=boxes[0], width=1, height=1)
    for name in ("gqa", "arrays", "npz"):
        store = open_region_store(tmp_path / name, regions_per_image=2)
        found = store.get_regions(np.array([store.index_of["c"]]))
        np.testing.assert_array_equal(found[0], features[2:])
        np.testing.assert_array_equal(found[1], boxes[2:])
    with pytest.raises(UserError, match="no region features in it"):
        open_region_store(tmp_path / "none")


# The truth in the form of the region head's finds.


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
