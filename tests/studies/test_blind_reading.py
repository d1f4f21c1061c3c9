"""Blind sheets for two readers, and what their marks come to."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.core.files import write_jsonl
from pipeline.core.records import Candidate, Judgement, Question, Screened
from studies.blind_reading import MARKS

PAIRS = 10


@pytest.fixture
def screened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set with ten candidates of either subset, and an eleventh that repeats the first one's text."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: few\nfew: {}\n")
    interim = Path("data/few/interim")
    asked = [
        Question(
            question_id=f"q{i}",
            picture_id=f"n{i}",
            split="testdev",
            text=f"What color is cup {i}?",
            answer="red",
        )
        for i in range(PAIRS + 1)
    ]
    write_jsonl(interim / "ingest" / "questions.jsonl", asked)
    made = [
        Screened(
            candidate=Candidate(
                candidate_id=f"{subset}-{i}",
                subset=subset,
                picture_id=f"n{i}",
                question_id=f"q{i}",
                text=f"What color is {subset} {i % PAIRS}?",
            ),
            judgement=Judgement(answerability="unknown"),
        )
        for subset in ("pt-easy", "pt-hard")
        for i in range(PAIRS + 1)
    ]
    write_jsonl(interim / "screen" / "screened.jsonl", made)
    return tmp_path


def told(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["study", "reading", *arguments])
    return result.exit_code, result.output


def fill(folder: Path, faulty: int, **marks: str) -> None:
    """A copy of the sheets by a reader who finds the edited text of the first `faulty` rows ungrammatical."""
    folder.mkdir()
    key = json.loads(Path("sheets/key.json").read_text())
    for subset, pairs in key.items():
        rows = list(csv.DictReader(Path(f"sheets/{subset}.csv").read_text().splitlines()))
        for number, (row, pair) in enumerate(zip(rows, pairs, strict=True)):
            row.update({"a_good": "y", "b_good": "y", "changed": "y", "where": "p", **marks})
            if number < faulty:
                row[f"{pair['edited']}_good"] = "n"
        with (folder / f"{subset}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def test_each_row_shows_an_original_and_its_edit_and_the_key_tells_which(screened):
    assert told("draw", "--count", "20", "--out", "sheets")[0] == 0
    key = json.loads(Path("sheets/key.json").read_text())
    for subset in ("pt-easy", "pt-hard"):
        rows = list(csv.DictReader(Path(f"sheets/{subset}.csv").read_text().splitlines()))
        assert len(rows) == PAIRS  # no text twice
        for row, pair in zip(rows, key[subset], strict=True):
            edited, original = (row["a"], row["b"]) if pair["edited"] == "a" else (row["b"], row["a"])
            number = pair["candidate_id"].removeprefix(f"{subset}-")
            assert (edited, original) == (
                f"What color is {subset} {int(number) % PAIRS}?",
                f"What color is cup {number}?",
            )
            assert not any(row[mark] for mark in MARKS)
    assert {pair["edited"] for pairs in key.values() for pair in pairs} == {"a", "b"}


def test_sheets_that_are_there_are_never_replaced(screened):
    told("draw", "--out", "sheets")
    code, output = told("draw", "--out", "sheets", "--seed", "2")
    assert code == 1 and output.startswith("error: sheets: sheets are there already")


def test_shares_intervals_and_kappa(screened):
    told("draw", "--out", "sheets")
    fill(Path("sheets/ann"), 2)
    fill(Path("sheets/ben"), 1)
    code, output = told("score", "sheets", "sheets/ann", "sheets/ben")
    assert code == 0
    figures = json.loads(Path("sheets/reading.json").read_text())["pt-easy"]
    ann, ben = figures["grammatical"]["readers"]
    assert (ann["share"], ben["share"]) == (0.8, 0.9)
    # Wilson, 9 of 10: (0.9 + 0.192 -+ 1.96 sqrt(0.009 + 0.0096)) / 1.384
    assert ben["interval"] == pytest.approx([0.5959, 0.9821], abs=1e-4)
    # agreement 0.9; by chance 0.8 * 0.9 + 0.2 * 0.1 = 0.74; (0.9 - 0.74) / 0.26
    assert figures["grammatical"]["kappa"] == pytest.approx(0.16 / 0.26)
    assert (
        figures["original grammatical"]["readers"][0]["share"]
        == figures["presupposition"]["readers"][0]["share"]
        == 1
    )
    assert (
        "pt-easy  frame word           0.0% (0.0% to 27.8%); 0.0% (0.0% to 27.8%); kappa undefined" in output
    )


def test_everything_wrong_with_the_sheets_is_told_at_once(screened):
    told("draw", "--out", "sheets")
    fill(Path("sheets/ann"), 0, where="x")
    Path("sheets/ann/pt-hard.csv").unlink()
    code, output = told("score", "sheets", "sheets/ann")
    assert code == 1
    assert f"readers' sheets: {PAIRS + 1} problems" in output
    assert "sheets/ann/pt-easy.csv, row 1: where is 'x', wanted one of p, a, f" in output
    assert "sheets/ann/pt-hard.csv: no such file" in output


@pytest.mark.parametrize("option", [("--count", "0"), ("--seed", "-1")])
def test_numbers_out_of_range_are_refused(screened, option):
    assert told("draw", "--out", "sheets", *option)[0] == 2
    assert not Path("sheets").exists()
