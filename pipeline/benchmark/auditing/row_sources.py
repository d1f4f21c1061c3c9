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

from pipeline.core.atomic_files import opened, replacing
from pipeline.core.errors import OUTSIDE, UserError, counted, some_of
from pipeline.core.hf_hub import hub_or_cache
from pipeline.core.table_reader import DELIMITERS, decoded_table, named_rows, parsed_cells, sheet_cells
from pipeline.scoring.input_validation import Repeated, loads
from pipeline.scoring.json_streaming import as_utf8, documents_as_written

PACKED = (b"PK", b"\x1f\x8b")  # how a workbook, a .zip and a .gz begin
AT_ONCE = 500  # rows


class Rows(Protocol):
    """Rows with named columns."""

    columns: list[str]

    def __len__(self) -> int: ...

    def column(self, name: str) -> list[Any]:
        """The value of each row, None where a row has none."""
        ...

    def write(self, keep: Sequence[int], out: Path) -> None:
        """Write these rows in the form they came in, as they were."""
        ...


def open_rows(source: str, config: str | None = None, split: str | None = None) -> Rows:
    """The rows of a file (JSON, JSONL, CSV, TSV, Parquet) or of a data set of the hub or a folder, by `datasets`.

    Args:
        config, split: of a data set; a file has none.

    Raises:
        UserError: there is no such file or data set, or it cannot be read.
    """
    path = Path(source)
    if (path.is_symlink() or path.exists()) and not (path.is_file() or path.is_dir()):
        opened(path)  # tells of a pipe, a device, and of a link that leads nowhere
    if not path.is_file():
        return DatasetRows(source, config, split)
    if config or split:
        raise UserError(f"{source}: a file; --config and --split choose from a data set by name")
    if path.suffix.lower() == ".parquet":
        return ParquetRows(path)
    if path.suffix.lower() in DELIMITERS:
        return TableRows(path)
    if path.suffix.lower() == ".xlsx":
        return SheetRows(path)
    return JsonRows(path)


def _no_number(data: bytes) -> str:
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
        with opened(path) as file:
            data = file.read()
        data = (data if data.startswith(PACKED) else as_utf8(data)).removeprefix(BOM_UTF8)
        if data.startswith(PACKED):
            raise UserError(f"{path}: a workbook or packed; save the sheet as CSV, or unpack what is in it")
        self._around: dict[str, msgspec.Raw] | None = None  # what stands beside the list
        self._place = ""  # its key there
        self._keys: list[str] | None = None  # of the rows, if they are an object by id
        self._lines = False
        try:
            self._raw = self._split(data)
            self._rows = [msgspec.json.decode(raw, type=dict[str, Any]) for raw in self._raw]
            for start in range(0, len(self._raw), AT_ONCE):
                loads(b"[%b]" % b",".join(map(bytes, self._raw[start : start + AT_ONCE])))
        except Repeated as error:
            raise UserError(f"{path}: {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(
                f"{path}: wanted a list of JSON objects, an object that holds one, or an object in each line: {error}{_no_number(data)}"
            ) from error
        if self._keys and self._rows and "question_id" not in self._rows[0]:
            for key, row in zip(self._keys, self._rows, strict=True):
                row["question_id"] = key
        self.columns = list(dict.fromkeys(name for row in self._rows for name in row))

    def _split(self, data: bytes) -> list[msgspec.Raw]:
        if data.lstrip()[:1] == b"[":
            return msgspec.json.decode(data, type=list[msgspec.Raw])
        try:
            around = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:
            self._lines = True
            lines = [line for line in data.splitlines() if line.strip()]
            if not data.lstrip().startswith(b"{") or _is_json(lines[0]):
                return [msgspec.Raw(line) for line in lines]
            return [msgspec.Raw(text.encode()) for _, text in documents_as_written(data, self._path)]
        lists = [name for name, value in around.items() if _LIST_OF_OBJECTS.match(bytes(value))]
        lists = lists or [name for name, value in around.items() if bytes(value)[:1] == b"["]
        if all(bytes(value)[:1] == b"{" for value in around.values()):
            self._keys = list(around)
            return list(around.values())
        if len(lists) == 1:
            self._around, self._place = around, lists[0]
            return msgspec.json.decode(around[lists[0]], type=list[msgspec.Raw])
        self._lines = True  # one object alone is a file of one line
        return [msgspec.Raw(data.strip())]

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        return [row.get(name) for row in self._rows]

    def write(self, keep: Sequence[int], out: Path) -> None:
        rows = [bytes(self._raw[i]).strip() for i in keep]
        listed = b"[\n" + b",\n".join(rows) + b"\n]"
        if self._lines:
            data = b"".join(row + b"\n" for row in rows)
        elif self._keys is not None:
            names = [msgspec.json.encode(self._keys[i]) for i in keep]
            data = b"{\n" + b",\n".join(b": ".join(pair) for pair in zip(names, rows, strict=True)) + b"\n}\n"
        elif self._around is not None:
            data = msgspec.json.encode(self._around | {self._place: msgspec.Raw(listed)}) + b"\n"
        else:
            data = listed + b"\n"
        with replacing(out) as file:
            file.write(data)


