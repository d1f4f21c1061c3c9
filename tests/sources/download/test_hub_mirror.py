"""The mirror on the Hugging Face Hub, and its Parquet files."""

import io
import json
import shutil

import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.sources.download.hub_parquet import read_questions
from pipeline.sources.large_json import write_members
from tests.sources.download.conftest import IMAGES, JSONS, TESTDEV, jpeg, listed, on_hub, parquet, question

# Hub mirror


def images(**changed):
    return [
        {"id": name, "image": {"bytes": changed.get(name, jpeg(IMAGES.index(name))), "path": None}}
        for name in TESTDEV
    ]


def png():
    file = io.BytesIO()
    Image.new("RGB", (40, 20)).save(file, "PNG")
    return file.getvalue()


def test_an_image_keeps_its_format(get, server, project):
    listed(server, "testdev_balanced_images", parquet(images(n2=png())))
    get(origin="hub")
    assert sorted(path.name for path in (project / "data/gqa/source/images").iterdir()) == [
        "n1.jpg",
        "n2.png",
        "n3.jpg",
    ]
    count = len(server.log)
    get(origin="hub")
    assert not any("resolve" in path for path, _ in server.log[count:])
    # The file was damaged after its download.
    (project / "data/gqa/source/images/n2.png").write_bytes(png()[:-1] + b"x")
    get(origin="hub")
    assert (project / "data/gqa/source/images/n2.png").read_bytes() == png()


def test_missing_and_invalid_images_are_reported_and_the_others_written(get, server, project):
    listed(server, "testdev_balanced_images", parquet(images(n2=b"<html>")[:2]))
    with pytest.raises(UserError) as caught:
        get(origin="hub")
    assert caught.value.problems[1:] == [
        "image n2 of testdev_balanced_images: neither JPEG nor PNG",
        "image n3: not in testdev_balanced_images of the Hub",
    ]
    assert [path.name for path in (project / "data/gqa/source/images").iterdir()] == ["n1.jpg"]


def test_a_file_with_another_checksum_is_not_used(get, server, project):
    data = parquet(images())
    path = listed(server, "testdev_balanced_images", data)
    server.files[path] = data[:100] + bytes([data[100] ^ 1]) + data[101:]
    with pytest.raises(UserError, match="x.parquet: damaged, or changed meanwhile"):
        get(origin="hub")
    server.files[path] = data
    get(origin="hub")


def test_a_list_that_points_out_of_its_folder_is_refused(get, server):
    entry = {
        "type": "file",
        "oid": "0" * 40,
        "size": 1,
        "path": "testdev_balanced_instructions/../../x.parquet",
    }
    server.files["/api/datasets/lmms-lab-encoder/GQA/tree/main/testdev_balanced_instructions"] = json.dumps(
        [entry]
    ).encode()
    with pytest.raises(UserError, match="is not a file of this folder"):
        get(origin="hub")


LIST = "/api/datasets/lmms-lab-encoder/GQA/tree/main/testdev_balanced_instructions"


def test_a_refused_token_is_reported_at_once(get, server):
    server.faults[LIST] = [401] * 9
    with pytest.raises(UserError, match=r"does not list the files .*401.* HF_TOKEN") as caught:
        get(origin="hub")
    assert not any("run the same command again" in line for line in caught.value.problems)
    assert server.asked("testdev_balanced_instructions") == 1


def test_the_old_name_is_used_if_the_hub_does_not_know_the_new_one(get, server, project):
    server.files = {
        path.replace("lmms-lab-encoder/GQA", "lmms-lab/GQA"): data for path, data in server.files.items()
    }
    get(origin="hub")
    assert len(list((project / "data/gqa/source/images").iterdir())) == 3
    contents = [path for path, _ in server.log if "/resolve/" in path]
    assert contents and all(path.startswith("/datasets/lmms-lab/GQA/") for path in contents)


