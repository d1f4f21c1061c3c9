import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from tests.inference.small_server import make_release, small_server

pytest.importorskip("inspect_ai")


def command(released, server, *more):
    words = [
        "run",
        str(released),
        "--server",
        server,
        "--model",
        "net",
        "--images",
        str(released / "images"),
    ]
    return CliRunner().invoke(app, [*words, *more])


def test_the_command_draws_plots(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    released = make_release(tmp_path, 6)
    with small_server() as server:
        done = command(released, server.url, "--subset", "pt-hard", "--confidence", "token-probability")
    assert done.exit_code == 0 and "AUAF" in done.stdout, done.stderr
    folder = tmp_path / "runs/net-abstain-token-probability"
    assert (folder / "plots/pt-hard-acc-fpr.svg").is_file() and "plots ->" in done.stderr
    assert {path.name for path in folder.iterdir()} == {
        ".lock", "answers.jsonl", "logs", "plots", "predictions.jsonl", "run.json", "scores.json"
    }  # fmt: skip


def test_a_mistake_is_one_message(tmp_path):
    done = command(make_release(tmp_path, 1), "http://127.0.0.1:1")
    assert (
        done.exit_code == 1
        and "error: openai-api/server/net: no server answers at http://127.0.0.1:1/v1" in done.stderr
    )
