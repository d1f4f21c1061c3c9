"""Regions read a batch at a time."""

import json
import sys

import h5py
import numpy as np
import pytest

from pipeline.core.errors import UserError
from research.reference_models.region_stores import ArrayStore, Hdf5Store, compute_feature_moments


def arrays(images=3, regions=2, width=4):
    features = np.arange(images * regions * width, dtype=np.float16).reshape(images, regions, width)
    return features, np.full((images, regions, 4), 0.5, np.float32)


def test_images_are_taken_in_the_order_asked_for_and_more_than_once():
    store = ArrayStore(["a", "b", "c"], *arrays())
    features, boxes = store.get_regions(np.array([2, 0, 2]))
    assert features[:, 0, 0].tolist() == [16, 0, 16] and features.dtype == np.float32
    assert boxes.shape == (3, 2, 4) and store.index_of["c"] == 2 and store.shape == (2, 4)


def test_files_are_mapped_not_read(tmp_path):
    features, boxes = arrays()
    np.save(tmp_path / "features.npy", features)
    np.save(tmp_path / "boxes.npy", boxes)
    (tmp_path / "images.json").write_text(json.dumps(["a", "b", "c"]))
    store = ArrayStore.from_folder(tmp_path)
    assert isinstance(store.features, np.memmap)
    np.testing.assert_array_equal(store.get_regions(np.array([1]))[0][0], features[1])


def test_arrays_that_do_not_fit_together_are_refused(tmp_path):
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


def test_gqa_files_are_read_by_their_info_and_boxes_become_shares(tmp_path):
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
        ({"features": (2, 3, 5), "bboxes": (2, 2, 4)}, "do not fit together"),
        ({"features": (2, 15), "bboxes": (2, 3, 4)}, "do not fit together"),
        (None, "not object features"),
    ],
)
def test_a_file_that_is_no_object_features_is_refused(datasets, message, tmp_path):
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


def test_an_info_file_that_lacks_something_is_refused(tmp_path):
    (tmp_path / "gqa_objects_info.json").write_text('{"7": {"file": 0, "idx": 0}}')
    with pytest.raises(UserError, match="width"):
        Hdf5Store(tmp_path)
