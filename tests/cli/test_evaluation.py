"""Commands of an evaluation: `rgqa run`, `rgqa score` and `rgqa leaderboard`."""

import csv
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from pipeline.cli.leaderboard import write_leaderboard
from pipeline.cli.main import app
from pipeline.cli.score import main
from pipeline.core.errors import UserError
from pipeline.scoring import cli
from tests.inference.small_server import make_release, small_server
from tests.scoring.leaderboard.conftest import a_file, a_run, release  # noqa: F401

# Run


def command(released, server, *more):
    pytest.importorskip("inspect_ai")
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
        done = command(
            released, server.url, "--subset", "pt-hard", "--confidence", "token-probability", "--plots"
        )
    assert done.exit_code == 0 and "AUAF" in done.stdout, done.stderr
    folder = tmp_path / "runs/net-abstain-token-probability"
    assert (folder / "plots/pt-hard-acc-fpr.svg").is_file() and "plots ->" in done.stderr
    assert {path.name for path in folder.iterdir()} == {
        ".lock", "answers.jsonl", "plots", "predictions.jsonl", "run.json", "scores.json", "shown_scores.json"
    }  # fmt: skip


def test_a_mistake_is_one_message(tmp_path):
    done = command(make_release(tmp_path, 1), "http://127.0.0.1:1")
    assert done.exit_code == 1 and "error: net: no server answers at http://127.0.0.1:1/v1" in done.stderr


# Score


@pytest.fixture
def files(tmp_path):
    rows = [
        {"img_id": "n", "question_id": str(i), "sent": "?", "label": {"red" if i % 2 else "UQ": 1.0}}
        for i in range(8)
    ]
    answers = [{"questionId": str(i), "prediction": "red", "confidence": i / 10} for i in range(8)]
    (tmp_path / "b.json").write_text(json.dumps(rows))
    (tmp_path / "m.json").write_text(json.dumps(answers))
    return tmp_path / "b.json", tmp_path / "m.json"


def test_table_json_and_plots_are_made_from_one_call(files, tmp_path, capsys):
    words = ["--out", tmp_path / "out", "--plots", tmp_path / "plots", "--table", tmp_path / "t.csv"]
    main([str(word) for word in (*files, "--bootstrap", 0, *words)])
    found = json.loads((tmp_path / "out" / "scores.json").read_text())
    # AQs 1, 3, 5, 7 and UQs 0, 2, 4, 6 by confidence: 7 beats 4, 5 beats 3, 3 beats 2, 1 beats 1: 10 of 16.
    assert found["models"][0]["subsets"]["b"]["realistic"]["auroc"] == pytest.approx(10 / 16)
    assert "8 plots" in capsys.readouterr().err and len(list((tmp_path / "plots").iterdir())) == 8
    table = pd.read_csv(tmp_path / "t.csv").set_index(["group", "score"])["value"]
    assert table["realistic", "auroc"] == pytest.approx(10 / 16)


def test_all_problems_of_options_and_files_are_reported_together(files, tmp_path):
    words = [
        "--scores",
        "realistic,nope",
        "--mode",
        "loose",
        "--match",
        "fuzzy",
        "--table",
        "t.txt",
        "--seed",
        "-1",
    ]
    with pytest.raises(UserError) as caught:
        main([str(files[0]), str(tmp_path / "none.json"), *words])
    assert [problem.split(":")[0].split(",")[0] for problem in caught.value.problems] == [
        "t.txt",
        "--mode is 'loose'",
        "--match is 'fuzzy'",
        "--seed is -1",
        "--scores",
        str(tmp_path / "none.json"),
    ]


def test_messages_about_further_files_are_not_on_stdout(files, tmp_path, capsys):
    words = [*map(str, files), "--bootstrap", "0"]
    cli.main(words)
    plain = capsys.readouterr().out
    main([*words, "--table", str(tmp_path / "t.csv")])
    printed = capsys.readouterr()
    assert printed.out == plain and "rows -> " in printed.err


def test_invalid_plots_and_tables_are_refused_before_scoring(files, tmp_path):
    taken, many = str(files[1]), [str(files[1])] * 8
    for words, expected in (
        ([*many, "--plots", str(tmp_path / "p")], "--plots: 8 models; plots can show at most 7"),
        ([taken, "--plots", taken], f"--plots {taken}: "),
        ([taken, "--table", str(tmp_path)], "unknown table format"),
    ):
        with pytest.raises(UserError) as caught:
            main([str(files[0]), *words])
        assert expected in str(caught.value)


def test_the_command_line_passes_all_arguments_on(files, tmp_path):
    words = [
        str(files[0]),
        "--bootstrap=0",
        str(files[1]),
        "--json",
        str(tmp_path / "s.json"),
        "--allow-missing",
    ]
    done = CliRunner().invoke(app, ["score", *words])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("benchmark b, mode strict")
    assert json.loads((tmp_path / "s.json").read_text())["options"]["missing"] == "wrong"


