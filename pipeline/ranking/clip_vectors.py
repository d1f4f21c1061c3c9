"""The vectors that embed wrote, checked."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import Problems
from pipeline.core.files import read_json

AT_ONCE = 8192  # rows looked at together


class Vectors(NamedTuple):
    """float32 unit vectors [n, d] and [m, d], and what their rows stand for. `texts` is a memory map."""

    pictures: np.ndarray
    picture_ids: list[str]
    texts: np.ndarray
    text_list: list[str]


def read_vectors(folder: Path) -> Vectors:
    """Read the tables of pictures and texts and check that they fit each other.

    Raises:
        UserError: lists everything that does not fit.
    """
    problems = Problems(f"{folder}: vectors that cannot be used (run embed again)")
    pictures, picture_ids = _read(folder, "pictures", "picture_ids", problems)
    texts, text_list = _read(folder, "texts", "texts", problems)
    if pictures.ndim == texts.ndim == 2 and pictures.shape[1] != texts.shape[1]:
        problems.add("pictures.npy, texts.npy", f"of {pictures.shape[1]} and {texts.shape[1]} dimensions")
    problems.raise_if_any()
    return Vectors(np.array(pictures), picture_ids, texts, text_list)


def _read(folder: Path, table: str, keys: str, problems: Problems) -> tuple[np.ndarray, list[str]]:
    ids = read_json(folder / f"{keys}.json", list[str])
    try:
        array = np.asarray(np.load(folder / f"{table}.npy", mmap_mode="r"))
    except (OSError, ValueError, EOFError) as error:
        problems.add(f"{table}.npy", str(error))
        return np.zeros(0), ids
    if array.ndim != 2 or array.dtype != np.float32 or len(array) != len(ids):
        problems.add(
            f"{table}.npy",
            f"{array.dtype} {array.shape}, expected float32 with {len(ids)} rows, one for each of {keys}.json",
        )
        return np.zeros(0), ids
    for start in range(0, len(array), AT_ONCE):
        lengths = np.linalg.norm(array[start : start + AT_ONCE], axis=1)
        for row in np.flatnonzero(~(np.abs(lengths - 1) < 0.01)):
            problems.add(
                f"{table}.npy, row {start + row}",
                f"{ids[start + row]!r} has length {lengths[row]:.4g}, expected 1",
            )
    return array, ids
