import base64
import io

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.reporting.gallery import MOST
from pipeline.reporting.thumbnails import LARGE, SMALL, data_uri


def decoded(uri):
    head, _, body = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return base64.b64decode(body)


def noise(path, mode="RGB", size=(1600, 1200)):
    """The worst that a JPEG can be asked to hold."""
    shape = size[::-1] if mode in ("L", "P") else (*size[::-1], len(mode))
    Image.fromarray(
        np.random.default_rng(0).integers(0, 256, shape, np.uint8), None if mode in ("RGB", "RGBA") else "L"
    ).convert(mode).save(path)
    return path


@pytest.mark.parametrize("size", [LARGE, SMALL])
@pytest.mark.parametrize(("mode", "ending"), [("RGB", "jpg"), ("RGBA", "png"), ("L", "png"), ("P", "gif")])
def test_any_picture_becomes_a_small_jpeg_of_the_same_shape(tmp_path, mode, ending, size):
    data = decoded(data_uri(noise(tmp_path / f"x.{ending}", mode), size))
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.format == "JPEG" and picture.size == (size[0], size[0] * 3 // 4)
    assert len(data) <= size[1]


def test_a_square_of_noise_keeps_the_bound_too(tmp_path):
    assert len(decoded(data_uri(noise(tmp_path / "x.png", size=(900, 900)), LARGE))) <= LARGE[1]


def test_the_fullest_gallery_stays_below_ten_megabytes():
    # 4 subsets, a large and a small picture for each item, base64 makes 4 bytes of 3
    assert 4 * MOST * (LARGE[1] + SMALL[1]) * 4 / 3 < 9e6


def test_a_small_picture_is_not_blown_up(tmp_path):
    Image.new("RGB", (40, 20), "red").save(tmp_path / "x.png")
    with Image.open(io.BytesIO(decoded(data_uri(tmp_path / "x.png", LARGE)))) as picture:
        assert picture.size == (40, 20)


def test_the_same_file_gives_the_same_bytes(tmp_path):
    path = noise(tmp_path / "x.png")
    assert data_uri(path, LARGE) == data_uri(path, LARGE)


@pytest.mark.parametrize("content", [None, b"no picture", b"\x89PNG\r\n\x1a\n"])
def test_a_picture_that_is_gone_or_damaged_is_named(tmp_path, content):
    path = tmp_path / "n1.png"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match="n1.png: the picture is missing or damaged"):
        data_uri(path, LARGE)
