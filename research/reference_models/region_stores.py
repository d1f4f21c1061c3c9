"""Read precomputed region features of images, batch by batch, so that memory does not grow with the number of
images.

Supported layouts of a folder:

    gqa_objects_info.json, gqa_objects_0.h5 ...   GQA's own object features (`Hdf5Store`)
    images.json, features.npy, boxes.npy          arrays, with boxes as fractions of the image (`ArrayStore`)
    <image id>.npz, one file per image            features of OpenVQA and the bottom-up-attention tools (`NpzStore`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import msgspec
import numpy as np

from pipeline.core.errors import UserError, format_count
from pipeline.core.images import strip_image_suffix
from pipeline.core.json_files import read_json

# Default number of regions of an image, as in most published features.
REGIONS_PER_IMAGE = 36
# Maximum length by which a box may extend beyond its image, as a fraction of the image. Larger values show
# that boxes are in pixels.
MAX_BOX_OVERHANG = 0.5
# Possible keys of the arrays in .npz files. The first keys are those of OpenVQA's gqa_feat_preproc.py and
# bottom-up-attention.pytorch.
FEATURE_KEYS, BOX_KEYS = ("x", "features"), ("bbox", "boxes", "bboxes")
WIDTH_KEYS, HEIGHT_KEYS = ("width", "image_w", "img_w"), ("height", "image_h", "img_h")


class RegionStore(Protocol):
    """Regions of n images, which have indices 0 to n - 1.

    Attributes:
        index_of: Image id -> index of the image.
        shape: Number M of regions per image, and number d of features per region.
    """

    @property
    def index_of(self) -> Mapping[str, int]: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the regions of images.

        Args:
            indices: Indices [b] of the images. An index may occur several times.

        Returns:
            Features float32 [b, M, d], and boxes float32 [b, M, 4] (left, top, right, bottom as fractions of
            the image).
        """
        ...


class ArrayStore:
    """Regions in arrays, in memory or memory-mapped.

    Args:
        image_ids: Ids of the n images.
        features: Features [n, M, d], of any float type.
        boxes: Boxes [n, M, 4].

    Raises:
        UserError: The shapes do not match.
    """

    def __init__(self, image_ids: Sequence[str], features: np.ndarray, boxes: np.ndarray) -> None:
        wanted = (len(image_ids), features.shape[1] if features.ndim == 3 else -1)
        if features.ndim != 3 or features.shape[:2] != wanted or boxes.shape != (*wanted, 4):
            raise UserError(
                f"regions: {format_count(len(image_ids), 'id')}, features {features.shape} and boxes {boxes.shape} do not match; "
                "wanted features [n, regions, d] and boxes [n, regions, 4]"
            )
        self.index_of = {image: index for index, image in enumerate(image_ids)}
        self.shape = (features.shape[1], features.shape[2])
        self.features, self.boxes = features, boxes

    @classmethod
    def from_folder(cls, folder: Path) -> ArrayStore:
        """Open a folder with images.json, features.npy and boxes.npy. The arrays are memory-mapped.

        Raises:
            UserError: A file is missing or damaged.
        """
        ids = read_json(folder / "images.json", list[str])
        try:
            features, boxes = (
                np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("features", "boxes")
            )
        except (OSError, ValueError) as error:
            raise UserError(f"{folder}: the regions cannot be read ({error}); extract them again") from error
        return cls(ids, features, boxes)

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.features[indices].astype(np.float32), self.boxes[indices].astype(np.float32)


class ImageInfo(msgspec.Struct, frozen=True):
    """An entry of GQA's info file: number of the .h5 file of an image, row in this file, and image size in
    pixels.
    """

    file: int
    idx: int
    width: float
    height: float


class Hdf5Store:
    """GQA's object features.

    `gqa_objects_{0..15}.h5` have `features` [n, 100 or 36, 2048] and `bboxes` [n, 100 or 36, 4] in pixels.
    `gqa_objects_info.json` has the file, the row and the size of each image.

    Args:
        folder: Folder of these files.
        regions: Number of regions to read of each image. The first regions are read.
        prefix: Prefix of the file names.

    Raises:
        UserError: A file is missing or has another format, or h5py is not installed.
    """

    def __init__(self, folder: Path, regions: int = REGIONS_PER_IMAGE, prefix: str = "gqa_objects") -> None:
        try:
            import h5py
        except ImportError as error:
            raise UserError(
                f"{folder}: reading HDF5 files needs h5py, which is not installed: pip install h5py"
            ) from error
        info = read_json(folder / f"{prefix}_info.json", dict[str, ImageInfo])
        self.index_of = {image: index for index, image in enumerate(info)}
        self._rows = np.array([[row.file, row.idx] for row in info.values()], np.int64)
        self._sizes = np.array([[row.width, row.height] for row in info.values()], np.float32)
        self._regions = regions
        numbers = np.unique(self._rows[:, 0]).tolist()
        missing = [str(p) for n in numbers if not (p := folder / f"{prefix}_{n}.h5").is_file()]
        if missing:
            raise UserError([f"{folder}: files that the info file names are missing", *missing])
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
                f"{folder}: shapes of `features` and `bboxes` in its files do not match: {sorted(shapes)}"
            )
        self.shape = (min(regions, shape[1]), shape[2])

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        regions, width = self.shape
        features = np.empty((len(indices), regions, width), np.float32)
        boxes = np.empty((len(indices), regions, 4), np.float32)
        files, rows = self._rows[indices].T
        for number in np.unique(files):
            here = np.flatnonzero(files == number)
            # Each distinct row is read once, in the order of the file, with a single call.
            distinct, back = np.unique(rows[here], return_inverse=True)
            data, box_data = self._datasets[number]
            features[here] = data[distinct, :regions][back]
            boxes[here] = box_data[distinct, :regions][back]
        boxes /= np.tile(self._sizes[indices], 2)[:, None]
        return features, boxes


