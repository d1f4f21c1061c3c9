"""Picture files: which there are in a folder, and whether one can be opened to its last pixel."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.core.errors import Problems
from pipeline.core.files import sha256_file
from pipeline.core.upright import upright

ENDINGS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_id(text: str) -> bool:
    """Whether an id can be part of file names and candidate ids: letters, digits, dot, dash, underscore."""
    return _ID.fullmatch(text) is not None


def listing(folder: Path, problems: Problems) -> dict[str, Path]:
    """Picture id (the file's name without its ending) -> file, for the picture files directly in `folder`."""
    if not folder.is_dir():
        problems.add(f"{folder.name}/", "no such folder; the pictures belong into it")
        return {}
    files: dict[str, Path] = {}
    for path in sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS):
        if path.stem in files:
            problems.add(
                f"{folder.name}/{path.name}", f"{files[path.stem].name} is of the same name; keep one"
            )
        files[path.stem] = path
    return files


def inspect(path: Path) -> tuple[int, int, str]:
    """Decode a picture wholly; return its width and height, as it is shown, and the SHA-256 of the file.

    Raises:
        ValueError: the file is empty, is no picture, is cut off, or of a kind that is refused (`upright`); the message says which.
    """
    width, height = upright(path).size
    return width, height, sha256_file(path)
