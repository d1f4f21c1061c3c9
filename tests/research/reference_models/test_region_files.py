"""Region features in the layouts of others."""

import json

import h5py
import numpy as np
import pytest

from pipeline.core.errors import UserError
from research.reference_models.region_files import NpzStore, ValidatedStore, open_region_store
from research.reference_models.region_stores import ArrayStore


def npz(folder, name, count=3, **changes):
    """An image as OpenVQA writes it: 100 wide, 200 high; region i is all i + 1."""
    arrays = {
        "x": np.arange(1, count + 1, dtype=np.float32)[:, None].repeat(4, 1),
        "bbox": np.tile(np.float32([10, 20, 50, 100]), (count, 1)),
        "width": 100,
        "height": 200,
    }
    np.savez(folder / name, **{**arrays, **changes})


def test_a_file_for_each_image_is_cut_or_filled_and_boxes_become_shares(tmp_path):
    npz(tmp_path, "7.npz", count=3)
    npz(tmp_path, "8.jpg.npz", count=1)
    store = NpzStore(tmp_path, regions=2)
    features, boxes = store.get_regions(
        np.array([store.index_of["8"], store.index_of["7"], store.index_of["8"]])
    )
    assert features[:, :, 0].tolist() == [[1, 0], [1, 2], [1, 0]] and store.shape == (2, 4)
    np.testing.assert_allclose(boxes[1, 0], [0.1, 0.1, 0.5, 0.5])  # 10/100, 20/200, 50/100, 100/200
    assert boxes[0, 1].tolist() == [0, 0, 0, 0]


def test_keys_of_bottom_up_attention_do_as_well_and_its_pickled_info_is_left_alone(tmp_path):
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
def test_shapes_that_do_not_fit_are_named(changes, message, tmp_path):
    npz(tmp_path, "7.npz", **changes)
    with pytest.raises(UserError, match=message):
        NpzStore(tmp_path)


def test_a_damaged_file_a_missing_key_and_another_width_are_named(tmp_path):
    npz(tmp_path, "7.npz")
    (tmp_path / "8.npz").write_bytes(b"nothing of the kind")
    np.savez(tmp_path / "9.npz", x=np.zeros((3, 4)))
    npz(tmp_path, "99.npz", x=np.zeros((3, 5)))
    store = NpzStore(tmp_path)
    for image, message in (("8", "cannot be read"), ("9", "none of bbox, boxes"), ("99", "5 numbers")):
        with pytest.raises(UserError, match=message):
            store.get_regions(np.array([store.index_of[image]]))


def arrays():
    return np.ones((3, 2, 4), np.float32), np.full((3, 2, 4), 0.5, np.float32)


def test_numbers_that_are_not_finite_and_boxes_in_pixels_are_refused_by_image(tmp_path):
    features, boxes = arrays()
    features[1, 0, 2] = np.nan
    boxes[2] = 300
    store = ValidatedStore(ArrayStore(["a", "b", "c"], features, boxes), tmp_path)
    assert store.get_regions(np.array([0]))[0].shape == (1, 2, 4)
    with pytest.raises(UserError, match="image b: a number that is not finite"):
        store.get_regions(np.array([0, 1, 2]))
    with pytest.raises(UserError, match="image c: .* in pixels"):
        store.get_regions(np.array([2, 0]))


def test_each_layout_is_known_by_its_files(tmp_path):
    features, boxes = arrays()
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
