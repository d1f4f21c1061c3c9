"""Test that `load_rgb` gives models the pixels that Chromium shows to annotators."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.core.images import WHITE, detect_media_type, load_rgb
from tests.odd_images import all_of_them, exif, png_with, quarters, saved

pytestmark = pytest.mark.server


def shown(chromium: Any, data: bytes) -> np.ndarray:
    """The pixels of an image on a white page."""
    page = chromium.new_page(viewport={"width": 200, "height": 200})
    address = f"data:{detect_media_type(data)};base64,{base64.b64encode(data).decode()}"
    page.set_content(
        f'<body style="margin: 0; background: #fff"><img id="it" style="display: block" src="{address}">'
    )
    page.wait_for_function("document.getElementById('it').complete")
    width, height = page.evaluate("[it.naturalWidth, it.naturalHeight]")
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
    page.close()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


@pytest.mark.parametrize("name", all_of_them())
def test_models_get_the_pixels_that_annotators_see(chromium, name):
    data = all_of_them()[name]
    seen, loaded = shown(chromium, data), np.asarray(load_rgb(data, background=WHITE))
    assert seen.shape == loaded.shape
    assert np.abs(seen - loaded).max() <= 2  # of 255: two libraries round a profile's curves


@pytest.mark.parametrize(
    "data",
    [
        saved(quarters(), "WEBP", exif=exif(6)),
        png_with((b"eXIf", exif(6).removeprefix(b"Exif\0\0")), last=True),
    ],
    ids=["WebP", "PNG, after its pixels"],
)
def test_exif_orientation_ignored_by_chromium_is_refused(chromium, data):
    assert shown(chromium, data).shape == (32, 48, 3)  # as stored, where other programs turn it
    with pytest.raises(ValueError, match="orientation 6"):
        load_rgb(data)
