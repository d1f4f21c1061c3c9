"""`rgqa leaderboard` from runs and files to a table."""

import csv

import pytest
from typer.testing import CliRunner

from pipeline.cli.leaderboard import write_leaderboard
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from tests.scoring.leaderboard.conftest import a_file, a_run, release  # noqa: F401


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