class TableRows:
    """CSV or TSV with a header, each value a text; an empty cell is none. Rows of empty cells, as Excel leaves them, do not count.

    What stands between the cells is what the ending says, or what makes more known names of the header, or, where the header
    has none of that, what it has most of.
    """

    def __init__(self, path: Path) -> None:
        with opened(path) as file:
            data = file.read()
        text, self._delimiter = decoded_table(data, path, DELIMITERS[path.suffix.lower()])
        self._set_cells([*parsed_cells(text, self._delimiter, path)], path)

    def _set_cells(self, cells: Sequence[list[Any]], path: Path) -> None:
        if not cells:
            raise UserError(f"{path}: no table with a header: it is empty")
        self._header = [str(name or "").strip() for name in cells[0]]
        numbered = [*named_rows(cells, path)]
        self._rows = [row for _, row in numbered]
        self._cells = [cells[number - 1] for number, _ in numbered]
        self.columns = [*self._rows[0]] if self._rows else [name for name in self._header if name]

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self._rows]

    def write(self, keep: Sequence[int], out: Path) -> None:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        width = len(self._header)
        writer.writerow(self._header)
        rows = (self._cells[i][:width] for i in keep)
        writer.writerows(
            ["" if cell is None else cell for cell in [*row, *[None] * (width - len(row))]] for row in rows
        )
        with replacing(out) as file:
            file.write(text.getvalue().encode())


class SheetRows(TableRows):
    """A workbook's sheet with a header."""

    def __init__(self, path: Path) -> None:
        with opened(path) as file:
            self._set_cells([*sheet_cells(file.read(), path)], path)

    def write(self, keep: Sequence[int], out: Path) -> None:
        raise UserError(f"{out}: a subset of a workbook is not written; save the sheet as .csv and take that")


class ParquetRows:
    """Parquet; only the columns asked for are read."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self._file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno in OUTSIDE:
                raise
            raise UserError(f"{path}: no Parquet file, or cut off: {error}") from error
        self.columns = self._file.schema_arrow.names

    def __len__(self) -> int:
        return self._file.metadata.num_rows

    def column(self, name: str) -> list[Any]:
        return self._file.read([name]).column(0).to_pylist()

    def write(self, keep: Sequence[int], out: Path) -> None:
        import pyarrow.parquet as pq

        kept = io.BytesIO()
        pq.write_table(self._file.read().take(list(keep)), kept)
        with replacing(out) as file:
            file.write(kept.getvalue())


class DatasetRows:
    """A data set by `datasets`: of the hub by its name, or a folder. Pictures are not decoded; written as Parquet."""

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
            with nullcontext() if Path(name).is_dir() else hub_or_cache(name):
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
        self._set: Any = found[split or next(iter(found))]
        self.columns = list(self._set.column_names)

    def __len__(self) -> int:
        return len(self._set)

    def column(self, name: str) -> list[Any]:
        return self._set.data.column(name).to_pylist()

    def write(self, keep: Sequence[int], out: Path) -> None:
        kept = io.BytesIO()
        self._set.select(list(keep)).to_parquet(kept)
        with replacing(out) as file:
            file.write(kept.getvalue())


class JoinedRows:
    """A file of questions and one of annotations, joined by `question_id`, as VQA keeps them; written as two files of
    the same names into a folder.

    Raises:
        UserError: ids do not match, or are there twice.
    """

    def __init__(self, questions: Path, annotations: Path) -> None:
        self._names = questions.name, annotations.name
        self._parts = JsonRows(questions), JsonRows(annotations)
        asked, told = ([str(key) for key in part.column("question_id")] for part in self._parts)
        place = {key: i for i, key in enumerate(told)}
        missing = [key for key in asked if key not in place]
        if missing or len(place) < len(told) or len(set(asked)) < len(asked):
            repeated = len(told) - len(place) + len(asked) - len(set(asked))
            raise UserError(
                f"{questions} and {annotations}: {counted(len(missing), 'question')} without an annotation"
                f"{f' ({some_of(missing)})' if missing else ''}, {counted(repeated, 'repeated question_id')}; each question needs one row in each file"
            )
        self._places = [place[key] for key in asked]
        self.columns = list(dict.fromkeys(name for part in self._parts for name in part.columns))

    def __len__(self) -> int:
        return len(self._places)

    def column(self, name: str) -> list[Any]:
        questions, annotations = self._parts
        if name in questions.columns:
            return questions.column(name)
        values = annotations.column(name)
        return [values[i] for i in self._places]

    def write(self, keep: Sequence[int], out: Path) -> None:
        for part, name, rows in zip(
            self._parts, self._names, (keep, [self._places[i] for i in keep]), strict=True
        ):
            part.write(rows, out / name)
