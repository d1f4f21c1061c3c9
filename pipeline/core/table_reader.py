"""Read tables of users: CSV, TSV, Excel and Parquet.

Predictions, questions and other benchmarks are read by this module. Readers yield rows of cells, and
`label_rows` adds the column names. The module uses the standard library only, because the wheel of the
scorers contains it. openpyxl and pyarrow are imported only when a file needs them.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
import zipfile
import zlib
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
# A special first line for Excel, which names the delimiter. Excel does not show this line.
EXCEL_SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
# Number of Parquet rows that are read together.
PARQUET_BATCH_ROWS = 1 << 9
# Maximum sizes after unpacking, larger than any log or workbook. Files that would unpack to more bytes are
# refused as ZIP bombs.
MAX_ZIP_MEMBER_BYTES = 1 << 28
MAX_UNZIPPED_BYTES = 1 << 34
# What a damaged or encrypted ZIP archive raises when it is opened or read.
ARCHIVE_ERRORS = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, zlib.error)
# Cells of a row; None is an empty cell.
RowCells = list[Any]
# Some benchmarks store images in cells (VLMEvalKit, MM-UPD), which exceed Python's default limit of 128 KiB.
csv.field_size_limit(1 << 28)


class Formula:
    """A spreadsheet cell with a formula whose value is not a number.

    Args:
        text: Text of the formula.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def read_delimited(
    data: bytes, path: Path, delimiter: str = ",", extra_names: Collection[str] = ()
) -> Iterator[RowCells]:
    """Yield the rows of a CSV or TSV file, the header first.

    Args:
        data: Content of the file: UTF-8 with or without a byte order mark, or UTF-16 with a byte order mark.
        path: The file, for messages.
        delimiter: Expected delimiter. Another delimiter is used if Excel's first line `sep=;` names it, or if
            it splits the header into more known names.
        extra_names: Column names that are known in addition to `COLUMN_ALIASES`.

    Raises:
        UserError: The file is not UTF-8 or UTF-16, or a quotation does not end.
    """
    yield from parse_csv(*decode_delimited(data, path, delimiter, extra_names), path)


