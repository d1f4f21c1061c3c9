import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.scorers import command
from pipeline.scorers.running.run_command import main

from .small_server import make_release, small_server

pytest.importorskip("inspect_ai")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return make_release(tmp_path_factory.mktemp("release"), 12)


@pytest.fixture
def line(released, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.scorers.running.run_model.TRIES", 0)

    def make(server, *more):
        pictures = ["--pictures", str(released / "pictures")]
        return [str(released), "--server", server.url, "--model", "net", *pictures, "--out", "run", *more]

    return make


def test_a_run_ends_with_the_scores_of_its_predictions(line, released, capsys, tmp_path):
    with small_server() as server:
        main(line(server, "--recipe", "token-probability"))
    shown = capsys.readouterr()
    assert "run: 24 of 24 items answered" in shown.err and "-> run" in shown.err
    assert "AUAF" in shown.out and "clip-easy" in shown.out and "pt-hard" in shown.out
    command.main([str(released), "run/predictions.jsonl", "--json", "again.json"])
    ours, again = (json.loads((tmp_path / name).read_text()) for name in ("run/scores.json", "again.json"))
    assert (
        ours["models"][0]["subsets"] == again["models"][0]["subsets"] and ours["models"][0]["name"] == "run"
    )


def test_of_a_limited_run_what_was_asked_is_scored(line, capsys):
    with small_server() as server:
        main(line(server, "--limit", "9"))
    report = json.loads(Path("run/scores.json").read_text())
    counts = report["models"][0]["subsets"]["pt-hard"]["counts"]
    assert counts["items"] == 9 and len(Path("run/predictions.jsonl").read_text().splitlines()) == 9


def test_items_without_an_answer_count_as_answered_wrong_and_are_named(line, capsys):
    with small_server(failing=range(3, 6), status=400) as server:
        main(line(server))
    shown = capsys.readouterr()
    assert "3 failed" in shown.err
    assert (
        "3 items without an answer count as answered wrong:\n  " in shown.out and "out of order" in shown.out
    )
    report = json.loads(Path("run/scores.json").read_text())
    assert report["models"][0]["subsets"]["pt-hard"]["counts"]["missing"] == 3


def test_too_few_questions_for_a_score_are_no_mistake(line, capsys):
    with small_server() as server:
        main(line(server, "--limit", "1"))
    shown = capsys.readouterr()
    assert "run: 1 of 1 items answered" in shown.err and "run: no scores of clip-easy, pt-hard" in shown.err
    assert shown.out == "" and not Path("run/scores.json").exists()


def test_where_nothing_is_answered_nothing_is_scored(line, capsys):
    with small_server(failing=range(3, 99), status=400) as server, pytest.raises(SystemExit) as end:
        main(line(server, "--limit", "5"))
    assert end.value.code == 1
    error = capsys.readouterr().err
    assert "error: there is no answer to score\n  " in error and "out of order" in error


def test_a_user_s_mistake_is_one_message_and_exit_code_1(line, capsys):
    with small_server(logprobs=False) as server, pytest.raises(SystemExit) as end:
        main(line(server, "--recipe", "p-true"))
    assert end.value.code == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("error: openai-api/server/net gives no log probabilities")


def test_the_help_needs_no_inspect_ai():
    code = "import sys; sys.modules['inspect_ai'] = None; from pipeline.scorers.running.run_command import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--recipe" in done.stdout


def test_without_inspect_ai_it_is_said_how_to_install_it(released):
    code = "import sys; sys.modules['inspect_ai'] = None; from pipeline.scorers.running.run_command import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", code, str(released), "--model", "openai/x"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        'error: inspect_ai is not installed; it runs the models: pip install "rgqa-scorers[inspect]"\n'
    )
