"""Read rows from files and data sets of any format, and write a selection of them in the same format."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

import msgspec

from pipeline.core.atomic_files import atomic_write, open_for_reading
from pipeline.core.errors import OS_ERROR_HINTS, UserError, format_count, join_examples
from pipeline.core.hf_hub import use_cache_if_unreachable
from pipeline.core.table_reader import DEFAULT_DELIMITERS, decode_delimited, label_rows, parse_csv, read_xlsx
from pipeline.scoring.input_validation import DuplicateKeyError, loads_strict
from pipeline.scoring.json_streaming import stream_raw_documents, to_utf8

# First bytes of .xlsx and .zip files, and of .gz files.
ARCHIVE_SIGNATURES = (b"PK", b"\x1f\x8b")
# Number of rows that are checked at once.
ROWS_PER_CHECK = 500
# Number of rows of a Parquet file, which may contain images, that are in memory at the same time.
ROWS_PER_BATCH = 64


class RowSource(Protocol):
    """Rows with named columns."""

    columns: list[str]

    def __len__(self) -> int: ...

    def column(self, name: str) -> list[Any]:
        """Return the value of each row in a column, or None for a row without a value."""
        ...

    def write(self, indices: Sequence[int], out: Path) -> None:
        """Write the rows with these indices unchanged, in the format of the source."""
        ...


def open_rows(source: str, config: str | None = None, split: str | None = None) -> RowSource:
    """Open a file or a data set.

    Files can be JSON, JSONL, CSV, TSV, XLSX or Parquet. Data sets are loaded by the Hugging Face library
    `datasets`.

    Args:
        source: Path of a file or folder, or name of a data set on the Hugging Face hub (owner/name).
        config, split: Configuration and split of a data set. None for files, and for data sets with only one.

    Raises:
        UserError: The file or data set does not exist or cannot be read.
    """
    path = Path(source)
    if (path.is_symlink() or path.exists()) and not (path.is_file() or path.is_dir()):
        # For a pipe, a device or a broken link, this call raises an error that names it.
        open_for_reading(path)
    if not path.is_file():
        return DatasetRows(source, config, split)
    if config or split:
        raise UserError(f"{source}: --config and --split apply to data sets, not to files; leave them out")
    if path.suffix.lower() == ".parquet":
        return ParquetRows(path)
    if path.suffix.lower() in DEFAULT_DELIMITERS:
        return DelimitedRows(path)
    if path.suffix.lower() == ".xlsx":
        return ExcelRows(path)
    return JsonRows(path)


def open_labelled_rows(
    source: str, annotations: Path | None = None, config: str | None = None, split: str | None = None
) -> RowSource:
    """Open a set of which some rows may be in a file of annotations.

    Args:
        source, config, split: As in `open_rows`.
        annotations: File of annotations of VQA v2, if `source` has only the questions; None otherwise.

    Raises:
        UserError: The files cannot be read or joined, or the options contradict each other.
    """
    if annotations is None:
        return open_rows(source, config, split)
    if config or split:
        raise UserError("--annotations needs SOURCE to be a file; leave out --config and --split")
    return JoinedRows(Path(source), annotations)


def _nan_hint(data: bytes) -> str:
    """Return a hint if the data contains NaN or Infinity outside of strings, otherwise ""."""
    found = re.search(rb"\b(NaN|Infinity)\b", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data))
    return f" ({found[1].decode()} is not valid JSON: write null)" if found else ""


_LIST_OF_OBJECTS = re.compile(rb"\[\s*\{")


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


class JsonRows:
    """Rows of a JSON or JSONL file.

    The file has one of four structures: a list of objects, an object that contains one list of objects
    (`{"questions": [...]}`), an object that maps ids to objects (`{"0229": {...}}`), or JSON Lines. The bytes
    of each row are kept, so that rows are written unchanged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_for_reading(path) as file:
            data = file.read()
        data = (data if data.startswith(ARCHIVE_SIGNATURES) else to_utf8(data)).removeprefix(BOM_UTF8)
        if data.startswith(ARCHIVE_SIGNATURES):
            raise UserError(
                f"{path}: the file is an archive or an Excel workbook. Unpack it, or save the sheet as CSV."
            )
        # The object that contains the list of rows (None if there is no such object), and the key of that
        # list.
        self._enclosing_object: dict[str, msgspec.Raw] | None = None
        self._list_key = ""
        # The ids of the rows if the file maps ids to rows, otherwise None.
        self._row_keys: list[str] | None = None
        self._is_jsonl = False
        try:
            self._raw = self._split_rows(data)
            self._rows = [msgspec.json.decode(raw, type=dict[str, Any]) for raw in self._raw]
            for start in range(0, len(self._raw), ROWS_PER_CHECK):
                loads_strict(b"[%b]" % b",".join(map(bytes, self._raw[start : start + ROWS_PER_CHECK])))
        except DuplicateKeyError as error:
            raise UserError(f"{path}: {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(
                f"{path}: expected a list of JSON objects, an object that contains such a list, or JSON Lines:"
                f" {error}{_nan_hint(data)}"
            ) from error
        if self._row_keys and self._rows and "question_id" not in self._rows[0]:
            for key, row in zip(self._row_keys, self._rows, strict=True):
                row["question_id"] = key
        self.columns = list(dict.fromkeys(name for row in self._rows for name in row))

    def _split_rows(self, data: bytes) -> list[msgspec.Raw]:
        if data.lstrip()[:1] == b"[":
            return msgspec.json.decode(data, type=list[msgspec.Raw])
        try:
            enclosing = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:
            self._is_jsonl = True
            lines = [line for line in data.splitlines() if line.strip()]
            if not data.lstrip().startswith(b"{") or _is_json(lines[0]):
                return [msgspec.Raw(line) for line in lines]
            return [msgspec.Raw(text.encode()) for _, text in stream_raw_documents(data, self._path)]
        lists = [name for name, value in enclosing.items() if _LIST_OF_OBJECTS.match(bytes(value))]
        lists = lists or [name for name, value in enclosing.items() if bytes(value)[:1] == b"["]
        if all(bytes(value)[:1] == b"{" for value in enclosing.values()):
            self._row_keys = list(enclosing)
            return list(enclosing.values())
        if len(lists) == 1:
            self._enclosing_object, self._list_key = enclosing, lists[0]
            return msgspec.json.decode(enclosing[lists[0]], type=list[msgspec.Raw])
        # A single object is a JSONL file with one line.
        self._is_jsonl = True
        return [msgspec.Raw(data.strip())]

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        return [row.get(name) for row in self._rows]

    def write(self, indices: Sequence[int], out: Path) -> None:
        rows = [bytes(self._raw[i]).strip() for i in indices]
        listed = b"[\n" + b",\n".join(rows) + b"\n]"
        if self._is_jsonl:
            data = b"".join(row + b"\n" for row in rows)
        elif self._row_keys is not None:
            names = [msgspec.json.encode(self._row_keys[i]) for i in indices]
            data = b"{\n" + b",\n".join(b": ".join(pair) for pair in zip(names, rows, strict=True)) + b"\n}\n"
        elif self._enclosing_object is not None:
            data = msgspec.json.encode(self._enclosing_object | {self._list_key: msgspec.Raw(listed)}) + b"\n"
        else:
            data = listed + b"\n"
        with atomic_write(out) as file:
            file.write(data)


