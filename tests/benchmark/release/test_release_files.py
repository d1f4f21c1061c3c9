"""Files of a release: subsets, Parquet tables and images."""

import base64
import csv
import io
import json
import tracemalloc
from datetime import date
from hashlib import sha256

import datasets.config
import msgspec
import numpy as np
import pyarrow
import pyarrow.parquet
import pyarrow.parquet as parquet
import pytest
from PIL import Image
from sklearn.metrics import roc_auc_score

from pipeline.benchmark.release.card import render_card
from pipeline.benchmark.release.parquet_table import make_row_groups, write_subset_table
from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.release_images import prepare_release_images
from pipeline.benchmark.release.subset_files import (
    Prediction,
    make_reference_predictions,
    make_release_order,
    make_rgqa_rows,
    score_predictions,
    write_subset,
)
from pipeline.benchmark.release.vlmevalkit_table import write_table
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import ImageRecord, Item
from pipeline.core.release_params import ReleaseParams
from tests.benchmark.release import card_facts
from tests.odd_images import exif, quarters, saved, swapped_profile

# Subset files


P = ReleaseParams(
    title="T",
    data_source="o",
    licence="l",
    licence_url="u",
    release_date=date(2026, 1, 1),
    include_images=False,
    num_folds=2,
)


def test_a_subset_has_rows_tables_and_predictions_with_their_scores(items, tmp_path):
    write_subset(tmp_path, "clip-hard", items, {}, "canary", P)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    names = ("text_only", "clip_score", "constant", "expected")
    assert files == {
        "rgqa/clip-hard.json",
        "data/clip-hard-validation.parquet",
        "data/clip-hard-test.parquet",
        *(f"reference_predictions/clip-hard/{name}.json" for name in names),
    }
    expected = json.loads((tmp_path / "reference_predictions/clip-hard/expected.json").read_text())
    assert expected["constant"]["facc"] == 0.25  # "yes" answers one AQ of four.


def test_a_split_without_items_has_no_table(items, tmp_path):
    write_subset(tmp_path, "clip-hard", [i for i in items if i.split == "validation"], {}, "canary", P)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["clip-hard-validation.parquet"]


def test_the_rows_are_in_rgqas_own_format(release):
    # RGQA's released files: a UQ is {"label": {"UQ": 1.0}} with an id like clipeasy_n460556+202082119, an AQ has its GQA id.
    for path in sorted((release / "rgqa").glob("*.json")):
        for row in json.loads(path.read_text()):
            assert set(row) == {"img_id", "question_id", "sent", "label", "canary"}
            if row["label"] == {"UQ": 1.0}:
                prefix, question = row["question_id"].split("+")
                assert prefix == f"{path.stem.replace('-', '')}_{row['img_id']}" and question.isalnum()
            else:
                assert "+" not in row["question_id"] and list(row["label"].values()) == [1.0]


def test_rows_have_the_order_of_the_items_and_the_canary(items):
    rows = list(make_rgqa_rows(items, "canary"))
    assert [row.question_id for row in rows] == [item.item_id for item in items]
    assert [row.label for row in rows[:2]] == [{"yes": 1.0}, {"UQ": 1.0}]
    assert {row.canary for row in rows} == {"canary"}


def test_the_constant_prediction_scores_half_the_proportion_of_yes(items):
    # "yes" answers one of four AQs: FACC = 1/4. All confidences are tied, so the curve is the straight line from
    # (0, 0) to (1, 1/4): AUAF = 1/8, and 95 % of FACC is reached at FPR 0.95.
    found = score_predictions(items, make_reference_predictions(items, folds=2, seed=0)["constant"])
    assert (found.auaf, found.facc, found.auroc, found.aqs, found.uqs) == (0.125, 0.25, 0.5, 4, 4)
    assert found.ff95 == pytest.approx(0.95)


def test_the_clip_score_is_the_confidence_of_its_prediction(items):
    rows = make_reference_predictions(items, folds=2, seed=0)["clip_score"]
    assert score_predictions(items, rows).auroc == 1.0  # every AQ has 0.5, every UQ 0.25
    assert [row.confidence for row in rows] == [0.5, 0.25] * 4


def test_without_scores_of_all_items_there_is_no_clip_prediction(items, tmp_path):
    some = [msgspec.structs.replace(item, score=None) if item.item_id == "02" else item for item in items]
    assert set(make_reference_predictions(some, folds=2, seed=0)) == {"constant", "text_only"}
    write_subset(tmp_path, "clip-hard", some, {}, "canary", P)
    assert {path.stem for path in (tmp_path / "reference_predictions").rglob("*.json")} == {
        "constant",
        "text_only",
        "expected",
    }
    assert set(json.loads((tmp_path / "reference_predictions/clip-hard/expected.json").read_text())) == {
        "constant",
        "text_only",
    }


def test_the_expected_auroc_of_the_clip_score_agrees_with_scikit_learn(release):
    items = [row.item for row in read_jsonl(release / "provenance.jsonl", Provenance)]
    for subset in ("clip-easy", "clip-hard", "pt-easy", "pt-hard"):
        rows = [item for item in items if item.subset == subset]
        found = roc_auc_score([not item.unanswerable for item in rows], [item.score for item in rows])
        expected = json.loads((release / f"reference_predictions/{subset}/expected.json").read_text())[
            "clip_score"
        ]["auroc"]
        assert expected == pytest.approx(found, abs=1e-6)
        # Edited questions have scores of their own, which are equal only by chance.
        assert len({item.score for item in rows if item.edits}) >= sum(bool(item.edits) for item in rows) / 2


