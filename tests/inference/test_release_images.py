import base64
import io
from types import SimpleNamespace

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.inference.release_images import ROWS_PER_BATCH, ReleaseImages
from tests.odd_images import exif, quarters, saved, swapped_profile

from .conftest import png


def seen(uri):
    """The kind and bytes of a data URI."""
    head, _, data = uri.partition(";base64,")
    return head.removeprefix("data:image/"), base64.b64decode(data)


def write_table(folder, name, rows):
    (folder / "data").mkdir(exist_ok=True)
    table = {"image_id": [image for image, _ in rows], "question": ["?"] * len(rows)}
    if rows[0][1]:
        table["image"] = [{"bytes": data, "path": f"{image}.png"} for image, data in rows]
    parquet.write_table(arrow.table(table), folder / "data" / name)


@pytest.fixture
def tables(tmp_path):
    """Two tables of 300 and 2 rows; images p0 to p99 three times each, n1 in both, n2 in the second."""
    colors = {f"p{i}": (i, 0, 0) for i in range(100)} | {"n1": (0, 9, 0), "n2": (0, 0, 9)}
    rows = [(name, png(color)) for name, color in colors.items()]
    write_table(tmp_path, "a.parquet", [rows[i % 101] for i in range(303)])
    write_table(tmp_path, "b.parquet", rows[100:])
    return SimpleNamespace(folder=tmp_path, data=dict(rows))


def test_images_in_tables_are_unchanged(tables):
    found = ReleaseImages(tables.folder, tables.data)
    for name in ("n2", "p99", "p0", "n1", "p50"):  # in no order
        assert seen(found.encode_data_uri(name)) == ("png", tables.data[name])


def test_only_requested_images_are_copied_each_once(tables):
    found = ReleaseImages(tables.folder, ["p3", "n1"])
    found.encode_data_uri("n1")
    assert found._copy_file.seek(0, io.SEEK_END) == len(tables.data["p3"]) + len(tables.data["n1"])


def test_tables_are_read_in_small_batches(tables, monkeypatch):
    sizes = []

    def batches(self, size, **options):
        sizes.append(size)
        return original(self, size, **options)

    original = parquet.ParquetFile.iter_batches
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", batches)
    ReleaseImages(tables.folder, ["n2"]).encode_data_uri("n2")
    assert set(sizes) == {ROWS_PER_BATCH}


def test_images_of_a_folder_may_have_any_suffix(tmp_path):
    written = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(written, "JPEG")
    (tmp_path / "n1.jpeg").write_bytes(written.getvalue())
    (tmp_path / "n2.png").write_bytes(png("blue"))
    found = ReleaseImages(tmp_path, ["n1", "n2"], folder=tmp_path)
    assert (
        seen(found.encode_data_uri("n1")) == ("jpeg", written.getvalue())
        and seen(found.encode_data_uri("n2"))[0] == "png"
    )


def test_only_large_images_are_resized(tmp_path):
    (tmp_path / "wide.png").write_bytes(png("red", (400, 100)))
    (tmp_path / "small.png").write_bytes(png("red", (100, 50)))
    found = ReleaseImages(tmp_path, ["wide", "small"], folder=tmp_path, max_image_size=100)
    kind, data = seen(found.encode_data_uri("wide"))
    image = Image.open(io.BytesIO(data))
    assert kind == "jpeg" and image.size == (100, 25)  # 400 to 100, and 100 to 25 with it
    assert seen(found.encode_data_uri("small"))[1] == png("red", (100, 50))


def test_transparency_becomes_white(tmp_path):
    written = io.BytesIO()
    Image.new("RGBA", (200, 200), (255, 0, 0, 0)).save(written, "PNG")
    (tmp_path / "n1.png").write_bytes(written.getvalue())
    kind, data = seen(
        ReleaseImages(tmp_path, ["n1"], folder=tmp_path, max_image_size=50).encode_data_uri("n1")
    )
    assert kind == "jpeg" and Image.open(io.BytesIO(data)).getpixel((5, 5)) == (255, 255, 255)


def test_all_missing_images_are_listed(tables, tmp_path):
    with pytest.raises(UserError, match="the tables of .*: 1 image not found: n9; .*--images"):
        ReleaseImages(tables.folder, ["n1", "n9"])
    with pytest.raises(UserError, match="2 images not found: n8, n9$"):
        ReleaseImages(tables.folder, ["n8", "n9"], folder=tmp_path)


def test_tables_without_images_have_none(tmp_path):
    write_table(tmp_path, "a.parquet", [("n1", b"")])
    with pytest.raises(UserError, match="1 image not found"):
        ReleaseImages(tmp_path, ["n1"])


@pytest.mark.parametrize(
    ("lost", "message"), [("pyarrow", "pip install pyarrow"), ("PIL", "pip install pillow")]
)
def test_a_missing_package_is_named(tables, monkeypatch, lost, message):
    monkeypatch.setitem(__import__("sys").modules, lost, None)
    with pytest.raises(UserError, match=message):
        ReleaseImages(tables.folder, ["n1"], max_image_size=9)


def test_encoded_images_are_upright_in_srgb_with_their_media_type(tmp_path):
    (tmp_path / "turned.jpg").write_bytes(
        saved(quarters(), "JPEG", exif=exif(6), icc_profile=swapped_profile())
    )
    (tmp_path / "bitmap.bmp").write_bytes(saved(quarters(), "BMP"))
    (tmp_path / "odd.jfif").write_bytes(saved(quarters(), "JPEG"))
    found = ReleaseImages(tmp_path, ["turned", "bitmap", "odd"], folder=tmp_path, max_image_size=1000)
    kind, data = seen(found.encode_data_uri("turned"))
    image = Image.open(io.BytesIO(data))
    # Orientation 6: the lower left quarter, green (60, 160, 90), comes to the upper left; the profile exchanges red and green.
    assert (kind, image.size) == ("jpeg", (32, 48))
    assert np.abs(np.array(image.getpixel((8, 12))) - (160, 60, 90)).max() <= 3
    assert seen(found.encode_data_uri("bitmap"))[0] == "png"
    assert seen(found.encode_data_uri("odd")) == ("jpeg", (tmp_path / "odd.jfif").read_bytes())


def test_an_unsupported_image_is_named(tmp_path):
    (tmp_path / "n1.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
    with pytest.raises(ValueError, match="n1: .*HEIC"):
        ReleaseImages(tmp_path, ["n1"], folder=tmp_path).encode_data_uri("n1")
