"""Blind sheets: what a reader sees, what the key tells, and what is wrong with a sheet that comes back."""

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

ASKED = 12


@pytest.fixture
def screened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set with twelve candidates of either subset, of which the last repeats the first one's text."""
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
        for i in range(ASKED)
    ]
    write_jsonl(interim / "ingest" / "questions.jsonl", asked)
    made = [
        ScreenedCandidate(
            candidate=Candidate(
                candidate_id=f"{subset}-{i}",
                subset=subset,
                image_id=f"n{i}",
                question_id=f"q{i}",
                text=f"What color is {subset} {i % (ASKED - 1)}?",
                edits=(Edit(start=14, end=17, kind="object", old=f"cup {i}", new="kettle"),),
                query_only=i % 2 == 1,
            ),
            verifier_result=VerifierResult(answerability="unknown"),
        )
        for subset in ("pt-easy", "pt-hard")
        for i in range(ASKED)
    ]
    write_jsonl(interim / "screen" / "screened.jsonl", made)
    return tmp_path


def draw(*options: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["study", "reading", "draw", "--out", "sheets", *options])
    return result.exit_code, result.output


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(f"sheets/to_read/{name}.csv").read_text().splitlines()))


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
                f"What color is {subset} {number % (ASKED - 1)}?",
            )
            assert text["text"] == pair["edited"]
            assert (edited["edits"], edited["weak"]) == (
                [f"object: cup {number} > kettle"],
                number % 2 == 1,
            )


def test_as_many_originals_stand_among_the_texts_and_none_of_a_question_that_was_edited(screened):
    draw("--count", "5")
    for subset in ("pt-easy", "pt-hard"):
        texts = [row["text"] for row in rows(f"{subset}-texts")]
        assert Counter("cup" in text for text in texts) == {True: 5, False: 5}
        assert not {row["original"] for row in rows(f"{subset}-pairs")} & set(texts)
        assert ["cup" in text for text in texts] != sorted("cup" in text for text in texts)  # mixed


def test_no_text_stands_twice_and_edited_questions_come_before_originals(screened):
    draw("--count", "200")
    assert len({row["edited"] for row in rows("pt-easy-pairs")}) == len(rows("pt-easy-pairs")) == ASKED - 1
    texts = [row["text"] for row in rows("pt-easy-texts")]
    assert sum("cup" in text for text in texts) == 1  # of the one question whose edited text is there already


def test_what_is_handed_out_has_the_guide_and_no_key_and_no_mark(screened):
    draw("--count", "5")
    names = {path.name for path in Path("sheets/to_read").iterdir()}
    sheets = {f"{subset}-{kind}.csv" for subset in ("pt-easy", "pt-hard") for kind in ("texts", "pairs")}
    assert names == sheets | {"guide.md"}
    for name in sheets:
        assert all(
            not row[mark]
            for row in rows(name[:-4])
            for mark in row
            if mark not in ("row", "text", "original", "edited")
        )
    assert "`presupposed`" in Path("sheets/to_read/guide.md").read_text()


def test_a_seed_gives_the_same_sheets_again_and_another_one_others(screened):
    sheets = []
    for seed in ("1", "1", "2"):
        draw("--count", "5", "--seed", seed)
        sheets.append([row["text"] for row in rows("pt-hard-texts")])
        Path("sheets/key.json").unlink()
    assert sheets[0] == sheets[1] != sheets[2]


def test_sheets_that_are_there_are_never_replaced(screened):
    draw()
    code, output = draw("--seed", "2")
    assert code == 1 and output.startswith("error: sheets: sheets are there already")


@pytest.mark.parametrize("option", [("--count", "0"), ("--seed", "-1")])
def test_numbers_out_of_range_are_refused(screened, option):
    assert draw(*option)[0] == 2
    assert not Path("sheets").exists()


def filled(folder: Path, text: str) -> tuple[list[str], list[str]]:
    """What is wrong with a sheet of two pairs that came back as `text`, and what was read of `presupposed`."""
    for name, content in (("to_read", "1,A?,B?,,,\n2,C?,D?,,,\n"), ("ann", text)):
        (folder / name).mkdir()
        head = "row,original,edited,changed,presupposed,answerable\n"
        (folder / name / "pt-easy-pairs.csv").write_text(head + content, encoding="utf-8-sig")
    problems = Problems("sheets")
    sheet = read_sheet(folder / "ann" / "pt-easy-pairs.csv", folder / "to_read", problems)
    return [line.split("pt-easy-pairs.csv")[1] for line in problems.lines], list(sheet["presupposed"])


def test_capitals_spaces_and_the_mark_that_spreadsheets_put_before_a_text_are_no_fault(tmp_path):
    assert filled(tmp_path, "1,A?,B?,Y, l ,n\n2,C?,D?,n,N,n\n") == ([], ["l", "n"])


def test_each_mark_that_is_missing_or_unknown_is_told(tmp_path):
    assert filled(tmp_path, "1,A?,B?,y,x,n\n2,C?,D?,l,y,\n")[0] == [
        ", row 2: changed is 'l', wanted one of y, n",
        ", row 1: presupposed is 'x', wanted one of y, l, n",
        ", row 2: answerable is '', wanted one of y, n",
    ]


def test_a_sheet_that_was_sorted_is_told(tmp_path):
    assert filled(tmp_path, "2,C?,D?,y,y,y\n1,A?,B?,y,y,n\n")[0] == [
        f", row {row}: not what was drawn; leave rows, their order and texts as they are" for row in (1, 2)
    ]


def test_a_sheet_with_too_few_rows_is_told(tmp_path):
    assert filled(tmp_path, "1,A?,B?,y,y,n\n")[0] == [": 1 row, the sheet that was drawn has 2"]
