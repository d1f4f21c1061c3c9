"""Help and errors of the command line, and `rgqa init-dataset`."""

import re
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest
import typer
import yaml
from typer.testing import CliRunner

from pipeline.cli.init_dataset import create_dataset
from pipeline.cli.main import COMMAND_SECTIONS, app
from pipeline.core.errors import UserError
from pipeline.core.params import load_params
from pipeline.core.release_params import ReleaseParams, check_release_params

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


PARAMS = "dataset: sample\nsample: {rank: {max_question_uses: 3}}\n\ngqa:\n  rank:\n    max_question_uses: 5   # why\n\n  tag: {}\n# end\n"


def test_a_new_data_set_gets_folders_and_the_parameters_of_gqa(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    create_dataset("birds", tmp_path)
    document = yaml.safe_load((tmp_path / "params.yaml").read_text())
    assert document["birds"] == document["gqa"] == {"rank": {"max_question_uses": 5}, "tag": {}}
    assert document["dataset"] == "sample"
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


def test_the_release_section_of_gqa_is_not_copied(tmp_path):
    section = (
        "  release:\n    title: RGQA\n    data_source: >-\n      Images of GQA.\n    licence: CC BY 4.0\n"
    )
    (tmp_path / "params.yaml").write_text(
        f"dataset: birds\n\ngqa:\n  rank:\n    max_question_uses: 5\n{section}  tag: {{}}\n# end\n"
    )
    create_dataset("birds", tmp_path)
    birds = yaml.safe_load((tmp_path / "params.yaml").read_text())["birds"]
    assert (birds["rank"], birds["tag"], birds["release"]["title"]) == ({"max_question_uses": 5}, {}, "birds")
    with pytest.raises(UserError) as caught:
        load_params("release", ReleaseParams, tmp_path / "params.yaml")
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == [
        "data_source",
        "licence",
        "licence_url",
        "release_date",
    ]


def test_all_fields_of_a_release_are_listed_and_checked_early(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("dataset: birds\n\ngqa:\n  release:\n    title: RGQA\n")
    message = create_dataset("birds", tmp_path)
    listed = yaml.safe_load(path.read_text())["birds"]["release"]
    assert set(listed) == {field.encode_name for field in msgspec.structs.fields(ReleaseParams)}
    assert "data_source, licence, licence_url, release_date" in message
    assert "data_source, licence, licence_url, release_date are empty" in check_release_params(path)
    text = path.read_text()
    path.write_text(
        text.replace('licence_url: ""', "licence_url: nowhere").replace(
            'release_date: ""', 'release_date: "2026-13-01"'
        )
    )
    with pytest.raises(UserError) as caught:
        check_release_params(path)
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == ["licence_url", "release_date"]
    filled = text.replace('licence: ""', "licence: X").replace(
        'licence_url: ""', 'licence_url: "https://x.org"'
    )
    path.write_text(
        filled.replace('data_source: ""', "data_source: O").replace(
            'release_date: ""', 'release_date: "2026-01-01"'
        )
    )
    assert (
        check_release_params(path) == "" and load_params("release", ReleaseParams, path).derived_from is None
    )


@pytest.mark.parametrize(
    "text",
    [
        "gqa: {ingest: {seed: 1}}\n",
        'gqa:\n  ingest: {a: "x\ny: z"}\n',
        "gqa:\n  ingest: {seed: 1}\n...\n",
        '"gqa":\n  ingest: {seed: 1}\n',
        "gqa: text\n",
    ],
)
def test_a_section_that_copying_lines_would_change_is_refused(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match="the section `gqa` cannot be copied"):
        create_dataset("birds", tmp_path)
    assert path.read_text() == text and not (tmp_path / "data").exists()


def test_a_second_call_changes_nothing(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    create_dataset("birds", tmp_path)
    before = (tmp_path / "params.yaml").read_text()
    (tmp_path / "data/birds/annotations/README.md").write_text("mine")
    create_dataset("birds", tmp_path)
    assert (tmp_path / "params.yaml").read_text() == before
    assert (tmp_path / "data/birds/annotations/README.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["../x", "Birds", "release", "", "a b"])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path, name):
    (tmp_path / "params.yaml").write_text(PARAMS)
    with pytest.raises(UserError, match="invalid name"):
        create_dataset(name, tmp_path)
