"""Images are loaded as browsers show them. tests/annotation/browser/test_images.py compares the same files with Chromium."""

import base64
import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.core import images
from pipeline.core.images import (
    WHITE,
    detect_file_media_type,
    detect_media_type,
    encode_image,
    find_image_files,
    load_rgb,
)
from tests.odd_images import (
    BLUE as BLUE_QUARTER,
)
from tests.odd_images import (
    GREEN,
    GREY,
    HEIGHT,
    WIDTH,
    all_of_them,
    exif,
    gif_on_canvas,
    grey_profile,
    png_of_16_bits,
    png_with,
    quarters,
    saved,
    swapped_profile,
    transparent,
    webp_on_canvas,
)
from tests.odd_images import RED as RED_QUARTER

RED, BLUE = (255, 0, 0), (0, 0, 255)


def cornered() -> Image.Image:
    """Return a blue image of 6 x 4 pixels with a red upper left quarter."""
    image = Image.new("RGB", (6, 4), BLUE)
    image.paste(RED, (0, 0, 3, 2))
    return image


# Orientation (EXIF 2.32, tag 0x0112) -> where the first corner of the stored image is shown.
CORNERS = {
    1: (0, 0),
    2: (0, -1),
    3: (-1, -1),
    4: (-1, 0),
    5: (0, 0),
    6: (0, -1),
    7: (-1, -1),
    8: (-1, 0),
}


@pytest.mark.parametrize("orientation", CORNERS)
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_a_photo_is_rotated_by_its_exif(tmp_path, orientation, ending):
    path = tmp_path / f"a.{ending}"
    cornered().resize((48, 32), Image.Resampling.NEAREST).save(
        path, exif=exif(orientation), quality=100, subsampling=0
    )
    image = load_rgb(path).resize((6, 4) if orientation < 5 else (4, 6), Image.Resampling.NEAREST)
    assert image.size == ((6, 4) if orientation < 5 else (4, 6))
    pixels = np.asarray(image)
    row, column = CORNERS[orientation]
    assert np.abs(pixels[row, column].astype(int) - RED).max() <= 2
    assert np.abs(pixels[-1 - row, -1 - column].astype(int) - BLUE).max() <= 2


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA"])
def test_opaque_images_are_read_in_every_mode(tmp_path, mode):
    path = tmp_path / "a.png"
    Image.new("RGB", (3, 2), "white").convert(mode).save(path)
    assert (load_rgb(path).mode, load_rgb(path).getpixel((1, 1))) == ("RGB", (255, 255, 255))


def test_transparent_images_need_a_background():
    # 128 of 255 of red (200, 40, 40) on white: 255 + (200 - 255) * 128 / 255 = 227.4, and 255 - 215 * 128 / 255 = 147.1
    data = saved(transparent(), "PNG")
    with pytest.raises(ValueError, match="partly transparent"):
        load_rgb(data)
    image = load_rgb(data, background=WHITE)
    assert [image.getpixel(at) for at in ((5, 5), (15, 5), (21, 5))] == [WHITE, (227, 147, 147), RED_QUARTER]
    opaque = saved(Image.new("RGBA", (3, 2), (9, 9, 9, 255)), "PNG")
    assert load_rgb(opaque).getpixel((0, 0)) == (9, 9, 9)


@pytest.mark.parametrize("ending", ["gif", "png", "webp"])
def test_animations_are_refused_but_single_frames_are_read(tmp_path, ending):
    frames = [Image.new("RGB", (3, 2), colour) for colour in ("red", "blue", "green")]
    frames[0].save(tmp_path / f"a.{ending}", save_all=True, append_images=frames[1:])
    frames[0].save(tmp_path / f"b.{ending}")
    with pytest.raises(ValueError, match="^3 frames: browsers animate them"):
        load_rgb(tmp_path / f"a.{ending}")
    assert load_rgb(tmp_path / f"b.{ending}").size == (3, 2)


