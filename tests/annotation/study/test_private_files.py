from pathlib import Path

import pytest

from annotation.study.private_files import read_or_create_salt, write_private
from annotation.study.roster import Annotator, write_roster
from pipeline.core.paths import DatasetFolders


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def mode(path):
    return path.stat().st_mode & 0o777


def test_unchanged_file_is_not_written_again():
    path = Path("a/b.json")
    write_private(path, {"a": 1})
    before = path.stat().st_mtime_ns
    write_private(path, {"a": 1})
    assert path.stat().st_mtime_ns == before


def test_readable_file_becomes_private():
    path = Path("b.json")
    write_private(path, 1)
    path.chmod(0o644)
    write_private(path, 1)
    assert mode(path) == 0o600


def test_roster_is_private():
    folders = DatasetFolders("birds")
    write_roster(folders, [Annotator(name="ann", pseudonym="annotator-01", email="ann@example.org")])
    assert mode(folders.study / "roster.json") == 0o600


def test_salt_is_created_once_per_data_set():
    birds, dogs = read_or_create_salt(DatasetFolders("birds")), read_or_create_salt(DatasetFolders("dogs"))
    assert birds == read_or_create_salt(DatasetFolders("birds")) != dogs
    assert len(bytes.fromhex(birds)) == 32  # 256 bits cannot be tried out
    assert mode(DatasetFolders("birds").study / "salt.json") == 0o600
