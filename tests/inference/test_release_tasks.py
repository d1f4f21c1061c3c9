"""Tasks of a release with their images, and how inspect_ai finds them."""

import base64
import io
import json
from importlib.metadata import entry_points
from types import SimpleNamespace

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from inspect_ai import eval as run_tasks
from inspect_ai import eval_retry
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_lookup
from inspect_ai.model import ModelAPI, modelapi
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.inference.confidence_methods import get_confidence_method
from pipeline.inference.prompts import get_prompt
from pipeline.inference.release_images import ROWS_PER_BATCH, ReleaseImages
from pipeline.inference.release_tasks import release_task
from pipeline.scoring.cli import main
from tests.odd_images import exif, quarters, saved, swapped_profile

from .conftest import png, said

# Release tasks


def ids(task):
    return [sample.id for sample in task.dataset]


def folder(release):
    return {"release": release, "images": release / "images"}


def test_each_question_about_an_image_is_asked_once_for_all_subsets(pictured):
    task = release_task(**folder(pictured))
    assert sorted(ids(task)) == ["a2", "a3", "u2", "u3"]  # split test; both subsets have all
    sample = task.dataset[ids(task).index("a2")]
    assert sample.input == "What color is the a2?" and sample.metadata["subsets"] == ["clip-easy", "pt-hard"]
    assert sample.metadata["item_ids"] == ["a2"] and sample.metadata["answers"] == {"yes": 1.0}


def test_items_with_the_same_question_share_a_sample(pictured):
    file = pictured / "rgqa/pt-hard.json"
    rows = json.loads(file.read_text())
    rows[3]["sent"] = rows[2]["sent"]  # u2 asks what a2 asks, on the same image
    file.write_text(json.dumps(rows))
    task = release_task(**folder(pictured), subsets="pt-hard")
    (items,) = [
        sample.metadata["item_ids"] for sample in task.dataset if len(sample.metadata["item_ids"]) > 1
    ]
    assert items == ["a2", "u2"] and len(task.dataset) == 3


def test_pairs_follow_each_other_in_the_order_of_their_hashes(pictured):
    # sha256 of p1, p2, p3 begin with 24.., 2a.., dc..; of a2, u2, a3, u3 with 20.., 6f.., a3.., b7..; printf a2 | sha256sum
    from hashlib import sha256

    def place(name):
        return sha256(name.encode()).hexdigest()

    pairs = {"p2": ["a2", "u2"], "p3": ["a3", "u3"]}
    expected = [name for pair in sorted(pairs, key=place) for name in sorted(pairs[pair], key=place)]
    assert ids(release_task(**folder(pictured))) == expected


@pytest.mark.parametrize(
    ("limit", "questions", "pairs"), [(0, 4, 2), (2, 2, 1), (3, 2, 1), (4, 4, 2), (99, 4, 2)]
)
def test_a_limit_takes_complete_pairs(pictured, limit, questions, pairs):
    task = release_task(**folder(pictured), limit=limit)
    assert len(task.dataset) == questions and task.metadata["pairs"] == pairs
    assert {name[1] for name in ids(task) if name[0] == "a"} == {
        name[1] for name in ids(task) if name[0] == "u"
    }


def test_a_limit_below_a_pair_is_rejected(pictured):
    with pytest.raises(UserError, match="--limit 1: .* 2 or more"):
        release_task(**folder(pictured), limit=1)


def test_without_pairs_a_limit_counts_questions(pictured):
    (pictured / "provenance.jsonl").unlink()
    task = release_task(**folder(pictured), limit=3)
    assert len(task.dataset) == 3 and task.metadata["pairs"] == 0


def test_a_pair_with_an_example_is_not_asked(pictured):
    # Of validation one pair is shown, of test two are left; a drawing of everything takes no half of a pair.
    task = release_task(**folder(pictured), split="all", shots=2, limit=99)
    assert sorted(ids(task)) == ["a2", "a3", "u2", "u3"]


def test_split_and_subset_select_questions(pictured):
    assert sorted(ids(release_task(**folder(pictured), split="validation"))) == ["a1", "u1"]
    assert len(ids(release_task(**folder(pictured), split="all", subsets=["pt-hard"]))) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "split is 'train', wanted test, validation, all"),
        ({"subsets": ["easy"]}, "no subset easy; there are clip-easy, pt-hard"),
        ({"prompt": "polite"}, "--prompt polite"),
        ({"confidence": "guess"}, "--confidence guess"),
        ({"shots": 4}, "--shots 4: wanted an even number from 0 to 2"),
        ({"images": ""}, "the tables of .*: 3 images not found"),
    ],
)
def test_unknown_values_are_rejected(pictured, options, message):
    with pytest.raises(UserError, match=message):
        release_task(**(folder(pictured) | {"split": "all"} | options))


def test_a_log_has_the_settings(pictured):
    task = release_task(
        **folder(pictured),
        split="all",
        prompt="short-answer",
        confidence="self-consistency",
        num_replies=3,
        shots=2,
    )
    assert {**task.metadata, "shots": sorted(task.metadata["shots"])} == {
        "prompt": {"name": "short-answer", "hash": get_prompt("short-answer").hash},
        "confidence": {"name": "self-consistency", "hash": get_confidence_method("self-consistency").hash},
        "max_image_size": 1024, "no_image": False, "shots": ["a1", "u1"], "num_replies": 3, "split": "all", "pairs": 2,
    }  # fmt: skip
    without = release_task(release=pictured, no_image=True, num_replies=3).metadata
    # Without images there is no image size, and `abstention` asks once.
    assert (without["max_image_size"], without["no_image"], without["num_replies"]) == (None, True, 1)


