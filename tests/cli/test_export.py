"""`rgqa export` writes the same rows as CSV, Excel and Parquet."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from pipeline.cli.export import export_table
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import DroppedCandidate, Item

READ = {
    ".csv": lambda path: pd.read_csv(path, dtype=str, keep_default_na=False),
    ".xlsx": lambda path: pd.read_excel(path, dtype=str, keep_default_na=False),
    ".parquet": pd.read_parquet,
}


def table(*arguments):
    result = CliRunner().invoke(app, ["export", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.parametrize("kind", READ)
def test_items_keep_their_ids_and_texts_in_each_kind_of_file(tiny_run, monkeypatch, tmp_path, kind):
    monkeypatch.chdir(tiny_run)
    code, output = table("items", "--out", tmp_path / f"items{kind}")
    items = list(read_jsonl("data/tiny/interim/balance/items.jsonl", Item))
    assert code == 0 and output.startswith(f"export: {len(items)} rows")
    rows = READ[kind](tmp_path / f"items{kind}")
    assert list(rows["item_id"]) == [item.item_id for item in items]
    assert list(rows["text"]) == [item.text for item in items]
    edited = next(i for i, item in enumerate(items) if item.edits)
    assert f'"old": "{items[edited].edits[0].old}"' in rows["edits"][edited]


def test_nested_records_get_their_own_columns(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    code, _ = table("data/tiny/interim/collect/verified.jsonl", "--out", tmp_path / "verified.parquet")
    columns = pd.read_parquet(tmp_path / "verified.parquet").columns
    assert code == 0 and {"candidate.text", "verifier_result.evidence_source", "status"} <= set(columns)


def test_dropped_has_the_removed_candidates_of_all_stages(tiny_run, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_run)
    table("dropped", "--out", tmp_path / "dropped.parquet")
    rows = pd.read_parquet(tmp_path / "dropped.parquet")
    released = read_jsonl("data/release/tiny/0.1.0/dropped.jsonl", DroppedCandidate)
    assert sorted(rows["candidate_id"]) == sorted(row.candidate_id for row in released)


def test_excel_cells_are_no_formulas_and_have_no_control_characters(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "=1+1"}\n{"text": "a\\u0007b"}\n')
    assert table(source, "--out", tmp_path / "rows.xlsx")[0] == 0
    assert list(pd.read_excel(tmp_path / "rows.xlsx")["text"]) == ["=1+1", "a\ufffdb"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("items", "--out", "items.ods"), "use a name that ends in .csv, .xlsx, .parquet"),
        (("item", "--out", "item.csv"), "use items, verdicts, dropped or a .jsonl file"),
        (("gone.jsonl", "--out", "gone.csv"), "gone.jsonl: no such file"),
    ],
)
def test_unknown_sources_and_formats_are_refused_with_one_message(tiny_run, monkeypatch, arguments, error):
    monkeypatch.chdir(tiny_run)
    code, output = table(*arguments)
    assert code == 1 and output.startswith("error: ") and error in " ".join(output.split())


@pytest.mark.parametrize(
    ("rows", "out", "error"),
    [
        ('{"a": {"b": 1}, "a.b": 2}', "t.csv", "line 1: two fields would become the column a.b; rename one"),
        ('{"a": {"b": 1}}\n{"a.b": 2}', "t.csv", "line 2: two fields would become the column a.b; rename one"),
        ('{"a": 1, "a": 2}', "t.csv", "line 1: an object has the key a twice; keep one"),
        ('{"b": {"a": 1, "a": 2}}', "t.csv", "line 1: an object has the key a twice; keep one"),
        ('{"a": NaN}', "t.csv", "line 1: "),
        ("[1]", "t.csv", "line 1: Expected `object`, got `array`"),
        ('{"a": 1}\n{"a": "%s"}' % ("x" * 32_768), "t.xlsx", "row 3, column a: 32,768 characters"),
        (json.dumps(dict.fromkeys(map(str, range(16_385)))), "t.xlsx", "16,385 columns do not fit"),
    ],
)  # fmt: skip
def test_rows_that_would_lose_values_are_refused(tmp_path, rows, out, error):
    (tmp_path / "rows.jsonl").write_text(rows + "\n")
    code, output = table(tmp_path / "rows.jsonl", "--out", tmp_path / out)
    assert code == 1 and output.startswith("error: ") and error in output and not (tmp_path / out).exists()


def test_more_rows_than_a_sheet_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.benchmark.report.score_frame.MAX_EXCEL_ROWS", 3)
    source = tmp_path / "rows.jsonl"
    source.write_text('{"a": 1}\n' * 3)
    code, output = table(source, "--out", tmp_path / "rows.xlsx")
    assert code == 1 and "3 rows and 1 column do not fit" in output and not (tmp_path / "rows.xlsx").exists()


def test_a_column_of_numbers_and_texts_is_refused_for_parquet_and_a_missing_list_stays_empty(tmp_path):
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"a": 1, "b": [1]}\n{"a": "x"}\n')
    with pytest.raises(UserError, match=r"mixed\.jsonl: a column has mixed types"):
        export_table(str(mixed), tmp_path / "t.parquet")
    export_table(str(mixed), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,[1]\nx,\n"
