"""Load images as a browser shows them, and encode them for models, tables and requests.

`load_rgb` returns the pixels that an annotator sees: rotated as EXIF says, in sRGB, with 8 bits per channel.
`encode_image` returns the bytes that a model gets. If all programs show the file in the same way, these are
the unchanged bytes of the file. Otherwise they are the pixels of `load_rgb`, encoded as JPEG or PNG. Images
that a browser and a model would show differently are refused, with a message that says what to do.

Pillow is imported inside the functions, because the scorers need only NumPy.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

# Formats that browsers show: name in Pillow -> media type and file suffixes.
IMAGE_FORMATS = {
    "JPEG": ("image/jpeg", (".jpg", ".jpeg", ".jpe", ".jfif", ".pjpeg", ".pjp")),
    "PNG": ("image/png", (".png",)),
    "WEBP": ("image/webp", (".webp",)),
    "GIF": ("image/gif", (".gif",)),
    "BMP": ("image/bmp", (".bmp", ".dib")),
    "AVIF": ("image/avif", (".avif",)),
}
# Ids of COCO's images: COCO_val2014_000000123456 in 2014, 000000123456 in 2017.
COCO_IMAGE = re.compile(r"(?:COCO_(?:train|val|test)20\d\d_)?(?P<number>\d{12})", re.ASCII)
IMAGE_SUFFIXES = frozenset(suffix for _, suffixes in IMAGE_FORMATS.values() for suffix in suffixes)
# Suffixes of images in unsupported formats. Such files are found and then refused, so that the message names
# the file instead of saying that the image is missing.
UNSUPPORTED_SUFFIXES = frozenset(
    [
        ".heic",
        ".heif",
        ".hif",
        ".tif",
        ".tiff",
        ".svg",
        ".ico",
        ".jxl",
        ".jp2",
        ".j2k",
        ".psd",
        ".eps",
        ".ppm",
        ".pgm",
        ".tga",
        ".dng",
        ".cr2",
        ".cr3",
        ".nef",
        ".arw",
        ".raw",
    ]
)
# Media types that every model server reads.
PORTABLE_MEDIA_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
WHITE = (255, 255, 255)
# JPEGs are written without chroma subsampling.
JPEG_QUALITY = 95
# Number of bytes at the start of a file that determine its format.
HEADER_BYTES = 64
# A color profile counts as sRGB if it changes no channel by more than this (of 255 levels).
MAX_LEVEL_DIFFERENCE = 2
# Values in a PNG whose colors are those of sRGB: the chunk gAMA, and the chunk cHRM with x and y of white,
# red, green and blue.
SRGB_GAMMA = 1 / 2.2
SRGB_CHROMATICITIES = (0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06)
# Code points (ITU-T H.273) that mean sRGB, unspecified colors, or colors that a browser shows like sRGB.
SRGB_PRIMARIES, SRGB_TRANSFERS = (1, 2, 6), (1, 2, 6, 13)
# Key in the dictionary `info` of a Pillow image. The value is the box of the only frame, if the canvas is
# larger.
_FRAME_BOX_KEY = "rgqa-frame"

_CONVERT_HINT = "convert it to JPEG or PNG, for example: magick FILE FILE.jpg"
_HEIC_BRANDS = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}
# Other formats: the first bytes of a file, the name of the format, and what to do.
_UNSUPPORTED_FORMATS = (
    (b"II*\0", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"MM\0*", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"II+\0", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"MM\0+", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"\0\0\x01\0", "ICO", "an icon contains several images; save one of them as PNG"),
    (b"\0\0\0\x0cJXL ", "JPEG XL", f"few browsers show it; {_CONVERT_HINT}"),
    (b"\xff\x0a", "JPEG XL", f"few browsers show it; {_CONVERT_HINT}"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000", f"no browser shows it; {_CONVERT_HINT}"),
    (b"\xff\x4f\xff\x51", "JPEG 2000", f"no browser shows it; {_CONVERT_HINT}"),
    (b"8BPS", "Photoshop", "no browser shows it; save it as JPEG or PNG"),
    (b"%PDF", "PDF", "no browser shows it as an image; save a page as PNG"),
    (b"%!PS", "PostScript", "no browser shows it; save it as PNG"),
    *((b"P%d" % number, "PPM", f"no browser shows it; {_CONVERT_HINT}") for number in range(1, 8)),
)


class EncodedImage(NamedTuple):
    """An image as it is sent to a model or stored in a table.

    Attributes:
        data: Content of an image file.
        media_type: "image/jpeg", "image/png" or "image/webp".
        size: Width and height in pixels.
        is_reencoded: Whether `data` differs from the content of the original file.
    """

    data: bytes
    media_type: str
    size: tuple[int, int]
    is_reencoded: bool

    @property
    def suffix(self) -> str:
        """The usual suffix of files of this media type, for example ".jpg"."""
        return next(
            suffixes[0] for media_type, suffixes in IMAGE_FORMATS.values() if media_type == self.media_type
        )

    @property
    def data_uri(self) -> str:
        """The image as a data URI."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


