"""Locations of the files of a data set."""

from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_jsonl
from pipeline.core.output_paths import Output
from pipeline.core.paths import RECORD_FILES, DatasetFolders
from pipeline.core.records import Question, SourceQuestionScore
from tests.closure import ROOT, module_of


def test_folders_of_a_data_set_and_its_releases():
    folders = DatasetFolders("birds")
    assert folders.stage_dir("rank") == Path("data/birds/interim/rank")
    assert folders.release_dir("1.0.0") == Path("data/release/birds/1.0.0")
    for name in ("source", "truth", "clip", "embeddings", "annotations", "study"):
        assert getattr(folders, name) == Path("data/birds") / name


def test_the_default_is_the_data_set_in_use(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: cats\ncats: {}\ndogs: {}\n")
    assert (DatasetFolders().dataset, DatasetFolders().root) == ("cats", Path("data/cats"))
    assert DatasetFolders("dogs").root == Path("data/dogs")


def test_outside_a_project_the_message_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="run this from the project's root"):
        DatasetFolders()


def test_records_are_read_by_type_and_questions_by_image(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    questions = [
        Question(question_id=i, image_id=f"n{i}", split="testdev", text="?", answer="yes") for i in "123"
    ]
    write_jsonl("data/birds/interim/ingest/questions.jsonl", questions)
    folders = DatasetFolders("birds")
    assert list(folders.read_records(Question)) == questions
    assert list(folders.read_questions_about({"n1", "n3"})) == [questions[0], questions[2]]
    with pytest.raises(UserError, match="source_scores.jsonl: no such file"):
        list(folders.read_records(SourceQuestionScore))


@pytest.mark.parametrize("kind", RECORD_FILES, ids=lambda kind: kind.__name__)
def test_each_record_file_is_listed_by_its_stage(kind):
    stage, name = RECORD_FILES[kind].split("/")
    assert f"{name} " in (ROOT / module_of(stage)).read_text().partition("Writes")[2]


def test_write_stage_outputs_chooses_the_format_by_suffix_and_prints_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    score = SourceQuestionScore(question_id="01", score=0.5)
    DatasetFolders("birds").write_stage_outputs(
        "rank", "1 score", {"s.jsonl": [score], "r.json": {"n": 1}, "r.md": "One.\n"}
    )
    home = tmp_path / "data/birds/interim/rank"
    assert (home / "s.jsonl").read_text() == '{"question_id":"01","score":0.5}\n'
    assert (read_json(home / "r.json"), (home / "r.md").read_text()) == ({"n": 1}, "One.\n")
    assert capsys.readouterr().out == "rank: 1 score -> data/birds/interim/rank\n"


@pytest.mark.parametrize(
    "place",
    [
        "params.yaml",
        "./data/../params.yaml",
        "dvc.yaml",
        "research/dvc.lock",
        "data/birds/source/questions.csv",
        "data/birds/study/people.json",
        "data/birds/interim/rank/rank.json",
        "data/release/birds/1.0.0/README.md",
    ],
)
def test_outputs_replace_no_file_of_the_project_or_the_data_set(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: birds\nbirds: {}\n")
    Path("data").mkdir()
    with pytest.raises(UserError, match="--json") as error:
        DatasetFolders().check_outputs(Output("--json", Path(place)))
    assert len(error.value.problems) == 1
    DatasetFolders().check_outputs(
        Output("--json", Path("data/birds/figures.json")), Output("--out", Path("plots"), "folder")
    )
