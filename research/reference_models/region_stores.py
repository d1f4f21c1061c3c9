"""What is known of the regions of images, read a batch at a time: memory does not grow with the images.

`ArrayStore` has arrays, or files of them that are mapped, `HdfStore` the files that GQA publishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import read_json


class RegionStore(Protocol):
    """Images by their place, 0 to n - 1.

    Attributes:
        place_of: the place of an image by its id.
        shape: regions of each image M, numbers of each region d.
    """

    @property
    def index_of(self) -> Mapping[str, int]: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features [b, M, d] float32 and boxes [b, M, 4] float32 (left, top, right, bottom; shares of the image)
        of the images at `places` [b], any of them more than once."""
        ...


class ArrayStore:
    """Regions in arrays, held or mapped.

    Args:
        image_ids: n ids. features: [n, M, d] of any float type. boxes: [n, M, 4].

    Raises:
        UserError: the shapes do not fit together.
    """

    def __init__(self, image_ids: Sequence[str], features: np.ndarray, boxes: np.ndarray) -> None:
        wanted = (len(image_ids), features.shape[1] if features.ndim == 3 else -1)
        if features.ndim != 3 or features.shape[:2] != wanted or boxes.shape != (*wanted, 4):
            raise UserError(
                f"regions: {format_count(len(image_ids), 'id')}, features {features.shape} and boxes {boxes.shape} do not fit together; "
                "wanted features [n, regions, d] and boxes [n, regions, 4]"
            )
        self.index_of = {image: place for place, image in enumerate(image_ids)}
        self.shape = (features.shape[1], features.shape[2])
        self.features, self.boxes = features, boxes

    @classmethod
    def from_folder(cls, folder: Path) -> ArrayStore:
        """The store that `written` made; arrays stay on the disk.

        Raises:
            UserError: a file is missing or damaged.
        """
        ids = read_json(folder / "images.json", list[str])
        try:
            features, boxes = (
                np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("features", "boxes")
            )
        except (OSError, ValueError) as error:
            raise UserError(f"{folder}: the regions cannot be read ({error}); make them again") from error
        return cls(ids, features, boxes)

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.features[indices].astype(np.float32), self.boxes[indices].astype(np.float32)


class ImageInfo(msgspec.Struct, frozen=True):
    """What GQA's info file says of an image: number of the .h5 file, row in it, size in pixels."""

    file: int
    idx: int
    width: float
    height: float


class Hdf5Store:
    """GQA's object features: `gqa_objects_{0..15}.h5` with `features` [n, 100 or 36, 2048] and `bboxes` [n, ., 4] in
    pixels, and `gqa_objects_info.json`, which names file and row of each image and its size.

    Raises:
        UserError: a file is missing or not like this, or h5py is not installed.
    """

    def __init__(self, folder: Path, regions: int = 36, prefix: str = "gqa_objects") -> None:
        try:
            import h5py
        except ImportError as error:
            raise UserError(
                f"{folder}: HDF5 files are read with h5py, which is not here: pip install h5py"
            ) from error
        info = read_json(folder / f"{prefix}_info.json", dict[str, ImageInfo])
        self.index_of = {image: place for place, image in enumerate(info)}
        self._rows = np.array([[row.file, row.idx] for row in info.values()], np.int64)  # [n, 2]
        self._sizes = np.array([[row.width, row.height] for row in info.values()], np.float32)
        self._regions = regions
        numbers = np.unique(self._rows[:, 0]).tolist()
        missing = [str(p) for n in numbers if not (p := folder / f"{prefix}_{n}.h5").is_file()]
        if missing:
            raise UserError(["files named in the info file are missing:", *missing])
        try:
            files: list[Any] = [h5py.File(folder / f"{prefix}_{number}.h5", "r") for number in numbers]
            self._datasets = {n: (f["features"], f["bboxes"]) for n, f in zip(numbers, files, strict=True)}
        except (OSError, KeyError) as error:
            raise UserError(
                f"{folder}: not object features ({error}); wanted `features` [n, regions, d] and `bboxes` [n, regions, 4]"
            ) from error
        shapes = {
            (features.ndim, *features.shape[1:], *boxes.shape[1:])
            for features, boxes in self._datasets.values()
        }
        shape = min(shapes)
        if len(shapes) > 1 or len(shape) != 5 or shape[1] != shape[3] or shape[4] != 4:
            raise UserError(
                f"{folder}: `features` and `bboxes` of its files do not fit together: {sorted(shapes)}"
            )
        self.shape = (min(regions, shape[1]), shape[2])

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        regions, width = self.shape
        features = np.empty((len(indices), regions, width), np.float32)
        boxes = np.empty((len(indices), regions, 4), np.float32)
        files, rows = self._rows[indices].T
        for number in np.unique(files):
            here = np.flatnonzero(files == number)
            # Each row once, whatever asks for it, in the order in which rows lie on the disk: one call reads them all.
            distinct, back = np.unique(rows[here], return_inverse=True)
            data, placed = self._datasets[number]
            features[here] = data[distinct, :regions][back]
            boxes[here] = placed[distinct, :regions][back]
        boxes /= np.tile(self._sizes[indices], 2)[:, None]
        return features, boxes


def compute_feature_moments(
    store: RegionStore, max_images: int = 2048, batch: int = 256, image_indices: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation [d] of the regions' numbers, over at most so many images, evenly spread over those at the
    places `among` (all, if not given); the deviation is 1 where a number never changes."""
    image_indices = np.arange(len(store.index_of)) if image_indices is None else image_indices
    images = image_indices[np.unique(np.linspace(0, len(image_indices) - 1, max_images).astype(int))]
    total, squares, count = np.zeros(store.shape[1]), np.zeros(store.shape[1]), 0
    for part in _split_batches(images, batch):
        rows = store.get_regions(part)[0].reshape(-1, store.shape[1]).astype(np.float64)
        total, squares, count = total + rows.sum(0), squares + (rows**2).sum(0), count + len(rows)
    mean = total / count
    spread = np.sqrt(np.maximum(squares / count - mean**2, 0))
    return mean.astype(np.float32), np.where(spread > 1e-6, spread, 1).astype(np.float32)


def _split_batches(values: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (values[start : start + size] for start in range(0, len(values), size))