def detect_media_type(head: bytes) -> str:
    """Return the media type of an image from the first `HEADER_BYTES` bytes of its file.

    Returns:
        A media type of `IMAGE_FORMATS`; "" for all other files.

    Example:
        >>> detect_media_type(b"GIF89a")
        'image/gif'
    """
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[:2] == b"BM" and head[6:10] == bytes(4):
        return "image/bmp"
    if _read_brands(head) & {b"avif", b"avis"}:
        return "image/avif"
    return ""


def detect_file_media_type(path: Path) -> str:
    """Return the media type of a file by its content; "" if it is not an image that browsers show.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return detect_media_type(file.read(HEADER_BYTES))


def find_image_files(folder: Path) -> tuple[dict[str, Path], list[tuple[Path, Path]]]:
    """Find the images in a folder (not in its subfolders), by suffix or by content.

    The id of an image is its file name without the suffix, or the whole file name if the suffix is not an
    image suffix. A file that browsers show and another file may have the same id, for example a photograph
    and its raw data. Then the file that browsers show is used.

    Args:
        folder: The folder.

    Returns:
        The file of each id, and the conflicts: pairs of files that browsers show and that have the same id.
        The second file of such a pair is used.

    Raises:
        OSError: The folder cannot be read.
    """
    files: dict[str, Path] = {}
    others: dict[str, Path] = {}
    clashes: list[tuple[Path, Path]] = []
    for path in sorted(folder.iterdir()):
        suffix = path.suffix.lower()
        if suffix in IMAGE_SUFFIXES:
            if path.stem in files:
                clashes.append((files[path.stem], path))
            files[path.stem] = path
        elif suffix in UNSUPPORTED_SUFFIXES or (path.is_file() and _is_image(path)):
            others.setdefault(path.stem, path)
            others.setdefault(path.name, path)
    return others | files, clashes


def add_coco_numbers(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return the image files with the numbers of COCO's images as further ids.

    VQA v2 and other sets name an image of COCO by its number, which its file name has with zeros before it.

    Args:
        files: Id -> file, as `find_image_files` returns them.

    Example:
        >>> sorted(add_coco_numbers({"COCO_val2014_000000123456": Path("1.jpg"), "000000000042": Path("2.jpg")}))
        ['000000000042', '123456', '42', 'COCO_val2014_000000123456']
    """
    numbers = {
        str(int(found["number"])): path for key, path in files.items() if (found := COCO_IMAGE.fullmatch(key))
    }
    return numbers | dict(files)


def strip_image_suffix(name: str) -> str:
    """Return the id of an image: its file name without an image suffix.

    Example:
        >>> strip_image_suffix("kitchen.JPG"), strip_image_suffix("v1.2")
        ('kitchen', 'v1.2')
    """
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and f".{suffix.lower()}" in IMAGE_SUFFIXES | UNSUPPORTED_SUFFIXES else name


