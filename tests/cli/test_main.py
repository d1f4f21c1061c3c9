"""Help and errors of the command line."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from pipeline.cli.main import COMMAND_SECTIONS, app

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
