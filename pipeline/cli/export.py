"""`rgqa table`: what a run wrote, as a table for a notebook or a spreadsheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from pipeline.benchmark.release.provenance import all_dropped
from pipeline.benchmark.report.score_frame import table_problems, write_frame
from pipeline.core.errors import UserError, counted
from pipeline.core.json_files import read_jsonl
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Verified
from pipeline.scoring.input_validation import loads

NAMED = {"items": ("balance", "items.jsonl"), "verdicts": ("collect", "verdicts.jsonl")}


def write_table(source: str, out: Path) -> None:
    """Write `items`, `verdicts` or `dropped` of the data set in use, or any JSONL file, as CSV, Excel or Parquet.

    Raises:
        UserError: another kind of file is asked for, there is no such source, or it does not fit that kind.
    """
    if problems := table_problems(out):
        raise UserError(problems)
    output = Output("--out", out)
    if source.endswith(".jsonl"):
        check_output_paths([output], [Path(source)])
    else:
        Folders().check_outputs(output)
    table = flat(rows_of(source))
    write_frame(table, out, source)
    done("table", f"{counted(len(table), 'row')}, {counted(len(table.columns), 'column')}", out)


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
    return _anybodys(source)


def _anybodys(path: str) -> Iterator[dict[str, Any]]:
    """The records of a file that others may have written: in each no key twice, of which one value would be lost, and in all no
    two ways to a column."""
    ways: dict[str, tuple[str, ...]] = {}
    for number, raw in enumerate(read_jsonl(path, msgspec.Raw), 1):
        where = f"{path}, line {number}"
        try:
            row = msgspec.json.decode(raw, type=dict[str, Any])
            loads(bytes(raw))
        except (msgspec.DecodeError, ValueError) as error:
            raise UserError(f"{where}: {error}") from error
        for way in _ways(row):
            name = ".".join(way).removeprefix(".")  # as pandas has it
            if ways.setdefault(name, way) != way:
                raise UserError(f"{where}: two fields would be the column {name}; rename one of them")
        yield row


def _ways(row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each value of a record that is no record itself."""
    for key, value in row.items():
        yield from ((key, *way) for way in _ways(value)) if isinstance(value, dict) else ((key,),)


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
