"""All images in a release are upright, in sRGB, and in formats that every reader knows."""

import base64
import csv
import io

import numpy as np
import pyarrow.parquet as parquet
import pytest
from PIL import Image

from pipeline.benchmark.release.parquet_table import write_subset_table
from pipeline.benchmark.release.release_images import prepare_release_images
from pipeline.benchmark.release.vlmevalkit_table import write_table
from pipeline.core.errors import UserError
from pipeline.core.records import ImageRecord, Item
from tests.odd_images import exif, quarters, saved, swapped_profile

FILES = {
    "turned.jpg": saved(quarters(), "JPEG", exif=exif(6), icc_profile=swapped_profile()),
    "bitmap.bmp": saved(quarters(), "BMP"),
    "odd.jfif": saved(quarters(), "JPEG"),
    "avif.avif": saved(quarters(), "AVIF"),
}


@pytest.fixture
def images(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return [ImageRecord(name.split(".")[0], "test", str(tmp_path / name), 48, 32, "0") for name in FILES]


def test_every_reader_sees_the_same_images(tmp_path, images):
    items = [
        Item(f"{row.image_id}+1", "pt-hard", row.image_id, "1", "Where?", True, "", "p", "test")
        for row in images
    ]
    with prepare_release_images(images) as ready:
        write_subset_table(tmp_path / "t.parquet", items, ready, "canary", True)
        write_table(tmp_path / "t.tsv", items, {key: row.path for key, row in ready.items()}, True)
    rows = parquet.read_table(tmp_path / "t.parquet", columns=["image_id", "image"]).to_pylist()
    stored = {row["image_id"]: row["image"] for row in rows}
    assert {key: image["path"] for key, image in stored.items()} == {
        "turned": "turned.jpg", "bitmap": "bitmap.png", "odd": "odd.jpg", "avif": "avif.jpg",
    }  # fmt: skip
    with (tmp_path / "t.tsv").open() as file:
        csv.field_size_limit(1 << 30)
        table = {row["index"].split("+")[0]: row for row in csv.DictReader(file, delimiter="\t")}
    for key, image in stored.items():
        assert base64.b64decode(table[key]["image"]) == image["bytes"]
        decoded = Image.open(io.BytesIO(image["bytes"])).convert("RGB")
        assert decoded.size == ((32, 48) if key == "turned" else (48, 32))
    # Orientation 6: the lower left quarter, green (60, 160, 90), is displayed at the upper left, and the profile swaps red and green.
    upper_left = Image.open(io.BytesIO(stored["turned"]["bytes"])).getpixel((8, 12))
    assert np.abs(np.array(upper_left) - (160, 60, 90)).max() <= 3
    assert stored["odd"]["bytes"] == FILES["odd.jfif"]


def test_all_changed_files_are_reported(tmp_path, images):
    (tmp_path / "odd.jfif").write_bytes(b"<html>")
    (tmp_path / "avif.avif").unlink()
    with pytest.raises(UserError) as caught, prepare_release_images(images):
        pass
    assert len(caught.value.problems) == 3
    assert "odd.jfif" in caught.value.problems[1] and "avif.avif" in caught.value.problems[2]
