"""Rows of a file or a data set, whatever its form; some of them can be written again in the same form."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
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

ARCHIVE_SIGNATURES = (b"PK", b"\x1f\x8b")  # how a workbook, a .zip and a .gz begin
ROWS_PER_CHECK = 500  # rows


class RowSource(Protocol):
    """Rows with named columns."""

    columns: list[str]

    def __len__(self) -> int: ...

    def column(self, name: str) -> list[Any]:
        """The value of each row, None where a row has none."""
        ...

    def write(self, indices: Sequence[int], out: Path) -> None:
        """Write these rows in the form they came in, as they were."""
        ...


def open_rows(source: str, config: str | None = None, split: str | None = None) -> RowSource:
    """The rows of a file (JSON, JSONL, CSV, TSV, Parquet) or of a data set of the hub or a folder, by `datasets`.

    Args:
        config, split: of a data set; a file has none.

    Raises:
        UserError: there is no such file or data set, or it cannot be read.
    """
    path = Path(source)
    if (path.is_symlink() or path.exists()) and not (path.is_file() or path.is_dir()):
        open_for_reading(path)  # tells of a pipe, a device, and of a link that leads nowhere
    if not path.is_file():
        return DatasetRows(source, config, split)
    if config or split:
        raise UserError(f"{source}: a file; --config and --split choose from a data set by name")
    if path.suffix.lower() == ".parquet":
        return ParquetRows(path)
    if path.suffix.lower() in DEFAULT_DELIMITERS:
        return DelimitedRows(path)
    if path.suffix.lower() == ".xlsx":
        return ExcelRows(path)
    return JsonRows(path)


def _nan_hint(data: bytes) -> str:
    """What to do, where a NaN or an infinity stands outside of texts."""
    found = re.search(rb"\b(NaN|Infinity)\b", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data))
    return f" ({found[1].decode()} is no JSON: write null)" if found else ""


_LIST_OF_OBJECTS = re.compile(rb"\[\s*\{")


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


class JsonRows:
    """JSON: a list of objects, or an object that holds one (`{"questions": [...]}`) or is one by id
    (`{"0229": {...}}`); or an object in each line. Each row is kept as it was written, to the byte."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_for_reading(path) as file:
            data = file.read()
        data = (data if data.startswith(ARCHIVE_SIGNATURES) else to_utf8(data)).removeprefix(BOM_UTF8)
        if data.startswith(ARCHIVE_SIGNATURES):
            raise UserError(f"{path}: a workbook or packed; save the sheet as CSV, or unpack what is in it")
        self._enclosing_object: dict[str, msgspec.Raw] | None = None  # what stands beside the list
        self._list_key = ""  # its key there
        self._row_keys: list[str] | None = None  # of the rows, if they are an object by id
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
                f"{path}: wanted a list of JSON objects, an object that holds one, or an object in each line: {error}{_nan_hint(data)}"
            ) from error
        if self._row_keys and self._rows and "question_id" not in self._rows[0]:
            for key, row in zip(self._row_keys, self._rows, strict=True):
                row["question_id"] = key
        self.columns = list(dict.fromkeys(name for row in self._rows for name in row))

    def _split_rows(self, data: bytes) -> list[msgspec.Raw]:
        if data.lstrip()[:1] == b"[":
            return msgspec.json.decode(data, type=list[msgspec.Raw])
        try:
            around = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:
            self._is_jsonl = True
            lines = [line for line in data.splitlines() if line.strip()]
            if not data.lstrip().startswith(b"{") or _is_json(lines[0]):
                return [msgspec.Raw(line) for line in lines]
            return [msgspec.Raw(text.encode()) for _, text in stream_raw_documents(data, self._path)]
        lists = [name for name, value in around.items() if _LIST_OF_OBJECTS.match(bytes(value))]
        lists = lists or [name for name, value in around.items() if bytes(value)[:1] == b"["]
        if all(bytes(value)[:1] == b"{" for value in around.values()):
            self._row_keys = list(around)
            return list(around.values())
        if len(lists) == 1:
            self._enclosing_object, self._list_key = around, lists[0]
            return msgspec.json.decode(around[lists[0]], type=list[msgspec.Raw])
        self._is_jsonl = True  # one object alone is a file of one line
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
    """CSV or TSV with a header, each value a text; an empty cell is none. Rows of empty cells, as Excel leaves them, do not count.

    What stands between the cells is what the ending says, or what makes more known names of the header, or, where the header
    has none of that, what it has most of.
    """

    def __init__(self, path: Path) -> None:
        with open_for_reading(path) as file:
            data = file.read()
        text, self._delimiter = decode_delimited(data, path, DEFAULT_DELIMITERS[path.suffix.lower()])
        self._set_cells([*parse_csv(text, self._delimiter, path)], path)

    def _set_cells(self, cells: Sequence[list[Any]], path: Path) -> None:
        if not cells:
            raise UserError(f"{path}: no table with a header: it is empty")
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
    """A workbook's sheet with a header."""

    def __init__(self, path: Path) -> None:
        with open_for_reading(path) as file:
            self._set_cells([*read_xlsx(file.read(), path)], path)

    def write(self, indices: Sequence[int], out: Path) -> None:
        raise UserError(f"{out}: a subset of a workbook is not written; save the sheet as .csv and take that")


