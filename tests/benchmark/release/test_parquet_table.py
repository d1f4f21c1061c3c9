import tracemalloc

import datasets.config
import msgspec
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from pipeline.benchmark.release.card import render_card
from pipeline.benchmark.release.parquet_table import make_row_groups, write_subset_table
from pipeline.core.records import ImageRecord
from tests.benchmark.release import card_facts

MB = 10**6


@pytest.fixture
def images(tmp_path):
    found = {}
    for name, color in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 6), color).save(tmp_path / f"{name}.png")
        found[name] = ImageRecord(
            image_id=name, split="testdev", path=str(tmp_path / f"{name}.png"), width=8, height=6, sha256=""
        )
    return found


def test_a_subset_opens_offline_by_name_with_its_images(tmp_path, items, images, monkeypatch):
    home = tmp_path / "release"
    for split in ("validation", "test"):
        write_subset_table(
            home / "data" / f"clip-hard-{split}.parquet",
            [i for i in items if i.split == split],
            images,
            "canary",
            True,
        )
    (home / "README.md").write_text(render_card(card_facts.facts(items), home))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    found = datasets.load_dataset(str(home), "clip-hard", cache_dir=str(tmp_path / "cache"))
    assert {split: len(found[split]) for split in found} == {"validation": 4, "test": 4}
    row = found["test"][0]
    assert (row["item_id"], row["label"], row["clip_rank"], row["canary"]) == (
        "cliphard_a+00",
        1,
        3,
        "canary",
    )
    assert row["image"].getpixel((0, 0)) == (255, 0, 0)


def test_an_image_in_many_rows_is_stored_once(tmp_path, items, images):
    noise = Image.effect_noise((200, 200), 90)
    noise.save(images["a"].path)
    once, often = tmp_path / "once.parquet", tmp_path / "often.parquet"
    row = next(i for i in items if i.image_id == "a")
    write_subset_table(once, [row], images, "c", True)
    write_subset_table(often, [row] * 50, images, "c", True)
    assert often.stat().st_size < 1.2 * once.stat().st_size


def repeat_rows(items, images, times):
    """Return `times` rows of each image, with rows of other images between them."""
    return [
        msgspec.structs.replace(items[0], item_id=f"{time}-{key}", image_id=key)
        for time in range(times)
        for key in images
    ]


def test_a_row_group_has_all_rows_of_its_images_within_the_size_limit(items):
    rows = repeat_rows(items, ("a", "b", "c", "d"), 2)
    sizes = {"a": 3, "b": 2, "c": 9, "d": 1}
    # a and b have 5 bytes together. c alone exceeds the limit and is in a group of its own.
    groups = [[row.item_id for row in group] for group in make_row_groups(rows, sizes, 6)]
    assert groups == [["0-a", "0-b", "1-a", "1-b"], ["0-c", "1-c"], ["0-d", "1-d"]]
    assert [len(group) for group in make_row_groups(rows, sizes, 100)] == [8]
    assert list(make_row_groups(rows, sizes, 100)) == [rows]  # in the order given
    assert [len(group) for group in make_row_groups(rows, {}, 0, max_rows=5)] == [
        4,
        4,
    ]  # two of each of two images


@pytest.fixture
def large(tmp_path):
    """24 incompressible files of 1 MB."""
    rng, found = np.random.default_rng(0), {}
    for name in (f"p{number:02}" for number in range(24)):
        (tmp_path / f"{name}.jpg").write_bytes(rng.bytes(MB))
        found[name] = ImageRecord(
            image_id=name, split="testdev", path=str(tmp_path / f"{name}.jpg"), width=8, height=6, sha256=""
        )
    return found


@pytest.fixture
def pool():
    """A memory pool that counts the memory of pyarrow."""
    before = pyarrow.default_memory_pool()
    counting = pyarrow.proxy_memory_pool(before)
    pyarrow.set_memory_pool(counting)
    yield counting
    pyarrow.set_memory_pool(before)


def test_only_a_few_large_images_are_in_memory_at_a_time(items, large, pool, tmp_path):
    rows = repeat_rows(items, large, 10)
    tracemalloc.start()
    write_subset_table(tmp_path / "t.parquet", rows, large, "c", True, group_bytes=2 * MB)
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # There are 240 rows with 1 MB each. For a group of two images, the files, the table, the dictionary of Parquet, its page and the
    # compressed page are in memory, with 2 MB each, and half of that again because buffers grow.
    assert python < 4 * MB
    assert pool.max_memory() < 16 * MB


def test_every_row_has_its_image_in_several_row_groups(items, large, tmp_path):
    rows = repeat_rows(items, large, 3)
    write_subset_table(tmp_path / "t.parquet", rows, large, "c", True, group_bytes=5 * MB)
    metadata = pyarrow.parquet.read_metadata(tmp_path / "t.parquet")
    assert (metadata.num_row_groups, metadata.num_rows) == (5, 72)  # 5 + 5 + 5 + 5 + 4 images
    assert (tmp_path / "t.parquet").stat().st_size < 24.5 * MB
    read = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert {row["item_id"] for row in read} == {row.item_id for row in rows}
    for row in read:
        assert row["image"]["path"] == f"{row['image_id']}.jpg"
        assert row["image"]["bytes"] == (tmp_path / f"{row['image_id']}.jpg").read_bytes()


def test_images_with_equal_content_or_equal_names_are_distinguished(items, tmp_path):
    found, (aq, *_) = {}, items
    for key, colour in (("a", "red"), ("b", "red"), ("c", "blue")):
        (tmp_path / key).mkdir()
        Image.new("RGB", (8, 6), colour).save(tmp_path / key / "1.png")
        path = str(tmp_path / key / "1.png")
        found[key] = ImageRecord(image_id=key, split="testdev", path=path, width=8, height=6, sha256="")
    rows = [msgspec.structs.replace(aq, item_id=key, image_id=key) for key in "abcab"]
    write_subset_table(tmp_path / "t.parquet", rows, found, "c", True)
    read = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["image"]["path"] for row in read] == ["1.png"] * 5
    stored = [row["image"]["bytes"] for row in read]
    assert stored == [(tmp_path / row.image_id / "1.png").read_bytes() for row in rows]


def test_the_table_equals_what_pyarrow_writes_from_a_plain_table(items, images, tmp_path):
    write_subset_table(tmp_path / "t.parquet", items, images, "c", True)
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    plain = tmp_path / "plain.parquet"
    pyarrow.parquet.write_table(table, plain, compression="zstd", dictionary_pagesize_limit=1 << 30)
    metadata = [
        pyarrow.parquet.read_metadata(path).row_group(0).to_dict() for path in (plain, tmp_path / "t.parquet")
    ]
    assert metadata[0] == metadata[1]
    size = metadata[0]["columns"][-1]
    end = size["data_page_offset"] + size["total_compressed_size"]
    assert plain.read_bytes()[:end] == (tmp_path / "t.parquet").read_bytes()[:end]
    # The metadata of the schemas are equal, too, except for their order.
    for kind in (pyarrow.binary(), pyarrow.string()):
        assert kind in [field.type for field in table.schema.field("image").type]
    assert pyarrow.parquet.read_schema(plain).equals(table.schema, check_metadata=True)