def test_the_token_is_sent_only_to_the_hub(get, server, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    get(origin="hub")
    assert {path.startswith(("/api/", "/datasets/")) for path in server.tokens["Bearer hf_secret"]} == {True}
    assert any(path.endswith(".parquet") for path in server.tokens["Bearer hf_secret"])
    assert all(path.endswith(".zip") for path in server.tokens[""])


def test_a_hub_that_is_down_is_reported_with_what_to_do(get, server):
    server.faults[LIST] = [503] * 99
    with pytest.raises(UserError, match="does not list the files .*503") as caught:
        get(origin="hub")
    assert caught.value.problems[-1] == "finished downloads are kept; run the same command again to resume"


def test_an_invalid_listing_is_reported(get, server):
    server.files["/api/datasets/lmms-lab-encoder/GQA/tree/main/testdev_balanced_instructions"] = b"<html>"
    with pytest.raises(UserError, match="the Hub does not list the files"):
        get(origin="hub")


def test_only_missing_parquet_files_are_downloaded_after_an_interruption(get, server, project):
    second = (
        "/datasets/lmms-lab-encoder/GQA/resolve/main/testdev_balanced_images/testdev-00001-of-00002.parquet"
    )
    server.faults[second] = [500] * 9
    with pytest.raises(UserError, match="the server answers 500"):
        get(origin="hub")
    assert [path.name for path in (project / "data/gqa/source/images").iterdir()] == ["n1.jpg"]
    server.faults.clear()
    count = len(server.log)
    get(origin="hub")
    content = [path for path, wanted in server.log[count:] if "resolve" in path and wanted != "bytes=0-0"]
    assert set(content) == {second}
    assert len(list((project / "data/gqa/source/images").iterdir())) == 3


def test_cached_files_are_not_counted_as_downloads(get, project):
    cache = project / "cache"
    assert "download: 0 bytes" not in get(origin="hub", cache_dir=cache, dry_run=True)
    get(origin="hub", cache_dir=cache)
    shutil.rmtree(project / "data/gqa/source")
    assert "download: 0 bytes" in get(origin="hub", cache_dir=cache, dry_run=True)


def test_an_image_deleted_after_an_interruption_is_downloaded_again(get, server, project):
    second = (
        "/datasets/lmms-lab-encoder/GQA/resolve/main/testdev_balanced_images/testdev-00001-of-00002.parquet"
    )
    server.faults[second] = [500] * 9
    with pytest.raises(UserError):
        get(origin="hub")
    (project / "data/gqa/source/images/n1.jpg").unlink()
    server.faults.clear()
    get(origin="hub")
    assert len(list((project / "data/gqa/source/images").iterdir())) == 3


# Hub Parquet


ROWS = JSONS["testdev_balanced_questions.json"]


def converted(folder, *files):
    """Return the number and the content of the JSON made from Parquet files."""
    paths = [folder / f"{number}.parquet" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    target = io.BytesIO()
    count = write_members(target, read_questions(paths))
    return count, json.loads(target.getvalue())


def written(folder, rows):
    return converted(folder, parquet(rows))[1]


def swapped(row):
    marks = {
        text: [{"objectId": mark["value"], "value": mark["objectId"]} for mark in found]
        for text, found in row["annotations"].items()
    }
    return row | {"annotations": marks}


@pytest.mark.parametrize("form", [lambda row: row, swapped], ids=["word first", "object first"])
def test_questions_have_the_format_of_gqa(tmp_path, form):
    assert written(tmp_path, [form(on_hub(row, name)) for name, row in ROWS.items()]) == ROWS


def test_lists_of_ids_may_be_lists_on_the_hub(tmp_path):
    rows = [
        on_hub(row, name) | {key: row[key] for key in ("entailed", "equivalent")}
        for name, row in ROWS.items()
    ]
    assert written(tmp_path, rows) == ROWS


def test_fields_that_are_empty_on_the_hub_are_as_in_gqa(tmp_path):
    bare = question("n1", 7) | {
        "entailed": [],
        "annotations": {"answer": {}, "question": {}, "fullAnswer": {}},
    }
    row = on_hub(bare, "01") | {"groups": None, "annotations": None}
    assert written(tmp_path, [row, on_hub(question("n1", 8), "02")])["01"] == bare | {
        "groups": {"global": None, "local": None}
    }


def test_several_files_become_one(tmp_path):
    names = list(ROWS)
    files = [parquet([on_hub(ROWS[name], name) for name in names[at::2]]) for at in (0, 1)]
    assert converted(tmp_path, *files) == (len(ROWS), ROWS)


def test_missing_columns_are_reported(tmp_path):
    with pytest.raises(
        UserError,
        match=r"0\.parquet: .*imageId, semantic.*answer, id, question, types",
    ):
        written(tmp_path, [{"answer": "x", "id": "1", "question": "What?", "types": {"structural": "query"}}])


def test_an_invalid_parquet_file_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"0\.parquet: not a Parquet file, or truncated"):
        converted(tmp_path, b"<html>")
