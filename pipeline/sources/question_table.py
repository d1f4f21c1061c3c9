"""Any other images and questions: a table in `source/`, one question a row. The way in for own data.

    questions.csv      UTF-8, with a header; between the cells commas, semicolons or tabs (or what Excel's line `sep=;` names)
    questions.xlsx     one sheet, with a header; cells that hold ids or answers are text: no numbers, dates or formulas
    questions.parquet  columns of text
    questions.jsonl    one object a line
    images/            the images (JPEG, PNG, WebP, GIF, BMP, AVIF), in this folder itself
    sceneGraphs/<split>_sceneGraphs.json      optional, as GQA writes them, keyed by image id

Columns:
    question_id   text; unique
    image       file name in images/, with or without its ending; without it, it is the image's id
    question      the text
    answer        the one right answer
    split         optional: testdev, train, val or test; when missing, that which the benchmark is built from
    program       optional: the functional program as GQA's `semantic` list, or as JSON text; without it the question
                  can be ranked and perturbed, but not judged
    full_answer, structural, semantic, detailed   optional, as in GQA
The same checks hold for all four formats. An empty cell, null and NaN are missing; "NA" and "None" are texts. Columns may be
written with capitals and blanks ("Question ID"), or have another name of `pipeline/core/column_aliases.py` ("image", "id").
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import msgspec

from pipeline.core.column_aliases import COLUMN_ALIASES, normalize_column_name
from pipeline.core.duplicate_keys import find_duplicate_keys, find_duplicates
from pipeline.core.errors import Problems, UserError
from pipeline.core.images import strip_image_suffix
from pipeline.core.records import Question, Record, Split, Step
from pipeline.core.table_reader import describe_unsupported_cell, read_delimited, read_parquet, read_xlsx
from pipeline.sources.large_json import DECODE_ERRORS, explain_decode_error

TABLE_FILE_NAMES = ("questions.jsonl", "questions.csv", "questions.xlsx", "questions.parquet")
BEYOND_HEADER = "(beyond the header)"


class TableRow(Record, omit_defaults=True):
    """A row of the table."""

    question_id: str
    image: str
    text: str = msgspec.field(name="question")
    answer: str
    split: Split | None = None
    program: tuple[Step, ...] = ()
    full_answer: str = ""
    structural: str = ""
    semantic: str = ""
    detailed: str = ""


_COLUMNS = {field.encode_name for field in msgspec.structs.fields(TableRow)}
# Other names of columns, by ours.
_COLUMN_ALIASES = {
    "question_id": COLUMN_ALIASES["question id"],
    "image": COLUMN_ALIASES["image"],
    "question": COLUMN_ALIASES["question"],
}


def read_questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, default_split: Split
) -> Iterator[Question]:
    """The table's questions of some splits, sorted by id; what is wrong with a row goes to `problems`.

    Args:
        default: the split of rows that name none.
    """
    present = [name for name in TABLE_FILE_NAMES if (source / name).is_file()]
    if len(present) != 1:
        what = f"{describe_misplaced_table(source)}expected one of them, there are {len(present)}"
        problems.add(" or ".join(TABLE_FILE_NAMES), what)
        return
    table: dict[str, tuple[str, TableRow]] = {}
    for where, row in _decode_rows(source / present[0], problems):
        if row.question_id in table:
            problems.add(
                f"{where}, question {row.question_id}", f"the same id is in {table[row.question_id][0]}"
            )
        else:
            table[row.question_id] = where, row
    for _, (_, row) in sorted(table.items()):
        fields: dict[str, Any] = msgspec.structs.asdict(row) | {"split": row.split or default_split}
        if fields["split"] in splits:
            yield Question(image_id=strip_image_suffix(fields.pop("image")), **fields)


def describe_misplaced_table(source: Path) -> str:
    """What lies there under a table's name and is none, for messages; "" where nothing does."""
    told = ""
    for path in sorted(source.iterdir()) if source.is_dir() else ():
        if path.name.lower() in TABLE_FILE_NAMES and not (path.name in TABLE_FILE_NAMES and path.is_file()):
            what = (
                "to be written in small letters"
                if path.is_file()
                else "a folder, not a file"
                if path.is_dir()
                else "a link that leads to no file"
                if path.is_symlink()
                else "no regular file"
            )
            told += f"{path.name} is {what}; "
    return told


def _decode_rows(path: Path, problems: Problems) -> Iterator[tuple[str, TableRow]]:
    with problems.collect():
        for where, row in _read_jsonl_lines(path) if path.suffix == ".jsonl" else _read_table_rows(path):
            try:
                cells, twice = _parse_jsonl_row(row) if isinstance(row, bytes) else (row, [])
                cells = {name: cell for name, cell in cells.items() if cell is not None and cell == cell}
                if changed := [
                    f"{name} is {what}"
                    for name, cell in cells.items()
                    if (what := describe_unsupported_cell(cell))
                ]:
                    problems.add(
                        where, f"{', '.join(changed)}; format the column as text before it is filled"
                    )
                    continue
                if isinstance(cells.get("program"), str):
                    text = cells["program"]
                    cells["program"] = msgspec.json.decode(text)
                    twice += find_duplicate_keys(text.encode())
                for key in twice:
                    problems.add(where, f"the key {key} occurs more than once")
                yield where, msgspec.convert(cells, TableRow)
            except DECODE_ERRORS as error:
                problems.add(where, explain_decode_error(error))


def _parse_jsonl_row(line: bytes) -> tuple[dict[str, Any], list[str]]:
    """The cells of a line of JSONL by our names of columns, and the columns that it names more than once."""
    cells = msgspec.json.decode(line, type=dict[str, Any])
    names = _normalize_columns(cells)
    return dict(zip(names, cells.values(), strict=True)), [
        *find_duplicate_keys(line),
        *find_duplicates(names),
    ]


def _read_jsonl_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Lines of JSON. Not read by pandas: it makes numbers of ids, and ends at the first line that is wrong."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if line.strip():
                yield f"{path.name}, line {number}", line


def _read_table_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where a row stands, and its cells by column; counted as a spreadsheet counts them: the header is row 1 (in Parquet,
    which has none, the first row is).

    Raises:
        UserError: it cannot be read, or its header names a column twice.
    """
    data, name = path.read_bytes(), Path(path.name)
    readers = {".csv": _read_csv, ".xlsx": read_xlsx, ".parquet": read_parquet}
    rows = iter(readers[path.suffix](data, name))
    header = next(rows, None)
    if header is None:
        raise UserError(f"{name}: the file is empty")
    names = _normalize_columns(header)
    if twice := find_duplicates(name for name in names if name != BEYOND_HEADER):
        raise UserError(f"{name}: the header has {', '.join(twice)} more than once")
    for number, row in enumerate(rows, 1 if path.suffix == ".parquet" else 2):
        named = zip(chain(names, repeat(BEYOND_HEADER)), row, strict=False)
        if cells := {column: cell for column, cell in named if cell is not None}:
            yield f"{name}, row {number}", cells


def _read_csv(data: bytes, name: Path) -> Iterator[list[Any]]:
    return read_delimited(data, name, ",", {*_COLUMNS, *chain.from_iterable(_COLUMN_ALIASES.values())})


def _normalize_columns(header: Iterable[object]) -> list[str]:
    """Our names of columns, for those that are known under whatever name."""
    names = [BEYOND_HEADER if name is None else normalize_column_name(name, _COLUMNS) for name in header]
    for ours, others in _COLUMN_ALIASES.items():
        there = [name for name in others if name in names]
        if ours not in names and there:
            names[names.index(there[0])] = ours
    return names