def test_the_first_image_of_an_mpo_photo_is_read(tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=frames[1:])
    red, _, blue = np.asarray(load_rgb(tmp_path / "a.jpg"))[4, 4]
    assert red > 250 and blue < 5


@pytest.mark.parametrize("form", ["TIFF", "EPS", "PPM", "ICO"])
def test_formats_that_browsers_do_not_show_are_never_opened(tmp_path, form):
    Image.new("RGB", (16, 16)).save(tmp_path / "a.jpg", format=form)
    with pytest.raises(ValueError, match="not a JPEG, PNG, WebP, GIF, BMP or AVIF"):
        load_rgb(tmp_path / "a.jpg")


def test_only_regular_files_are_opened(tmp_path):
    (tmp_path / "link.jpg").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder.jpg").mkdir()
    os.mkfifo(tmp_path / "pipe.jpg")
    for name, said in {
        "link": "a link to nothing",
        "folder": "a folder",
        "pipe": "missing, or no regular file",
        "none": "missing",
    }.items():
        with pytest.raises(ValueError, match=f"^{said}.* where an image was expected"):
            load_rgb(tmp_path / f"{name}.jpg")


def test_bytes_are_read_like_files_without_warnings(tmp_path):
    cornered().save(tmp_path / "a.png")
    assert load_rgb((tmp_path / "a.png").read_bytes()).getpixel((0, 0)) == RED
    with pytest.raises(ValueError, match="the file is empty"):
        load_rgb(b"")


@pytest.mark.parametrize(("height", "opens"), [(2, True), (3, False), (5, False)])
def test_images_beyond_pillows_warning_limit_are_too_large(monkeypatch, tmp_path, height, opens):
    # Pillow warns above its limit, here 12 pixels, and raises above twice as many: 12, 18 and 30 pixels.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 12)
    Image.new("RGB", (6, height)).save(tmp_path / "a.png")
    if opens:
        assert load_rgb(tmp_path / "a.png").size == (6, height)
    else:
        with pytest.raises(ValueError, match="too large: more than 12 pixels"):
            load_rgb(tmp_path / "a.png")


