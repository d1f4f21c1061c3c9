"""The table of several models: its numbers are those of `rgqa score`, its letters those of the paired intervals."""

import csv
import io
import math
import re

import pytest

from pipeline.leaderboard.run_results import RunResult
from pipeline.leaderboard.run_table import TableCell, notes, run_table, table_csv, table_html, table_markdown
from pipeline.scorers.answered import Options
from pipeline.scorers.differences import simultaneous
from pipeline.scorers.model_report import score

NASTY = "<script>alert(1)</script> | =1+1\x1b[31m"
OPTIONS = Options(("realistic",), part="all", bootstrap=200, missing="wrong")


@pytest.fixture(scope="module")
def results(benchmark, said, tmp_path_factory):
    """The second and third are nearly alike."""
    path = tmp_path_factory.mktemp("runs")
    skills = {"blind": (0.0, 1), "good": (3.0, 2), NASTY: (3.05, 2)}
    rows = []
    for name, (skill, seed) in skills.items():
        about = {"model": name, "prompt": {"name": "word"}, "recipe": {"name": "p-true"}}
        rows.append(RunResult(path, said(skill, seed, name), about if name != "blind" else {}))
    return rows


@pytest.fixture(scope="module")
def report(benchmark, results):
    return score(benchmark, [one.said for one in results], OPTIONS)


@pytest.fixture(scope="module")
def table(report, results):
    return run_table(report, results, "b 1.0.0")


def test_rows_stand_best_first_with_the_scores_and_intervals_of_the_report(table, report):
    assert table.places == ["mean", "clip-hard", "pt-hard"]
    values = [row.cells["mean"]["auaf"].value for row in table.rows]
    assert values == sorted(values, reverse=True) and table.rows[-1].name == "blind"
    for row in table.rows:
        model = next(model for model in report.models if model.name == row.name)
        for place, groups in model.places.items():
            for name, cell in row.cells[place].items():
                assert cell.value == groups["realistic"][name]
                assert (cell.low, cell.high) == groups["intervals"][name]
        assert row.items["mean"] == row.items["clip-hard"] + row.items["pt-hard"] == 160
    assert table.rows[-1].about == {"prompt": "", "recipe": ""} and table.about == ["prompt", "recipe"]


def test_letters_are_those_of_intervals_that_hold_together_for_all_pairs(table, report):
    letters = {row.name: set(row.letters) for row in table.rows}
    assert letters["good"] & letters[NASTY] and not letters["good"] & letters["blind"]
    for one in report.differences:
        low, high = one.scores["mean"]["auaf"].interval
        assert bool(letters[one.model] & letters[one.against]) == (low <= 0 <= high)
    assert simultaneous.__module__ == "pipeline.scorers.differences"


def test_a_score_that_is_better_when_lower_puts_the_lowest_first(report, results):
    found = run_table(report, results, "b", by="ff95")
    values = [row.cells["mean"]["ff95"].value for row in found.rows]
    assert values == sorted(values) and found.rows[-1].name == "blind"


def test_one_model_alone_has_no_letters(benchmark, results):
    alone = run_table(score(benchmark, [results[0].said], OPTIONS), results[:1], "b")
    assert alone.rows[0].letters == "" and "letter" not in "".join(notes(alone))
    assert "letters" not in table_html(alone).split("</style>")[1]


def test_markdown_has_a_line_for_each_model_and_one_for_each_subsets_score(table):
    text = table_markdown(table)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 * (2 + 3) and len({line.replace("\\|", "").count("|") for line in rows[:5]}) == 1
    assert table.rows[0].cells["mean"]["auaf"].text in rows[2] and "\\<script\\>" in text
    assert "<script" not in text.replace("\\<", "") and "\x1b" not in text


def test_the_page_fetches_nothing_and_escapes_what_it_shows(table):
    page = table_html(table)
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r"(src|href)=|url\(|@import|http", page.split("</title>")[1])
    assert page.count("<svg") == 3 and page.count("<circle") == 3
    for row in table.rows:
        cell = row.cells["mean"]["auaf"]
        assert f'aria-label="{cell.text}"' in page


def test_drawings_keep_within_their_scale(table):
    xs = [float(x) for x in re.findall(r'(?:x1|x2|cx)="([\d.]+)"', table_html(table))]
    assert xs and min(xs) >= 0 and max(xs) <= 160


def test_csv_has_every_number_unrounded_and_no_formulas(report, results):
    formula = [one._replace(said=one.said) for one in results]
    rows = list(csv.DictReader(io.StringIO(table_csv(run_table(report, formula, "b")))))
    assert len(rows) == 3 * 3 * 4
    first = next(
        row for row in rows if (row["subset"], row["score"]) == ("mean", "auaf") and row["model"] == "good"
    )
    model = next(model for model in report.models if model.name == "good")
    assert float(first["value"]) == model.mean["realistic"]["auaf"] and first["letters"]
    assert {row["prompt"] for row in rows if row["model"] == "good"} == {"word"}


def test_a_name_that_a_spreadsheet_takes_for_a_formula_is_quoted(table):
    evil = table._replace(rows=[table.rows[0]._replace(name="=HYPERLINK(1)")])
    assert {row["model"] for row in csv.DictReader(io.StringIO(table_csv(evil)))} == {"'=HYPERLINK(1)"}


def test_items_without_an_answer_are_told(benchmark, results):
    fewer = results[0].said._replace(
        places={k: v for k, v in results[0].said.places.items() if k not in ("3", "4")}
    )
    lacking = [results[0]._replace(said=fewer), results[1]]
    found = run_table(score(benchmark, [one.said for one in lacking], OPTIONS), lacking, "b")
    assert any("blind: 4 of 160 items without an answer" in note for note in notes(found))


def test_prompt_and_recipe_stand_in_columns_of_their_own(benchmark, said, tmp_path):
    about = {"model": "m", "prompt": {"name": "word"}, "recipe": {"name": "p-true"}}
    rows = [
        RunResult(tmp_path, said(k, k, name), about)
        for k, name in enumerate(("m (word, p-true)", "m (x) [y]"))
    ]
    found = run_table(score(benchmark, [one.said for one in rows], OPTIONS), rows, "b")
    assert sorted(row.model for row in found.rows) == ["m", "m (x) [y]"]
    assert "| m | word | p-true |" in table_markdown(found)


def test_of_two_the_difference_is_told_in_words(benchmark, results):
    two = [results[0], results[1]]
    report = score(benchmark, [one.said for one in two], OPTIONS)
    low, high = report.differences[0].scores["mean"]["auaf"].interval
    (told,) = [note for note in notes(run_table(report, two, "b")) if "better" in note]
    assert (
        told.startswith("good is better than blind: ")
        and f"interval {100 * low:.1f} to {100 * high:.1f}" in told
    )


def test_what_is_undefined_is_a_dash():
    nothing = math.nan
    assert TableCell(nothing, nothing, nothing).text == "-"
