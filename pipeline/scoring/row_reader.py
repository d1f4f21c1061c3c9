"""Read the rows of any file that users provide: tables (`core/table_reader.py`), JSON, JSON Lines and
inspect_ai logs.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..core.column_aliases import (
    COLUMN_ALIASES,
    ITEM_ID_COLUMNS,
    PREDICTION_COLUMNS,
    find_column,
    get_first_value,
)
from ..core.errors import UserError, format_count
from ..core.table_reader import (
    DEFAULT_DELIMITERS,
    RowCells,
    describe_unsupported_cell,
    label_rows,
    read_delimited,
    read_parquet,
    read_xlsx,
)
from .harness_logs import HARNESSES, get_log_samples
from .input_validation import parse_json
from .json_streaming import find_list_key, has_multiple_documents, stream_documents, stream_list

VERSION_KEYS = COLUMN_ALIASES["version"]
EXPECTED_FORMAT = "expected a list of objects with questionId, prediction and confidence"
JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")
SUPPORTED_SUFFIXES = (".json", *JSON_LINES_SUFFIXES, *DEFAULT_DELIMITERS, ".parquet", ".xlsx", ".eval")
SUPPORTED_FORMATS = ".json, .jsonl, .csv, .tsv, .parquet, .xlsx or .eval (also .gz of these)"
PICKLE_REASON = ", since opening a pickle runs the code in it"
UNSUPPORTED_SUFFIXES = {".pkl": PICKLE_REASON, ".pickle": PICKLE_REASON, ".npy": "", ".npz": "", ".xls": ""}
# Keys of a JSON object whose value may be the list of rows.
RESULT_KEYS = ("predictions",)


def read_rows(path: Path, data: bytes) -> tuple[Iterable[Any], str]:
    """Read the rows of a file lazily.

    Empty cells of tables are None, because a table cannot distinguish an empty string from a missing value.

    Returns:
        The rows, and the version of the benchmark if the file states it, else "".

    Raises:
        UserError: The format of the file is not supported, or the file is damaged.
    """
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    if kind in DEFAULT_DELIMITERS:
        return _table_rows(read_delimited(data, path, DEFAULT_DELIMITERS[kind]), path), ""
    if kind == ".parquet":
        return _table_rows(read_parquet(data, path), path, passed_over=False), ""
    if kind == ".xlsx":
        return _sheet_rows(path, data), ""
    if kind == ".eval":
        from .inspect_eval_log import read_eval_samples

        return read_eval_samples(path, data), ""
    if kind in UNSUPPORTED_SUFFIXES:
        raise UserError(
            f"{path}: {kind} is not supported{UNSUPPORTED_SUFFIXES[kind]}; expected {SUPPORTED_FORMATS}"
        )
    value = parse_json_rows(data, path, kind)
    if not isinstance(value, dict):
        return value, ""
    if (samples := get_log_samples(value, path)) is not None:
        return samples, ""
    if (find_column(ITEM_ID_COLUMNS, value) and find_column(PREDICTION_COLUMNS, value)) or any(
        one.is_log_row(value) for one in HARNESSES.values()
    ):
        # JSON Lines with a single line.
        return [value], ""
    if (key := find_list_key(value, RESULT_KEYS)) is None:
        raise UserError(f"{path}: {EXPECTED_FORMAT}")
    return value[key], str(get_first_value(value, VERSION_KEYS) or "")


def parse_json_rows(data: bytes, path: Path, kind: str = "") -> Iterable[Any] | dict[str, Any]:
    """Return the values of a JSON list or of JSON Lines lazily, or return a JSON object.

    The format is found from the content, not from the suffix of the file: `[` begins a list, and an object
    that is followed by another object begins JSON Lines. Values may be compact or pretty-printed.

    Raises:
        UserError: The JSON is invalid; the message says where.
    """
    if (parts := stream_list(data, path)) is not None and not (
        kind in JSON_LINES_SUFFIXES and _is_json_line(data)
    ):
        return parts
    if kind in JSON_LINES_SUFFIXES:
        return stream_documents(data, path)
    try:
        value = parse_json(data, path)
    except UserError:
        if has_multiple_documents(data):
            return stream_documents(data, path)
        raise
    return value if isinstance(value, dict) else [value]


def has_only_text_cells(path: Path) -> bool:
    """Return whether the format of a file has only text cells, so that numbers are read as strings."""
    return not DEFAULT_DELIMITERS.keys().isdisjoint(ending.lower() for ending in path.suffixes)


def _table_rows(cells: Iterable[RowCells], path: Path, passed_over: bool = True) -> Iterator[dict[str, Any]]:
    return (row for _, row in label_rows(cells, path, skip_empty_rows=passed_over))


def _sheet_rows(path: Path, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the rows of a workbook, with all cells except confidences as strings.

    Strings are needed because spreadsheets may store ids and answers as numbers.

    Raises:
        UserError: There are cells that are neither text nor numbers, such as dates. Raised after the last
            row; the message lists the cells.
    """
    texts = {*ITEM_ID_COLUMNS, *PREDICTION_COLUMNS, "index"}
    numbers, faults = {*COLUMN_ALIASES["confidence"]}, []
    for number, row in label_rows(read_xlsx(data, path), path):
        for name, cell in row.items():
            if name in texts | numbers and (what := describe_unsupported_cell(cell)):
                faults.append(f"row {number}: {name} is {what}")
        yield {name: cell if name in numbers else _cell_to_text(cell) for name, cell in row.items()}
    if faults:
        raise UserError(
            [
                f"{path}: {format_count(len(faults), 'cell')} that the spreadsheet has changed. Format the columns as text before "
                "filling them, or write .csv or .json",
                *faults,
            ]
        )


def _cell_to_text(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _is_json_line(data: bytes) -> bool:
    """Return whether the first line is a complete JSON list, like the first line of JSON Lines."""
    first = data.lstrip(codecs.BOM_UTF8 + b" \t\r\n").partition(b"\n")
    return first[0].rstrip().endswith(b"]") and bool(first[2].strip())
