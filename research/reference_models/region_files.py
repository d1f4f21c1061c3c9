"""Region features as others publish them: which layout a folder has, and what must be true of what is read.

gqa_objects_info.json, gqa_objects_0.h5 ...     GQA's own object features (`HdfStore`)
images.json, features.npy, boxes.npy          arrays (`ArrayStore`); boxes are shares of the image
<image id>.npz, one file an image            as OpenVQA and the bottom-up-attention tools write them (`NpzStore`)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from pipeline.core.errors import UserError, format_count
from pipeline.core.images import strip_image_suffix
from research.reference_models.region_stores import ArrayStore, Hdf5Store, RegionStore

REGIONS_PER_IMAGE = 36  # of each image, as most published features have
MAX_BOX_OVERHANG = (
    0.5  # how far a box may lie outside of its image, in shares of it; a box in pixels lies further
)
# What each tool calls a thing: OpenVQA's gqa_feat_preproc.py and bottom-up-attention.pytorch, then others.
FEATURE_KEYS, BOX_KEYS = ("x", "features"), ("bbox", "boxes", "bboxes")
WIDTH_KEYS, HEIGHT_KEYS = ("width", "image_w", "img_w"), ("height", "image_h", "img_h")


class NpzStore:
    """A file for each image: features [n, d], boxes [n, 4] in pixels, width and height. Of more regions than `regions` the
    first are taken, which are the surest; fewer are filled up with zeros, as in GQA's own files.

    Raises:
        UserError: there is no such file, or the first one is not like this.
    """

    def __init__(self, folder: Path, regions: int = REGIONS_PER_IMAGE) -> None:
        self._paths = sorted(folder.glob("*.npz"))
        if not self._paths:
            raise UserError(f"{folder}: no .npz file in it")
        self.index_of: Mapping[str, int] = {_image_id(path): place for place, path in enumerate(self._paths)}
        self.shape = (regions, _read_npz(self._paths[0])[0].shape[1])

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features = np.zeros((len(indices), *self.shape), np.float32)
        boxes = np.zeros((len(indices), self.shape[0], 4), np.float32)
        distinct, back = np.unique(indices, return_inverse=True)
        for at, place in enumerate(distinct):
            found, placed = _read_npz(self._paths[place])
            if found.shape[1] != self.shape[1]:
                raise UserError(
                    f"{self._paths[place]}: {found.shape[1]} numbers a region, in {self._paths[0].name} {self.shape[1]}"
                )
            count = min(self.shape[0], len(found))
            features[back == at, :count] = found[:count]
            boxes[back == at, :count] = placed[:count]
        return features, boxes


class ValidatedStore:
    """Another store, each image of which is checked when it is read.

    Raises:
        UserError: by `take`: a number that is not finite, or boxes that are no shares of the image.
    """

    def __init__(self, store: RegionStore, where: Path) -> None:
        self._store, self._path = store, where
        self.index_of, self.shape = store.index_of, store.shape

    def get_regions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features, boxes = self._store.get_regions(indices)
        finite = np.isfinite(features.sum((1, 2))) & np.isfinite(boxes.sum((1, 2)))
        self._raise_invalid(indices[~finite], "a number that is not finite (NaN or infinite)")
        inside = (boxes >= -MAX_BOX_OVERHANG).all((1, 2)) & (boxes <= 1 + MAX_BOX_OVERHANG).all((1, 2))
        self._raise_invalid(
            indices[~inside], "a box that is no share of its picture, 0 to 1; are they in pixels?"
        )
        return features, boxes

    def _raise_invalid(self, places: np.ndarray, what: str) -> None:
        if len(places):
            ids = {place: image for image, place in self.index_of.items()}
            named = [f"image {ids[place]}: {what}" for place in np.unique(places).tolist()]
            raise UserError(
                [f"{self._path}: features of {format_count(len(named), 'image')} are of no use", *named]
            )


def open_region_store(folder: Path, regions_per_image: int = REGIONS_PER_IMAGE) -> ValidatedStore:
    """The regions of a folder of any layout named above.

    Raises:
        UserError: it has none of them, or is faulty.
    """
    if (folder / "gqa_objects_info.json").is_file():
        return ValidatedStore(Hdf5Store(folder, regions_per_image), folder)
    if (folder / "features.npy").is_file():
        return ValidatedStore(ArrayStore.from_folder(folder), folder)
    if next(folder.glob("*.npz"), None) is not None:
        return ValidatedStore(NpzStore(folder, regions_per_image), folder)
    raise UserError(
        f"{folder}: no region features in it; wanted gqa_objects_info.json with its .h5 files, or images.json, "
        "features.npy and boxes.npy, or one .npz for each image"
    )


def _image_id(path: Path) -> str:
    return strip_image_suffix(path.stem)  # some tools keep an image's own suffix: 2370799.jpg.npz


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features [n, d] and boxes [n, 4] as shares of the image."""
    try:
        with np.load(path, allow_pickle=False) as file:  # keys that are not named here are never unpacked
            features, boxes, width, height = (
                file[_find_key(path, file.files, names)]
                for names in (FEATURE_KEYS, BOX_KEYS, WIDTH_KEYS, HEIGHT_KEYS)
            )
    except (OSError, ValueError, BadZipFile) as error:
        raise UserError(f"{path}: cannot be read ({error}); fetch or make it again") from error
    if features.ndim != 2 or boxes.shape != (len(features), 4):
        raise UserError(f"{path}: features {features.shape}, boxes {boxes.shape}; wanted [n, d] and [n, 4]")
    return features, boxes / np.array([width, height, width, height], np.float32)


def _find_key(path: Path, there: list[str], names: tuple[str, ...]) -> str:
    for name in names:
        if name in there:
            return name
    raise UserError(f"{path}: none of {', '.join(names)} in it; there are {', '.join(there)}")
