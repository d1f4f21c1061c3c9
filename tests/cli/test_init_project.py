"""`rgqa init FOLDER` and `rgqa upgrade`: projects of one's own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

from pipeline.cli import init_project
from pipeline.cli.init_dataset import create_dataset
from pipeline.cli.init_project import create_project, find_target_folder, make_dataset_name, upgrade_project
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.params import load_params, read_params_file
from pipeline.core.paths import DatasetFolders
from pipeline.core.project import VERSION_FILE, get_installed_version, is_own_project, read_version
from pipeline.sources.source_folder import IngestParams
from tests.closure import ROOT

# The object of four questions about each of three images.
OBJECTS = ("dog", "car", "cup")


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three images, beside questions.csv with four questions about each. The tests run in the folder of both."""
    folder = tmp_path / "photos"
    folder.mkdir()
    lines = ["question_id,image,question,answer"]
    for number, name in enumerate(OBJECTS):
        Image.new("RGB", (8, 6), (80 * number, 0, 0)).save(folder / f"p{number}.png")
        questions = (
            (f"What is the red {name} on?", "table"),
            (f"What color is the man behind the {name}?", "red"),
            (f"Is the small {name} next to the tree?", "yes"),
            (f"What is to the left of the {name}?", "bench"),
        )
        lines += [f"{number}{n},p{number}.png,{text},{answer}" for n, (text, answer) in enumerate(questions)]
    (tmp_path / "questions.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return folder


def init(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["init", *map(str, words)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output


def fill(target: object, *options: str) -> tuple[int, str]:
    return init(target, "--images", "photos", "--questions", "questions.csv", *options)


def everything(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


# What the argument names


@pytest.mark.parametrize(
    ("target", "working_folder", "folder"),
    [
        # A plain name is a data set in a project, and a folder outside of one.
        ("birds", Path(), None),
        ("birds", Path("data/notes"), None),
        ("birds", None, Path("birds")),
        ("my birds", None, Path("my birds")),
        # Paths are relative to the folder in which they were typed.
        ("../birds", Path(), Path("../birds")),
        ("../birds", Path("data"), Path("data/../birds")),
        ("birds/", Path(), Path("birds")),
        ("./birds", None, Path("birds")),
        (".", None, Path(".")),
        ("..", Path("data"), Path("data/..")),
        ("/tmp/birds", Path("data"), Path("/tmp/birds")),
        ("~/birds", Path("data"), Path("/home/ann/birds")),
        ("~", None, Path("/home/ann")),
        ("", None, None),
    ],
)
def test_a_path_names_a_project_and_a_plain_name_in_a_project_a_data_set(
    target, working_folder, folder, monkeypatch
):
    monkeypatch.setenv("HOME", "/home/ann")
    assert find_target_folder(target, working_folder) == folder


def test_the_home_of_an_unknown_user_is_one_message(photos):
    code, said = init("~no-such-user/birds")
    assert code == 1 and "~no-such-user/birds: there is no such user" in said


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("birds", "birds"),
        ("My Birds (2026)", "my-birds-2026"),
        ("Vögel", "vogel"),
        ("鳥", "my-images"),
        ("7up", "my-images-7up"),
        # Names that a data set must not have.
        ("release", "my-images-release"),
        ("Yes", "my-images-yes"),
        ("--x--", "x"),
        ("a" * 59 + "  b", "a" * 59),
    ],
)
def test_the_data_set_is_named_after_the_folder(folder, name):
    assert make_dataset_name(folder) == name


# A new project


def test_a_new_project_has_short_parameters_and_all_keys_that_dvc_needs(photos):
    code, said = fill("birds")
    assert code == 0
    home = Path("birds")
    assert sorted(path.name for path in home.iterdir()) == [
        *(".dvc", ".gitignore", "README.md", "data", "dvc.yaml", "params.yaml", "rgqa-version.yaml")
    ]
    params = (home / "params.yaml").read_text()
    assert len(params.splitlines()) <= 30
    section = read_params_file(home / "params.yaml")["birds"]
    stages = yaml.safe_load((home / "dvc.yaml").read_text())["stages"].values()
    watched = {param for stage in stages for param in stage["params"] if isinstance(param, str)}
    # Nothing of the stages that evaluate models and compare with the paper's rules.
    assert {f"${{dataset}}.{key}" for key in section} == {p for p in watched if p.startswith("${dataset}.")}
    source = home / "data/birds/source"
    assert (source / "questions.csv").read_bytes() == Path("questions.csv").read_bytes()
    assert len([*(source / "images").iterdir()]) == 3
    assert "3 images and 12 questions" in said and "cd birds, and run dvc repro" in said
    assert read_version(home) == get_installed_version()


def test_without_clip_is_offered_and_only_asks_for_edited_questions(photos):
    assert "ingest: {subsets: [pt-easy, pt-hard]}" in fill("birds")[1]
    code, said = fill("bees", "--without-clip")
    assert code == 0 and "CLIP" not in said
    assert load_params("ingest", IngestParams, Path("bees/params.yaml")).subsets == ("pt-easy", "pt-hard")
    os.chdir("bees")
    code, said = init("bees", "--without-clip")
    assert code == 1 and "--without-clip has no effect: params.yaml has a section 'bees' already" in said


def test_the_folders_of_a_project_are_those_that_its_stages_read(photos, monkeypatch):
    fill("birds")
    monkeypatch.chdir("birds")
    assert {path.name for path in Path("data/birds").iterdir()} == {
        *("source", "clip", "embeddings", "annotations", "rounds", "errata")
    }
    assert all(path.is_dir() for path in DatasetFolders().dvc_dirs())
    for name in ("params.yaml", "dvc.yaml", "rgqa-version.yaml"):
        with pytest.raises(UserError, match="would replace an input"):
            check_output_paths([Output("--out", Path(name))])


def test_an_empty_folder_and_the_working_folder_become_projects(photos, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    assert init("empty")[0] == 0 and is_own_project(tmp_path / "empty")
    (tmp_path / "Blue Birds").mkdir()
    monkeypatch.chdir(tmp_path / "Blue Birds")
    assert init(".")[0] == 0 and Path("data/blue-birds").is_dir()


def test_a_folder_below_a_link_is_named_after_its_target(photos, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert init("link/")[0] == 0 and (tmp_path / "real/data/real").is_dir()


# Folders that cannot become projects


def make_bad(tmp_path: Path, kind: str) -> Path:
    target = tmp_path / "target"
    if kind == "full":
        target.mkdir()
        (target / "mine.txt").write_text("mine")
    elif kind == "a file":
        target.write_text("mine")
    elif kind == "below a file":
        target.write_text("mine")
        return target / "birds"
    elif kind == "a project":
        create_project(target, "target")
    elif kind == "in a project":
        create_project(target, "target")
        return target / "a/b"
    elif kind == "in a project, by a link":
        create_project(target, "target")
        (tmp_path / "link").symlink_to(target / "data")
        return tmp_path / "link/birds"
    elif kind == "in a release":
        target.mkdir()
        (target / "CHECKSUMS.sha256").touch()
        return target / "birds"
    elif kind == "of devices":
        return Path("/dev/birds")
    return target


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("full", "the folder is not empty (mine.txt), and nothing was changed"),
        ("a file", "a file where a folder was expected"),
        ("below a file", "one of its folders is a file"),
        ("a project", "is a project already, and nothing was changed"),
        ("in a project", "a project cannot contain another one"),
        ("in a project, by a link", "a project cannot contain another one"),
        ("in a release", "lies inside a release"),
        ("of devices", "a folder of devices"),
    ],
)
def test_other_folders_are_refused_and_nothing_changes(photos, tmp_path, kind, said):
    target = make_bad(tmp_path, kind)
    before = everything(tmp_path)
    code, output = fill(target)
    assert code == 1 and said in output and output.startswith("error: ") and "Traceback" not in output
    assert everything(tmp_path) == before


def test_a_project_cannot_be_made_in_the_clone():
    with pytest.raises(UserError, match="lies in the project"):
        create_project(ROOT / "data" / "birds", "data/birds")
    assert not (ROOT / "data" / "birds").exists()


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_in_which_nothing_can_be_written_is_one_message(photos, tmp_path, monkeypatch, exists):
    # The superuser may write everywhere, so the error of the system is imitated.
    target, make = tmp_path / "a/b", Path.mkdir
    if exists:
        target.mkdir(parents=True)
    before = everything(tmp_path)

    def refuse(path: Path, *args: object, **options: object) -> None:
        if path.name in ("b", init_project.STAGING_NAME):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        make(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UserError, match=r"a/b: no folder can be created there \(Permission denied\)"):
        create_project(target, "a/b")
    assert everything(tmp_path) == before


def test_faults_of_the_table_leave_no_folder(photos, tmp_path):
    Path("questions.csv").write_text("question_id,image,question,answer\n1,nosuch.png,What?,it\n")
    before = everything(tmp_path)
    code, said = fill("a/b/birds")
    assert code == 1 and "nosuch" in said and everything(tmp_path) == before
    (tmp_path / "birds").mkdir()
    assert fill("birds")[0] == 1 and [*(tmp_path / "birds").iterdir()] == []


def test_what_a_killed_command_left_is_replaced(photos, tmp_path):
    left = tmp_path / "birds" / init_project.STAGING_NAME / "data"
    left.mkdir(parents=True)
    (left / "half").touch()
    assert fill("birds")[0] == 0
    assert is_own_project(tmp_path / "birds") and not left.parent.exists()


# Data sets in a project, from below


def test_a_plain_name_in_a_folder_of_a_project_adds_a_data_set(photos, tmp_path, monkeypatch):
    fill("birds")
    notes = tmp_path / "birds/notes"
    notes.mkdir()
    monkeypatch.chdir(notes)
    code, said = init("bees", "--images", "../../photos", "--questions", "../../questions.csv")
    assert code == 0 and "3 images and 12 questions are in data/bees/source" in said
    assert (tmp_path / "birds/data/bees/source/images/p0.png").is_file() and [*notes.iterdir()] == []
    assert not (tmp_path / "birds/data/bees/truth").exists()
    monkeypatch.chdir(notes)
    assert init("../../cows")[0] == 0 and is_own_project(tmp_path / "cows")


def test_two_projects_are_independent(photos, tmp_path):
    fill("birds")
    before = everything(tmp_path / "birds")
    fill("bees", "--without-clip")
    create_dataset("cows", tmp_path / "bees")
    assert everything(tmp_path / "birds") == before


# Upgrades


@pytest.fixture
def birds(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was made by this version. The tests run in it."""
    fill("birds", "--without-clip")
    monkeypatch.chdir("birds")
    return tmp_path / "birds"


def pretend(birds: Path, **changes: object) -> None:
    """Let the project look as if another version had made it."""
    path = birds / VERSION_FILE
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes, default_style='"'))


def test_an_upgrade_names_the_stages_whose_code_has_changed_and_those_after_them(birds):
    code = get_installed_version().code
    pretend(birds, version="0.0.1", code=code | {"estimate": "0"})
    before = everything(birds)
    said = upgrade_project().splitlines()
    assert said[0].startswith("0.0.1 -> ")
    assert said[1:] == [
        "  Will run again: estimate",
        # `screen` and `similarity` do not read the estimates.
        "  And, if the results of these change: batch, collect, balance, audit, release",
        "Next: dvc repro",
    ]
    after = everything(birds)
    assert {name for name in after if after[name] != before[name]} == {"rgqa-version.yaml"}
    assert read_version() == get_installed_version()
    assert "No stage will run again" in upgrade_project() and everything(birds) == after


def test_a_stage_whose_entry_has_changed_will_run_again(birds):
    graph = Path("dvc.yaml").read_text().replace("-m pipeline.stages tag", "-m pipeline.stages  tag")
    Path("dvc.yaml").write_text(graph)
    pretend(birds, graph=init_project.hashlib.sha256(graph.encode()).hexdigest())
    assert "Will run again: tag\n" in upgrade_project()
    assert "stages  tag" not in Path("dvc.yaml").read_text()


def test_an_edited_dvc_yaml_is_not_replaced(birds):
    pretend(birds, version="0.0.1")
    path = birds / "dvc.yaml"
    path.write_text(path.read_text() + "# mine\n")
    before = everything(birds)
    with pytest.raises(UserError, match=r"dvc\.yaml: was edited.*nothing was changed"):
        upgrade_project()
    assert everything(birds) == before
    path.rename("my-dvc.yaml")
    upgrade_project()
    assert (path.read_text() + "# mine\n").encode() == before["dvc.yaml"]


def test_a_damaged_version_file_is_written_again(birds):
    (birds / VERSION_FILE).write_text("version: [")
    assert "dvc status lists the stages" in upgrade_project()
    assert read_version() == get_installed_version()
    (birds / VERSION_FILE).unlink()
    upgrade_project()
    assert read_version() == get_installed_version()


def test_a_missing_section_is_reported_after_an_upgrade(birds):
    path = birds / "params.yaml"
    path.write_text(path.read_text().replace("  audit: {}\n", ""))
    assert "Add `audit: {}` to `birds` in params.yaml" in upgrade_project()


def test_there_is_nothing_to_upgrade_in_a_clone_or_outside_of_projects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no such file; run this in the folder of a project"):
        upgrade_project()
    with pytest.raises(UserError, match="In a clone, dvc repro notices changed code"):
        upgrade_project(ROOT)


# DVC


@pytest.mark.slow
@pytest.mark.parametrize("git", [False, True], ids=["without Git", "with Git"])
def test_dvc_builds_a_project_in_a_folder_with_blanks_and_letters_of_other_languages(photos, tmp_path, git):
    home = tmp_path / "Meine Vögel 鳥"
    fill(home, "--without-clip")
    # A file of the project cannot replace a module.
    (home / "random.py").write_text("raise SystemExit('not this one')\n")
    bin_dir = str(Path(sys.executable).parent)
    env = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    if git:
        run("git", "init", "--quiet")
        run("git", "add", ".")
    repro = (sys.executable, "-P", "-m", "dvc", "repro", "embed")
    assert "Running stage 'embed'" in run(*repro)
    assert (home / "data/meine-vogel/interim/embed/embed.json").is_file()
    assert "Running" not in run(*repro)
    code = get_installed_version().code
    # Another fingerprint runs the stage again, and no other one.
    path = home / VERSION_FILE
    path.write_text(path.read_text().replace(code["embed"], "0" * 16))
    failed = subprocess.run(repro, cwd=home, env=env, capture_output=True, text=True, check=False)
    assert failed.returncode and "the installed code of embed is not" in failed.stderr
    assert failed.stdout.count("Running stage") == 1
    if git:
        # Git ignores what the stages make.
        status = run("git", "status", "--short").splitlines()
        assert [line for line in status if line.startswith("??")] == ["?? dvc.lock"]