def load_rgb(
    source: Path | str | bytes, *, background: tuple[int, int, int] | None = None, min_side: int = 0
) -> Image.Image:
    """Load an image as a browser shows it: upright, in sRGB, with 8 bits per channel.

    Args:
        source: Path of a file, or the content of a file as bytes.
        background: Color (red, green, blue) from 0 to 255 behind transparent pixels; None to refuse partly
            transparent images.
        min_side: If positive, a JPEG may be decoded at a lower resolution, which is faster. Then both sides
            of the result have at least this number of pixels, unless the image itself is smaller. 0 decodes
            at full resolution.

    Returns:
        A completely decoded image of mode "RGB" without metadata.

    Raises:
        ValueError: The file is not a regular file, empty, not an image that browsers show, truncated, too
            large, animated or partly transparent. The message says what to do.
        OSError: The file cannot be read.
    """
    data = _read_content(source)
    with _open_image(data) as image:
        if min_side:
            image.draft("RGB", (min_side, min_side))
        image.load()
        return _render_as_browser(image, data, background)


def encode_image(
    source: Path | str | bytes,
    *,
    max_side: int = 0,
    background: tuple[int, int, int] | None = None,
    verify: bool = True,
) -> EncodedImage:
    """Encode an image for programs that may ignore EXIF, color profiles and rare formats.

    A JPEG, PNG or WebP that all programs show in the same way is not changed. Other images are encoded again:
    as PNG if their format is lossless and their size does not change, and otherwise as JPEG.

    Args:
        source: Path of a file, or the content of a file as bytes.
        max_side: Maximum length of the longer side in pixels; 0 keeps the size.
        background: Color (red, green, blue) from 0 to 255 behind transparent pixels; None to refuse partly
            transparent images.
        verify: Also decode an image that is returned unchanged, to detect damaged files.

    Raises:
        ValueError: The image is refused, as by `load_rgb`.
        OSError: The file cannot be read.
    """
    data = _read_content(source)
    with _open_image(data) as image:
        if verify:
            image.load()
        kind, fits = detect_media_type(data), not max_side or max(image.size) <= max_side
        if fits and kind in PORTABLE_MEDIA_TYPES and _is_portable(image, data):
            return EncodedImage(data, kind, image.size, False)
        image.load()
        rgb = _render_as_browser(image, data, background)
    if not fits:
        rgb.thumbnail((max_side, max_side))
    written = io.BytesIO()
    if fits and kind in ("image/png", "image/gif", "image/bmp"):
        rgb.save(written, "PNG")
        return EncodedImage(written.getvalue(), "image/png", rgb.size, True)
    rgb.save(written, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return EncodedImage(written.getvalue(), "image/jpeg", rgb.size, True)


def _read_content(source: Path | str | bytes) -> bytes:
    if isinstance(source, bytes):
        return source
    path = Path(source)
    if not path.is_file():
        kind = (
            "a folder"
            if path.is_dir()
            else "a link to nothing"
            if path.is_symlink()
            else "missing, or no regular file"
        )
        raise ValueError(f"{kind} where an image was expected")
    return path.read_bytes()


@contextmanager
def _open_image(data: bytes) -> Iterator[Image.Image]:
    """Open an image without decoding it. Errors of Pillow inside the block become ValueErrors."""
    from PIL import Image, features

    if not data:
        raise ValueError("the file is empty")
    kind = detect_media_type(data)
    if not kind:
        raise ValueError(_explain_unsupported(data))
    if kind == "image/avif" and not features.check("avif"):
        raise ValueError(
            "AVIF, which this Pillow cannot read; install Pillow 11.3 or later, or convert it to JPEG or PNG"
        )
    try:
        with warnings.catch_warnings():
            # The size is checked below.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=[*IMAGE_FORMATS]) as image:
                width, height = image.size
                if Image.MAX_IMAGE_PIXELS and width * height > Image.MAX_IMAGE_PIXELS:
                    raise Image.DecompressionBombError
                _record_frame_box(image, data)
                _rescale_transparency(image, data)
                # A photograph from a phone may contain several images (format MPO). Browsers show the first
                # image.
                frames = 1 if image.format in ("JPEG", "MPO") else getattr(image, "n_frames", 1)
                if frames > 1:
                    raise _UnsupportedImage(
                        f"{frames} frames: browsers animate them, but a model sees only the first; save one of them as PNG"
                    )
                yield image
    except _UnsupportedImage as error:
        raise ValueError(str(error)) from None
    except Image.DecompressionBombError:
        raise ValueError(f"too large: more than {Image.MAX_IMAGE_PIXELS:,} pixels; make it smaller") from None
    except MemoryError:
        raise
    # Pillow's decoders raise many kinds of errors.
    except Exception as error:
        raise ValueError(f"damaged: {error or type(error).__name__}; download or export it again") from None


class _UnsupportedImage(Exception):
    """The image is not damaged, but refused. The message says why and what to do."""


def _explain_unsupported(data: bytes) -> str:
    accepted = "not a JPEG, PNG, WebP, GIF, BMP or AVIF image"
    if _read_brands(data[:HEADER_BYTES]) & _HEIC_BRANDS:
        return f"{accepted}, but HEIC: no browser but Safari shows it; {_CONVERT_HINT}"
    for first, name, advice in _UNSUPPORTED_FORMATS:
        if data.startswith(first):
            return f"{accepted}, but {name}: {advice}"
    text = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if b"<svg" in text:
        return f"{accepted}, but SVG: it has no pixels of its own; save it as PNG"
    if text.startswith((b"<!doctype html", b"<html")):
        return f"{accepted}, but a web page, perhaps from a failed download; download the image again"
    return accepted


def _read_brands(head: bytes) -> set[bytes]:
    """Return the brands of an AVIF or HEIC file (ISO/IEC 14496-12, box `ftyp`)."""
    if head[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(head[:4], "big"), len(head))
    return {head[start : start + 4] for start in (8, *range(16, end, 4))}


def _is_image(path: Path) -> bool:
    """Report whether a file is an image of any format."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    return bool(
        detect_media_type(head) or _read_brands(head) & _HEIC_BRANDS or head.startswith((b"II*\0", b"MM\0*"))
    )


def _is_portable(image: Image.Image, data: bytes) -> bool:
    """Report whether all programs show the file of a decoded image in the way of `_render_as_browser`."""
    return (
        image.mode in ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
        # Byte 24 of a PNG is the number of bits per channel.
        and not (image.format == "PNG" and data[24] > 8)
        and _read_orientation(image, data) == 1
        and _select_srgb_transform(image, data) is None
        and _alpha_channel(image) is None
    )


def _render_as_browser(
    image: Image.Image, data: bytes, background: tuple[int, int, int] | None
) -> Image.Image:
    """Return the pixels of a decoded image as a browser shows them."""
    from PIL import Image

    alpha = _alpha_channel(image)
    if alpha is not None and background is None:
        raise _UnsupportedImage(
            "partly transparent: each program shows another background; save the image without transparency"
        )
    transform = _select_srgb_transform(image, data)
    rgb = image
    # Pillow would clip 16-bit gray values at 255.
    if image.mode.startswith("I"):
        rgb = Image.fromarray((np.asarray(image).astype(np.uint16) >> 8).astype(np.uint8))
    elif image.has_transparency_data:
        rgb = image.convert("RGBA")
    rgb = rgb.convert(transform.input_mode if transform is not None else "RGB")
    if transform is not None:
        rgb = transform.apply(rgb)
    if alpha is not None:
        rgb = Image.composite(rgb, Image.new("RGB", rgb.size, background), alpha)
    turned = _TRANSPOSITIONS.get(_read_orientation(image, data))
    rgb = rgb if turned is None else rgb.transpose(Image.Transpose(turned))
    rgb.info = {}
    return rgb


# Orientation (EXIF 2.32, tag 0x0112) -> transposition in Pillow that turns the image upright.
_TRANSPOSITIONS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}


def _read_orientation(image: Image.Image, data: bytes) -> int:
    """Return the EXIF orientation of a decoded image.

    Orientations in XMP data are ignored, because browsers ignore them. Pillow's `getexif` would use them.

    Raises:
        _UnsupportedImage: The orientation is stored where Chromium, unlike other programs, ignores it.
    """
    from PIL import Image

    exif, orientation = Image.Exif(), 1
    # Browsers ignore EXIF data that they cannot read.
    with suppress(Exception):
        exif.load(image.info.get("exif", b""))
        orientation = exif.get(0x0112, 1)
    if orientation not in _TRANSPOSITIONS:
        return 1
    if image.format == "WEBP" or (image.format == "PNG" and data.find(b"eXIf", 0, data.find(b"IDAT")) < 0):
        raise _UnsupportedImage(
            f"it is rotated by EXIF (orientation {orientation}), which browsers ignore in such a file; save it upright"
        )
    return orientation


def _alpha_channel(image: Image.Image) -> Image.Image | None:
    """Return the opacity of each pixel as an image of mode "L"; None if all pixels are opaque."""
    from PIL import Image

    alpha = None
    if image.mode.startswith("I"):
        if (hidden := image.info.get("transparency")) is not None:
            alpha = Image.fromarray(np.where(np.asarray(image) == hidden, 0, 255).astype(np.uint8))
    elif image.has_transparency_data:
        alpha = image.convert("RGBA").getchannel("A")
    box = image.info.get(_FRAME_BOX_KEY)
    if box is not None:
        whole = Image.new("L", image.size)
        whole.paste(alpha.crop(box) if alpha else 255, box)
        alpha = whole
    return None if alpha is None or alpha.getextrema() == (255, 255) else alpha


def _record_frame_box(image: Image.Image, data: bytes) -> None:
    """Store the box of the first frame of a GIF or WebP in `info`, if it does not fill the canvas.

    Pillow fills the rest of the canvas with a color. Browsers leave the rest transparent.
    """
    box = None
    if image.format == "GIF" and (tile := getattr(image, "tile", None)):
        box = tuple(tile[0][1])
    elif image.format == "WEBP" and (place := data.find(b"ANMF")) > 0:
        # The container stores x, y, width and height of the frame in 3 bytes each. It stores x / 2, y / 2,
        # width - 1 and height - 1.
        x, y, width, height = (
            int.from_bytes(data[at : at + 3], "little") for at in range(place + 8, place + 20, 3)
        )
        box = (2 * x, 2 * y, 2 * x + width + 1, 2 * y + height + 1)
    if box is not None and box != (0, 0, *image.size):
        image.info[_FRAME_BOX_KEY] = box


def _rescale_transparency(image: Image.Image, data: bytes) -> None:
    """Convert the transparent color of a PNG from the bit depth of the file to the 8 bits of Pillow's pixels."""
    hidden = image.info.get("transparency") if image.format == "PNG" else None
    bits = data[24] if hidden is not None else 8
    if isinstance(hidden, tuple) and bits == 16:
        image.info["transparency"] = tuple(value >> 8 for value in hidden)
    elif isinstance(hidden, int) and image.mode == "L" and bits in (2, 4):
        image.info["transparency"] = hidden * 255 // (2**bits - 1)


def _select_srgb_transform(image: Image.Image, data: bytes) -> Any:
    """Return the `ImageCms` transform from the colors of a decoded image to sRGB; None if no transform is
    needed.

    Raises:
        _UnsupportedImage: The colors are described in a way that only browsers understand.
    """
    info, mode = image.info, image.mode
    icc = info.get("icc_profile")
    # "MBED" in a BITMAPV5HEADER means that the file contains the profile.
    if image.format == "BMP" and data[70:74] == b"DEBM" and data[14] == 124:
        start, length = (int.from_bytes(data[at : at + 4], "little") for at in (126, 130))
        icc = data[14 + start : 14 + start + length]
    if icc:
        # The header of a PNG says whether the image is gray. The mode of Pillow does not say so for images
        # with 16 bits and transparency.
        grey = mode in ("1", "L", "LA", "I", "I;16") or (image.format == "PNG" and data[25] in (0, 4))
        kinds = ("CMYK",) if mode == "CMYK" else ("L", "RGB") if grey else ("RGB",)
        transforms = (_build_srgb_transform(icc, kind) for kind in kinds)
        return next((transform for transform in transforms if transform is not None), None)
    if image.format == "PNG":
        place = data.find(b"cICP", 0, data.find(b"IDAT"))
        _check_color_space(data[place + 4 : place + 6] if place > 0 else b"")
        if place < 0 and "srgb" not in info and "gamma" in info:
            gamma, points = info["gamma"], info.get("chromaticity", SRGB_CHROMATICITIES)
            near = abs(gamma - SRGB_GAMMA) < 0.01 and np.allclose(points, SRGB_CHROMATICITIES, atol=0.005)
            return (
                None if near or gamma <= 0 else _build_srgb_transform(make_icc_profile(gamma, points), "RGB")
            )
    elif image.format == "AVIF":
        place = data.find(b"colrnclx")
        _check_color_space(data[place + 9 : place + 12 : 2] if place > 0 else b"")
    return None


def _check_color_space(points: bytes) -> None:
    """Refuse colors whose primaries or transfer function are not those of sRGB."""
    if points and (points[0] not in SRGB_PRIMARIES or points[1] not in SRGB_TRANSFERS):
        raise _UnsupportedImage(
            f"it has wide-gamut or high-dynamic-range colours (primaries {points[0]}, transfer {points[1]}), which programs "
            "show differently; export it in sRGB"
        )


@lru_cache(maxsize=64)
def _build_srgb_transform(icc: bytes, mode: str) -> Any:
    """Return the transform from the colors of an ICC profile to sRGB.

    Returns:
        The transform. None for a profile that browsers ignore (because it is damaged, or for other channels
        than `mode`), and for a profile that changes no color by more than `MAX_LEVEL_DIFFERENCE`.
    """
    from PIL import Image, ImageCms

    try:
        profile: Any = ImageCms.ImageCmsProfile(io.BytesIO(icc))
        if profile.profile.xcolor_space.strip() != {"L": "GRAY"}.get(mode, mode):
            return None
        transform = ImageCms.buildTransform(profile, ImageCms.createProfile("sRGB"), mode, "RGB")
        if mode == "CMYK":
            return transform
        steps = np.arange(256 if mode == "L" else 16, dtype=np.uint8) * (1 if mode == "L" else 17)
        grid = (
            steps[None] if mode == "L" else np.stack(np.meshgrid(steps, steps, steps), -1).reshape(1, -1, 3)
        )
        probe = Image.fromarray(np.ascontiguousarray(grid))
        changed = np.asarray(transform.apply(probe)).astype(int) - np.asarray(probe.convert("RGB"))
        return transform if np.abs(changed).max() > MAX_LEVEL_DIFFERENCE else None
    except (OSError, ValueError, ImageCms.PyCMSError):
        return None


def make_icc_profile(gamma: float, chromaticities: Sequence[float]) -> bytes:
    """Make an ICC profile of RGB colors from their chromaticities.

    Args:
        gamma: Encoding exponent as in PNG's chunk gAMA: a stored value is the light intensity to the power
            `gamma`.
        chromaticities: x and y of white, red, green and blue, as in PNG's chunk cHRM.

    Returns:
        A profile of version 2.4 (ICC.1:2001-04), adapted to the white point D50 by the method of Bradford.
    """
    white, *primaries = (
        np.array([x / y, 1, (1 - x - y) / y])
        for x, y in zip(chromaticities[::2], chromaticities[1::2], strict=True)
    )
    columns = np.stack(primaries, 1)
    columns = columns * np.linalg.solve(columns, white)
    bradford = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    d50 = np.array([0.9642, 1, 0.8249])
    adapted = np.linalg.solve(bradford, np.diag(bradford @ d50 / (bradford @ white)) @ bradford @ columns)

    def numbers(values: np.ndarray) -> bytes:
        return b"".join(struct.pack(">i", round(float(value) * 65536)) for value in values)

    curve = b"curv" + bytes(4) + struct.pack(">IH", 1, min(65535, round(256 / gamma))) + bytes(2)
    tags = {b"wtpt": b"XYZ " + bytes(4) + numbers(d50)}
    tags |= {
        name + b"XYZ": b"XYZ " + bytes(4) + numbers(column)
        for name, column in zip((b"r", b"g", b"b"), adapted.T, strict=True)
    }
    tags |= {name + b"TRC": curve for name in (b"r", b"g", b"b")}
    table, body, start = struct.pack(">I", len(tags)), b"", 132 + 12 * len(tags)
    for name, content in tags.items():
        table += name + struct.pack(">II", start + len(body), len(content))
        body += content
    header = struct.pack(">I4sI4s4s4s", start + len(body), bytes(4), 0x02400000, b"mntr", b"RGB ", b"XYZ ")
    header += bytes(12) + b"acsp" + bytes(28) + numbers(d50)
    return header.ljust(128, b"\0") + table + body
