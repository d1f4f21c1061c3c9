"""Image files of a source: which there are in a folder, and whether one can be opened to its last pixel."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import Problems
from pipeline.core.images import find_image_files, load_rgb

_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_valid_id(text: str) -> bool:
    """Whether an id can be part of file names and candidate ids: letters, digits, dot, dash, underscore."""
    return _ID_PATTERN.fullmatch(text) is not None


def list_images(folder: Path, problems: Problems) -> dict[str, Path]:
    """Image id -> file, for the images directly in `folder` (see `image_files`)."""
    if not folder.is_dir():
        problems.add(f"{folder.name}/", "no such folder; the images belong into it")
        return {}
    files, clashes = find_image_files(folder)
    for first, second in clashes:
        problems.add(f"{folder.name}/{second.name}", f"{first.name} is of the same name; keep one")
    return files


def inspect_image(path: Path) -> tuple[int, int, str]:
    """Decode an image wholly; return its width and height, as it is shown, and the SHA-256 of the file.

    Raises:
        ValueError: the file is empty, truncated, no image or of a kind that is refused (`load_rgb`); the message says which.
    """
    width, height = load_rgb(path).size
    return width, height, sha256_file(path)