def parse_csv(text: str, delimiter: str, path: Path) -> Iterator[RowCells]:
    """Yield the rows of a CSV text. Empty cells are None.

    Raises:
        UserError: A quotation does not end, or begins in the middle of a cell.
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
    """Return the text of a CSV or TSV file without Excel's first line `sep=;`, and the delimiter of the file.

    The arguments are those of `read_delimited`.
    """
    try:
        # Excel's "Unicode text" is UTF-16.
        is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    if named := EXCEL_SEPARATOR_LINE.match(text):
        return text[named.end() :], named[1]
    return text, detect_delimiter(text, delimiter, extra_names)


def detect_delimiter(text: str, delimiter: str, extra_names: Collection[str] = ()) -> str:
    """Return the delimiter of a table.

    The result is the expected delimiter, unless another delimiter splits the header into more known names. If
    the header does not contain the expected delimiter, ties are broken by the number of columns.

    Args:
        text: Text of the table.
        delimiter: The expected delimiter.
        extra_names: Column names that are known in addition to `COLUMN_ALIASES`.
    """
    known = {name for names in COLUMN_ALIASES.values() for name in names} | {*extra_names}

    def rate(candidate: str) -> tuple[int, int]:
        with suppress(csv.Error):
            head = next(csv.reader(io.StringIO(text, newline=""), delimiter=candidate), [])
            return sum(
                normalize_column_name(name, extra_names) in known for name in head
            ), 0 if delimiter in line else len(head)
        return 0, 0

    line = text.partition("\n")[0]
    return max((delimiter, *CANDIDATE_DELIMITERS), key=rate)


def read_xlsx(data: bytes, path: Path) -> Iterator[RowCells]:
    """Yield the rows of the filled sheet of a workbook (.xlsx), the header first.

    For a cell with a formula, the row contains the number that was last computed, or a `Formula` if the value
    is not a number.

    Args:
        data: Content of the file.
        path: The file, for messages.

    Raises:
        UserError: The file is not a workbook, is too large or has several filled sheets, or openpyxl is not
            installed.
    """
    opener, has_formulas = get_workbook_loader(path), False
    with open_checked_zip(path, data) as archive, suppress(*ARCHIVE_ERRORS):
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
    """Yield the rows of a Parquet file, the column names first.

    Args:
        data: Content of the file.
        path: The file, for messages.

    Raises:
        UserError: The file is not a Parquet file, or pyarrow is not installed.
    """
    try:
        from pyarrow import parquet

        file = parquet.ParquetFile(io.BytesIO(data))
        yield [*file.schema_arrow.names]
        for batch in file.iter_batches(PARQUET_BATCH_ROWS):
            yield from map(list, zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    # pyarrow raises many kinds of errors for damaged files.
    except Exception as error:
        raise UserError(f"{path}: not a Parquet file ({str(error) or type(error).__name__})") from None


def normalize_header(header: Iterable[object], path: Path, extra_names: Collection[str] = ()) -> list[str]:
    """Return the column names of a header, normalized by `normalize_column_name`; "" for a column without a
    name.

    Raises:
        UserError: A name occurs more than once.
    """
    names = ["" if name is None else normalize_column_name(name, extra_names) for name in header]
    if duplicates := find_duplicates(filter(None, names)):
        raise UserError(f"{path}: the header has {', '.join(duplicates)} more than once; keep one")
    return names


def label_rows(
    cells: Iterable[RowCells], path: Path, extra_names: Collection[str] = (), skip_empty_rows: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each row and the cells of the row by column.

    Rows are counted as in a spreadsheet: the header is row 1.

    Args:
        cells: Cells of each row, the header first.
        path: The file, for messages.
        extra_names: Column names that are known in addition to `COLUMN_ALIASES`.
        skip_empty_rows: Skip rows without content, which Excel may write.

    Raises:
        UserError: The header has a name more than once. Or, after the last row: rows have cells beyond the
            header, for example because of a decimal comma.
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
            f"{path}: {format_count(len(surplus), 'row has', 'rows have')} more cells than the header: {format_row_numbers(surplus)}. "
            "Write decimals with a point, and put cells that contain the delimiter in quotes"
        )


def format_row_numbers(numbers: Collection[int]) -> str:
    """Return a phrase that lists the numbers of rows, at most five of them.

    Example:
        >>> format_row_numbers([2]), format_row_numbers(range(7))
        ('row 2', 'rows 0, 1, 2, 3, 4 and 2 more')
    """
    return f"row{'' if len(numbers) == 1 else 's'} {join_examples(numbers)}"


def describe_unsupported_cell(cell: object) -> str:
    """Return a description of a spreadsheet cell that is neither a text nor a number; "" for a text or a
    number.
    """
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
    """Return `openpyxl.load_workbook`.

    Raises:
        UserError: Openpyxl is not installed.
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
    """Return the rows of the filled sheet of a workbook.

    If several sheets are filled, the only sheet whose header has at least two known names is read.

    Args:
        workbook_loader: `openpyxl.load_workbook`.
        data: Content of the file.
        path: The file, for messages.
        computed_values: Return the values that formulas had when they were last computed, instead of the
            formulas.

    Raises:
        UserError: The file is not a workbook, or it is not clear which sheet has the table.
    """
    try:
        # openpyxl warns about styles that it does not know.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = workbook_loader(io.BytesIO(data), read_only=True, data_only=computed_values)
            rows = {
                sheet.title: [list(cells) for cells in sheet.iter_rows(values_only=True)]
                for sheet in book.worksheets
            }
    # openpyxl raises many kinds of errors for damaged files.
    except Exception as error:
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
    """Open a ZIP archive, and refuse one that would unpack to an unreasonable size.

    Raises:
        UserError: The file is not a ZIP archive, or too large.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except ARCHIVE_ERRORS as error:
        raise UserError(f"{path}: not a {path.suffix} file, or truncated ({error})") from None
    sizes = [info.file_size for info in archive.infolist()]
    if sum(sizes) > MAX_UNZIPPED_BYTES or max(sizes, default=0) > MAX_ZIP_MEMBER_BYTES:
        raise UserError(
            f"{path}: would unpack to {sum(sizes):,} bytes, with {max(sizes):,} in one member; the limits are "
            f"{MAX_UNZIPPED_BYTES:,} and {MAX_ZIP_MEMBER_BYTES:,}"
        )
    return archive
