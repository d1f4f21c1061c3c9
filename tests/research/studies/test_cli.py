"""`rgqa study`: each command has help, and ends without a traceback where there is nothing to study."""

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app

COMMANDS = (
    ["text-only-baseline"],
    ["transformer-attacker"],
    ["verifier-agreement"],
    ["verifier-completeness"],
    ["edit-quality", "create-sheets"],
    ["edit-quality", "score-sheets"],
    ["derive-kinds"],
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
        ["text-only-baseline"],
        ["transformer-attacker"],
        ["verifier-agreement"],
        ["edit-quality", "create-sheets", "--out", "sheets"],
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.output.startswith("error: params.yaml: no such file")


def test_the_verifiers_agreement_is_reported_for_a_run(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    table = run("verifier-agreement", "--num-other-images", "1")
    assert table.exit_code == 0 and "| all |" in table.output
    verdicts = run("verifier-agreement", "--num-examples", "4", "--num-other-images", "3")
    assert verdicts.exit_code == 0 and "## 1. " in verdicts.output and "Verdict: **" in verdicts.output


def test_the_text_only_baseline_is_reported_for_a_run(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    out = tmp_path / "baseline.json"
    result = run("text-only-baseline", "--bootstrap", "5", "--folds", "2", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert result.output.count("| pt-easy |") == 3 and out.is_file()


@pytest.mark.parametrize(
    "command",
    [
        ["text-only-baseline", "--out", "params.yaml"],
        ["transformer-attacker", "--out", "data/tiny/interim/balance/balance.json"],
        ["edit-quality", "create-sheets", "--out", "data/tiny/source"],
    ],
    ids=lambda command: command[0],
)
def test_an_output_never_replaces_an_input(command, tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    result = run(*command)
    assert result.exit_code == 1 and result.output.startswith(f"error: --out {command[-1]}: "), result.output
