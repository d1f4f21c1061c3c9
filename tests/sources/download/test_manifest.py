import hashlib
import json
from pathlib import Path

import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.sources.download.manifest import (
    Manifest,
    RemoteFingerprint,
    list_image_ids,
    resolve_ingest_params,
)
from pipeline.sources.source_folder import IngestParams

FIRST = RemoteFingerprint(address="https://x/a.zip", size=1000, checksum="aaaa")


@pytest.fixture
def manifest(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{}")
    noted = Manifest(tmp_path)
    noted.remotes["a.zip"] = FIRST
    noted.add_file("a.json", "a.zip")
    return noted


def test_recorded_files_are_known_in_a_later_run(manifest, tmp_path):
    manifest.save()
    later = Manifest(tmp_path)
    assert later.remotes == {"a.zip": FIRST}
    seen = json.loads((tmp_path / "fetched.json").read_text())["files"]["a.json"]
    assert seen == {"size": 2, "sha256": hashlib.sha256(b"{}").hexdigest(), "origin": "a.zip"}
    assert later.is_intact("a.json")


@pytest.mark.parametrize("content", [b"[]", b"{} ", None], ids=["another sum", "another size", "gone"])
def test_a_changed_file_is_not_intact(manifest, tmp_path, content):
    (tmp_path / "a.json").unlink() if content is None else (tmp_path / "a.json").write_bytes(content)
    assert not manifest.is_intact("a.json")


def test_an_unrecorded_file_is_not_intact(manifest, tmp_path):
    (tmp_path / "b.json").write_bytes(b"{}")
    assert not manifest.is_intact("b.json")


def test_a_file_is_recorded_before_it_is_renamed(manifest, tmp_path):
    (tmp_path / "temporary").write_bytes(b"[1]")
    manifest.add_file("c.json", "a.zip", tmp_path / "temporary")
    (tmp_path / "temporary").rename(tmp_path / "c.json")
    assert manifest.is_intact("c.json")


@pytest.mark.parametrize(
    ("name", "now", "told"),
    [
        ("a.zip", FIRST, ""),
        ("a.zip", RemoteFingerprint(address="https://mirror/a.zip", size=1000, checksum="aaaa"), ""),
        ("b.zip", RemoteFingerprint(address="https://x/b.zip", size=1, checksum="b"), ""),
        (
            "a.zip",
            RemoteFingerprint(address="https://x/a.zip", size=1000, checksum="bbbb"),
            "changed since the first download from https://x/a.zip (1,000 bytes, as before; checksum aaaa before, bbbb now)",
        ),
        (
            "a.zip",
            RemoteFingerprint(address="https://x/a.zip", size=999, checksum="bbbb"),
            "changed since the first download from https://x/a.zip (1,000 bytes before, 999 now; checksum aaaa before, bbbb now)",
        ),
    ],
)
def test_a_remote_file_is_compared_with_the_first_seen_version(manifest, name, now, told):
    assert manifest.describe_change(name, now) == told


def test_an_invalid_manifest_is_reported(tmp_path):
    (tmp_path / "fetched.json").write_text('{"files": 3}')
    with pytest.raises(UserError, match="fetched.json: unexpected content"):
        Manifest(tmp_path)


def set_params(*changes):
    for old, new in changes:
        Path("params.yaml").write_text(Path("params.yaml").read_text().replace(old, new))


def test_the_parameters_of_ingest_determine_the_files(project):
    every = IngestParams(
        split="testdev", question_splits=("testdev", "train", "val"), graph_splits=("train", "val")
    )
    assert resolve_ingest_params("gqa", None) == every


def test_the_requested_split_comes_first_with_its_graphs(project):
    set_params(("[testdev, train, val]", "[testdev]"), ("graph_splits: [train, val]", "graph_splits: []"))
    assert resolve_ingest_params("gqa", "val") == IngestParams(
        split="val", question_splits=("val", "testdev"), graph_splits=("val",)
    )
    # Scene graphs of testdev are not published.
    assert resolve_ingest_params("gqa", None).graph_splits == ()


def test_files_that_gqa_does_not_have_are_reported(project):
    set_params(
        ("[testdev, train, val]", "[testdev, test]"),
        ("graph_splits: [train, val]", "graph_splits: [testdev]"),
    )
    with pytest.raises(UserError) as caught:
        resolve_ingest_params("gqa", None)
    assert caught.value.problems[1:] == [
        "question_splits: 'test'; GQA has questions with answers for testdev, val, train",
        "graph_splits: 'testdev'; GQA has scene graphs for val and train",
    ]


def named(tmp_path, **images):
    """Return the images of two files of questions."""
    paths = []
    for name in ("val_0", "val_1"):
        path = f"questions1.2/{name}.json"
        (tmp_path / "questions1.2").mkdir(exist_ok=True)
        (tmp_path / path).write_text(
            json.dumps({key: {"imageId": value} for key, value in images.get(name, {}).items()})
        )
        paths.append(path)
    return list_image_ids(tmp_path, paths, Problems("x"))


def test_image_ids_of_several_files_are_unique(tmp_path):
    assert named(tmp_path, val_0={"1": "n2", "2": "n1"}, val_1={"3": "n2"}) == [
        "n1",
        "n2",
    ]


def test_invalid_and_missing_image_ids_are_reported(tmp_path):
    with pytest.raises(UserError) as caught:
        named(tmp_path, val_0={"1": "../n2", "2": 7})
    assert caught.value.problems[1:] == [
        "questions1.2/val_0.json, question 1: invalid image id '../n2'",
        "questions1.2/val_0.json, question 2: Expected `str`, got `int` - at `$.imageId`"
        "; ids are strings, because numbers lose leading zeros",
    ]
