"""The one reader of tables that people bring: CSV and TSV, JSON and JSON Lines, Parquet, Excel, and logs of inspect_ai.

`rows_of` reads a file of any of these formats as rows by column name. `delimited_cells`, `sheet_cells`, `parquet_cells` and
`json_values` read one format each, and `named_rows` puts the names of the header to the cells; own questions
(`pipeline/sources/own_table.py`) and other benchmarks (`pipeline/leaks/set_files.py`) are read by them, too. Libraries beyond
numpy are imported where a file needs them.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from ..core.errors import counted
from .column_names import ALIASES, first_value, known_name
from .json_parts import ROWS, list_key, parse_documents, parse_list
from .logs import samples_of
from .validation import InputError, parse_json, rows_named

VERSION = ALIASES["version"]
WANTED = "wanted a list of objects with questionId, prediction and confidence"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = ",;\t"
# Excel's own first line, which it does not show.
SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
JSON_LINES = (".jsonl", ".ndjson")
READ = ".json, .jsonl, .csv, .tsv, .parquet, .xlsx or .eval (also .gz of these)"
PICKLED = ", since opening a pickle runs whatever code is in it"
REFUSED = {".pkl": PICKLED, ".pickle": PICKLED, ".npy": "", ".npz": "", ".xls": ""}
NAMES_OF_RESULTS = ("predictions",)  # keys under which an object has the rows
Cells = list[Any]  # of a row; None: empty


class Formula:
    """A cell of a spreadsheet whose value is computed, or is an error."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def rows_of(path: Path, data: bytes) -> tuple[Iterable[Any], str]:
    """The rows of a file, read as they are asked for, and the benchmark's version if the file names it beside them.

    Empty cells of tables are None, since such a table cannot say whether a text is empty or missing.

    Raises:
        InputError: the file is of no format that is read, or damaged.
    """
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    if kind in DELIMITERS:
        return _rows(delimited_cells(data, path, DELIMITERS[kind]), path), ""
    if kind == ".parquet":
        return _rows(parquet_cells(data, path), path, passed_over=False), ""
    if kind == ".xlsx":
        return _sheet_rows(path, data), ""
    if kind == ".eval":
        from .zipped import eval_samples  # late: most files are none

        return eval_samples(path, data), ""
    if kind in REFUSED:
        raise InputError(f"{path}: {kind} is not read{REFUSED[kind]}; wanted {READ}")
    value = json_values(data, path, kind)
    if not isinstance(value, dict):
        return value, ""
    if (samples := samples_of(value, path)) is not None:
        return samples, ""
    if (key := list_key(value, NAMES_OF_RESULTS)) is None:
        raise InputError(f"{path}: {WANTED}")
    return value[key], str(first_value(value, VERSION) or "")


def json_values(data: bytes, path: Path, kind: str = "") -> Iterable[Any] | dict[str, Any]:
    """The values of a JSON list or of JSON Lines, read as they are asked for, or a JSON object.

    What the bytes are decides, compact or pretty-printed, not the file's suffix: `[` begins a list, and an object that is
    followed by another is the first of JSON Lines.

    Raises:
        InputError: says where it breaks.
    """
    if (parts := parse_list(data, path)) is not None and not (kind in JSON_LINES and _is_line(data)):
        return parts
    if (documents := parse_documents(data, path, kind in JSON_LINES)) is not None:
        return documents
    value = parse_json(data, path)
    return value if isinstance(value, dict) else [value]


def as_text(path: Path) -> bool:
    """Whether a file's format knows no numbers, so that they come as texts."""
    return not DELIMITERS.keys().isdisjoint(ending.lower() for ending in path.suffixes)


def delimited_cells(
    data: bytes, path: Path, delimiter: str = ",", more: Collection[str] = ()
) -> Iterator[Cells]:
    """The rows of CSV or TSV, the header first.

    Args:
        data: UTF-8 with or without a byte order mark, or UTF-16 with one.
        delimiter: what is expected between cells; another one is taken where it makes more known names of the header, or
            where Excel's line `sep=;` names it.
        more: names of columns that are known beside those of `column_names`.

    Raises:
        InputError: no UTF-8, or a quote that does not end.
    """
    text, delimiter = decoded_table(data, path, delimiter, more)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in rows:
            yield [cell or None for cell in row]
    except csv.Error as error:
        raise InputError(f"{path}: not a table (row {rows.line_num}: {error})") from None


def decoded_table(data: bytes, path: Path, delimiter: str, more: Collection[str] = ()) -> tuple[str, str]:
    """The text of a CSV or TSV file, without Excel's first line, and what stands between its cells."""
    try:
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # Excel's "Unicode text"
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    if named := SEPARATOR_LINE.match(text):
        return text[named.end() :], named[1]
    return text, delimiter_of(text, delimiter, more)


def delimiter_of(text: str, delimiter: str, more: Collection[str] = ()) -> str:
    """What stands between a table's cells: `delimiter`, or another one if it makes more known names of the header, or, where
    it is not in the header at all, the one that is there most."""
    known = {name for names in ALIASES.values() for name in names} | {*more}

    def names(candidate: str) -> tuple[int, int]:
        with suppress(csv.Error):
            head = next(csv.reader(io.StringIO(text, newline=""), delimiter=candidate), [])
            return sum(known_name(name, more) in known for name in head), 0 if delimiter in line else len(
                head
            )
        return 0, 0

    line = text.partition("\n")[0]
    return max((delimiter, *SEPARATORS), key=names)


