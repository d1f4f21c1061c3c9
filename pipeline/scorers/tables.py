"""The rows of a file, of whatever form: JSON, JSONL, CSV, TSV; Parquet, Excel and inspect_ai's logs where what reads them is
installed."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .headers import columns, delimited, named_cells
from .json_parts import ROWS, parse_list
from .logs import samples_of
from .validation import InputError, parse_json, parse_lines

VERSION = ("benchmark_version", "version")
WANTED = "wanted a list of objects with questionId, prediction and confidence"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATOR = re.compile(
    r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE
)  # Excel's own first line, which it does not show
READ = ".json, .jsonl, .csv, .tsv, .parquet, .xlsx or .eval (also .gz of these)"
PICKLED = ", since opening a pickle runs whatever code is in it"
REFUSED = {".pkl": PICKLED, ".pickle": PICKLED, ".npy": "", ".npz": "", ".xls": ""}


def rows_of(path: Path, data: bytes) -> tuple[Iterable[Any], str]:
    """The rows of a file, read as they are asked for, and the benchmark's version if the file names it beside them."""
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    if kind in DELIMITERS:
        return _csv_rows(path, data, DELIMITERS[kind]), ""
    if kind in (".jsonl", ".ndjson"):
        return (row for _, row in parse_lines(data, path)), ""
    if kind == ".parquet":
        return _parquet_rows(path, data), ""
    if kind in (".eval", ".xlsx"):
        from .zipped import eval_samples, xlsx_rows  # late: most files are none

        return (eval_samples if kind == ".eval" else xlsx_rows)(path, data), ""
    if kind in REFUSED:
        raise InputError(f"{path}: {kind} is not read{REFUSED[kind]}; wanted {READ}")
    if parts := parse_list(data, path):
        return parts, ""
    value = parse_json(data, path)
    if (samples := samples_of(value, path)) is not None:
        return samples, ""
    if not isinstance(value, dict) or not isinstance(value.get("predictions"), list):
        raise InputError(f"{path}: {WANTED}")
    return value["predictions"], str(first(value, VERSION) or "")


def as_text(path: Path) -> bool:
    """Whether a file's form knows no numbers, so that they come as texts."""
    return not DELIMITERS.keys().isdisjoint(ending.lower() for ending in path.suffixes)


def _csv_rows(path: Path, data: bytes, delimiter: str) -> Iterator[dict[str, Any]]:
    try:
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # Excel's "Unicode text"
        text = data.decode("utf-16" if wide else "utf-8-sig")
        if named := SEPARATOR.match(text):
            text, delimiter = text[named.end() :], named[1]
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimited(text, delimiter), strict=True)
        yield from named_cells(columns(next(rows, []), path), rows, path)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    except csv.Error as error:
        raise InputError(f"{path}: not a table ({error})") from None


def _parquet_rows(path: Path, data: bytes) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import parquet

        file = parquet.ParquetFile(io.BytesIO(data))
        names = columns(file.schema_arrow.names, path)
        for part in file.iter_batches(ROWS):
            cells = (column.to_pylist() for column in part.columns)
            yield from (dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True))
    except ImportError:
        raise InputError(
            f"{path}: reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    except InputError:
        raise
    except Exception as error:  # a damaged file makes pyarrow raise whatever its parts raise
        raise InputError(f"{path}: not a Parquet file ({str(error) or type(error).__name__})") from None


def first(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """What the row has under the first of the keys that it has."""
    return next((row[key] for key in keys if row.get(key) is not None), None)
