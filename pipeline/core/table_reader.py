"""Read the cells of tables that users bring: CSV, TSV, Excel and Parquet.

Predictions, own questions and other benchmarks are all read here. `named_rows` adds the names of the header to the cells. The module needs the standard library alone, since the wheel of the scorers carries it;
openpyxl and pyarrow are imported where a file needs them.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from .column_aliases import COLUMN_ALIASES, normalize_column_name
from .duplicate_keys import find_duplicates
from .errors import UserError, format_count, join_examples

DEFAULT_DELIMITERS = {".csv": ",", ".tsv": "\t"}
CANDIDATE_DELIMITERS = ",;\t|"
# Excel's own first line, which it does not show.
EXCEL_SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
PARQUET_BATCH_ROWS = 1 << 9  # rows of Parquet that are read together
# More than any log or workbook holds; a small file that claims more is a bomb.
MAX_ZIP_MEMBER_BYTES = 1 << 28
MAX_UNZIPPED_BYTES = 1 << 34
RowCells = list[Any]  # of a row; None: empty
# Tables of benchmarks have images in their cells (VLMEvalKit, MM-UPD), beyond Python's own limit of 128 KiB.
csv.field_size_limit(1 << 28)


class Formula:
    """A cell of a spreadsheet whose value is computed, or is an error."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def read_delimited(
    data: bytes, path: Path, delimiter: str = ",", extra_names: Collection[str] = ()
) -> Iterator[RowCells]:
    """The rows of CSV or TSV, the header first.

    Args:
        data: UTF-8 with or without a byte order mark, or UTF-16 with one.
        delimiter: what is expected between cells; another one is taken where it makes more known names of the header, or
            where Excel's line `sep=;` names it.
        more: names of columns that are known in addition to those of `column_names`.

    Raises:
        UserError: no UTF-8, or a quote that does not end.
    """
    yield from parse_csv(*decode_delimited(data, path, delimiter, extra_names), path)


def parse_csv(text: str, delimiter: str, path: Path) -> Iterator[RowCells]:
    """The rows of a CSV's text; empty cells are None.

    Raises:
        UserError: a quote that does not end, or in the middle of a cell.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in rows:
            yield [cell or None for cell in row]
    except csv.Error as error:
        raise UserError(f"{path}: not a table (row {rows.line_num}: {error})") from None


def decode_delimited(
    data: bytes, path: Path, delimiter: str, extra_names: Collection[str] = ()
) -> tuple[str, str]:
    """Return the text of a CSV or TSV file, without Excel's first line, and its delimiter."""
    try:
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # Excel's "Unicode text"
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    if named := EXCEL_SEPARATOR_LINE.match(text):
        return text[named.end() :], named[1]
    return text, detect_delimiter(text, delimiter, extra_names)


def detect_delimiter(text: str, delimiter: str, extra_names: Collection[str] = ()) -> str:
    """Return a table's delimiter: the expected one, unless another splits the header into more known names. If the header does not
    have the expected one, the most frequent one wins among those that give as many known names."""
    known = {name for names in COLUMN_ALIASES.values() for name in names} | {*extra_names}

    def names(candidate: str) -> tuple[int, int]:
        with suppress(csv.Error):
            head = next(csv.reader(io.StringIO(text, newline=""), delimiter=candidate), [])
            return sum(
                normalize_column_name(name, extra_names) in known for name in head
            ), 0 if delimiter in line else len(head)
        return 0, 0

    line = text.partition("\n")[0]
    return max((delimiter, *CANDIDATE_DELIMITERS), key=names)


def read_xlsx(data: bytes, path: Path) -> Iterator[RowCells]:
    """The rows of the sheet of a workbook (.xlsx) that is filled, the header first. Computed cells are a `Formula`, with their
    value as it was last computed where that is a number.

    Raises:
        UserError: it is no workbook, is too large, has several tables, or openpyxl is not installed.
    """
    opener, has_formulas = get_workbook_loader(path), False
    with open_checked_zip(path, data) as archive, suppress(zipfile.BadZipFile, OSError, ValueError):
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        has_formulas = any(re.search(rb"<f[ >/]", archive.read(name)) for name in sheets)
    rows = read_filled_sheet(opener, data, path, computed_values=True)
    if not has_formulas:
        yield from rows
        return
    for values, written in zip(
        rows, read_filled_sheet(opener, data, path, computed_values=False), strict=False
    ):
        computed = (str(cell).startswith("=") or type(cell).__name__ == "ArrayFormula" for cell in written)
        yield [
            value
            if not is_computed or (isinstance(value, int | float) and not isinstance(value, bool))
            else Formula(str(cell))
            for value, cell, is_computed in zip(values, written, computed, strict=False)
        ]


