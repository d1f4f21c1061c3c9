"""Projects, and the code that their stages depend on."""

import json
import os
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from typer import Argument, Option
from typer.testing import CliRunner

from pipeline.core import project
from pipeline.core.command_line import new_app
from pipeline.core.errors import UserError, run_command
from pipeline.core.project import (
    STAGE_RUNNER,
    compute_fingerprint,
    find_project,
    find_version_conflict,
    get_installed_version,
    read_packaged_stages,
    render_graph,
    render_version,
)
from pipeline.core.stage_graph import find_changed_stages
from pipeline.stages.__main__ import run_stage

GRAPH = f"stages: {{ingest: {{cmd: python -P -m {STAGE_RUNNER} ingest}}}}\n"


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code in a package `core` and a file `nouns.py`, from which fingerprints are computed."""
    folder = tmp_path / "code"
    (folder / "core").mkdir(parents=True)
    (folder / "core/params.py").write_text("a = 1\n")
    (folder / "nouns.py").write_text("b = 1\n")
    monkeypatch.setattr(project, "CODE_ROOT", folder)
    project._fingerprint_path.cache_clear()
    yield folder
    project._fingerprint_path.cache_clear()


def fingerprints() -> tuple[str, str]:
    project._fingerprint_path.cache_clear()
    return compute_fingerprint(["core", "nouns.py"]), compute_fingerprint(["core"])


def test_the_stages_of_a_project_read_and_write_the_same_data_as_those_of_the_clone():
    clone, own = read_packaged_stages(), yaml.safe_load(render_graph())["stages"]
    assert list(own) == list(clone)
    for name, stage in own.items():
        assert (stage["outs"], stage["desc"]) == (clone[name]["outs"], clone[name]["desc"])
        data = [dep for dep in clone[name]["deps"] if dep.startswith("data/")]
        # The truth is known of synthetic worlds only.
        assert stage["deps"] == [dep for dep in data if not dep.endswith("/truth")]
        *params, version = stage["params"]
        assert params == clone[name]["params"]
        assert version == {"rgqa-version.yaml": [f"code.{name}"]}
        assert stage["cmd"].split()[-1] == name == clone[name]["cmd"].rpartition(".")[2]


def test_every_stage_has_a_fingerprint_that_yaml_reads_as_text():
    version = get_installed_version()
    written = yaml.safe_load(render_version(version))
    assert written == {"version": version.version, "graph": version.graph, "code": version.code}
    assert set(version.code) == set(read_packaged_stages())
    # YAML 1.2, which DVC reads, takes such a text for a number if it is not quoted.
    numeric = render_version(
        project.CodeVersion(version="1.0", graph="12e4", code={"ingest": "123e456789012345"})
    )
    assert '"123e456789012345"' in numeric and '"1.0"' in numeric and '"12e4"' in numeric


def test_a_fingerprint_changes_with_the_code_of_its_stage_only(code):
    both, core = fingerprints()
    (code / "nouns.py").write_text("b = 2\n")
    assert fingerprints()[0] != both and fingerprints()[1] == core
    (code / "nouns.py").write_text("b = 1\n")
    assert fingerprints() == (both, core)
    (code / "core/params.py").rename(code / "core/renamed.py")
    assert fingerprints()[0] != both and fingerprints()[1] != core


def test_compiled_files_do_not_change_a_fingerprint(code):
    before = fingerprints()
    (code / "core/__pycache__").mkdir()
    (code / "core/__pycache__/params.cpython-311.pyc").write_bytes(b"1")
    (code / "core/params.pyc").write_bytes(b"1")
    assert fingerprints() == before


def test_a_project_is_found_from_the_folders_below_it(tmp_path):
    home = tmp_path / "birds"
    below = home / "data" / "notes"
    below.mkdir(parents=True)
    assert find_project(below) is None
    (home / "params.yaml").write_text("dataset: birds\n")
    # Without dvc.yaml, it is a project only for commands that are called in it.
    assert (find_project(home), find_project(below)) == (home, None)
    (home / "dvc.yaml").write_text("stages: {train: {cmd: python train.py}}\n")
    assert find_project(below) is None, "a project of somebody else's"
    (home / "dvc.yaml").write_text(GRAPH)
    assert find_project(below) == find_project(home) == home
    (home / "dvc.yaml").write_bytes(b"\xff\xfe")
    assert find_project(below) is None


@pytest.fixture
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one's own without data, of the installed version, with a folder `notes`. The tests run in it."""
    home = tmp_path / "birds"
    (home / "notes").mkdir(parents=True)
    (home / "params.yaml").write_text("dataset: birds\nbirds: {}\n")
    (home / "dvc.yaml").write_text(GRAPH)
    (home / "rgqa-version.yaml").write_text(render_version(get_installed_version()))
    monkeypatch.chdir(home)
    return home


def set_version(home: Path, **changes: object) -> None:
    path = home / "rgqa-version.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes, default_style='"'))