def sheet_cells(data: bytes, path: Path) -> Iterator[Cells]:
    """The rows of the sheet of a workbook (.xlsx) that is filled, the header first. Computed cells are a `Formula`, with their
    value as it was last computed where that is a number.

    Raises:
        InputError: it is no workbook, is too large, has several tables, or openpyxl is not installed.
    """
    from .zipped import checked_archive, filled_sheet, workbook_opener

    opener, has_formulas = workbook_opener(path), False
    with checked_archive(path, data) as archive, suppress(zipfile.BadZipFile, OSError, ValueError):
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        has_formulas = any(re.search(rb"<f[ >/]", archive.read(name)) for name in sheets)
    rows = filled_sheet(opener, data, path, values=True)
    if not has_formulas:
        yield from rows
        return
    for values, written in zip(rows, filled_sheet(opener, data, path, values=False), strict=False):
        computed = (str(cell).startswith("=") or type(cell).__name__ == "ArrayFormula" for cell in written)
        yield [
            value
            if not is_computed or (isinstance(value, int | float) and not isinstance(value, bool))
            else Formula(str(cell))
            for value, cell, is_computed in zip(values, written, computed, strict=False)
        ]


def parquet_cells(data: bytes, path: Path) -> Iterator[Cells]:
    """The rows of a Parquet file, the names of its columns first.

    Raises:
        InputError: it is none, or pyarrow is not installed.
    """
    try:
        from pyarrow import parquet

        file = parquet.ParquetFile(io.BytesIO(data))
        yield [*file.schema_arrow.names]
        for part in file.iter_batches(ROWS):
            yield from map(list, zip(*(column.to_pylist() for column in part.columns), strict=True))
    except ImportError:
        raise InputError(
            f"{path}: reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    except Exception as error:  # a damaged file makes pyarrow raise whatever its parts raise
        raise InputError(f"{path}: not a Parquet file ({str(error) or type(error).__name__})") from None


def column_names(header: Iterable[object], path: Path, more: Collection[str] = ()) -> list[str]:
    """The names of a header, known ones as `column_names.known_name` has them; "" where a column has none.

    Raises:
        InputError: one is there twice, so that nobody knows which counts.
    """
    names = ["" if name is None else known_name(name, more) for name in header]
    if twice := sorted(name for name, count in Counter(names).items() if count > 1 and name):
        raise InputError(f"{path}: the header names {', '.join(twice)} more than once; keep one")
    return names


def named_rows(
    cells: Iterable[Cells], path: Path, more: Collection[str] = (), passed_over: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each row as a spreadsheet counts them (the header is row 1) and its cells by column.

    Args:
        cells: of the header first. passed_over: rows without any content, as Excel writes them, are left out.

    Raises:
        InputError: at the end: the rows with a cell beyond the header (as a decimal comma makes one).
    """
    rows = iter(cells)
    names = column_names(next(rows, []), path, more)
    surplus: list[int] = []
    for number, row in enumerate(rows, 2):
        if passed_over and not any(cell is not None for cell in row):
            continue
        if any(cell is not None for cell in row[len(names) :]):
            surplus.append(number)
        yield (
            number,
            {name: cell for name, cell in zip(names, chain(row, repeat(None)), strict=False) if name},
        )
    if surplus:
        have = "has" if len(surplus) == 1 else "have"
        raise InputError(
            f"{path}: {counted(len(surplus), 'row')} {have} more cells than the header has names, so which is which is not known: "
            f"{rows_named(surplus)}. Write decimals with a point, and put in quotes what holds the sign between cells"
        )


def _rows(cells: Iterable[Cells], path: Path, passed_over: bool = True) -> Iterator[dict[str, Any]]:
    return (row for _, row in named_rows(cells, path, passed_over=passed_over))


def _sheet_rows(path: Path, data: bytes) -> Iterator[dict[str, Any]]:
    """Rows of a workbook, as texts but for confidences: a spreadsheet makes numbers of ids and answers.

    Raises:
        InputError: at the end: cells that the spreadsheet turned into something else than text or a number.
    """
    texts = {*ALIASES["item id"], *ALIASES["prediction"], "index"}
    numbers, faults = {*ALIASES["confidence"]}, []
    for number, row in named_rows(sheet_cells(data, path), path):
        for name, cell in row.items():
            if name in texts | numbers and (what := unfit(cell)):
                faults.append(f"row {number}: {name} is {what}")
        yield {name: cell if name in numbers else _as_text(cell) for name, cell in row.items()}
    if faults:
        raise InputError(
            [
                f"{path}: {counted(len(faults), 'cell')} that the spreadsheet has changed. Format the columns as text before "
                "you fill them, or write .csv or .json",
                *faults,
            ]
        )


def unfit(cell: object) -> str:
    """What a cell of a spreadsheet is instead of a text or a number; "" where it is one of these."""
    if isinstance(cell, bool):
        return f"the truth value {str(cell).upper()}"
    if isinstance(cell, date | datetime | time | timedelta):
        return f"the date or time {cell}"
    if isinstance(cell, Formula):
        return f"the formula {cell}"
    if isinstance(cell, str) and cell in ("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!"):
        return f"the error {cell}"
    return ""


def _as_text(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _is_line(data: bytes) -> bool:
    """Is the first line a whole JSON list, as the first of JSON Lines?"""
    first = data.lstrip(codecs.BOM_UTF8 + b" \t\r\n").partition(b"\n")
    return first[0].rstrip().endswith(b"]") and bool(first[2].strip())
