"""The command `rgqa export`: write results of a run as a table for a notebook or spreadsheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from pipeline.benchmark.release.provenance import iter_dropped
from pipeline.benchmark.report.score_frame import check_table_suffix, write_frame
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import read_jsonl
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written
from pipeline.core.records import CollectedCandidate
from pipeline.scoring.input_validation import loads_strict

SOURCE_FILES = {"items": ("balance", "items.jsonl"), "verdicts": ("collect", "verdicts.jsonl")}


def export_table(source: str, out: Path) -> None:
    """Write records as CSV, Excel or Parquet.

    Args:
        source: `items`, `verdicts` or `dropped` (of the data set in use), or the path of a JSONL file.
        out: The file to write. The suffix of the file determines the format.

    Raises:
        UserError: The format or the source is unknown, or the records do not fit into the format.
    """
    if problems := check_table_suffix(out):
        raise UserError(problems)
    output = Output("--out", out)
    if source.endswith(".jsonl"):
        check_output_paths([output], [Path(source)])
    else:
        DatasetFolders().check_outputs(output)
    table = flatten_records(read_source(source))
    write_frame(table, out, source)
    report_written(
        "export", f"{format_count(len(table), 'row')}, {format_count(len(table.columns), 'column')}", out
    )


def read_source(source: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a source as JSON objects."""
    if source == "dropped":
        folders = DatasetFolders()
        verified = read_jsonl(folders.stage_dir("collect") / "verified.jsonl", CollectedCandidate)
        return (msgspec.to_builtins(row) for row in iter_dropped(folders, verified))
    if source in SOURCE_FILES:
        stage, name = SOURCE_FILES[source]
        return read_jsonl(DatasetFolders().stage_dir(stage) / name, dict)
    if not source.endswith(".jsonl"):
        raise UserError(
            f"{source!r}: unknown source; use {', '.join(SOURCE_FILES)}, dropped or a .jsonl file of a stage"
        )
    return _read_untrusted(source)


def _read_untrusted(path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file that other programs may have written.

    Duplicate keys, and different fields that would become the same column, are refused, because values would
    be lost.
    """
    paths_by_column: dict[str, tuple[str, ...]] = {}
    for number, raw in enumerate(read_jsonl(path, msgspec.Raw), 1):
        where = f"{path}, line {number}"
        try:
            row = msgspec.json.decode(raw, type=dict[str, Any])
            loads_strict(bytes(raw))
        except (msgspec.DecodeError, ValueError) as error:
            raise UserError(f"{where}: {error}") from error
        for field_path in _leaf_paths(row):
            # The name that pandas gives to the column.
            name = ".".join(field_path).removeprefix(".")
            if paths_by_column.setdefault(name, field_path) != field_path:
                raise UserError(f"{where}: two fields would become the column {name}; rename one of them")
        yield row


def _leaf_paths(row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the keys that lead to each value in a record and its nested records."""
    for key, value in row.items():
        yield from ((key, *inner) for inner in _leaf_paths(value)) if isinstance(value, dict) else ((key,),)


def flatten_records(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return a table with a column per field.

    The column of a field in a nested record is called `record.field`. Lists become JSON texts.

    Example:
        >>> flatten_records([{"item": {"id": "0012"}, "edits": [{"old": "red"}], "rank": None}]).to_dict("records")
        [{'edits': '[{"old": "red"}]', 'rank': None, 'item.id': '0012'}]
    """
    table = pd.json_normalize(list(rows))
    for name in table.columns:
        if table[name].map(lambda value: isinstance(value, list)).any():
            table[name] = table[name].map(
                lambda value: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
            )
    return table
