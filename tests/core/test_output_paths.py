"""Outputs replace no input, no other output and no file of a release."""

import os
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.output_paths import Output, check_output_paths


@pytest.fixture(autouse=True)
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


def test_all_problems_are_reported_together():
    with pytest.raises(UserError) as error:
        check_output_paths([Output("--json", Path("in.json")), Output("--page", Path("pipe"))], INPUTS)
    assert [line.split()[0] for line in error.value.problems[1:]] == ["--json", "--page"]


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


def test_a_command_may_write_into_its_own_release():
    check_output_paths([Output("--out", Path("release/rgqa"), "folder")], own_folder=Path("release"))


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
