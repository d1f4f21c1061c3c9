"""Load images as a browser shows them, and encode them for everything that leaves the project.

`load_rgb` gives the pixels that an annotator saw: turned as EXIF says, converted to sRGB, 8 bits a channel. `encode_image` gives
the bytes that a model, a table or a request gets: the file's own where every reader sees the same in them, else the pixels of
`load_rgb` as JPEG or PNG. What a model and a browser would not see alike is refused with what to do about it.

Pillow is imported late, so that the scorers need numpy alone.
"""

from __future__ import annotations

import base64
import io
import struct
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

# Pillow's name of each format that browsers show -> its media type and the suffixes that its files have.
IMAGE_FORMATS = {
    "JPEG": ("image/jpeg", (".jpg", ".jpeg", ".jpe", ".jfif", ".pjpeg", ".pjp")),
    "PNG": ("image/png", (".png",)),
    "WEBP": ("image/webp", (".webp",)),
    "GIF": ("image/gif", (".gif",)),
    "BMP": ("image/bmp", (".bmp", ".dib")),
    "AVIF": ("image/avif", (".avif",)),
}
IMAGE_SUFFIXES = frozenset(suffix for _, suffixes in IMAGE_FORMATS.values() for suffix in suffixes)
# Suffixes of images that are refused. A file that has one is found all the same, so that its own fault is reported.
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
PORTABLE_MEDIA_TYPES = frozenset(
    {"image/jpeg", "image/png", "image/webp"}
)  # media types that every model server reads
WHITE = (255, 255, 255)
JPEG_QUALITY = 95  # of a JPEG, without chroma subsampling
HEADER_BYTES = 64  # bytes at the start of a file by which its format is recognised
# Of any colour, profiles that say "sRGB" in other numbers differ from it by so many levels of 255 at most.
MAX_LEVEL_DIFFERENCE = 2
# What a PNG says of itself where its colours are those of sRGB: gAMA, and cHRM's white, red, green and blue as x and y.
SRGB_GAMMA = 1 / 2.2
SRGB_CHROMATICITIES = (0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06)
# Code points of colours (ITU-T H.273) that are sRGB's, or unspecified, or so near that a browser shows the same.
SRGB_PRIMARIES, SRGB_TRANSFERS = (1, 2, 6), (1, 2, 6, 13)
_FRAME_BOX_KEY = "rgqa-frame"  # in an image's `info`: where its one frame lies on a larger canvas

