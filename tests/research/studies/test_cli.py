"""`rgqa study`: each command says how it is called, and ends without a traceback where there is nothing to study."""

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app

COMMANDS = (
    ["blind-baseline"],
    ["attackers"],
    ["judge-agreement"],
    ["judge-completeness"],
    ["reading", "draw"],
    ["reading", "score"],
    ["kinds"],
)


def run(*arguments):
    return CliRunner().invoke(app, ["study", *arguments])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_has_help_and_an_example(command):
    text = run(*command, "--help").output
    assert f"Example: rgqa study {' '.join(command)}" in " ".join(text.split())


def test_a_study_without_a_run_ends_with_one_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["blind-baseline"],
        ["attackers"],
        ["judge-agreement"],
        ["reading", "draw", "--out", "sheets"],
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.output == "error: params.yaml: no such file; run this from the project's root\n"


def test_the_judges_agreement_is_told_of_a_run(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    table = run("judge-agreement", "--num-other-images", "1")
    assert table.exit_code == 0 and "| all |" in table.output
    verdicts = run("judge-agreement", "--num-examples", "4", "--num-other-images", "3")
    assert verdicts.exit_code == 0 and "## 1. " in verdicts.output and "Verdict: **" in verdicts.output


def test_the_blind_baseline_is_told_of_a_run(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    told = run("blind-baseline", "--bootstrap", "5", "--folds", "2", "--out", str(tmp_path / "blind.json"))
    assert told.exit_code == 0, told.output
    assert told.output.count("| pt-easy |") == 3 and (tmp_path / "blind.json").is_file()


@pytest.mark.parametrize(
    "command",
    [
        ["blind-baseline", "--out", "params.yaml"],
        ["attackers", "--out", "data/tiny/interim/balance/balance.json"],
        ["reading", "draw", "--out", "data/tiny/source"],
    ],
    ids=lambda command: command[0],
)
def test_an_output_replaces_nothing_that_is_read(command, tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    told = run(*command)
    assert told.exit_code == 1 and told.output.startswith(f"error: --out {command[-1]}: "), told.output
