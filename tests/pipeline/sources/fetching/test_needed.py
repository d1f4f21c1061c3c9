import json
from pathlib import Path

import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.sources.fetching.needed import Needs, named_pictures, needs
from pipeline.sources.fetching.wanted_files import WantedFile


def set_params(*changes):
    for old, new in changes:
        Path("params.yaml").write_text(Path("params.yaml").read_text().replace(old, new))


def test_what_ingest_reads_is_needed(project):
    assert needs("gqa", None) == Needs("testdev", ("testdev", "train", "val"), ("train", "val"), "balanced")


def test_the_split_asked_for_comes_first_and_brings_its_graphs(project):
    set_params(("[testdev, train, val]", "[testdev]"), ("graph_splits: [train, val]", "graph_splits: []"))
    assert needs("gqa", "val") == Needs("val", ("val", "testdev"), ("val",), "balanced")
    assert needs("gqa", None).graphs == ()  # nobody has published graphs of testdev


def test_what_gqa_does_not_have_is_told(project):
    set_params(
        ("[testdev, train, val]", "[testdev, test]"),
        ("graph_splits: [train, val]", "graph_splits: [testdev]"),
    )
    with pytest.raises(UserError) as caught:
        needs("gqa", None)
    assert caught.value.problems[1:] == [
        "question_splits: 'test'; GQA has questions with answers for testdev, val, train",
        "graph_splits: 'testdev'; GQA has scene graphs for val and train",
    ]


def named(tmp_path, **pictures):
    """The pictures named by two files of val and one of train: question id -> picture id."""
    files = []
    for name in ("val_0", "val_1", "train_0"):
        path = f"questions1.2/{name}.json"
        (tmp_path / "questions1.2").mkdir(exist_ok=True)
        (tmp_path / path).write_text(
            json.dumps({key: {"imageId": value} for key, value in pictures.get(name, {}).items()})
        )
        files.append(WantedFile(path, "questions1.2.zip", 0, 0, None))
    return named_pictures(tmp_path, "questions1.2/val_", files, Problems("x"))


def test_the_pictures_of_the_files_of_one_split_are_named_once_each(tmp_path):
    assert named(tmp_path, val_0={"1": "n2", "2": "n1"}, val_1={"3": "n2"}, train_0={"4": "n9"}) == [
        "n1",
        "n2",
    ]


def test_a_picture_without_a_plain_name_and_a_question_without_a_picture_are_told(tmp_path):
    with pytest.raises(UserError) as caught:
        named(tmp_path, val_0={"1": "../n2", "2": 7})
    assert caught.value.problems[1:] == [
        "questions1.2/val_0.json, question 2: Expected `str`, got `int` - at `$.imageId`",
        "questions1.2/val_...: picture '../n2' is no plain name",
    ]