_CONVERT_HINT = "convert it to JPEG or PNG, for example: magick FILE FILE.jpg"
_HEIC_BRANDS = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}
# The first bytes of files that are no such image -> what they are, and what to do.
_UNSUPPORTED_FORMATS = (
    (b"II*\0", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"MM\0*", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"II+\0", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"MM\0+", "TIFF", f"no browser but Safari shows it; {_CONVERT_HINT}"),
    (b"\0\0\x01\0", "ICO", "an icon holds several images; save one of them as PNG"),
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
    """An image as it is sent or stored.

    Attributes:
        data: the bytes of a file.
        media_type: of the bytes: "image/jpeg", "image/png" or "image/webp".
        size: width and height in pixels.
        changed: whether the bytes are others than the file's own.
    """

    data: bytes
    media_type: str
    size: tuple[int, int]
    is_reencoded: bool

    @property
    def suffix(self) -> str:
        """The suffix of a file of this media type, for example ".jpg"."""
        return next(
            suffixes[0] for media_type, suffixes in IMAGE_FORMATS.values() if media_type == self.media_type
        )

    @property
    def data_uri(self) -> str:
        """The image as a URI that holds it."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


def detect_media_type(head: bytes) -> str:
    """Return the media type of an image by the first `HEAD` bytes of its file.

    Returns:
        One of `FORMATS`' media types; "" for everything else.

    >>> media_type_of(b"GIF89a")
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
    """Return the media type of a file by its content, whatever its name; "" if it is no image that browsers show.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return detect_media_type(file.read(HEADER_BYTES))


def find_image_files(folder: Path) -> tuple[dict[str, Path], list[tuple[Path, Path]]]:
    """Find the images directly in a folder, by their suffix or else by their content.

    An image's id is its file's name without the suffix; the whole name where the suffix is none of an image. Where a file that
    browsers show and another kind of file have the same id, for example a photograph and its raw data, the former is taken.

    Returns:
        The file of each id; and pairs of files that browsers show with the same id, of which the later one was taken.

    Raises:
        OSError: the folder cannot be read.
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


def strip_image_suffix(name: str) -> str:
    """A file's name without the suffix of an image, which is the image's id.

    >>> without_suffix("kitchen.JPG"), without_suffix("v1.2")
    ('kitchen', 'v1.2')
    """
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and f".{suffix.lower()}" in IMAGE_SUFFIXES | UNSUPPORTED_SUFFIXES else name


def load_rgb(
    source: Path | str | bytes, *, background: tuple[int, int, int] | None = None, min_side: int = 0
) -> Image.Image:
    """Load an image as a browser shows it: upright, in sRGB, 8 bits a channel.

    Args:
        source: a file, or its bytes.
        background: the colour that shows through where the image is transparent; None refuses such an image.
        at_least: a JPEG whose sides are larger may be decoded smaller, which is faster, but not below so many pixels;
            0 decodes it whole.

    Returns:
        An image of mode "RGB" without metadata, decoded to its last pixel.

    Raises:
        ValueError: it is no regular file, is empty, no image that browsers show, truncated, too large, animated or partly
            transparent; the message says which, and what to do.
        OSError: the file cannot be read.
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
    """Encode an image for whoever reads it without knowing of EXIF, colour profiles or rare formats.

    A JPEG, PNG or WebP in which every reader sees the same goes out as it is. Any other becomes a PNG if nothing is lost in its
    own format and it keeps its size, else a JPEG.

    Args:
        source: a file, or its bytes.
        max_side: the longer side has so many pixels at most; 0 keeps any size.
        background: as in `load_rgb`.
        decode: decode an image that goes out as it is, too, which finds out whether it is damaged.

    Raises:
        ValueError, OSError: as `load_rgb`.
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
    """An image of the bytes, not yet decoded; whatever Pillow raises about them inside is a ValueError."""
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
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # it is checked below
            with Image.open(io.BytesIO(data), formats=[*IMAGE_FORMATS]) as image:
                width, height = image.size
                if Image.MAX_IMAGE_PIXELS and width * height > Image.MAX_IMAGE_PIXELS:
                    raise Image.DecompressionBombError
                _record_frame_box(image, data)
                _rescale_transparency(image, data)
                # A photo from a phone may hold further ones ("MPO"), of which browsers show the first.
                frames = 1 if image.format in ("JPEG", "MPO") else getattr(image, "n_frames", 1)
                if frames > 1:
                    raise _UnsupportedImage(
                        f"{frames} frames: browsers move them, a model sees the first; save one of them as PNG"
                    )
                yield image
    except _UnsupportedImage as error:
        raise ValueError(str(error)) from None
    except Image.DecompressionBombError:
        raise ValueError(f"too large: more than {Image.MAX_IMAGE_PIXELS:,} pixels; make it smaller") from None
    except MemoryError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever they meet
        raise ValueError(f"damaged: {error or type(error).__name__}; fetch or export it again") from None


class _UnsupportedImage(Exception):
    """An image that is sound, and yet refused."""


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
        return f"{accepted}, but a web page, perhaps of a download that failed; fetch the image again"
    return accepted


def _read_brands(head: bytes) -> set[bytes]:
    """The brands of a file that consists of boxes, as AVIF and HEIC do (ISO/IEC 14496-12, box `ftyp`)."""
    if head[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(head[:4], "big"), len(head))
    return {head[start : start + 4] for start in (8, *range(16, end, 4))}


def _is_image(path: Path) -> bool:
    """Whether a file's content is an image, of any format."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    return bool(
        detect_media_type(head) or _read_brands(head) & _HEIC_BRANDS or head.startswith((b"II*\0", b"MM\0*"))
    )


def _is_portable(image: Image.Image, data: bytes) -> bool:
    """Whether every reader sees in a decoded image's file what `_browser_pixels` gives."""
    return (
        image.mode in ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
        and not (image.format == "PNG" and data[24] > 8)  # the header's bits a channel
        and _read_orientation(image, data) == 1
        and _select_srgb_transform(image, data) is None
        and _alpha_channel(image) is None
    )


def _render_as_browser(
    image: Image.Image, data: bytes, background: tuple[int, int, int] | None
) -> Image.Image:
    """The pixels of a decoded image as a browser shows them."""
    from PIL import Image

    alpha = _alpha_channel(image)
    if alpha is not None and background is None:
        raise _UnsupportedImage(
            "partly transparent: what shines through is another to each viewer; lay it on a background"
        )
    transform = _select_srgb_transform(image, data)
    rgb = image
    # Pillow would cut 16 bits of grey off at 255.
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


# EXIF 2.32, tag 0x0112 -> Pillow's number of the transposition that turns the image upright.
_TRANSPOSITIONS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}


