"""Pictures as browsers show them. What EXIF's eight orientations mean is drawn by hand: where the corner lies."""

import os

import numpy as np
import pytest
from PIL import Image

from pipeline.core.upright import upright

RED, BLUE = (255, 0, 0), (0, 0, 255)


def cornered() -> Image.Image:
    """6 x 4, blue, its left upper quarter red."""
    picture = Image.new("RGB", (6, 4), BLUE)
    picture.paste(RED, (0, 0, 3, 2))
    return picture


# EXIF 2.32, tag 0x0112: where the stored picture's 0th row and 0th column are shown -> where its first corner is.
CORNERS = {
    1: (0, 0),  # row at the top, column at the left
    2: (0, -1),  # top, right
    3: (-1, -1),  # bottom, right
    4: (-1, 0),  # bottom, left
    5: (0, 0),  # row at the left, column at the top
    6: (0, -1),  # row at the right, column at the top
    7: (-1, -1),  # right, bottom
    8: (-1, 0),  # left, bottom
}


@pytest.mark.parametrize("orientation", CORNERS)
@pytest.mark.parametrize("ending", ["png", "webp"])
def test_a_photo_is_turned_as_its_exif_says(tmp_path, orientation, ending):
    path, exif = tmp_path / f"a.{ending}", Image.Exif()
    exif[0x0112] = orientation
    cornered().save(path, exif=exif, lossless=True)
    picture = upright(path)
    assert picture.size == ((6, 4) if orientation < 5 else (4, 6))
    pixels = np.asarray(picture)
    row, column = CORNERS[orientation]
    assert tuple(pixels[row, column]) == RED
    assert tuple(pixels[-1 - row, -1 - column]) == BLUE


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA"])
def test_what_is_opaque_is_read_in_every_mode(tmp_path, mode):
    path = tmp_path / "a.png"
    Image.new("RGB", (3, 2), "white").convert(mode).save(path)
    assert (upright(path).mode, upright(path).getpixel((1, 1))) == ("RGB", (255, 255, 255))


def test_sixteen_bits_that_would_be_cut_at_white_are_refused(tmp_path):
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"more than 8 bits a channel .* save it with 8"):
        upright(tmp_path / "a.png")


def transparent(path, alpha):
    Image.new("RGBA", (3, 2), (9, 9, 9, alpha)).save(path)


def test_what_shines_through_is_refused_and_an_opaque_alpha_channel_is_not(tmp_path):
    transparent(tmp_path / "a.png", 254)
    transparent(tmp_path / "b.png", 255)
    with pytest.raises(ValueError, match="partly transparent"):
        upright(tmp_path / "a.png")
    assert upright(tmp_path / "b.png").getpixel((0, 0)) == (9, 9, 9)


@pytest.mark.parametrize("ending", ["gif", "png", "webp"])
def test_what_moves_is_refused_and_one_frame_is_not(tmp_path, ending):
    frames = [Image.new("RGB", (3, 2), colour) for colour in ("red", "blue", "green")]
    frames[0].save(tmp_path / f"a.{ending}", save_all=True, append_images=frames[1:])
    frames[0].save(tmp_path / f"b.{ending}")
    with pytest.raises(ValueError, match="^3 frames: browsers move them"):
        upright(tmp_path / f"a.{ending}")
    assert upright(tmp_path / f"b.{ending}").size == (3, 2)


def test_a_phones_photo_of_several_pictures_is_its_first(tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=frames[1:])
    red, _, blue = np.asarray(upright(tmp_path / "a.jpg"))[4, 4]
    assert red > 250 and blue < 5


@pytest.mark.parametrize("form", ["TIFF", "EPS", "PPM", "ICO"])
def test_what_browsers_do_not_show_is_never_opened(tmp_path, form):
    Image.new("RGB", (16, 16)).save(tmp_path / "a.jpg", format=form)
    with pytest.raises(ValueError, match="not a JPEG, PNG, WebP, GIF or BMP"):
        upright(tmp_path / "a.jpg")


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
        with pytest.raises(ValueError, match=f"^{said}.* where a picture was expected"):
            upright(tmp_path / f"{name}.jpg")


def test_bytes_are_read_like_files_and_nothing_is_told(tmp_path):
    cornered().save(tmp_path / "a.png")
    assert upright((tmp_path / "a.png").read_bytes()).getpixel((0, 0)) == RED
    with pytest.raises(ValueError, match="the file is empty"):
        upright(b"")


@pytest.mark.parametrize(("height", "opens"), [(2, True), (3, False), (5, False)])
def test_what_pillow_only_warns_of_is_refused_as_too_large(monkeypatch, tmp_path, height, opens):
    # Pillow warns above its limit, here 12 pixels, and raises above twice as many: 12, 18 and 30 pixels.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 12)
    Image.new("RGB", (6, height)).save(tmp_path / "a.png")
    if opens:
        assert upright(tmp_path / "a.png").size == (6, height)
    else:
        with pytest.raises(ValueError, match="too large to open: Image size"):
            upright(tmp_path / "a.png")