class DelimitedRows:
    """Rows of a CSV or TSV file with a header.

    Values are strings, and an empty cell is None. Rows in which all cells are empty are skipped, because
    Excel leaves such rows. The delimiter follows from the file name, with two exceptions: another delimiter
    is used if it yields more known column names, or if the header has no known name and the other delimiter
    occurs more often.
    """

    def __init__(self, path: Path) -> None:
        with open_for_reading(path) as file:
            data = file.read()
        text, self._delimiter = decode_delimited(data, path, DEFAULT_DELIMITERS[path.suffix.lower()])
        self._set_cells([*parse_csv(text, self._delimiter, path)], path)

    def _set_cells(self, cells: Sequence[list[Any]], path: Path) -> None:
        if not cells:
            raise UserError(f"{path}: the file is empty; expected a table with a header")
        self._header = [str(name or "").strip() for name in cells[0]]
        numbered = [*label_rows(cells, path)]
        self._rows = [row for _, row in numbered]
        self._cells = [cells[number - 1] for number, _ in numbered]
        self.columns = [*self._rows[0]] if self._rows else [name for name in self._header if name]

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self._rows]

    def write(self, indices: Sequence[int], out: Path) -> None:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        width = len(self._header)
        writer.writerow(self._header)
        rows = (self._cells[i][:width] for i in indices)
        writer.writerows(
            ["" if cell is None else cell for cell in [*row, *[None] * (width - len(row))]] for row in rows
        )
        with atomic_write(out) as file:
            file.write(text.getvalue().encode())