def corners(image):
    """Return the colours of the four quarters, in the order of `quarters`: red, blue, green, grey."""
    width, height = image.size
    return [
        image.getpixel((x, y)) for y in (height // 4, 3 * height // 4) for x in (width // 4, 3 * width // 4)
    ]


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_colours_are_converted_from_the_profile(form):
    # The profile swaps red and green, whose curves are the same, so the values are swapped exactly.
    image = load_rgb(saved(quarters(), form, icc_profile=swapped_profile()))
    wanted = [(green, red, blue) for red, green, blue in (RED_QUARTER, BLUE_QUARTER, GREEN, GREY)]
    assert np.abs(np.array(corners(image)) - wanted).max() <= 2


def test_a_grey_profile_applies_only_to_grey_images():
    # Light to the power 1: a stored 120 is 120 / 255 of white's light, in sRGB 1.055 * 0.4706 ** (1 / 2.4) - 0.055 = 0.7156: 182.5
    grey = load_rgb(saved(Image.new("L", (8, 8), 120), "PNG", icc_profile=grey_profile(1.0)))
    assert np.asarray(grey)[0, 0, 0] in (182, 183)
    colours = load_rgb(saved(quarters(), "JPEG", icc_profile=grey_profile(1.0)))
    assert np.abs(np.array(corners(colours)) - [RED_QUARTER, BLUE_QUARTER, GREEN, GREY]).max() <= 2


def test_the_gamma_of_a_png_is_used():
    # As above, gAMA 1.0 means that stored values are light intensities.
    image = load_rgb(png_with((b"gAMA", (100_000).to_bytes(4, "big"))))
    assert np.asarray(image)[31, 47, 0] in (182, 183)
    assert load_rgb(png_with((b"gAMA", (45_455).to_bytes(4, "big")))).getpixel((47, 31)) == GREY


def test_a_gamma_beyond_the_range_of_profiles_is_clipped():
    # With gAMA 0.003, light is the stored value to the power of 333, so all but 255 is black. Profiles can have powers below 256.
    image = load_rgb(png_with((b"gAMA", (300).to_bytes(4, "big"))))
    assert image.getpixel((47, 31)) == (0, 0, 0)


def test_an_image_with_one_bit_per_pixel_is_not_reencoded():
    data = saved(quarters().convert("1"), "PNG")
    assert encode_image(data).data == data


def test_colours_that_programs_show_differently_are_refused():
    # These code points of ITU-T H.273 are sRGB.
    load_rgb(png_with((b"cICP", bytes([1, 13, 0, 1]))))
    # These code points are BT.2100 PQ.
    with pytest.raises(ValueError, match="primaries 9, transfer 16"):
        load_rgb(png_with((b"cICP", bytes([9, 16, 0, 1]))))


def test_16_bit_values_become_their_upper_8_bits():
    values = np.array([[0, 0x1234, 0x8000, 0xFFFF]])
    assert np.asarray(load_rgb(png_of_16_bits(values)))[0].tolist() == [
        [v] * 3 for v in (0, 0x12, 0x80, 0xFF)
    ]
    colours = np.array([[[0x1234, 0x5678, 0x9ABC]]])
    assert load_rgb(png_of_16_bits(colours)).getpixel((0, 0)) == (0x12, 0x56, 0x9A)
    hidden = png_of_16_bits(values, (b"tRNS", (0x1234).to_bytes(2, "big")))
    assert np.asarray(load_rgb(hidden, background=WHITE))[0, :, 0].tolist() == [0, 255, 0x80, 0xFF]


@pytest.mark.parametrize("data", [gif_on_canvas(8, 4), webp_on_canvas(8, 4)], ids=["GIF", "WebP"])
def test_the_background_surrounds_a_frame_smaller_than_its_canvas(data):
    with pytest.raises(ValueError, match="partly transparent"):
        load_rgb(data)
    image = load_rgb(data, background=(1, 2, 3))
    assert image.size == (64, 40)
    assert {image.getpixel(at) for at in ((0, 0), (7, 20), (20, 3), (56, 20), (20, 36))} == {(1, 2, 3)}
    assert corners(image.crop((8, 4, 56, 36))) == [RED_QUARTER, BLUE_QUARTER, GREEN, GREY]


def test_rotations_that_chromium_ignores_are_refused():
    for data in (saved(quarters(), "WEBP", exif=exif(3)), png_with((b"eXIf", exif(3)[6:]), last=True)):
        with pytest.raises(ValueError, match="orientation 3"):
            load_rgb(data)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1heicmiaf", "HEIC"),
        (b"II*\0" + bytes(60), "TIFF"),
        (b"MM\0*" + bytes(60), "TIFF"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"),
        (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        (b"<!DOCTYPE html><title>404</title>", "a web page"),
        (b"%PDF-1.7", "PDF"),
        (b"P6 1 1 255 abc", "PPM"),
    ],
)
def test_refused_formats_are_named(data, what):
    with pytest.raises(ValueError, match=f"but {what}"):
        load_rgb(data)


@pytest.mark.parametrize("name", all_of_them())
def test_encoded_images_need_neither_exif_nor_profiles(name):
    data = all_of_them()[name]
    sent, loaded = encode_image(data, background=WHITE), load_rgb(data, background=WHITE)
    assert (
        sent.media_type in ("image/jpeg", "image/png", "image/webp")
        and detect_media_type(sent.data) == sent.media_type
    )
    assert sent.size == loaded.size and sent.is_reencoded == (sent.data != data)
    with Image.open(io.BytesIO(sent.data)) as naive:
        assert "icc_profile" not in naive.info or not sent.is_reencoded
        difference = np.abs(np.asarray(naive.convert("RGB")).astype(int) - np.asarray(loaded)).mean()
    # JPEG may change a value by 1 of 255.
    assert difference <= (0 if sent.media_type == "image/png" else 1)
    again = encode_image(sent.data)
    assert (again.data, again.is_reencoded) == (sent.data, False)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("decode", [True, False])
def test_portable_images_are_not_reencoded(form, mode, decode):
    data = saved(quarters().convert(mode), form, exif=exif(1), icc_profile=b"")
    assert encode_image(data, verify=decode).data == data
    assert encode_image(data, max_side=WIDTH, verify=decode).data == data


def test_a_profile_equivalent_to_srgb_changes_nothing():
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = saved(quarters(), "JPEG", icc_profile=profile)
    assert encode_image(data).data == data


def test_larger_images_are_scaled_down():
    sent = encode_image(saved(quarters(), "PNG", exif=exif(6)), max_side=24)
    assert (sent.media_type, sent.size, sent.suffix) == ("image/jpeg", (16, 24), ".jpg")
    assert sent.data_uri == f"data:image/jpeg;base64,{base64.b64encode(sent.data).decode()}"


def test_truncated_images_are_refused():
    noise = saved(Image.effect_noise((200, 200), 50), "JPEG")
    with pytest.raises(ValueError, match="truncated"):
        encode_image(noise[: len(noise) // 2])


def test_avif_is_refused_if_pillow_cannot_read_it(monkeypatch):
    data = saved(quarters(), "AVIF")
    assert load_rgb(data).size == (WIDTH, HEIGHT)
    monkeypatch.setattr("PIL.features.check", lambda name: name != "avif")
    with pytest.raises(ValueError, match=r"AVIF.*Pillow 11\.3"):
        load_rgb(data)


def test_images_are_found_by_suffix_or_content(tmp_path):
    jpeg = saved(quarters(), "JPEG")
    for name in (
        "a.jfif",
        "b.JPE",
        "c.pjpeg",
        "d.avif",
        "e.heic",
        "f",
        "g.jpg_large",
        "v1.2",
        "h.jpg",
        "h.heic",
        "h.dng",
    ):
        (tmp_path / name).write_bytes(jpeg)
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder").mkdir()
    files, clashes = find_image_files(tmp_path)
    assert {key: path.name for key, path in files.items()} == {
        "a": "a.jfif", "b": "b.JPE", "c": "c.pjpeg", "d": "d.avif", "e": "e.heic", "e.heic": "e.heic", "f": "f",
        "g": "g.jpg_large", "g.jpg_large": "g.jpg_large", "v1": "v1.2", "v1.2": "v1.2", "h": "h.jpg",
        "h.heic": "h.heic", "h.dng": "h.dng",
    }  # fmt: skip
    assert clashes == []
    (tmp_path / "h.png").write_bytes(jpeg)
    assert [(first.name, second.name) for first, second in find_image_files(tmp_path)[1]] == [
        ("h.jpg", "h.png")
    ]


def test_numbers_of_coco_are_ids():
    """cocodataset.org: COCO_val2014_000000262148.jpg in 2014, 000000262148.jpg in 2017. An id of a file is not replaced."""
    names = ["COCO_val2014_000000262148", "000000000007", "12", "scan_000000000012", "7"]
    files = images.add_coco_numbers({name: Path(f"{name}.jpg") for name in names})
    assert {key: path.stem for key, path in files.items()} == {
        **{name: name for name in names},
        "262148": "COCO_val2014_000000262148",
    }


def test_a_media_type_is_that_of_the_content(tmp_path):
    for form, (media_type, _) in images.IMAGE_FORMATS.items():
        (tmp_path / "a.jpg").write_bytes(saved(quarters(), form))
        assert detect_file_media_type(tmp_path / "a.jpg") == media_type
    (tmp_path / "a.jpg").write_bytes(b"BMW is no bitmap")
    assert detect_file_media_type(tmp_path / "a.jpg") == ""