def test_help_is_complete_and_a_mistake_ends_with_code_1(files):
    shown = CliRunner().invoke(app, ["score", "--help"])
    assert shown.exit_code == 0 and "Example: rgqa score" in shown.output
    assert all(word in shown.output for word in ("--plots", "--table", "--bootstrap", "wordnet"))
    assert CliRunner().invoke(app, ["score", str(files[0]), "none.json"]).exit_code == 1
    assert CliRunner().invoke(app, ["score", "--no-such-option"]).exit_code == 2


# Leaderboard
# `rgqa leaderboard` from runs and files to a table.


def test_runs_become_one_table_in_three_formats(a_run, tmp_path, capsys):  # noqa: F811
    runs = [a_run("a", "rp"), a_run("b", "blind", right=False)]
    write_leaderboard(runs, out=tmp_path / "board", num_bootstrap=100)
    printed = capsys.readouterr().out
    # Every AQ above every UQ and all answers right: AUAF 100 %; with reversed confidences 0.
    rows = [line.split("|") for line in printed.splitlines() if line.startswith("|")]
    assert [(row[3].strip(), row[4].split()[0]) for row in rows[2:4]] == [("rp", "100.0"), ("blind", "0.0")]
    whole = (tmp_path / "board" / "leaderboard.md").read_text()
    assert printed.splitlines()[0] == whole.splitlines()[0] == "# Leaderboard of small 1.0.0"
    assert "|".join(rows[2]) in whole and "## clip-hard" in whole
    assert "<!doctype html>" in (tmp_path / "board" / "leaderboard.html").read_text()
    rows = [*csv.DictReader((tmp_path / "board" / "leaderboard.csv").open())]
    assert {(row["row"], float(row["value"])) for row in rows if row["score"] == "auaf"} == {
        ("rp", 1),
        ("blind", 0),
    }


def test_a_complete_and_a_limited_run_are_compared_on_common_items_with_a_note(a_run, a_file, capsys):  # noqa: F811
    """Regression: a complete run and one with `--limit` were compared on the common items without a note."""
    limited = a_run("a", "rp", limit=2)
    (limited / "answers.jsonl").write_text('{"id": "a1"}\n{"id": "u1"}\n{"id": "p1"}\n')
    write_leaderboard([limited, a_run("b", "blind"), a_file("c")], num_bootstrap=100)
    printed = capsys.readouterr().out
    # a1 stands in both subsets, u1 and p1 in one each.
    assert "4 of 12 items" in printed and "rp has 4" in printed
    write_leaderboard([a_run("b", "blind"), a_file("c")], num_bootstrap=100)
    assert "of 12 items" not in capsys.readouterr().out


def test_unanswered_items_of_a_run_are_wrong_and_a_file_must_be_complete(a_run, a_file, release, capsys):  # noqa: F811
    write_leaderboard([a_run("a", "rp", left_out=("a1",))], num_bootstrap=100)
    printed = capsys.readouterr().out
    # FACC: 2 of 3 AQs right in both subsets; the AQ without an answer is in both.
    assert "66.7" in printed and "rp: 2 of 12 items without an answer" in printed
    with pytest.raises(UserError, match="a1"):
        write_leaderboard([a_file("x", left_out=("a1",))], release, num_bootstrap=100)


def test_wrong_input_is_one_message(a_run, tmp_path):  # noqa: F811
    ended = CliRunner().invoke(
        app, ["leaderboard", str(tmp_path / "none"), str(a_run("a", "rp")), "--bootstrap", "100"]
    )
    assert (
        ended.exit_code == 1
        and "none" in ended.output + str(ended.stderr)
        and "Traceback" not in ended.output
    )
    with pytest.raises(UserError, match="--out .*run.json: "):
        write_leaderboard([a_run("b", "rp")], out=a_run("c", "rp") / "run.json")


def test_outputs_replace_no_input_and_the_bootstrap_is_limited(a_file, release, tmp_path):  # noqa: F811
    path = a_file("x")
    (tmp_path / "board").mkdir()
    board = path.rename(tmp_path / "board/leaderboard.csv")
    before = board.read_bytes()
    with pytest.raises(UserError, match="--bootstrap"):
        write_leaderboard([board], release, num_bootstrap=10**15)
    with pytest.raises(UserError, match="--out .*board: "):
        write_leaderboard([board], release, tmp_path / "board")
    assert board.read_bytes() == before


def test_runs_of_other_questions_are_not_compared(a_run):  # noqa: F811
    one, other = (a_run(name, name, limit=1) for name in ("a", "b"))
    (one / "answers.jsonl").write_text('{"id": "a1"}\n')
    (other / "answers.jsonl").write_text('{"id": "a2"}\n')
    with pytest.raises(UserError, match="no question in common"):
        write_leaderboard([one, other])
