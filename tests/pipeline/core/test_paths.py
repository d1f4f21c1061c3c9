"""Where the files of a data set lie."""

from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import Folders


def test_all_of_a_data_set_lies_in_its_folder_and_its_releases_beside_those_of_others():
    folders = Folders("birds")
    assert folders.stage("rank") == Path("data/birds/interim/rank")
    assert folders.release("1.0.0") == Path("data/release/birds/1.0.0")
    for name in ("source", "truth", "clip", "vectors", "annotations", "study"):
        assert getattr(folders, name) == Path("data/birds") / name


def test_the_data_set_is_the_one_in_use_if_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: cats\ncats: {}\ndogs: {}\n")
    assert (Folders().dataset, Folders().home) == ("cats", Path("data/cats"))
    assert Folders("dogs").home == Path("data/dogs")


def test_outside_a_project_it_is_said_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="run this from the project's root"):
        Folders()
