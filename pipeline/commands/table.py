"""`rgqa table`: what a run wrote, as a table for a notebook or a spreadsheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Verified
from pipeline.releasing.provenance import all_dropped
from pipeline.reporting.score_frame import table_problems, write_frame

NAMED = {"items": ("balance", "items.jsonl"), "verdicts": ("collect", "verdicts.jsonl")}


def write_table(source: str, out: Path) -> None:
    """Write `items`, `verdicts` or `dropped` of the data set in use, or any JSONL file, as CSV, Excel or Parquet.

    Raises:
        UserError: another kind of file is asked for, there is no such source, or it does not fit that kind.
    """
    if problems := table_problems(out):
        raise UserError(problems)
    table = flat(rows_of(source))
    write_frame(table, out, source)
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
