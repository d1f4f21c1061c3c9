"""Image files that a naive reader decodes differently from a browser, written by hand or by Pillow."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageCms

WIDTH, HEIGHT = 48, 32
RED, BLUE, GREEN, GREY = (200, 40, 40), (47, 111, 208), (60, 160, 90), (120, 120, 120)


def quarters() -> Image.Image:
    """Return an image of 48 x 32 pixels: red and blue above green and grey."""
    image = Image.new("RGB", (WIDTH, HEIGHT), GREY)
    for color, box in ((RED, (0, 0)), (BLUE, (24, 0)), (GREEN, (0, 16))):
        image.paste(color, (*box, box[0] + 24, box[1] + 16))
    return image


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    """Return the file of an image, with as little loss as its format allows."""
    best = {"JPEG": {"quality": 100, "subsampling": 0}, "WEBP": {"lossless": True}, "AVIF": {"quality": 100}}
    written = io.BytesIO()
    image.save(written, form, **{**best.get(form, {}), **options})
    return written.getvalue()


def exif(orientation: int) -> bytes:
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def swapped_profile() -> bytes:
    """Return the profile of sRGB with red and green swapped, so that red values are shown as green."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    (count,) = struct.unpack(">I", profile[128:132])
    names = {b"rXYZ": b"gXYZ", b"gXYZ": b"rXYZ"}
    for place in range(132, 132 + 12 * count, 12):
        profile[place : place + 4] = names.get(bytes(profile[place : place + 4]), profile[place : place + 4])
    return bytes(profile)


def grey_profile(gamma: float) -> bytes:
    """Return a grey profile whose stored values are the light intensity to the power 1 / gamma."""
    curve = b"curv" + bytes(4) + struct.pack(">IH", 1, round(256 * gamma)) + bytes(2)
    white = b"XYZ " + bytes(4) + struct.pack(">3i", *(round(v * 65536) for v in (0.9642, 1, 0.8249)))
    table = (
        struct.pack(">I", 2) + b"wtpt" + struct.pack(">II", 156, 20) + b"kTRC" + struct.pack(">II", 176, 16)
    )
    header = (
        struct.pack(">I4sI4s4s4s", 192, bytes(4), 0x02400000, b"mntr", b"GRAY", b"XYZ ") + bytes(12) + b"acsp"
    )
    return (header + bytes(28) + white[8:]).ljust(128, b"\0") + table + white + curve


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_with(*chunks: tuple[bytes, bytes], image: Image.Image | None = None, last: bool = False) -> bytes:
    """Return a PNG with further chunks after its header, or after its pixels (`last`)."""
    data = saved(image or quarters(), "PNG")
    place = data.rindex(b"IEND") - 4 if last else 33
    return data[:place] + b"".join(chunk(*one) for one in chunks) + data[place:]


