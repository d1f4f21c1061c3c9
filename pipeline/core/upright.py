"""Opening a picture as a browser shows it, so that a model sees what people judge; what the two would not see alike is refused.

Browsers turn a photo as its EXIF says. They show 16 bits a channel as 8, which Pillow cuts off at white; the page shines through
where a picture is transparent; animations move; TIFF stays blank. EPS and the like, which Pillow hands to other programs,
are never opened.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
ANIMATED = (
    "PNG",
    "WEBP",
    "GIF",
)  # a photo from a phone may hold further ones ("MPO"), of which browsers show the first
EIGHT_BITS = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})


def upright(source: Path | str | bytes) -> Image.Image:
    """A picture file, or its bytes, decoded to its last pixel, in RGB, turned as its EXIF says.

    Raises:
        ValueError: it is no regular file, is empty, no picture, cut off, too large, or not the same to a model and to a browser;
            the message says which and what to do.
    """
    from PIL import Image, ImageOps

    data = source if isinstance(source, bytes) else _content(Path(source))
    if not data:
        raise ValueError("the file is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                frames = getattr(picture, "n_frames", 1) if picture.format in ANIMATED else 1
                picture.load()
                turned = ImageOps.exif_transpose(picture)
    except Image.UnidentifiedImageError:
        raise ValueError("not a JPEG, PNG, WebP, GIF or BMP picture; browsers show no other") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ValueError(f"too large to open: {error}") from None
    except Exception as error:  # Pillow's decoders raise whatever they meet
        raise ValueError(f"damaged: {error or type(error).__name__}") from None
    if frames > 1:
        raise ValueError(
            f"{frames} frames: browsers move them, a model sees the first; save one of them as PNG"
        )
    if turned.mode not in EIGHT_BITS:
        raise ValueError(f"more than 8 bits a channel (Pillow's mode {turned.mode}); save it with 8")
    if turned.has_transparency_data and turned.convert("RGBA").getchannel("A").getextrema() != (255, 255):
        raise ValueError(
            "partly transparent: what shines through is another to each viewer; lay it on a background"
        )
    return turned.convert("RGB")


def _content(path: Path) -> bytes:
    if not path.is_file():
        kind = (
            "a folder"
            if path.is_dir()
            else "a link to nothing"
            if path.is_symlink()
            else "missing, or no regular file"
        )
        raise ValueError(f"{kind} where a picture was expected")
    return path.read_bytes()
