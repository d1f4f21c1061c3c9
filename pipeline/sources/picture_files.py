"""Picture files: which there are in a folder, and whether one can be opened to its last pixel."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from pathlib import Path

from PIL import Image

from pipeline.core.errors import Problems

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
    """Decode a picture wholly; return its width, height and the SHA-256 of the file.

    Raises:
        ValueError: the file is empty, is no picture, or is cut off; the message says which.
    """
    data = path.read_bytes()
    if not data:
        raise ValueError("the file is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as picture:
                picture.load()
                width, height = picture.size
    except Image.UnidentifiedImageError:
        raise ValueError("not a picture that Pillow can read") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(f"too large to open: {error}") from None
    except Exception as error:
        raise ValueError(f"damaged: {error}") from None
    return width, height, hashlib.sha256(data).hexdigest()