def png(width: int, height: int, bits: int, color: int, rows: bytes, *chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of rows, each with its filter byte, and further chunks before them. `color` is the color type of PNG."""
    header = struct.pack(">2I5B", width, height, bits, color, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def png_of_16_bits(values: np.ndarray, *chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of values [height, width] (grey) or [height, width, 3] up to 65,535."""
    height, width = values.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    return png(width, height, 16, 2 if values.ndim == 3 else 0, rows, *chunks)


def png_with_few_greys(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of 48 x 32 pixels with 4 bits per pixel, whose rows count from 0 to 15 three times."""
    row = b"\0" + bytes(16 * (value % 16) + (value + 1) % 16 for value in range(0, WIDTH, 2))
    return png(WIDTH, HEIGHT, 4, 0, row * HEIGHT, *chunks)


def gif_on_canvas(left: int, top: int) -> bytes:
    """Return a GIF of 64 x 40 pixels whose only frame, `quarters`, is at (left, top)."""
    data = bytearray(saved(quarters().quantize(8), "GIF"))
    data[6:10] = struct.pack("<2H", 64, 40)
    place = data.index(b"\x2c\0\0\0\0")
    data[place + 1 : place + 5] = struct.pack("<2H", left, top)
    return bytes(data)


def webp_on_canvas(left: int, top: int) -> bytes:
    """Return a WebP of 64 x 40 pixels whose only frame, `quarters`, is at (left, top), both even."""

    def number(value: int) -> bytes:
        return value.to_bytes(3, "little")

    frame = b"".join(map(number, (left // 2, top // 2, WIDTH - 1, HEIGHT - 1, 100))) + b"\0"
    frame += saved(quarters(), "WEBP")[12:]
    size = bytes([2, 0, 0, 0]) + number(63) + number(39)
    body = b"WEBP"
    for name, data in ((b"VP8X", size), (b"ANIM", bytes(6)), (b"ANMF", frame)):
        body += name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def bmp_with_profile(profile: bytes) -> bytes:
    """Return a BMP with a header of version 5 and a profile."""
    pixels = np.asarray(quarters())[::-1, :, ::-1].tobytes()
    header = struct.pack("<IiiHHIIiiII", 124, WIDTH, HEIGHT, 1, 24, 0, len(pixels), 2835, 2835, 0, 0)
    header += struct.pack("<4I", 0xFF0000, 0xFF00, 0xFF, 0) + b"DEBM" + bytes(48)
    header += struct.pack("<IIII", 4, 124 + len(pixels), len(profile), 0)
    size = 14 + 124 + len(pixels) + len(profile)
    return b"BM" + struct.pack("<IHHI", size, 0, 0, 14 + 124) + header + pixels + profile


def transparent() -> Image.Image:
    """Return `quarters` with a transparent corner of 10 x 10 pixels and a half transparent area beside it."""
    image, alpha = quarters().convert("RGBA"), Image.new("L", (WIDTH, HEIGHT), 255)
    alpha.paste(0, (0, 0, 10, 10))
    alpha.paste(128, (10, 0, 20, 10))
    image.putalpha(alpha)
    return image


def all_of_them() -> dict[str, bytes]:
    """Return files that `load_rgb` must load like a browser, with a background, by name."""
    swapped, turned = swapped_profile(), {o: exif(o) for o in range(1, 9)}
    ramp = np.linspace(0, 65535, WIDTH * HEIGHT)
    # Chromaticities of Adobe RGB.
    points = struct.pack(">8I", 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><tiff tiff:Orientation="6"/></x:xmpmeta>'
    forms = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "AVIF": "avif"}
    return {
        **{f"turned {o}.jpg": saved(quarters(), "JPEG", exif=tag) for o, tag in turned.items()},
        "turned 6.png": saved(quarters(), "PNG", exif=turned[6]),
        "turned 6.avif": saved(quarters(), "AVIF", exif=turned[6]),
        "turned by XMP.jpg": saved(quarters(), "JPEG", xmp=xmp),
        **{f"swapped.{end}": saved(quarters(), form, icc_profile=swapped) for form, end in forms.items()},
        "swapped and turned.jpg": saved(quarters(), "JPEG", icc_profile=swapped, exif=turned[6]),
        "swapped palette.png": saved(quarters().quantize(8), "PNG", icc_profile=swapped),
        "swapped grey.png": saved(quarters().convert("L"), "PNG", icc_profile=swapped),
        "swapped.bmp": bmp_with_profile(swapped),
        "grey profile.jpg": saved(quarters().convert("L"), "JPEG", icc_profile=grey_profile(1.0)),
        "grey profile.png": saved(quarters().convert("L"), "PNG", icc_profile=grey_profile(3.0)),
        "grey profile of colours.jpg": saved(quarters(), "JPEG", icc_profile=grey_profile(1.0)),
        "no profile.jpg": saved(quarters(), "JPEG", icc_profile=b"no profile " * 20),
        "cmyk.jpg": saved(quarters().convert("CMYK"), "JPEG"),
        "16 bits of grey.png": png_of_16_bits(ramp.reshape(HEIGHT, WIDTH)),
        "16 bits of colour.png": png_of_16_bits(np.resize(ramp, (HEIGHT, WIDTH, 3))),
        "gamma.png": png_with((b"gAMA", struct.pack(">I", 100_000))),
        "chromaticities.png": png_with((b"gAMA", struct.pack(">I", 45_455)), (b"cHRM", points)),
        "chromaticities alone.png": png_with((b"cHRM", points)),
        "gamma and sRGB.png": png_with((b"sRGB", b"\0"), (b"gAMA", struct.pack(">I", 100_000))),
        "small frame.gif": gif_on_canvas(0, 0),
        "small frame inside.gif": gif_on_canvas(8, 4),
        "small frame.webp": webp_on_canvas(8, 4),
        "transparent.png": saved(transparent(), "PNG"),
        "transparent.webp": saved(transparent(), "WEBP"),
        "transparent and swapped.png": saved(transparent(), "PNG", icc_profile=swapped),
        "one grey of 16 bits is transparent.png": png_of_16_bits(
            ramp.round().reshape(HEIGHT, WIDTH), (b"tRNS", struct.pack(">H", round(ramp[700])))
        ),
        "one of 16 greys is transparent.png": png_with_few_greys((b"tRNS", b"\0\5")),
        "16 bits of grey with a profile.png": png_of_16_bits(
            ramp.reshape(HEIGHT, WIDTH), (b"iCCP", b"x\0\0" + zlib.compress(grey_profile(1.8)))
        ),
        "plain.bmp": saved(quarters(), "BMP"),
        "plain.gif": saved(quarters().quantize(8), "GIF"),
    }
