"""Summaries of the marks that readers give to perturbed questions."""

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from research.studies.edit_quality import SUBSETS

EDITED = 10


@pytest.fixture
def sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sheets of ten edited questions and five originals; text row 15 - i and pair row i + 1 are of edited question i,
    of which the last two are query-only."""
    monkeypatch.chdir(tmp_path)
    key = [
        {
            "candidate_id": f"c{i}",
            "text_row": 15 - i,
            "pair_row": i + 1,
            "edits": [f"object: cup > kettle {i}"],
            "is_query_only": i >= 8,
        }
        for i in range(EDITED)
    ]
    fill("sheets_to_fill", {})
    Path("sheets/key.json").write_text(json.dumps(dict.fromkeys(SUBSETS, key)))
    return tmp_path


def fill(reader: str, against: dict[int, tuple[str, str]], original: str = "y") -> None:
    """A reader's sheets. Args: against: edited question -> a mark and its letter. original: of the first original's
    `plausible`."""
    folder = Path("sheets") / reader
    folder.mkdir(parents=True)
    texts, pairs = ["row,text,grammatical,plausible"], ["row,original,edited,changed,presupposed,answerable"]
    for row in range(1, 16):
        edited = 15 - row
        marks = {"grammatical": "y", "plausible": original if row == 1 else "y"}
        marks |= dict([against[edited]] if edited < EDITED and edited in against else [])
        texts.append(f"{row},Text {row}?,{marks['grammatical']},{marks['plausible']}")
    for i in range(EDITED):
        marks = {"changed": "y", "presupposed": "y", "answerable": "n"} | dict(
            [against[i]] if i in against else []
        )
        pairs.append(
            f"{i + 1},Old {i}?,New {i}?,{marks['changed']},{marks['presupposed']},{marks['answerable']}"
        )
    for subset in SUBSETS:
        for kind, lines in (("texts", texts), ("pairs", pairs)):
            (folder / f"{subset}-{kind}.csv").write_text("\n".join(lines) + "\n")


def score(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["study", "edit-quality", "score-sheets", "sheets", *arguments])
    return result.exit_code, result.output


def figures(part: str = "summaries") -> dict:
    return json.loads(Path("sheets/edit_quality.json").read_text())[part]["pt-easy"]


def test_rates_intervals_and_kappa(sheets):
    fill("ann", {0: ("grammatical", "n"), 1: ("grammatical", "n")})
    fill("ben", {1: ("grammatical", "n")})
    code, output = score("sheets/ann", "sheets/ben")
    assert code == 0
    figure = figures()["grammatical"]
    assert [reader["rate"] for reader in figure["readers"]] == [0.8, 0.9]
    # Wilson, 9 of 10: (0.9 + 0.192 -+ 1.96 sqrt(0.009 + 0.0096)) / 1.384
    assert figure["readers"][1]["interval"] == pytest.approx([0.5959, 0.9821], abs=1e-4)
    # agreement 0.9; by chance 0.8 * 0.9 + 0.2 * 0.1 = 0.74; (0.9 - 0.74) / 0.26
    assert figure["kappa"] == pytest.approx(0.16 / 0.26)
    assert figures()["changed"]["kappa"] is None  # both said yes throughout
    line = "  grammatical           80.0% (49.0% to 94.3%);  90.0% (59.6% to 98.2%); kappa 0.62; target 97% missed"
    assert f"pt-easy: 10 edited questions\n{line}; originals 100.0%, 100.0%" in output


@pytest.mark.parametrize(
    ("mark", "letter", "missed"),
    [
        ("grammatical", "n", {"grammatical"}),
        ("plausible", "n", {"plausible"}),
        ("changed", "n", {"changed"}),
        ("presupposed", "l", {"presupposed (strict)"}),
        ("presupposed", "n", {"presupposed", "presupposed (strict)"}),
        ("answerable", "y", {"not answerable"}),
    ],
)
def test_each_fault_counts_for_its_finding_and_for_all_criteria(sheets, mark, letter, missed):
    fill("ann", {3: (mark, letter)})
    score("sheets/ann")
    rates = {name: figure["readers"][0]["rate"] for name, figure in figures().items()}
    assert rates == dict.fromkeys(rates, 1) | dict.fromkeys(missed, 0.9) | ({"all criteria": 0.9})


def test_all_criteria_counts_a_question_with_two_faults_once(sheets):
    fill("ann", {3: ("plausible", "n"), 4: ("answerable", "y")})
    text = Path("sheets/ann/pt-easy-pairs.csv").read_text()
    Path("sheets/ann/pt-easy-pairs.csv").write_text(text.replace("New 3?,y,y,n", "New 3?,y,n,y"))
    score("sheets/ann")
    assert figures()["all criteria"]["readers"][0]["count"] == 8


def test_originals_are_reported_separately(sheets):
    fill("ann", {}, original="n")
    score("sheets/ann")
    assert [row["count"] for row in figures()["plausible"]["originals"]] == [4]
    assert (
        figures()["plausible"]["originals"][0]["total"],
        figures()["plausible"]["readers"][0]["rate"],
    ) == (
        5,
        1,
    )
    assert figures()["changed"]["originals"] == []


def test_a_target_is_reached_only_if_all_readers_reach_it(sheets):
    fill("ann", {0: ("presupposed", "l")})
    fill("ben", {0: ("presupposed", "l"), 1: ("presupposed", "l")})
    score("sheets/ann", "sheets/ben")
    strict = json.loads(Path("sheets/edit_quality.json").read_text())["summaries"]
    # 9 and 8 of 10, of which pt-easy wants 0.90 and pt-hard 0.85
    assert [strict[subset]["presupposed (strict)"]["is_target_reached"] for subset in SUBSETS] == [
        False,
        False,
    ]
    score("sheets/ann")
    strict = json.loads(Path("sheets/edit_quality.json").read_text())["summaries"]
    assert [strict[subset]["presupposed (strict)"]["is_target_reached"] for subset in SUBSETS] == [True, True]


def test_query_only_edits_have_their_own_summary(sheets):
    fill("ann", {8: ("answerable", "y")})
    output = score("sheets/ann")[1]
    assert figures("query_only_summaries")["not answerable"]["readers"][0] | {"interval": None} == {
        "count": 1,
        "total": 2,
        "rate": 0.5,
        "interval": None,
    }
    assert "pt-easy, query-only: 2 edited questions" in output


def test_the_worst_edits_have_the_most_faults(sheets):
    fill("ann", {2: ("plausible", "n"), 7: ("grammatical", "n"), 8: ("answerable", "y")})
    fill("ben", {7: ("changed", "n"), 8: ("answerable", "y")})
    output = score("sheets/ann", "sheets/ben", "--num-worst", "5")[1]
    worst = json.loads(Path("sheets/edit_quality.json").read_text())["worst_edits"]
    # two marks each against c7 and c8, one against c2, in either subset
    assert Counter(row["candidate_id"] for row in worst) == {"c7": 2, "c8": 2, "c2": 1}
    assert [sum(row["fault_counts"].values()) for row in worst] == [2, 2, 2, 2, 1]
    assert worst[0]["fault_counts"] == {"grammatical": 1, "changed": 1}
    assert "  Old 7? -> New 7?  [object: cup > kettle 7]\n      not grammatical 1, not changed 1\n" in output
    assert "  Old 8? -> New 8?  [object: cup > kettle 8; query-only]\n      answerable 2\n" in output
    assert "Old 2? -> New 2?" not in score("sheets/ann", "sheets/ben", "--num-worst", "4")[1]


def test_all_faults_of_the_sheets_are_reported_at_once(sheets):
    fill("ann", {0: ("presupposed", "x"), 1: ("plausible", "")})
    Path("sheets/ann/pt-hard-pairs.csv").unlink()
    code, output = score("sheets/ann")
    assert code == 1
    assert "sheets of the raters: 4 problems" in output  # the second in both subsets' texts
    assert "sheets/ann/pt-easy-pairs.csv, row 1: presupposed is 'x'. Use one of y, l, n" in output
    assert "sheets/ann/pt-hard-texts.csv, row 14: plausible is ''. Use one of y, n" in output
    assert "sheets/ann/pt-hard-pairs.csv: no such file" in output
    assert not Path("sheets/edit_quality.json").exists()
