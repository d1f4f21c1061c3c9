"""Paths of data sets and outputs, and locked folders."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import read_json, write_jsonl
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import RECORD_FILES, DatasetFolders
from pipeline.core.records import Question, SourceQuestionScore
from tests.closure import ROOT, module_of

# Paths
# Locations of the files of a data set.


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
    with pytest.raises(UserError, match="run this in the folder of a project"):
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
    DatasetFolders("birds").write_stage_outputs("rank", "1 score", {"s.jsonl": None, "t.json": None})
    assert [path.name for path in sorted(home.iterdir())] == ["r.json", "r.md"]


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


# Output paths
# Outputs replace no input, no other output and no file of a release.


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("set").mkdir()
    Path("set/a.json").write_text("{}")
    Path("in.json").write_text("{}")
    Path("to_set").symlink_to("set")
    Path("to_in.json").symlink_to("in.json")
    Path("loop").symlink_to("loop")
    os.link("in.json", "hard.json")
    os.mkfifo("pipe")
    Path("release/rgqa").mkdir(parents=True)
    Path("release/CHECKSUMS.sha256").write_text("")


INPUTS = [Path("in.json"), Path("set"), None, Path("absent.json")]


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    "output",
    [
        Output("--json", Path("in.json")),
        Output("--json", Path("./set/../in.json")),
        Output("--json", Path("no_folder/../in.json")),
        Output("--json", Path("no_folder/more/../../set/new.json")),
        Output("--out", Path("no_folder/../set"), "folder"),
        Output("--out", Path("no_folder/../in.json"), "folder"),
        Output("--json", Path("no_folder/../release/data.parquet")),
        Output("--json", Path("to_in.json")),
        Output("--json", Path("hard.json")),
        Output("--json", Path("absent.json")),
        Output("--json", Path("set/new.json")),
        Output("--json", Path("to_set/more/new.json")),
        Output("--out", Path("set"), "folder"),
        Output("--out", Path("."), "folder", ("in.json",)),
        Output("--out", Path("set/plots"), "folder"),
        Output("--json", Path("in.json/new.json")),
        Output("--json", Path("set")),
        Output("--out", Path("in.json"), "folder"),
        Output("--json", Path("pipe")),
        Output("--json", Path("loop")),
        Output("--json", Path("/dev/null")),
        Output("--json", Path("/dev/none.json")),
        Output("--out", Path("/proc/none"), "folder"),
        Output("--json", Path("release/data.parquet")),
        Output("--json", Path("release/rgqa/pt-hard.json")),
        Output("--out", Path("release"), "folder"),
        Output("--json", Path("release/new/figures.json")),
        Output("--json", Path("n" * 300)),
    ],
    ids=lambda output: str(output.path)[:30],
)
def test_a_harmful_output_is_refused_with_its_option(output):
    with pytest.raises(UserError) as error:
        check_output_paths([output], INPUTS)
    (problem,) = error.value.problems
    assert problem.startswith(f"{output.option} {output.path}: ")


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    "outputs",
    [
        (Output("--json", Path("new.json")), Output("--page", Path("./new.json"))),
        (Output("--json", Path("new")), Output("--out", Path("new"), "folder", ("scores.json",))),
        (Output("--json", Path("new/scores.json")), Output("--out", Path("new"), "folder", ("scores.json",))),
        (Output("--json", Path("new/a.json/b.json")), Output("--page", Path("new/a.json"))),
        (Output("--page", Path("new/a.json")), Output("--json", Path("new/a.json/b.json"))),
    ],
)
def test_two_outputs_with_the_same_path_are_refused(outputs):
    with pytest.raises(UserError, match=outputs[1].option):
        check_output_paths(outputs)


@pytest.mark.usefixtures("places")
def test_all_problems_are_reported_together():
    with pytest.raises(UserError) as error:
        check_output_paths([Output("--json", Path("in.json")), Output("--page", Path("pipe"))], INPUTS)
    assert [line.split()[0] for line in error.value.problems[1:]] == ["--json", "--page"]


@pytest.mark.usefixtures("places")
def test_outputs_beside_inputs_and_other_outputs_are_accepted():
    check_output_paths(
        [
            Output("--json", Path("new/scores.json")),
            Output("--out", Path("new"), "folder", ("scores.txt",)),
            Output("--page", Path("page.html")),
            None,
        ],
        [Path("in.json")],
    )
    Path("page.html").write_text("an earlier one")
    check_output_paths([Output("--page", Path("page.html"))], INPUTS)


@pytest.mark.usefixtures("places")
def test_a_command_may_write_into_its_own_release():
    check_output_paths([Output("--out", Path("release/rgqa"), "folder")], own_folder=Path("release"))


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    "place",
    [
        *(
            "params.yaml",
            "./plots/../params.yaml",
            "dvc.yaml",
            "dvc.lock",
            "research/dvc.yaml",
            "research/dvc.lock",
        ),
        *(
            "data/birds/source/questions.csv",
            "data/birds/truth/new.json",
            "data/birds/annotations/pulled.json",
        ),
        *("data/birds/study/roster.json", "data/birds/rounds/1.jsonl", "data/birds/errata/errata.jsonl"),
    ],
)
def test_no_command_replaces_files_of_the_project(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("source", "truth", "annotations", "study", "rounds", "errata"):
        (tmp_path / "data/birds" / name).mkdir(parents=True)
    with pytest.raises(UserError, match="--json"):
        check_output_paths([Output("--json", Path(place))])
    check_output_paths(
        [Output("--json", Path("data/birds/figures.json")), Output("--page", Path("more/params.yaml"))]
    )


# Folder lock


CODE = "import sys; from pathlib import Path; from pipeline.core.folder_lock import lock_folder\nwith lock_folder(Path(sys.argv[1])): print('in')"


def other(folder):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_second_command_waits_only_in_the_same_folder(tmp_path):
    with lock_folder(tmp_path / "a"):
        waits, free = other(tmp_path / "a"), other(tmp_path / "b")
        assert "waiting for another" in waits.stderr.readline()
        assert free.communicate(timeout=30) == ("in\n", "")
        assert waits.poll() is None
    assert waits.communicate(timeout=30)[0] == "in\n"
