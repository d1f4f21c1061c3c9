"""Region features as others publish them: which layout a folder has, and what must be true of what is read.

gqa_objects_info.json, gqa_objects_0.h5 ...     GQA's own object features (`HdfStore`)
pictures.json, features.npy, boxes.npy          arrays (`ArrayStore`); boxes are shares of the picture
<picture id>.npz, one file a picture            as OpenVQA and the bottom-up-attention tools write them (`NpzStore`)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from pipeline.core.errors import UserError, counted
from pipeline.core.images import without_suffix
from research.reference_models.region_stores import ArrayStore, HdfStore, RegionStore

REGIONS = 36  # of each picture, as most published features have
OUTSIDE = 0.5  # how far a box may lie outside of its picture, in shares of it; a box in pixels lies further
# What each tool calls a thing: OpenVQA's gqa_feat_preproc.py and bottom-up-attention.pytorch, then others.
FEATURES, BOXES = ("x", "features"), ("bbox", "boxes", "bboxes")
WIDTH, HEIGHT = ("width", "image_w", "img_w"), ("height", "image_h", "img_h")


class NpzStore:
    """A file for each picture: features [n, d], boxes [n, 4] in pixels, width and height. Of more regions than `regions` the
    first are taken, which are the surest; fewer are filled up with zeros, as in GQA's own files.

    Raises:
        UserError: there is no such file, or the first one is not like this.
    """

    def __init__(self, folder: Path, regions: int = REGIONS) -> None:
        self._paths = sorted(folder.glob("*.npz"))
        if not self._paths:
            raise UserError(f"{folder}: no .npz file in it")
        self.place_of: Mapping[str, int] = {_id(path): place for place, path in enumerate(self._paths)}
        self.shape = (regions, _read(self._paths[0])[0].shape[1])

    def take(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features = np.zeros((len(places), *self.shape), np.float32)
        boxes = np.zeros((len(places), self.shape[0], 4), np.float32)
        distinct, back = np.unique(places, return_inverse=True)
        for at, place in enumerate(distinct):
            found, placed = _read(self._paths[place])
            if found.shape[1] != self.shape[1]:
                raise UserError(
                    f"{self._paths[place]}: {found.shape[1]} numbers a region, in {self._paths[0].name} {self.shape[1]}"
                )
            count = min(self.shape[0], len(found))
            features[back == at, :count] = found[:count]
            boxes[back == at, :count] = placed[:count]
        return features, boxes


class CheckedStore:
    """Another store, each picture of which is checked when it is read.

    Raises:
        UserError: by `take`: a number that is not finite, or boxes that are no shares of the picture.
    """

    def __init__(self, store: RegionStore, where: Path) -> None:
        self._store, self._where = store, where
        self.place_of, self.shape = store.place_of, store.shape

    def take(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features, boxes = self._store.take(places)
        finite = np.isfinite(features.sum((1, 2))) & np.isfinite(boxes.sum((1, 2)))
        self._refuse(places[~finite], "a number that is not finite (NaN or infinite)")
        inside = (boxes >= -OUTSIDE).all((1, 2)) & (boxes <= 1 + OUTSIDE).all((1, 2))
        self._refuse(places[~inside], "a box that is no share of its picture, 0 to 1; are they in pixels?")
        return features, boxes

    def _refuse(self, places: np.ndarray, what: str) -> None:
        if len(places):
            ids = {place: picture for picture, place in self.place_of.items()}
            named = [f"picture {ids[place]}: {what}" for place in np.unique(places).tolist()]
            raise UserError(
                [f"{self._where}: features of {counted(len(named), 'picture')} are of no use", *named]
            )


def open_regions(folder: Path, regions: int = REGIONS) -> CheckedStore:
    """The regions of a folder of any layout named above.

    Raises:
        UserError: it has none of them, or is faulty.
    """
    if (folder / "gqa_objects_info.json").is_file():
        return CheckedStore(HdfStore(folder, regions), folder)
    if (folder / "features.npy").is_file():
        return CheckedStore(ArrayStore.opened(folder), folder)
    if next(folder.glob("*.npz"), None) is not None:
        return CheckedStore(NpzStore(folder, regions), folder)
    raise UserError(
        f"{folder}: no region features in it; wanted gqa_objects_info.json with its .h5 files, or pictures.json, "
        "features.npy and boxes.npy, or one .npz for each picture"
    )


def _id(path: Path) -> str:
    return without_suffix(path.stem)  # some tools keep an image's own suffix: 2370799.jpg.npz


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features [n, d] and boxes [n, 4] as shares of the picture."""
    try:
        with np.load(path, allow_pickle=False) as file:  # keys that are not named here are never unpacked
            features, boxes, width, height = (
                file[_key(path, file.files, names)] for names in (FEATURES, BOXES, WIDTH, HEIGHT)
            )
    except (OSError, ValueError, BadZipFile) as error:
        raise UserError(f"{path}: cannot be read ({error}); fetch or make it again") from error
    if features.ndim != 2 or boxes.shape != (len(features), 4):
        raise UserError(f"{path}: features {features.shape}, boxes {boxes.shape}; wanted [n, d] and [n, 4]")
    return features, boxes / np.array([width, height, width, height], np.float32)


def _key(path: Path, there: list[str], names: tuple[str, ...]) -> str:
    for name in names:
        if name in there:
            return name
    raise UserError(f"{path}: none of {', '.join(names)} in it; there are {', '.join(there)}")