def read_parquet(data: bytes, path: Path) -> Iterator[RowCells]:
    """The rows of a Parquet file, the names of its columns first.

    Raises:
        UserError: it is none, or pyarrow is not installed.
    """
    try:
        from pyarrow import parquet

        file = parquet.ParquetFile(io.BytesIO(data))
        yield [*file.schema_arrow.names]
        for part in file.iter_batches(PARQUET_BATCH_ROWS):
            yield from map(list, zip(*(column.to_pylist() for column in part.columns), strict=True))
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    except Exception as error:  # a damaged file makes pyarrow raise whatever its parts raise
        raise UserError(f"{path}: not a Parquet file ({str(error) or type(error).__name__})") from None


def normalize_header(header: Iterable[object], path: Path, extra_names: Collection[str] = ()) -> list[str]:
    """The names of a header, known ones as `column_names.known_name` has them; "" where a column has none.

    Raises:
        UserError: a name occurs more than once.
    """
    names = ["" if name is None else normalize_column_name(name, extra_names) for name in header]
    if twice := find_duplicates(filter(None, names)):
        raise UserError(f"{path}: the header names {', '.join(twice)} more than once; keep one")
    return names


def label_rows(
    cells: Iterable[RowCells], path: Path, extra_names: Collection[str] = (), skip_empty_rows: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each row as a spreadsheet counts them (the header is row 1) and its cells by column.

    Args:
        cells: of the header first. passed_over: rows without any content, as Excel writes them, are left out.

    Raises:
        UserError: at the end: the rows with a cell beyond the header (as a decimal comma makes one).
    """
    rows = iter(cells)
    names = normalize_header(next(rows, []), path, extra_names)
    surplus: list[int] = []
    for number, row in enumerate(rows, 2):
        if skip_empty_rows and not any(cell is not None for cell in row):
            continue
        if any(cell is not None for cell in row[len(names) :]):
            surplus.append(number)
        yield (
            number,
            {name: cell for name, cell in zip(names, chain(row, repeat(None)), strict=False) if name},
        )
    if surplus:
        raise UserError(
            f"{path}: {format_count(len(surplus), 'row has', 'rows have')} more cells than the header has names, so which is which is not known: "
            f"{format_row_numbers(surplus)}. Write decimals with a point, and put in quotes what holds the sign between cells"
        )


def format_row_numbers(numbers: Collection[int]) -> str:
    """Rows by their numbers.

    >>> rows_named([2]), rows_named(range(7))
    ('row 2', 'rows 0, 1, 2, 3, 4 and 2 more')
    """
    return f"row{'' if len(numbers) == 1 else 's'} {join_examples(numbers)}"


def describe_unsupported_cell(cell: object) -> str:
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


def get_workbook_loader(path: Path) -> Any:
    """What opens a workbook.

    Raises:
        UserError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise UserError(
            f"{path}: reading .xlsx needs openpyxl, which is not installed: pip install openpyxl; or save it as .csv"
        ) from None
    return load_workbook


def read_filled_sheet(
    workbook_loader: Any, data: bytes, path: Path, computed_values: bool
) -> Iterator[list[Any]]:
    """The rows of the sheet of a workbook that is filled; of several, that whose header has names that are known.

    Args:
        values: what formulas came to when they were last computed, or else the formulas.

    Raises:
        UserError: it is no workbook, or has several tables.
    """
    try:
        with warnings.catch_warnings():  # of styles that openpyxl does not know
            warnings.simplefilter("ignore")
            book = workbook_loader(io.BytesIO(data), read_only=True, data_only=computed_values)
            rows = {
                sheet.title: [list(cells) for cells in sheet.iter_rows(values_only=True)]
                for sheet in book.worksheets
            }
    except Exception as error:  # a broken workbook makes openpyxl raise whatever its parts raise
        raise UserError(f"{path}: not an Excel workbook ({type(error).__name__}: {error})") from None
    filled = {
        name: cells for name, cells in rows.items() if any(cell is not None for row in cells for cell in row)
    }
    headed = {name: cells for name, cells in filled.items() if len(_known_columns(cells[0])) > 1}
    found = filled if len(filled) < 2 else headed
    if len(found) > 1 or (filled and not found):
        raise UserError(
            f"{path}: several sheets are filled ({', '.join(filled)}); keep the one with the table"
        )
    return iter(next(iter(found.values()), []))


def _known_columns(header: Sequence[object]) -> set[str]:
    names = {normalize_column_name(name) for name in header if name is not None}
    return names.intersection(chain.from_iterable(COLUMN_ALIASES.values()))


def open_checked_zip(path: Path, data: bytes) -> zipfile.ZipFile:
    """The ZIP, once it is known that it does not unpack to more than any such file holds.

    Raises:
        UserError: it is none, or does.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UserError(f"{path}: not a {path.suffix} file, or cut off ({error})") from None
    sizes = [info.file_size for info in archive.infolist()]
    if sum(sizes) > MAX_UNZIPPED_BYTES or max(sizes, default=0) > MAX_ZIP_MEMBER_BYTES:
        raise UserError(
            f"{path}: would unpack to {sum(sizes):,} bytes, {max(sizes):,} in one member; refused beyond "
            f"{MAX_UNZIPPED_BYTES:,} and {MAX_ZIP_MEMBER_BYTES:,}"
        )
    return archive
