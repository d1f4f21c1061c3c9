import json
import zlib

import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.sources.download.http_client import DEFAULT_RETRY_POLICY, HttpClient
from pipeline.sources.download.manifest import Manifest
from pipeline.sources.download.official_archives import OfficialArchives, is_url
from tests.sources.download.conftest import JSONS, archives, jpeg, packed


@pytest.fixture
def official(tmp_path):
    """The archives in a local folder."""
    for name, data in archives().items():
        (tmp_path / name).write_bytes(data)
    web = HttpClient(tmp_path / "cache", DEFAULT_RETRY_POLICY, max_connections=2)
    yield OfficialArchives(web, str(tmp_path))
    web.close()


@pytest.mark.parametrize(
    ("address", "web"),
    [
        ("https://x/y", True),
        ("http://127.0.0.1:80", True),
        ("ftp://x", False),
        ("/data/gqa", False),
        ("", False),
    ],
)
def test_a_url_begins_with_http(address, web):
    assert is_url(address) is web


def test_an_address_is_a_url_or_an_existing_folder(official, tmp_path):
    assert OfficialArchives(official.client, "https://x/gqa/").address == "https://x/gqa"
    assert official.address == str(tmp_path)
    with pytest.raises(UserError, match="use `official`, `hub`, a URL .* or an existing folder"):
        OfficialArchives(official.client, str(tmp_path / "not there"))


def paths(files):
    return [file.path for file in files]


def test_a_split_has_one_file_of_questions_or_a_folder_of_them(official):
    assert paths(official.list_questions("val", "balanced")) == ["questions1.2/val_balanced_questions.json"]
    assert paths(official.list_questions("train", "all")) == [
        f"questions1.2/train_all_questions/train_all_questions_{part}.json" for part in (0, 1)
    ]


def test_answer_choices_are_only_those_of_the_split(official):
    assert paths(official.list_choices("testdev")) == ["eval/testdev_choices.json"]
    with pytest.raises(UserError, match="no answer choices of train; leave out --answer-choices"):
        official.list_choices("train")


def test_images_missing_in_the_archive_are_reported(official):
    with pytest.raises(UserError) as caught:
        official.list_images(["n1", "x1", "x2"])
    assert caught.value.problems == [
        f"images.zip, {name}.jpg: expected one member with this name, found 0" for name in ("x1", "x2")
    ]


def test_a_file_has_the_size_and_checksum_in_the_archive(official):
    (wanted,) = official.list_images(["n1"])
    # A local folder needs no download.
    assert (wanted.origin, wanted.download_bytes) == ("images.zip", 0)
    assert (wanted.disk_bytes, wanted.crc32) == (len(jpeg(0)), zlib.crc32(jpeg(0)))


def test_files_are_unpacked_and_recorded_despite_a_damaged_one(official, tmp_path):
    data = bytearray(packed({"images/n1.jpg": jpeg(0), "images/n2.jpg": jpeg(1)}))
    data[data.index(b"images/n1.jpg") + 100] ^= 1
    (tmp_path / "images.zip").write_bytes(data)
    source = tmp_path / "source"
    manifest, problems = Manifest(source), Problems("x")
    wanted = official.list_images(["n1", "n2"]) + official.list_questions("val", "balanced")
    official.fetch(wanted, manifest, problems)
    assert (source / "images/n2.jpg").read_bytes() == jpeg(1)
    text = (source / "questions1.2/val_balanced_questions.json").read_text()
    assert json.loads(text) == JSONS["val_balanced_questions.json"]
    assert sorted(manifest.files) == ["images/n2.jpg", "questions1.2/val_balanced_questions.json"]
    (damage,) = problems.lines
    assert "images/n1.jpg: damaged" in damage
    assert not (source / "images/n1.jpg").exists()


def test_the_fingerprint_of_an_archive_is_its_size_and_directory_checksum(official, tmp_path):
    assert official.get_seen_remotes() == {}
    official.get_archive("images.zip")
    seen = official.get_seen_remotes()["images.zip"]
    assert (seen.address, seen.size) == (f"{tmp_path}/images.zip", len(archives()["images.zip"]))
    assert len(seen.checksum) == 64
