"""Help and errors of the command line, and `rgqa init`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import typer
import yaml
from PIL import Image
from typer.testing import CliRunner

from pipeline.cli.init_dataset import create_dataset
from pipeline.cli.main import COMMAND_SECTIONS, app
from pipeline.core.errors import UserError
from pipeline.core.params import Params, convert_params, load_params
from pipeline.core.release_params import ReleaseParams, check_release_params
from pipeline.core.stage_graph import read_stages
from tests.closure import ROOT
from tests.test_contract import params_type

# Main
# Help and errors of the command line.


# These commands print the help of the wheel's commands.
OWN_HELP = {("run",), ("score",)}


def every_command(command=None, path=()) -> Iterator[tuple[tuple[str, ...], object]]:
    command = command or typer.main.get_command(app)
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from every_command(below, (*path, name))


def words_of(text):
    return re.findall(r"[A-Za-z0-9]+", text)


@pytest.mark.parametrize(
    ("path", "command"),
    [case for case in every_command() if case[0] not in OWN_HELP],
    ids=lambda case: " ".join(case) if isinstance(case, tuple) else "",
)
def test_the_help_is_complete_on_a_narrow_terminal(path, command):
    shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=80).output
    there = words_of(shown)
    for text in (
        command.help or "",
        *(getattr(parameter, "help", None) or "" for parameter in command.params),
    ):
        assert [word for word in words_of(text) if word not in there] == []
    for name, below in getattr(command, "commands", {}).items():
        assert f" {name} " in shown
        first = (below.help or "").split("\n\n")[0]
        assert [word for word in words_of(first) if word not in there] == []
    assert path == () or hasattr(command, "commands") or "Example" in there, "every command has an example"


def test_each_command_is_in_one_section_of_the_help():
    names = [name for names in COMMAND_SECTIONS.values() for name in names.split()]
    assert sorted(names) == sorted(typer.main.get_command(app).commands)
    shown = CliRunner().invoke(app, ["--help"], terminal_width=80).output
    assert [title for title in COMMAND_SECTIONS if f"─ {title} ─" in shown] == [*COMMAND_SECTIONS]


def test_a_mistyped_option_or_command_is_one_message():
    for words in (["chek"], ["check", "--ful", "x"], ["check"]):
        ended = subprocess.run([sys.executable, "-m", "pipeline.cli", *words], capture_output=True, text=True)
        assert ended.returncode == 2 and "Traceback" not in ended.stderr and "Usage" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        "publish RELEASE --allow-simulated",
        "publish RELEASE --hub owner/name --destination published",
        "annotate serve --stop --port 8081",
        "annotate invite ann --remove --adjudicator --pay much",
        "fetch gqa --dry-run --accept-changes",
        "fetch gqa --offline --cache-dir kept --jobs 3",
        "attribute 00095300 --model rp --method rollout",
        "attribute 00095300 --model hf-vqa/x --seed 1",
        "study validity --counterfactual-release x --replication-images y",
    ],
)
def test_an_option_without_effect_is_refused_with_its_name(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, words.split())
    assert ended.exit_code == 1 and "no effect" in ended.stderr
    assert any(word in ended.stderr for word in words.split() if word.startswith("--"))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("module", ["pipeline.cli", "pipeline.stages.rank"])
def test_without_docstrings_there_is_one_message(module):
    ended = subprocess.run([sys.executable, "-OO", "-m", module], capture_output=True, text=True)
    assert ended.returncode == 1 and "PYTHONOPTIMIZE" in ended.stderr and "Traceback" not in ended.stderr


# Init dataset


PARAMS = "dataset: sample\nsample: {rank: {max_question_uses: 3}}\n# end\n"
REQUIRED = ["data_source", "licence", "licence_url", "release_date"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a folder of three photographs and a table of five questions about each of two."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "photos").mkdir()
    for number in range(3):
        Image.new("RGB", (8, 6), (80 * number, 0, 0)).save(tmp_path / f"photos/p{number}.png")
    rows = [f"{number},p{number % 2}.png,What is number {number}?,it" for number in range(10)]
    (tmp_path / "mine.csv").write_text("\n".join(["question_id,picture,question,answer", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(project: Path) -> str:
    return create_dataset("birds", project, project / "photos", project / "mine.csv")


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_new_data_set_gets_folders_and_a_short_section(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    create_dataset("birds", tmp_path)
    text = (tmp_path / "params.yaml").read_text()
    assert text.startswith(PARAMS.rstrip())
    section = yaml.safe_load(text)["birds"]
    assert len(text.partition("birds:\n")[2].splitlines()) <= 25
    # DVC refuses a graph in which a key is missing.
    watched = {
        param.removeprefix("${dataset}.")
        for stage in read_stages(root=ROOT).values()
        for param in stage.get("params", [])
        if param.startswith("${dataset}.")
    }
    assert set(section) == watched
    for name, values in section.items():
        kind: type[Params] | None = params_type(name) if name != "annotate" else None
        if kind and name != "release":
            params = convert_params(values, kind, name)
            defaults = convert_params({}, kind, name)
            # Only what differs from the defaults is written.
            assert all(getattr(params, key) != getattr(defaults, key) for key in values)
    # Nothing of GQA.
    assert "max_annotation_recall" not in text and "RGQA" not in text.partition("birds:")[2]
    assert {p.name for p in (tmp_path / "data" / "birds").iterdir()} == {
        "source",
        "truth",
        "clip",
        "vqa",
        "embeddings",
        "annotations",
        "rounds",
        "errata",
        "predictions",
    }


def test_the_release_fields_that_must_be_filled_in_are_listed_with_a_comment_and_checked_early(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("dataset: birds\n")
    message = create_dataset("birds", tmp_path)
    assert ", ".join(REQUIRED) in message.partition("The release will ask for:")[2]
    lines = path.read_text().partition("  release:\n")[2].splitlines()
    listed = {line.split(":")[0].strip(): line for line in lines if line.startswith("    ")}
    required = {field.encode_name for field in msgspec.structs.fields(ReleaseParams) if field.required}
    assert set(listed) == required | {"include_images"} and all(" # " in line for line in listed.values())
    with pytest.raises(UserError) as caught:
        load_params("release", ReleaseParams, path)
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == REQUIRED
    assert f"{', '.join(REQUIRED)} are empty" in check_release_params(path)
    values = {
        "data_source": "O",
        "licence": "X",
        "licence_url": "https://x.org",
        "release_date": "2026-01-01",
    }
    text = path.read_text()
    for name, value in values.items():
        text = text.replace(f'{name}: ""', f'{name}: "{value}"')
    path.write_text(text)
    assert check_release_params(path) == ""
    assert load_params("release", ReleaseParams, path).include_images is False
    assert "licence_url" not in create_dataset("birds", tmp_path).partition("The release will ask for:")[2]


@pytest.mark.parametrize(
    "text", ["- a list\n", "dataset: birds\n...\n", "{dataset: birds}\n", "text\n"], ids=str
)
def test_a_file_to_which_no_section_can_be_appended_is_left_alone(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"params\.yaml"):
        create_dataset("birds", tmp_path)
    assert path.read_text() == text and not (tmp_path / "data").exists()


def test_a_second_call_changes_nothing(project):
    fill(project)
    (project / "data/birds/annotations/README.md").write_text("mine")
    before = snapshot(project)
    fill(project)
    create_dataset("birds", project)
    assert snapshot(project) == before


@pytest.mark.parametrize("name", ["../x", "Birds", "release", "", "a b"])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path, name):
    (tmp_path / "params.yaml").write_text(PARAMS)
    with pytest.raises(UserError, match="invalid name"):
        create_dataset(name, tmp_path)


def test_images_with_questions_and_the_table_are_copied(project):
    message = fill(project)
    source = project / "data/birds/source"
    assert (source / "questions.csv").read_bytes() == (project / "mine.csv").read_bytes()
    assert {path.name for path in (source / "images").iterdir()} == {"p0.png", "p1.png"}
    assert (source / "images/p1.png").read_bytes() == (project / "photos/p1.png").read_bytes()
    assert "2 images and 10 questions" in message
    assert "1 file was not copied" in message and "p2.png" in message
    # 5 questions per image: 10 candidates, 6 and 4, but only 5 texts of the other image: 2 for each subset.
    assert "hard_draw 2, hard_pool 2, easy_last 2, easy_pool 2" in message


def test_all_faults_are_reported_at_once_and_nothing_is_written(project):
    table = project / "mine.csv"
    rows = table.read_text().splitlines()
    rows[0] += ",colour"
    rows[2] = "1,p1.png,What?,"
    rows += ["0,p0.png,Again?,it", *(f"9{n},nosuch{n}.png,What is there?,it" for n in range(7))]
    table.write_text("\n".join(f"{row},red" if number else row for number, row in enumerate(rows)))
    (project / "photos/p0.png").write_bytes(b"no image")
    before = snapshot(project)
    done = CliRunner().invoke(app, ["init", "birds", "--images", "photos", "--questions", "mine.csv"])
    assert done.exit_code == 1 and snapshot(project) == before
    said = done.stderr
    assert "row 3: Object missing required field `answer`" in said
    assert "question 0: the same id" in said
    assert "column colour: unknown column" in said and "question_id (or " in said
    assert "photos/p0.png" in said
    # Five examples of a kind.
    assert said.count("no such file in photos/") == 5 and "and 2 more" in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "it has no questions"),
        (["1,p0.png,What?,it", "2,p0.png,Where?,there"], "1 image and 2 distinct questions"),
        (["1,p0.png,What?,it", "2,p1.png,What?,it"], "2 images and 1 distinct question"),
    ],
    ids=["empty", "one photograph", "the same question under every photograph"],
)
def test_a_set_that_is_too_small_is_reported_with_what_it_takes(project, rows, said):
    (project / "mine.csv").write_text("\n".join(["question_id,image,question,answer", *rows]) + "\n")
    with pytest.raises(UserError, match=said):
        fill(project)
    assert not (project / "data").exists() and (project / "params.yaml").read_text() == PARAMS


def test_the_parameters_of_an_existing_section_are_used(project):
    (project / "params.yaml").write_text(
        "dataset: birds\nbirds:\n  ingest: {subsets: [pt-easy], split: val}\n  rank: {hard_draw: 99}\n"
    )
    (project / "mine.csv").write_text("question_id,image,question,answer\n1,p0.png,What?,it\n")
    message = fill(project)
    assert "1 image and 1 question are in" in message and "hard_draw" not in message


def test_other_files_in_the_source_folder_are_never_replaced(project):
    fill(project)
    source = project / "data/birds/source"
    (source / "images/p1.png").write_bytes(b"mine")
    (source / "questions.csv").write_text("mine")
    (source / "questions.xlsx").write_text("mine")
    before = snapshot(project)
    with pytest.raises(UserError) as caught:
        fill(project)
    assert snapshot(project) == before
    places = {line.split(": ")[0].rpartition("/")[2] for line in caught.value.problems[1:]}
    assert places == {"p1.png", "questions.csv", "questions.xlsx"}


def test_an_image_with_the_id_of_another_one_is_not_added(project):
    other = project / "data/birds/source/images/p0.webp"
    other.parent.mkdir(parents=True)
    Image.new("RGB", (3, 3)).save(other)
    with pytest.raises(UserError, match=r"p0\.webp: has the same id"):
        fill(project)


def test_files_that_are_in_place_already_are_accepted(project):
    source = project / "data/birds/source"
    source.mkdir(parents=True)
    (project / "photos").rename(source / "images")
    (project / "mine.csv").rename(source / "questions.csv")
    before = snapshot(source)
    create_dataset("birds", project, source / "images", source / "questions.csv")
    assert snapshot(source) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--images", "photos"], "--images: --questions is missing"),
        (["--questions", "mine.csv"], "--questions: --images is missing"),
        (["--images", "nosuch", "--questions", "mine.csv"], "--images nosuch: no such folder"),
        (["--images", "photos", "--questions", "nosuch.csv"], "--questions nosuch.csv: no such file"),
        (["--images", "photos", "--questions", "photos/p0.png"], "ends with .csv, .tsv"),
    ],
)
def test_wrong_options_are_refused_by_name(project, arguments, said):
    done = CliRunner().invoke(app, ["init", "birds", *arguments])
    assert done.exit_code == 1 and said in done.stderr and not (project / "data").exists()


def test_all_missing_paths_are_reported_at_once(project):
    arguments = ["--images", "nosuch", "--questions", "nosuch.csv", "--scene-graphs", "nograph"]
    done = CliRunner().invoke(app, ["init", "birds", *arguments])
    assert done.exit_code == 1 and not (project / "data").exists()
    for said in (
        "--images nosuch: no such",
        "--questions nosuch.csv: no such",
        "--scene-graphs nograph: wanted",
    ):
        assert said in done.stderr


def test_other_formats_of_tables_get_the_name_that_ingest_looks_for(project):
    table = project / "mine.tsv"
    table.write_text((project / "mine.csv").read_text().replace(",", "\t"))
    create_dataset("birds", project, project / "photos", table)
    assert (project / "data/birds/source/questions.csv").read_bytes() == table.read_bytes()
    rows = [
        {
            "question_id": str(number),
            "image": f"p{number % 2}.png",
            "question": f"What is {number}?",
            "answer": "it",
        }
        for number in range(10)
    ]
    (project / "Table.JSONL").write_text("\n".join(map(json.dumps, rows)))
    create_dataset("bees", project, project / "photos", project / "Table.JSONL")
    assert (project / "data/bees/source/questions.jsonl").is_file()


def write_graphs(folder: Path, width: int = 8, box: int = 2) -> Path:
    folder.mkdir(exist_ok=True)
    thing = {"name": "cup", "x": 1, "y": 1, "w": box, "h": 2, "attributes": [], "relations": []}
    graph = {"width": width, "height": 6, "objects": {"1": thing}, "draftedBy": "net"}
    (folder / "testdev_sceneGraphs.json").write_text(json.dumps({"p0": graph}))
    return folder


def test_scene_graphs_are_checked_and_copied(project):
    graphs = write_graphs(project / "graphs")
    create_dataset("birds", project, project / "photos", project / "mine.csv", scene_graphs=graphs)
    copied = project / "data/birds/source/sceneGraphs/testdev_sceneGraphs.json"
    assert copied.read_bytes() == (graphs / "testdev_sceneGraphs.json").read_bytes()


def test_faults_of_scene_graphs_are_reported_and_nothing_is_written(project):
    before = snapshot(project)
    (project / "empty").mkdir()
    for folder, fault in (
        (write_graphs(project / "graphs", box=-2), "at least 0"),
        (project / "empty", "testdev_sceneGraphs.json"),
    ):
        with pytest.raises(UserError, match=fault):
            create_dataset("birds", project, project / "photos", project / "mine.csv", scene_graphs=folder)
    assert before.items() <= snapshot(project).items() and not (project / "data").exists()
    with pytest.raises(UserError, match="--scene-graphs"):
        create_dataset("birds", project, scene_graphs=project / "graphs")
