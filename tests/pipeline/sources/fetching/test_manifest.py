import hashlib
import json

import pytest

from pipeline.core.errors import UserError
from pipeline.sources.fetching.manifest import Manifest, SeenRemote

FIRST = SeenRemote(address="https://x/a.zip", size=1000, sum="aaaa")


@pytest.fixture
def manifest(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{}")
    noted = Manifest(tmp_path)
    noted.remotes["a.zip"] = FIRST
    noted.note("a.json", "a.zip")
    return noted


def test_what_was_noted_is_there_in_a_later_run(manifest, tmp_path):
    manifest.save()
    later = Manifest(tmp_path)
    assert later.remotes == {"a.zip": FIRST}
    seen = json.loads((tmp_path / "fetched.json").read_text())["files"]["a.json"]
    assert seen == {"size": 2, "sha256": hashlib.sha256(b"{}").hexdigest(), "origin": "a.zip"}
    assert later.intact("a.json")


@pytest.mark.parametrize("content", [b"[]", b"{} ", None], ids=["another sum", "another size", "gone"])
def test_a_file_that_is_not_as_it_was_is_not_intact(manifest, tmp_path, content):
    (tmp_path / "a.json").unlink() if content is None else (tmp_path / "a.json").write_bytes(content)
    assert not manifest.intact("a.json")


def test_a_file_that_nobody_noted_is_not_intact(manifest, tmp_path):
    (tmp_path / "b.json").write_bytes(b"{}")
    assert not manifest.intact("b.json")


def test_a_file_is_noted_before_it_takes_its_place(manifest, tmp_path):
    (tmp_path / "temporary").write_bytes(b"[1]")
    manifest.note("c.json", "a.zip", tmp_path / "temporary")
    (tmp_path / "temporary").rename(tmp_path / "c.json")
    assert manifest.intact("c.json")


@pytest.mark.parametrize(
    ("name", "now", "told"),
    [
        ("a.zip", FIRST, ""),
        ("a.zip", SeenRemote(address="https://mirror/a.zip", size=1000, sum="aaaa"), ""),
        ("b.zip", SeenRemote(address="https://x/b.zip", size=1, sum="b"), ""),
        (
            "a.zip",
            SeenRemote(address="https://x/a.zip", size=1000, sum="bbbb"),
            "it is not what was first fetched from https://x/a.zip (1,000 bytes, as then; sum aaaa then, bbbb now)",
        ),
        (
            "a.zip",
            SeenRemote(address="https://x/a.zip", size=999, sum="bbbb"),
            "it is not what was first fetched from https://x/a.zip (1,000 bytes then, 999 now; sum aaaa then, bbbb now)",
        ),
    ],
)
def test_a_remote_file_is_compared_with_the_one_first_seen_wherever_it_lies(manifest, name, now, told):
    assert manifest.changed(name, now) == told


def test_a_manifest_that_is_none_is_told(tmp_path):
    (tmp_path / "fetched.json").write_text('{"files": 3}')
    with pytest.raises(UserError, match="fetched.json: not what is expected here"):
        Manifest(tmp_path)