class ParquetRows:
    """Parquet; only the columns asked for are read."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno in OS_ERROR_HINTS:
                raise
            raise UserError(f"{path}: no Parquet file, or cut off: {error}") from error
        self.columns = self._file.schema_arrow.names

    def __len__(self) -> int:
        return self._file.metadata.num_rows

    def column(self, name: str) -> list[Any]:
        return self._file.read([name]).column(0).to_pylist()

    def write(self, indices: Sequence[int], out: Path) -> None:
        import pyarrow.parquet as pq

        kept = io.BytesIO()
        pq.write_table(self._file.read().take(list(indices)), kept)
        with atomic_write(out) as file:
            file.write(kept.getvalue())


class DatasetRows:
    """A data set by `datasets`: of the hub by its name, or a folder. Images are not decoded; written as Parquet."""

    def __init__(self, name: str, config: str | None, split: str | None) -> None:
        if not Path(name).is_dir() and (name.count("/") != 1 or Path(name).suffix in (".json", ".jsonl")):
            raise UserError(f"{name}: no such file; a data set of the hub has a name like owner/name")
        try:
            import datasets
        except ModuleNotFoundError as error:
            raise UserError(
                f'{name}: data sets by name need the library: pip install datasets (or ".[build]")'
            ) from error
        try:
            with nullcontext() if Path(name).is_dir() else use_cache_if_unreachable(name):
                found = datasets.load_dataset(name, config)
        except Exception as error:  # the library lets through whatever its readers and its server raise
            said = " ".join(str(error).split())[:400]
            raise UserError(
                f"{name}: `datasets` cannot load it (of several configurations choose one: --config NAME): {said}"
            ) from error
        if split is None and len(found) > 1:
            raise UserError(f"{name}: it has splits {', '.join(map(str, found))}; choose one: --split NAME")
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
    """A file of questions and one of annotations, joined by `question_id`, as VQA keeps them; written as two files of
    the same names into a folder.

    Raises:
        UserError: ids do not match, or are there twice.
    """

    def __init__(self, questions: Path, annotations: Path) -> None:
        self._file_names = questions.name, annotations.name
        self._files = JsonRows(questions), JsonRows(annotations)
        asked, told = ([str(key) for key in part.column("question_id")] for part in self._files)
        place = {key: i for i, key in enumerate(told)}
        missing = [key for key in asked if key not in place]
        if missing or len(place) < len(told) or len(set(asked)) < len(asked):
            repeated = len(told) - len(place) + len(asked) - len(set(asked))
            raise UserError(
                f"{questions} and {annotations}: {format_count(len(missing), 'question')} without an annotation"
                f"{f' ({join_examples(missing)})' if missing else ''}, {format_count(repeated, 'repeated question_id')}; each question needs one row in each file"
            )
        self._annotation_index = [place[key] for key in asked]
        self.columns = list(dict.fromkeys(name for part in self._files for name in part.columns))

    def __len__(self) -> int:
        return len(self._annotation_index)

    def column(self, name: str) -> list[Any]:
        questions, annotations = self._files
        if name in questions.columns:
            return questions.column(name)
        values = annotations.column(name)
        return [values[i] for i in self._annotation_index]

    def write(self, indices: Sequence[int], out: Path) -> None:
        for part, name, rows in zip(
            self._files,
            self._file_names,
            (indices, [self._annotation_index[i] for i in indices]),
            strict=True,
        ):
            part.write(rows, out / name)