def test_examples_are_not_asked(pictured):
    task = release_task(**folder(pictured), split="all", shots=2)
    assert sorted(ids(task)) == ["a2", "a3", "u2", "u3"]  # validation has no more than the two examples
    assert sorted(task.metadata["shots"]) == ["a1", "u1"]


def test_the_scores_in_the_log_equal_those_of_rgqa_score(answer, pictured, tmp_path, capsys):
    # AQs a2 "yes" and a3 "dog", UQs u2 and u3. The model answers a2 right, a3 wrong, u3 "cat", and abstains on u2.
    replies = {"a2": "Yes.", "a3": "cat", "u2": "unanswerable", "u3": "cat"}
    log = answer(lambda messages, config: said(replies[messages[-1].text[18:20]]))
    # Thresholds 1 and 0: FPR 1/2 (u3), ACC 1/2 (a2); then FPR 1, ACC 1/2. The area: 1/2 x 1/2 / 2 + 1/2 x 1/2 = 3/8.
    found = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert found["auaf"] == pytest.approx(3 / 8) and found["facc"] == 1 / 2
    assert found["auroc"] == pytest.approx(3 / 4)  # u2 lies below both AQs, u3 ties with both
    main([str(pictured), log.location, "--json", str(tmp_path / "scores.json")])
    scores = json.loads((tmp_path / "scores.json").read_text())
    subset = scores["models"][0]["subsets"]["clip-easy"]["realistic"]
    assert {name: subset[name] for name in found} == pytest.approx(found)
    main([str(pictured), log.location, "--detect-abstention", "--json", str(tmp_path / "free.json")])
    free = json.loads((tmp_path / "free.json").read_text())
    assert (
        free["models"][0]["subsets"]["clip-easy"]["realistic"]
        == scores["models"][0]["subsets"]["clip-easy"]["realistic"]
    )


# Release images


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


# Registry
# inspect_ai finds what the entry point names.


def test_the_entry_point_names_the_registry():
    found = entry_points(group="inspect_ai")["rgqa"]
    assert found.load().__name__ == "pipeline.inference.registry"


def test_models_are_known_by_their_names():
    entry_points(group="inspect_ai")["rgqa"].load()
    assert registry_lookup("modelapi", "hf-vqa") and registry_lookup("modelapi", "hf-vlm")


@pytest.mark.parametrize("subset", ["clip-easy", "clip-hard", "pt-easy", "pt-hard"])
def test_each_subset_has_its_task(pictured, subset):
    entry_points(group="inspect_ai")["rgqa"].load()
    (pictured / "provenance.jsonl").unlink()  # so that any items may stand in any subset
    for name in ("clip-easy", "clip-hard", "pt-easy", "pt-hard"):
        rows = [{"img_id": "n1", "question_id": name, "sent": "?", "label": {"UQ": 1.0}}]
        (pictured / f"rgqa/{name}.json").write_text(json.dumps(rows))
    make = registry_lookup("task", f"rgqa/{subset.replace('-', '_')}")
    task = make(release=str(pictured), images=str(pictured / "images"))
    assert [sample.id for sample in task.dataset] == [subset]


ASKED = []


@modelapi(name="flaky")
class Flaky(ModelAPI):
    """Says "red", but fails the first time. A class, or a run that goes on could not make it again."""

    async def generate(self, input, tools, tool_choice, config):
        ASKED.append(input[-1].text)
        if len(ASKED) == 1:
            raise RuntimeError("the server is down")
        return said("red")


def test_a_task_is_found_by_name_and_resumes_after_a_failure(pictured, tmp_path):
    options = {"display": "none", "log_level": "error", "log_dir": str(tmp_path / "logs")}
    parameters = {
        "release": str(pictured),
        "images": str(pictured / "images"),
        "split": "validation",
        "prompt": "short-answer",
    }
    (first,) = run_tasks("rgqa/pt_hard", task_args=parameters, model="flaky/model", **options)
    assert first.eval.task == "rgqa/pt_hard" and first.eval.task_args_passed == parameters
    assert (
        first.eval.metadata["prompt"]["name"] == "short-answer"
        and first.eval.metadata["max_image_size"] == 1024
    )
    assert first.samples[0].metadata["subsets"] == ["pt-hard"]
    (failed,) = [sample.id for sample in first.samples if sample.error]
    (second,) = eval_retry(first, **options)
    assert len(ASKED) == 3 and ASKED[2] == ASKED[0] and f"the {failed}?" in ASKED[0]
    assert {sample.id: sample.error for sample in second.samples} == {"a1": None, "u1": None} and failed in (
        "a1",
        "u1",
    )


def test_a_mistake_of_the_user_is_a_message_of_inspect_ai(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no release
    with pytest.raises(PrerequisiteError) as caught:
        run_tasks("rgqa/all", model="flaky/model", display="none")
    assert "no rgqa/*.json in it" in str(caught.value.message)
