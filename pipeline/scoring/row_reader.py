"""The rows of any file that people bring: tables (`core/table_cells.py`), JSON and JSON Lines, logs of inspect_ai."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..core.column_aliases import ALIASES, ITEM_ID, PREDICTION, first_of, first_value
from ..core.errors import UserError, counted
from ..core.table_reader import (
    DELIMITERS,
    Cells,
    delimited_cells,
    named_rows,
    parquet_cells,
    sheet_cells,
    unfit,
)
from .harness_logs import HARNESSES
from .input_validation import parse_json
from .json_streaming import begins_with_several, list_key, parse_documents, parse_list
from .logs import samples_of

VERSION = ALIASES["version"]
WANTED = "wanted a list of objects with questionId, prediction and confidence"
JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (".json", *JSON_LINES, *DELIMITERS, ".parquet", ".xlsx", ".eval")
READ = ".json, .jsonl, .csv, .tsv, .parquet, .xlsx or .eval (also .gz of these)"
PICKLED = ", since opening a pickle runs whatever code is in it"
REFUSED = {".pkl": PICKLED, ".pickle": PICKLED, ".npy": "", ".npz": "", ".xls": ""}
NAMES_OF_RESULTS = ("predictions",)  # keys under which an object has the rows


def rows_of(path: Path, data: bytes) -> tuple[Iterable[Any], str]:
    """The rows of a file, read as they are asked for, and the benchmark's version if the file names it beside them.

    Empty cells of tables are None, since such a table cannot say whether a text is empty or missing.

    Raises:
        UserError: the file is of no format that is read, or damaged.
    """
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    if kind in DELIMITERS:
        return _rows(delimited_cells(data, path, DELIMITERS[kind]), path), ""
    if kind == ".parquet":
        return _rows(parquet_cells(data, path), path, passed_over=False), ""
    if kind == ".xlsx":
        return _sheet_rows(path, data), ""
    if kind == ".eval":
        from .inspect_eval_log import eval_samples

        return eval_samples(path, data), ""
    if kind in REFUSED:
        raise UserError(f"{path}: {kind} is not read{REFUSED[kind]}; wanted {READ}")
    value = json_values(data, path, kind)
    if not isinstance(value, dict):
        return value, ""
    if (samples := samples_of(value, path)) is not None:
        return samples, ""
    if (first_of(ITEM_ID, value) and first_of(PREDICTION, value)) or any(
        one.writes(value) for one in HARNESSES.values()
    ):
        return [value], ""  # JSON Lines of one line
    if (key := list_key(value, NAMES_OF_RESULTS)) is None:
        raise UserError(f"{path}: {WANTED}")
    return value[key], str(first_value(value, VERSION) or "")


def json_values(data: bytes, path: Path, kind: str = "") -> Iterable[Any] | dict[str, Any]:
    """The values of a JSON list or of JSON Lines, read as they are asked for, or a JSON object.

    What the bytes are decides, compact or pretty-printed, not the file's suffix: `[` begins a list, and an object that is
    followed by another is the first of JSON Lines.

    Raises:
        UserError: says where it breaks.
    """
    if (parts := parse_list(data, path)) is not None and not (kind in JSON_LINES and _is_line(data)):
        return parts
    if kind in JSON_LINES:
        return parse_documents(data, path)
    try:
        value = parse_json(data, path)
    except UserError:
        if begins_with_several(data):
            return parse_documents(data, path)
        raise
    return value if isinstance(value, dict) else [value]


def as_text(path: Path) -> bool:
    """Whether a file's format knows no numbers, so that they come as texts."""
    return not DELIMITERS.keys().isdisjoint(ending.lower() for ending in path.suffixes)


def _rows(cells: Iterable[Cells], path: Path, passed_over: bool = True) -> Iterator[dict[str, Any]]:
    return (row for _, row in named_rows(cells, path, passed_over=passed_over))


def _sheet_rows(path: Path, data: bytes) -> Iterator[dict[str, Any]]:
    """Rows of a workbook, as texts but for confidences: a spreadsheet makes numbers of ids and answers.

    Raises:
        UserError: at the end: cells that the spreadsheet turned into something else than text or a number.
    """
    texts = {*ITEM_ID, *PREDICTION, "index"}
    numbers, faults = {*ALIASES["confidence"]}, []
    for number, row in named_rows(sheet_cells(data, path), path):
        for name, cell in row.items():
            if name in texts | numbers and (what := unfit(cell)):
                faults.append(f"row {number}: {name} is {what}")
        yield {name: cell if name in numbers else _as_text(cell) for name, cell in row.items()}
    if faults:
        raise UserError(
            [
                f"{path}: {counted(len(faults), 'cell')} that the spreadsheet has changed. Format the columns as text before "
                "you fill them, or write .csv or .json",
                *faults,
            ]
        )


def _as_text(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _is_line(data: bytes) -> bool:
    """Is the first line a whole JSON list, as the first of JSON Lines?"""
    first = data.lstrip(codecs.BOM_UTF8 + b" \t\r\n").partition(b"\n")
    return first[0].rstrip().endswith(b"]") and bool(first[2].strip())