class NpzStore:
    """One file per image: features [n, d], boxes [n, 4] in pixels, width and height.

    Args:
        folder: Folder of the files.
        regions: Number of regions of each image. If a file has more regions, the first regions are used,
            which have the highest scores. If a file has fewer regions, zeros are appended, as in GQA's own
            files.

    Raises:
        UserError: There is no file, or the first file has another format.
    """

    def __init__(self, folder: Path, regions: int = REGIONS_PER_IMAGE) -> None:
        self._paths = sorted(folder.glob("*.npz"))
        if not self._paths:
            raise UserError(f"{folder}: no .npz file in it")
        self.index_of: Mapping[str, int] = {_image_id(path): index for index, path in enumerate(self._paths)}
        self.shape = (regions, _read_npz(self._paths[0])[0].shape[1])

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features = np.zeros((len(indices), *self.shape), np.float32)
        boxes = np.zeros((len(indices), self.shape[0], 4), np.float32)
        distinct, back = np.unique(indices, return_inverse=True)
        for i, index in enumerate(distinct):
            image_features, image_boxes = _read_npz(self._paths[index])
            if image_features.shape[1] != self.shape[1]:
                raise UserError(
                    f"{self._paths[index]}: {image_features.shape[1]} features per region, but {self.shape[1]} in {self._paths[0].name}; "
                    "wanted the same number in all files"
                )
            count = min(self.shape[0], len(image_features))
            features[back == i, :count] = image_features[:count]
            boxes[back == i, :count] = image_boxes[:count]
        return features, boxes


class ValidatedStore:
    """Validates the regions of another store when they are read.

    Args:
        store: The other store.
        path: Folder of the other store, for messages.
    """

    def __init__(self, store: RegionStore, path: Path) -> None:
        self._store, self._path = store, path
        self.index_of, self.shape = store.index_of, store.shape

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the regions of images, like `RegionStore.get_regions`.

        Raises:
            UserError: A value is not finite, or boxes are not fractions of the image.
        """
        features, boxes = self._store.get_regions(indices)
        finite = np.isfinite(features.sum((1, 2))) & np.isfinite(boxes.sum((1, 2)))
        self._raise_invalid(indices[~finite], "a value that is not finite")
        inside = (boxes >= -MAX_BOX_OVERHANG).all((1, 2)) & (boxes <= 1 + MAX_BOX_OVERHANG).all((1, 2))
        self._raise_invalid(
            indices[~inside], "a box outside of the image; wanted fractions of the image, 0 to 1, not pixels"
        )
        return features, boxes

    def _raise_invalid(self, indices: np.ndarray, fault: str) -> None:
        if len(indices):
            ids = {index: image for image, index in self.index_of.items()}
            named = [f"image {ids[index]}: {fault}" for index in np.unique(indices).tolist()]
            raise UserError(
                [f"{self._path}: features of {format_count(len(named), 'image')} are invalid", *named]
            )


def open_region_store(folder: Path, regions_per_image: int = REGIONS_PER_IMAGE) -> ValidatedStore:
    """Open a folder of region features in any supported layout.

    Args:
        folder: The folder.
        regions_per_image: Number of regions to read of each image.

    Raises:
        UserError: The layout of the folder is not supported, or a file is faulty.
    """
    if (folder / "gqa_objects_info.json").is_file():
        return ValidatedStore(Hdf5Store(folder, regions_per_image), folder)
    if (folder / "features.npy").is_file():
        return ValidatedStore(ArrayStore.from_folder(folder), folder)
    if next(folder.glob("*.npz"), None) is not None:
        return ValidatedStore(NpzStore(folder, regions_per_image), folder)
    raise UserError(
        f"{folder}: no region features in it; wanted gqa_objects_info.json with its .h5 files, or images.json, "
        "features.npy and boxes.npy, or one .npz per image"
    )


def _image_id(path: Path) -> str:
    # Some tools keep the suffix of the image file, as in 2370799.jpg.npz.
    return strip_image_suffix(path.stem)


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read features [n, d], and boxes [n, 4] as fractions of the image."""
    try:
        # Arrays with other keys are never loaded.
        with np.load(path, allow_pickle=False) as file:
            features, boxes, width, height = (
                file[_find_key(path, file.files, names)]
                for names in (FEATURE_KEYS, BOX_KEYS, WIDTH_KEYS, HEIGHT_KEYS)
            )
    except (OSError, ValueError, BadZipFile) as error:
        raise UserError(f"{path}: cannot be read ({error}); download or extract it again") from error
    if features.ndim != 2 or boxes.shape != (len(features), 4):
        raise UserError(f"{path}: features {features.shape}, boxes {boxes.shape}; wanted [n, d] and [n, 4]")
    return features, boxes / np.array([width, height, width, height], np.float32)


def _find_key(path: Path, keys: list[str], names: tuple[str, ...]) -> str:
    for name in names:
        if name in keys:
            return name
    raise UserError(f"{path}: no array {' or '.join(names)}; the file has {', '.join(keys)}")


def compute_feature_moments(
    store: RegionStore, max_images: int = 2048, batch: int = 256, image_indices: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the features of regions, [d] each.

    The standard deviation of a constant feature is set to 1.

    Args:
        store: The regions.
        max_images: Maximum number of images to use, evenly spaced.
        batch: Number of images that are read at the same time.
        image_indices: Indices of the images to use; None for all.
    """
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
