"""Find and check the image files of a source."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.core.atomic_files import sha256_file
from pipeline.core.errors import Problems
from pipeline.core.images import find_image_files, load_rgb

_ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_valid_id(text: str) -> bool:
    """Report whether an id can be part of file names.

    Such an id consists of letters, digits, dots, hyphens and underscores, and begins with a letter or digit.
    """
    return _ID_PATTERN.fullmatch(text) is not None


def list_images(folder: Path, problems: Problems) -> dict[str, Path]:
    """Return the image files in a folder by image id (`find_image_files`).

    Args:
        folder: The folder. Subfolders are ignored.
        problems: Collects problems: a missing folder, and images with the same id.
    """
    if not folder.is_dir():
        problems.add(f"{folder.name}/", "no such folder; put the images there")
        return {}
    files, clashes = find_image_files(folder)
    for first, second in clashes:
        problems.add(f"{folder.name}/{second.name}", f"{first.name} has the same id; keep one of them")
    return files


def inspect_image(path: Path) -> tuple[int, int, str]:
    """Decode an image completely.

    Returns:
        Width and height in pixels, as a browser shows the image, and the SHA-256 of the file.

    Raises:
        ValueError: The file is empty, truncated, not an image, or refused by `load_rgb`. The message says
            what to do.
    """
    width, height = load_rgb(path).size
    return width, height, sha256_file(path)