class ExcelRows(DelimitedRows):
    """Rows of the first sheet of an Excel workbook with a header."""

    def __init__(self, path: Path) -> None:
        with open_for_reading(path) as file:
            self._set_cells([*read_xlsx(file.read(), path)], path)

    def write(self, indices: Sequence[int], out: Path) -> None:
        raise UserError(
            f"{out}: cannot write a subset of a workbook; save the sheet as .csv and use that file"
        )


class ParquetRows:
    """Rows of a Parquet file. A column is read only when it is used."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno in OS_ERROR_HINTS:
                raise
            raise UserError(f"{path}: not a Parquet file, or truncated: {error}") from error
        self.columns = self._file.schema_arrow.names

    def __len__(self) -> int:
        return self._file.metadata.num_rows

    def column(self, name: str) -> list[Any]:
        return self._file.read([name]).column(0).to_pylist()

    def iterate(self, name: str) -> Iterator[Any]:
        """Yield the values of a column, of which only a few are in memory at the same time."""
        for batch in self._file.iter_batches(ROWS_PER_BATCH, columns=[name]):
            yield from batch.column(0).to_pylist()

    def write(self, indices: Sequence[int], out: Path) -> None:
        import pyarrow.parquet as pq

        kept = io.BytesIO()
        pq.write_table(self._file.read().take(list(indices)), kept)
        with atomic_write(out) as file:
            file.write(kept.getvalue())


class DatasetRows:
    """Rows of a data set that the library `datasets` loads from a folder or from the Hugging Face hub.

    Images are not decoded. Rows are written as Parquet.
    """

    def __init__(self, name: str, config: str | None, split: str | None) -> None:
        if not Path(name).is_dir() and (name.count("/") != 1 or Path(name).suffix in (".json", ".jsonl")):
            raise UserError(
                f"{name}: no such file; the name of a data set on the hub has the form owner/name"
            )
        try:
            import datasets
        except ModuleNotFoundError as error:
            raise UserError(
                f"{name}: loading a data set by name needs the library datasets: pip install datasets"
                ' (or ".[build]")'
            ) from error
        try:
            with nullcontext() if Path(name).is_dir() else use_cache_if_unreachable(name):
                found = datasets.load_dataset(name, config)
        # The library passes on errors of any type from its readers and from the server.
        except Exception as error:
            reason = " ".join(str(error).split())[:400]
            raise UserError(
                f"{name}: `datasets` cannot load it; if it has several configurations, choose one with --config NAME:"
                f" {reason}"
            ) from error
        if split is None and len(found) > 1:
            raise UserError(
                f"{name}: it has the splits {', '.join(map(str, found))}; choose one with --split NAME"
            )
        if split is not None and split not in found:
            raise UserError(f"{name}: no split {split!r}; it has {', '.join(map(str, found))}")
        self._dataset: Any = found[split or next(iter(found))]
        self.columns = list(self._dataset.column_names)

    def __len__(self) -> int:
        return len(self._dataset)

    def column(self, name: str) -> list[Any]:
        return self._dataset.data.column(name).to_pylist()

    def write(self, indices: Sequence[int], out: Path) -> None:
        kept = io.BytesIO()
        self._dataset.select(list(indices)).to_parquet(kept)
        with atomic_write(out) as file:
            file.write(kept.getvalue())


class JoinedRows:
    """Rows of a file of questions and a file of annotations, joined by their id, as in VQA v2.

    Rows are written into a folder as two files with the names of the original files.

    Raises:
        UserError: An id is missing in one file or occurs more than once.
    """

    def __init__(self, questions: Path, annotations: Path, key: str = "question_id") -> None:
        self._file_names = questions.name, annotations.name
        self._files = JsonRows(questions), JsonRows(annotations)
        question_ids, annotation_ids = ([str(value) for value in file.column(key)] for file in self._files)
        index = {name: i for i, name in enumerate(annotation_ids)}
        missing = [name for name in question_ids if name not in index]
        num_distinct = len(set(question_ids))
        if missing or len(index) < len(annotation_ids) or num_distinct < len(question_ids):
            repeated = len(annotation_ids) - len(index) + len(question_ids) - num_distinct
            raise UserError(
                f"{questions} and {annotations}: {format_count(len(missing), 'question')} without an annotation"
                f"{f' ({join_examples(missing)})' if missing else ''},"
                f" {format_count(repeated, f'repeated {key}')}; each question needs exactly one row in each file"
            )
        self._annotation_index = [index[name] for name in question_ids]
        self.columns = list(dict.fromkeys(name for file in self._files for name in file.columns))

    def __len__(self) -> int:
        return len(self._annotation_index)

    def column(self, name: str) -> list[Any]:
        questions, annotations = self._files
        if name in questions.columns:
            return questions.column(name)
        values = annotations.column(name)
        return [values[i] for i in self._annotation_index]

    def write(self, indices: Sequence[int], out: Path) -> None:
        for file, name, rows in zip(
            self._files,
            self._file_names,
            (indices, [self._annotation_index[i] for i in indices]),
            strict=True,
        ):
            file.write(rows, out / name)


class RecordRows:
    """Rows in memory, for a set whose files are no tables. They cannot be written in the format of the source."""

    def __init__(self, records: Sequence[Mapping[str, Any]], origin: str) -> None:
        """
        Args:
            records: The rows. All have the same keys.
            origin: What the rows were read from, for messages.
        """
        self._records, self._origin = records, origin
        self.columns = [*records[0]] if records else []

    def __len__(self) -> int:
        return len(self._records)

    def column(self, name: str) -> list[Any]:
        return [record[name] for record in self._records]

    def write(self, indices: Sequence[int], out: Path) -> None:
        raise UserError(
            f"{out}: rows of {self._origin} cannot be written one by one; use a set that is one table"
        )


class ConcatenatedRows:
    """Rows of several files with the same columns, one file after the other."""

    def __init__(self, sources: Sequence[RowSource], origin: str) -> None:
        """
        Args:
            sources: The rows of each file.
            origin: The folder of the files, for messages.
        """
        self.sources, self._origin = sources, origin
        self.columns = [name for name in sources[0].columns if all(name in one.columns for one in sources)]

    def __len__(self) -> int:
        return sum(map(len, self.sources))

    def column(self, name: str) -> list[Any]:
        return [value for source in self.sources for value in source.column(name)]

    def write(self, indices: Sequence[int], out: Path) -> None:
        raise UserError(f"{out}: {self._origin} has several files; name one of them to write a subset of it")