def test_predictions_are_joined_by_id_not_by_order(items):
    rows = [
        Prediction(questionId=i.item_id, prediction=i.answer or "x", confidence=float(not i.unanswerable))
        for i in items
    ]
    assert score_predictions(items, rows[::-1]) == score_predictions(items, rows)
    assert score_predictions(items, rows).auaf == 1.0


def test_the_text_only_prediction_uses_answers_about_other_images_only(items):
    # "Is it ..." is asked about two images, and each gets the answer of the other.
    rows = {
        row.questionId: row.prediction
        for row in make_reference_predictions(items, folds=2, seed=0)["text_only"]
    }
    assert (rows["00"], rows["03"]) == ("no", "yes")


def test_the_first_hundred_items_are_a_random_sample(items):
    # There are 500 AQs and 500 UQs. A random sample of 100 has 50 +- 4.7 UQs (hypergeometric); 30 to 70 is over 4 deviations.
    aq, uq = items[0], next(item for item in items if item.unanswerable)
    many = [msgspec.structs.replace(aq, item_id=f"{i:08}") for i in range(500)]
    many += [msgspec.structs.replace(uq, item_id=f"pthard_n{i}+{i:08}") for i in range(500)]
    ordered = sorted(many, key=make_release_order("1.0.0"))
    assert sorted(ordered, key=lambda item: item.item_id) == sorted(many, key=lambda item: item.item_id)
    assert 30 <= sum(item.unanswerable for item in ordered[:100]) <= 70
    # Each version has its own order, so the first rows of different versions differ.
    assert sorted(many, key=make_release_order("1.0.1"))[:100] != ordered[:100]
    assert sorted([*many[500:], *many[:500]], key=make_release_order("1.0.0"))[:100] == ordered[:100]


def test_every_file_of_a_release_is_in_release_order(release):
    for path in sorted((release / "rgqa").glob("*.json")):
        ids = [row["question_id"] for row in json.loads(path.read_text())]
        params = json.loads((release / "params.json").read_text())
        assert ids == sorted(ids, key=lambda name: sha256(f"{params['version']}\x1f{name}".encode()).digest())


# Parquet table


MB = 10**6


@pytest.fixture
def colored_images(tmp_path):
    found = {}
    for name, color in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (8, 6), color).save(tmp_path / f"{name}.png")
        found[name] = ImageRecord(
            image_id=name, split="testdev", path=str(tmp_path / f"{name}.png"), width=8, height=6, sha256=""
        )
    return found


def test_a_subset_opens_offline_by_name_with_its_images(tmp_path, items, colored_images, monkeypatch):
    home = tmp_path / "release"
    for split in ("validation", "test"):
        write_subset_table(
            home / "data" / f"clip-hard-{split}.parquet",
            [i for i in items if i.split == split],
            colored_images,
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


def test_an_image_in_many_rows_is_stored_once(tmp_path, items, colored_images):
    noise = Image.effect_noise((200, 200), 90)
    noise.save(colored_images["a"].path)
    once, often = tmp_path / "once.parquet", tmp_path / "often.parquet"
    row = next(i for i in items if i.image_id == "a")
    write_subset_table(once, [row], colored_images, "c", True)
    write_subset_table(often, [row] * 50, colored_images, "c", True)
    assert often.stat().st_size < 1.2 * once.stat().st_size


def repeat_rows(items, colored_images, times):
    """Return `times` rows of each image, with rows of other images between them."""
    return [
        msgspec.structs.replace(items[0], item_id=f"{time}-{key}", image_id=key)
        for time in range(times)
        for key in colored_images
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


def test_the_table_equals_what_pyarrow_writes_from_a_plain_table(items, colored_images, tmp_path):
    write_subset_table(tmp_path / "t.parquet", items, colored_images, "c", True)
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


# Release images
# All images in a release are upright, in sRGB, and in formats that every reader knows.


FILES = {
    "turned.jpg": saved(quarters(), "JPEG", exif=exif(6), icc_profile=swapped_profile()),
    "bitmap.bmp": saved(quarters(), "BMP"),
    "odd.jfif": saved(quarters(), "JPEG"),
    "avif.avif": saved(quarters(), "AVIF"),
}


@pytest.fixture
def odd_image_files(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return [ImageRecord(name.split(".")[0], "test", str(tmp_path / name), 48, 32, "0") for name in FILES]


def test_every_reader_sees_the_same_images(tmp_path, odd_image_files):
    items = [
        Item(f"{row.image_id}+1", "pt-hard", row.image_id, "1", "Where?", True, "", "p", "test")
        for row in odd_image_files
    ]
    with prepare_release_images(odd_image_files) as ready:
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


def test_all_changed_files_are_reported(tmp_path, odd_image_files):
    (tmp_path / "odd.jfif").write_bytes(b"<html>")
    (tmp_path / "avif.avif").unlink()
    with pytest.raises(UserError) as caught, prepare_release_images(odd_image_files):
        pass
    assert len(caught.value.problems) == 3
    assert "odd.jfif" in caught.value.problems[1] and "avif.avif" in caught.value.problems[2]
