import errno
import os
import subprocess

import pytest

from pipeline.core.atomic_files import atomic_write, sha256_file, write_text
from pipeline.core.errors import UserError
from pipeline.core.json_files import (
    content_hash,
    copy_file,
    read_json,
    read_jsonl,
    write_json,
    write_json_list,
    write_jsonl,
)
from pipeline.core.records import ImageRecord

IMAGE = ImageRecord(image_id="007", split="testdev", path="a.jpg", width=4, height=3, sha256="ab")


def test_records_survive_a_round_trip_and_ids_keep_leading_zeros(tmp_path):
    write_jsonl(tmp_path / "p.jsonl", [IMAGE])
    assert list(read_jsonl(tmp_path / "p.jsonl", ImageRecord)) == [IMAGE]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write(b"half of the new")
        raise RuntimeError("killed")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_temporary_files_of_dead_processes_are_deleted(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in (
        f".a.txt.{gone.pid}.tmp",
        f".b.txt.{gone.pid}.tmp",
        f".a.txt.{os.getppid()}.tmp",
        ".own.tmp",
    ):
        (tmp_path / name).write_bytes(b"half")
    write_text(tmp_path / "a.txt", "new")
    assert sorted(os.listdir(tmp_path)) == sorted(["a.txt", f".a.txt.{os.getppid()}.tmp", ".own.tmp"])


def test_a_full_disk_is_reported_with_the_file_name(tmp_path):
    with pytest.raises(OSError) as caught, atomic_write(tmp_path / "a.txt"):
        # The kernel does not name the file of a failed write.
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"image_id": 7}', "Expected `str`, got `int` - at `$.image_id`"),
        ('{"image_id": "7"', "line 1: not a Image"),
        ('{"image_id": "7", "colour": 1}', "line 1: not a Image"),
    ],
)
def test_an_invalid_line_is_reported_with_file_and_number(tmp_path, line, expected):
    (tmp_path / "p.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match="p.jsonl, line 1") as caught:
        list(read_jsonl(tmp_path / "p.jsonl", ImageRecord))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", "the file is empty or truncated"), ('{"a": ', "is empty or truncated"), (None, "no such file")],
)
def test_missing_empty_and_truncated_json_have_different_messages(tmp_path, content, expected):
    path = tmp_path / "r.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=expected):
        read_json(path)


def test_a_report_has_sorted_keys_and_ends_with_a_newline(tmp_path):
    write_json(tmp_path / "r.json", {"b": 1, "a": [2]})
    assert (tmp_path / "r.json").read_text() == '{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n'


def test_a_text_is_written_as_utf_8_and_a_copy_has_the_same_bytes(tmp_path):
    write_text(tmp_path / "new" / "a.md", "caf\u00e9\n")
    copy_file(tmp_path / "new" / "a.md", tmp_path / "b.md")
    # U+00E9 is C3 A9 in UTF-8.
    assert (tmp_path / "b.md").read_bytes() == b"caf\xc3\xa9\n"
    with pytest.raises(UserError, match="no such file"):
        copy_file(tmp_path / "none", tmp_path / "b.md")
    assert (tmp_path / "b.md").read_bytes() == b"caf\xc3\xa9\n"


def test_sha256_matches_the_standard(tmp_path):
    # The example of FIPS 180-2, appendix B.1.
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_file(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_content_hash_depends_on_the_boundaries_of_its_parts():
    assert content_hash("ab", "c") != content_hash("a", "bc")


@pytest.mark.parametrize(
    "values", [[], [1], ["a\nb", {"b": [1, {"a": "ä\u2028"}], "a": {}}, [], [[]]], [IMAGE, IMAGE]]
)
def test_write_json_list_writes_the_bytes_of_write_json(values, tmp_path):
    write_json(tmp_path / "whole.json", values)
    write_json_list(tmp_path / "parts.json", iter(values))
    assert (tmp_path / "parts.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