def _read_orientation(image: Image.Image, data: bytes) -> int:
    """The orientation of a decoded image, by EXIF alone: browsers ignore XMP's, which Pillow's `getexif` would take.

    Raises:
        _Refused: it is turned by EXIF in a place where Chromium, unlike other programs, does not look.
    """
    from PIL import Image

    exif, orientation = Image.Exif(), 1
    with suppress(Exception):  # browsers ignore EXIF that they cannot read
        exif.load(image.info.get("exif", b""))
        orientation = exif.get(0x0112, 1)
    if orientation not in _TRANSPOSITIONS:
        return 1
    if image.format == "WEBP" or (image.format == "PNG" and data.find(b"eXIf", 0, data.find(b"IDAT")) < 0):
        raise _UnsupportedImage(
            f"its EXIF turns it (orientation {orientation}), which browsers ignore in such a file; save it upright"
        )
    return orientation


def _alpha_channel(image: Image.Image) -> Image.Image | None:
    """How opaque each pixel of a decoded image is, as mode "L"; None if all are wholly."""
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
    """Note in `info` where the first frame of a GIF or WebP lies, if it does not fill the canvas. Pillow fills the rest with a
    colour; browsers leave it transparent."""
    box = None
    if image.format == "GIF" and (tile := getattr(image, "tile", None)):
        box = tuple(tile[0][1])
    elif image.format == "WEBP" and (place := data.find(b"ANMF")) > 0:
        # The container has x, y, width and height of the frame, 3 bytes each.
        x, y, width, height = (
            int.from_bytes(data[at : at + 3], "little") for at in range(place + 8, place + 20, 3)
        )
        box = (2 * x, 2 * y, 2 * x + width + 1, 2 * y + height + 1)
    if box is not None and box != (0, 0, *image.size):
        image.info[_FRAME_BOX_KEY] = box


def _rescale_transparency(image: Image.Image, data: bytes) -> None:
    """Bring the one transparent colour of a PNG, which is in the file's bits, to the 8 bits that Pillow's pixels have."""
    hidden = image.info.get("transparency") if image.format == "PNG" else None
    bits = data[24] if hidden is not None else 8
    if isinstance(hidden, tuple) and bits == 16:
        image.info["transparency"] = tuple(value >> 8 for value in hidden)
    elif isinstance(hidden, int) and image.mode == "L" and bits in (2, 4):
        image.info["transparency"] = hidden * 255 // (2**bits - 1)


def _select_srgb_transform(image: Image.Image, data: bytes) -> Any:
    """The transform from a decoded image's colours to sRGB, of `ImageCms`; None where they are that already.

    Raises:
        _Refused: it states its colours in a way that only browsers know.
    """
    info, mode = image.info, image.mode
    icc = info.get("icc_profile")
    # "MBED" in a BITMAPV5HEADER: the profile is in the file.
    if image.format == "BMP" and data[70:74] == b"DEBM" and data[14] == 124:
        start, length = (int.from_bytes(data[at : at + 4], "little") for at in (126, 130))
        icc = data[14 + start : 14 + start + length]
    if icc:
        # A PNG's header tells whether it is grey, which Pillow's mode of 16 bits with transparency does not.
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
    """Refuse colours, named by primaries and transfer function, that are none of sRGB's."""
    if points and (points[0] not in SRGB_PRIMARIES or points[1] not in SRGB_TRANSFERS):
        raise _UnsupportedImage(
            f"its colours are those of a wide or high dynamic range (primaries {points[0]}, transfer {points[1]}), which few "
            "programs show alike; export it in sRGB"
        )


@lru_cache(maxsize=64)
def _build_srgb_transform(icc: bytes, mode: str) -> Any:
    """From a profile's colours to sRGB; None for a profile that browsers ignore, since it is damaged or of other channels than
    `mode`, and for one that changes no colour by more than `SAME_LEVELS`."""
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
    """Make an ICC profile of RGB colours by their chromaticities.

    Args:
        gamma: as PNG's chunk gAMA has it: a stored value is the light's power `gamma`.
        points: x and y of white, red, green and blue, as in PNG's chunk cHRM.

    Returns:
        A profile of version 2.4, for the white point D50 (Bradford's adaptation), as ICC.1:2001-04 wants it.
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