def test_the_installed_version_is_no_conflict(birds):
    assert find_version_conflict() == ""
    (birds / "rgqa-version.yaml").unlink()
    assert find_version_conflict() == "", "a clone has no such file"


def test_a_conflict_names_both_versions_or_the_stages(birds):
    installed = get_installed_version()
    set_version(birds, version="0.0.1")
    assert f"uses rgqa-pipeline 0.0.1, but {installed.version} is installed" in find_version_conflict()
    set_version(birds, version=installed.version, code=installed.code | {"rank": "0"})
    assert "the installed code of rank is not" in find_version_conflict()
    assert "rgqa upgrade" in find_version_conflict()


def test_a_stage_does_not_run_with_other_code_than_the_project_uses(birds):
    set_version(birds, version="0.0.1")
    with pytest.raises(UserError, match="Run: rgqa upgrade"):
        run_stage("ingest")
    assert not (birds / "data").exists()
    with pytest.raises(UserError, match="'nosuch': no such stage; the stages are ingest, vocabulary"):
        run_stage("nosuch")


@pytest.mark.parametrize("text", ["", "version: [", "version: 1\n", 'version: "1"\n', "\x00"])
def test_a_damaged_version_file_is_one_message(birds, text):
    (birds / "rgqa-version.yaml").write_text(text)
    with pytest.raises(UserError, match=r"rgqa-version\.yaml: missing or damaged.*rgqa upgrade"):
        find_version_conflict()


# Commands in a folder below the project.

app = new_app("Test commands.", "x show")


@app.command()
def show(
    source: Annotated[str, Argument()],
    files: Annotated[list[Path] | None, Option("--file")] = None,
    out: Annotated[Path, Option()] = Path("out"),
) -> None:
    """Print where the command runs, and what it got."""
    run_command(lambda: print(Path.cwd().name, source, *(files or ()), out))


@app.command()
def other() -> None:
    """Do nothing."""


def call(*words: str) -> str:
    ended = CliRunner().invoke(app, ["show", *words])
    assert ended.exit_code == 0
    return ended.stdout.strip()


def test_a_command_runs_in_the_project_and_typed_paths_stay_relative_to_the_folder(birds, monkeypatch):
    (birds / "notes/mine.jsonl").touch()
    monkeypatch.chdir(birds / "notes")
    absolute = str(birds / "x")
    shown = call("mine.jsonl", "--file", "a", "--file", absolute, "--out", "../b")
    assert shown == f"birds notes/mine.jsonl notes/a {absolute} notes/../b"
    # A default is relative to the project. `items` is no file here, but the name of a table.
    monkeypatch.chdir(birds / "notes")
    assert call("items") == "birds items out"


def test_in_the_project_and_outside_of_projects_nothing_changes(birds, tmp_path, monkeypatch):
    assert call("items", "--out", "b") == "birds items b"
    monkeypatch.chdir(tmp_path)
    assert call("items", "--out", "b") == f"{tmp_path.name} items b"


def test_a_command_warns_once_of_another_version(birds, monkeypatch):
    assert CliRunner().invoke(app, ["show", "x"]).stderr == ""
    set_version(birds, version="0.0.1")
    monkeypatch.chdir(birds / "notes")
    ended = CliRunner().invoke(app, ["show", "x"])
    assert ended.exit_code == 0 and ended.stderr.count("rgqa upgrade") == 1
    assert ended.stderr.startswith("warning: this project uses rgqa-pipeline 0.0.1")
    (birds / "rgqa-version.yaml").write_text("version: [")
    ended = CliRunner().invoke(app, ["show", "x"])
    assert ended.exit_code == 1 and "error: rgqa-version.yaml: missing or damaged" in ended.stderr


def test_a_deleted_working_folder_is_left_to_the_command(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ended = CliRunner().invoke(app, ["other"])
    os.chdir(tmp_path)
    assert ended.exit_code == 0


def test_stages_whose_outputs_differ_from_the_lock_are_found(tmp_path):
    for stage, texts in (("ingest", ["12345"]), ("tag", ["1", "22"]), ("rank", ["1"])):
        folder = tmp_path / "data/birds/interim" / stage
        folder.mkdir(parents=True)
        for index, text in enumerate(texts):
            (folder / f"{index}.txt").write_text(text)
    # Recorded: one file of 5 bytes as it is, one file of 3 bytes in place of two, and one file of 9 bytes in place of 1.
    outs = {"ingest": (1, 5), "tag": (1, 3), "rank": (1, 9)}
    stages = {
        stage: {"outs": [{"path": f"data/birds/interim/{stage}", "nfiles": count, "size": size}]}
        for stage, (count, size) in outs.items()
    }
    (tmp_path / "dvc.lock").write_text(json.dumps({"stages": stages}))
    assert find_changed_stages("birds", tmp_path) == ["tag", "rank"]
    assert find_changed_stages("cats", tmp_path) == []
    (tmp_path / "dvc.lock").write_text("stages: [")
    assert find_changed_stages("birds", tmp_path) == []
