"""Pictures small enough to stand in a page, as `data:` addresses."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from pipeline.core.errors import UserError

# Pixels of the longer side and most bytes: of an item's picture, and of that of the question beside it. With the most
# items that a gallery may have, 4 x 25, all of them come to (40,000 + 12,000) x 100 x 4/3 (base64) = 6.9 MB.
LARGE, SMALL = (400, 40_000), (180, 12_000)
QUALITIES = (82, 70, 55, 40, 25, 10)


def data_uri(path: Path | str, size: tuple[int, int]) -> str:
    """A JPEG within `size` (LARGE or SMALL), whatever the file was. The same file gives the same address.

    Raises:
        UserError: the file is missing or cannot be read as a picture any more.
    """
    from PIL import Image, UnidentifiedImageError

    side, most = size
    try:
        with Image.open(path) as picture:
            picture.draft("RGB", (side, side))
            small = picture.convert("RGB")
    except (OSError, UnidentifiedImageError) as error:
        raise UserError(
            f"{path}: the picture is missing or damaged since ingest read it; restore it, or run dvc repro"
        ) from error
    small.thumbnail((side, side))
    data = b""
    for quality in QUALITIES:
        file = io.BytesIO()
        small.save(file, "JPEG", quality=quality, optimize=True)
        data = file.getvalue()
        if len(data) <= most:
            break
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
