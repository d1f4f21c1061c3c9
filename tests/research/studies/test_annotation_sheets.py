"""Sheets for readers: their content, their key, and faults of filled sheets."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from pipeline.core.errors import Problems
from pipeline.core.json_files import write_jsonl
from pipeline.core.records import Candidate, Edit, Question, ScreenedCandidate, VerifierResult
from research.studies.annotation_sheets import read_sheet

NUM_QUESTIONS = 12


@pytest.fixture
def screened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set with twelve candidates of both subsets, of which the last repeats the first one's text."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: few\nfew: {}\n")
    interim = Path("data/few/interim")
    asked = [
        Question(
            question_id=f"q{i}",
            image_id=f"n{i}",
            split="testdev",
            text=f"What color is cup {i}?",
            answer="red",
        )
        for i in range(NUM_QUESTIONS)
    ]
    write_jsonl(interim / "ingest" / "questions.jsonl", asked)
    made = [
        ScreenedCandidate(
            candidate=Candidate(
                candidate_id=f"{subset}-{i}",
                subset=subset,
                image_id=f"n{i}",
                question_id=f"q{i}",
                text=f"What color is {subset} {i % (NUM_QUESTIONS - 1)}?",
                edits=(Edit(start=14, end=17, kind="object", old=f"cup {i}", new="kettle"),),
                query_only=i % 2 == 1,
            ),
            verifier_result=VerifierResult(answerability="unknown"),
        )
        for subset in ("pt-easy", "pt-hard")
        for i in range(NUM_QUESTIONS)
    ]
    write_jsonl(interim / "screen" / "screened.jsonl", made)
    return tmp_path


def draw(*options: str) -> tuple[int, str]:
    arguments = ["study", "edit-quality", "create-sheets", "--out", "sheets", *options]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(f"sheets/sheets_to_fill/{name}.csv").read_text().splitlines()))


def test_the_key_finds_each_edited_question_in_both_sheets(screened):
    assert draw("--count", "5")[0] == 0
    for subset, key in json.loads(Path("sheets/key.json").read_text()).items():
        texts, pairs = rows(f"{subset}-texts"), rows(f"{subset}-pairs")
        assert [row["row"] for row in texts] == [str(row + 1) for row in range(10)]
        assert list(texts[0]) == ["row", "text", "grammatical", "plausible"]
        assert list(pairs[0]) == ["row", "original", "edited", "changed", "presupposed", "answerable"]
        for edited in key:
            number = int(edited["candidate_id"].removeprefix(f"{subset}-"))
            text, pair = texts[edited["text_row"] - 1], pairs[edited["pair_row"] - 1]
            assert (pair["original"], pair["edited"]) == (
                f"What color is cup {number}?",
                f"What color is {subset} {number % (NUM_QUESTIONS - 1)}?",
            )
            assert text["text"] == pair["edited"]
            assert (edited["edits"], edited["is_query_only"]) == (
                [f"object: cup {number} > kettle"],
                number % 2 == 1,
            )


def test_texts_have_as_many_originals_of_other_questions(screened):
    draw("--count", "5")
    for subset in ("pt-easy", "pt-hard"):
        texts = [row["text"] for row in rows(f"{subset}-texts")]
        assert Counter("cup" in text for text in texts) == {True: 5, False: 5}
        assert not {row["original"] for row in rows(f"{subset}-pairs")} & set(texts)
        assert ["cup" in text for text in texts] != sorted("cup" in text for text in texts)  # mixed


def test_no_text_occurs_twice_and_edited_questions_take_precedence(screened):
    draw("--count", "200")
    assert (
        len({row["edited"] for row in rows("pt-easy-pairs")})
        == len(rows("pt-easy-pairs"))
        == NUM_QUESTIONS - 1
    )
    texts = [row["text"] for row in rows("pt-easy-texts")]
    assert sum("cup" in text for text in texts) == 1  # of the question whose edited text is a duplicate


def test_blank_sheets_come_with_the_guide_but_without_key_and_marks(screened):
    draw("--count", "5")
    names = {path.name for path in Path("sheets/sheets_to_fill").iterdir()}
    sheets = {f"{subset}-{kind}.csv" for subset in ("pt-easy", "pt-hard") for kind in ("texts", "pairs")}
    assert names == sheets | {"guide.md"}
    for name in sheets:
        assert all(
            not row[mark]
            for row in rows(name[:-4])
            for mark in row
            if mark not in ("row", "text", "original", "edited")
        )
    assert "`presupposed`" in Path("sheets/sheets_to_fill/guide.md").read_text()


def test_sheets_depend_on_the_seed(screened):
    sheets = []
    for seed in ("1", "1", "2"):
        draw("--count", "5", "--seed", seed)
        sheets.append([row["text"] for row in rows("pt-hard-texts")])
        Path("sheets/key.json").unlink()
    assert sheets[0] == sheets[1] != sheets[2]


def test_existing_sheets_are_never_replaced(screened):
    draw()
    code, output = draw("--seed", "2")
    assert code == 1 and output.startswith("error: sheets: ") and "--out" in output


@pytest.mark.parametrize("option", [("--count", "0"), ("--seed", "-1")])
def test_numbers_out_of_range_are_errors(screened, option):
    assert draw(*option)[0] == 2
    assert not Path("sheets").exists()


def filled(folder: Path, text: str) -> tuple[list[str], list[str]]:
    """Return the faults of a filled sheet of two pairs, and its marks `presupposed`."""
    for name, content in (("sheets_to_fill", "1,A?,B?,,,\n2,C?,D?,,,\n"), ("ann", text)):
        (folder / name).mkdir()
        head = "row,original,edited,changed,presupposed,answerable\n"
        (folder / name / "pt-easy-pairs.csv").write_text(head + content, encoding="utf-8-sig")
    problems = Problems("sheets")
    sheet = read_sheet(folder / "ann" / "pt-easy-pairs.csv", folder / "sheets_to_fill", problems)
    return [line.split("pt-easy-pairs.csv")[1] for line in problems.lines], list(sheet["presupposed"])


def test_capitals_spaces_and_byte_order_marks_are_accepted(tmp_path):
    assert filled(tmp_path, "1,A?,B?,Y, l ,n\n2,C?,D?,n,N,n\n") == ([], ["l", "n"])


def test_every_missing_or_unknown_mark_is_reported(tmp_path):
    assert filled(tmp_path, "1,A?,B?,y,x,n\n2,C?,D?,l,y,\n")[0] == [
        ", row 2: changed is 'l'. Use one of y, n",
        ", row 1: presupposed is 'x'. Use one of y, l, n",
        ", row 2: answerable is ''. Use one of y, n",
    ]


def test_a_sorted_sheet_is_reported(tmp_path):
    faults = filled(tmp_path, "2,C?,D?,y,y,y\n1,A?,B?,y,y,n\n")[0]
    assert [fault.partition(": differs")[0] for fault in faults] == [", row 1", ", row 2"]


def test_a_sheet_with_too_few_rows_is_reported(tmp_path):
    assert filled(tmp_path, "1,A?,B?,y,y,n\n")[0] == [": 1 row, but the blank sheet has 2"]
