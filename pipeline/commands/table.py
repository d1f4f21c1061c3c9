"""`rgqa table`: what a run wrote, as a table for a notebook or a spreadsheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa

from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, replacing
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Verified
from pipeline.releasing.all_dropped import all_dropped

NAMED = {"items": ("balance", "items.jsonl"), "verdicts": ("collect", "verdicts.jsonl")}
KINDS = (".csv", ".xlsx", ".parquet")
EXCEL_ROWS = 1_048_576  # of a sheet, its head included


def write_table(source: str, out: Path) -> None:
    """Write `items`, `verdicts` or `dropped` of the data set in use, or any JSONL file, as CSV, Excel or Parquet.

    Raises:
        UserError: another kind of file is asked for, there is no such source, or it does not fit an Excel sheet.
    """
    if out.suffix not in KINDS:
        raise UserError(f"--out is {out}, wanted a name that ends in {', '.join(KINDS)}")
    table = flat(rows_of(source))
    if out.suffix == ".xlsx" and len(table) >= EXCEL_ROWS:
        raise UserError(f"{source}: {len(table):,} rows do not fit an Excel sheet; write .parquet or .csv")
    with replacing(out) as file:
        if out.suffix == ".csv":
            table.to_csv(file, index=False)
        elif out.suffix == ".parquet":
            _write_parquet(table, source, file)
        else:
            _write_excel(table, file)
    done("table", f"{len(table):,} rows, {len(table.columns)} columns", out)


def rows_of(source: str) -> Iterator[dict[str, Any]]:
    """The records of a source as they stand in JSON."""
    if source == "dropped":
        folders = Folders()
        verified = read_jsonl(folders.stage("collect") / "verified.jsonl", Verified)
        return (msgspec.to_builtins(row) for row in all_dropped(folders, verified))
    if source in NAMED:
        stage, name = NAMED[source]
        return read_jsonl(Folders().stage(stage) / name, dict)
    if not source.endswith(".jsonl"):
        raise UserError(f"{source!r}: wanted {', '.join(NAMED)}, dropped or a .jsonl file that a stage wrote")
    return read_jsonl(source, dict)


def flat(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """A column for each field, those of a record within a record as `record.field`; lists stay JSON.

    >>> flat([{"item": {"id": "0012"}, "edits": [{"old": "red"}], "rank": None}]).to_dict("records")
    [{'edits': '[{"old": "red"}]', 'rank': None, 'item.id': '0012'}]
    """
    table = pd.json_normalize(list(rows))
    for name in table.columns:
        if table[name].map(lambda value: isinstance(value, list)).any():
            table[name] = table[name].map(
                lambda value: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
            )
    return table


def _write_parquet(table: pd.DataFrame, source: str, file: Any) -> None:
    try:
        table.to_parquet(file, index=False)
    except (
        pa.ArrowException,
        OverflowError,
    ) as error:  # a column of numbers and texts, or numbers beyond 64 bits
        raise UserError(f"{source}: a column is of no one type, so write .csv: {error}") from error


def _write_excel(table: pd.DataFrame, file: Any) -> None:
    """Text that begins with = is text, no formula; characters that Excel cannot hold are shown as U+FFFD."""
    table = table.replace(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", regex=True)
    with pd.ExcelWriter(file, engine="openpyxl") as writer:
        table.to_excel(writer, sheet_name="table", index=False)
        for row in writer.sheets["table"].iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    cell.data_type = "s"
