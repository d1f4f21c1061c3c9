"""Read your own images and questions: a table in `source/` with one question per row.

    questions.csv      UTF-8 with a header. The delimiter is a comma, semicolon, tab or `|`, or the one in Excel's line `sep=;`.
    questions.xlsx     One sheet with a header. Ids and answers are text cells, not numbers, dates or formulas.
    questions.parquet  Columns of strings.
    questions.jsonl    One object per line.
    images/            The images (JPEG, PNG, WebP, GIF, BMP, AVIF), not in subfolders.
    sceneGraphs/<split>_sceneGraphs.json      Optional, in the format of GQA.

Columns:
    question_id   Unique id.
    image         File name in images/, with or without the suffix. The name without the suffix is the id of the image.
    question      Text of the question.
    answer        The correct answer.
    split         Optional: testdev, train, val or test; by default the split from which the benchmark is built.
    program       Optional: the functional program as GQA's list `semantic`, or as JSON text. Without it the question can be ranked
                  and perturbed, but not verified.
    full_answer, structural, semantic, detailed   Optional, as in GQA.
    drafted_by    Optional: the model that wrote question and answer. `rgqa draft` fills it in. The card of the release names it.

All formats are checked in the same way. An empty cell, null and NaN are missing values. "NA" and "None" are
strings. Column names may have capitals and blanks ("Question ID"). The other names in
`pipeline/core/column_aliases.py` ("img_id", "id") are accepted, too.
"""

from __future__ import annotations

import codecs
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import msgspec

from pipeline.core.column_aliases import COLUMN_ALIASES, normalize_column_name
from pipeline.core.duplicate_keys import find_duplicate_keys, find_duplicates
from pipeline.core.errors import Problems, UserError, format_count, join_examples
from pipeline.core.images import strip_image_suffix
from pipeline.core.records import Question, Record, Split, Step
from pipeline.core.table_reader import describe_unsupported_cell, read_delimited, read_parquet, read_xlsx
from pipeline.sources.large_json import DECODE_ERRORS, explain_decode_error
from pipeline.sources.question_language import find_foreign_texts

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
    drafted_by: str = ""


# Name of a column -> whether every table must have it.
_COLUMNS = {field.encode_name: field.required for field in msgspec.structs.fields(TableRow)}
# Name of a column -> all names that the column may have in a file.
_COLUMN_ALIASES = {
    "question_id": COLUMN_ALIASES["question id"],
    "image": COLUMN_ALIASES["image"],
    "question": COLUMN_ALIASES["question"],
}


def read_questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, default_split: Split
) -> Iterator[Question]:
    """Yield the questions of some splits, sorted by id.

    Args:
        source: The source folder.
        splits: Splits to read.
        problems: Collects problems of files and rows.
        default_split: Split of the rows in which no split is given.
    """
    present = [name for name in TABLE_FILE_NAMES if (source / name).is_file()]
    if len(present) != 1:
        hint = describe_misplaced_table(source)
        problems.add(
            " or ".join(TABLE_FILE_NAMES), f"{hint}expected one of these files, found {len(present)}"
        )
        return
    yield from read_table(source / present[0], splits, problems, default_split)


def read_table(
    path: Path, splits: tuple[Split, ...], problems: Problems, default_split: Split
) -> Iterator[Question]:
    """Yield the questions of a table with any name. See `read_questions`."""
    table: dict[str, tuple[str, TableRow]] = {}
    for where, row in _decode_rows(path, problems):
        if row.question_id in table:
            problems.add(
                f"{where}, question {row.question_id}", f"the same id is in {table[row.question_id][0]}"
            )
        else:
            table[row.question_id] = where, row
    if foreign := find_foreign_texts([row.text for _, row in table.values()]):
        problems.add(
            str(path),
            f"{len(foreign)} of {format_count(len(table), 'question')} are not in English, for example "
            f"{join_examples([repr(text[:60]) for text in foreign])}; the pipeline edits English questions only, so translate them",
        )
    for _, (_, row) in sorted(table.items()):
        fields: dict[str, Any] = msgspec.structs.asdict(row) | {
            "split": row.split or default_split,
            "drafted_by": row.drafted_by or msgspec.UNSET,
        }
        if fields["split"] in splits:
            yield Question(image_id=strip_image_suffix(fields.pop("image")), **fields)


def describe_columns() -> str:
    """Return the columns that a table may have, with their other names, for messages."""
    names = []
    for name, is_required in _COLUMNS.items():
        others = [other for other in _COLUMN_ALIASES.get(name, ()) if other != name]
        aliases = f" (or {', '.join(others)})" if others else ""
        names.append(f"{name}{aliases}{'' if is_required else ', optional'}")
    return "; ".join(names)


def describe_misplaced_table(source: Path) -> str:
    """Return a note about files that have the name of a table but cannot be read; "" if there are none."""
    note = ""
    for path in sorted(source.iterdir()) if source.is_dir() else ():
        if path.name.lower() in TABLE_FILE_NAMES and not (path.name in TABLE_FILE_NAMES and path.is_file()):
            what = (
                "not in lower case"
                if path.is_file()
                else "a folder, not a file"
                if path.is_dir()
                else "a broken link"
                if path.is_symlink()
                else "not a regular file"
            )
            note += f"{path.name} is {what}; "
    return note


def _decode_rows(path: Path, problems: Problems) -> Iterator[tuple[str, TableRow]]:
    """Yield the place and the content of each valid row. Unknown columns are one problem each, however many rows have them."""
    is_jsonl = path.suffix.lower() == ".jsonl"
    unknown: dict[str, list[str]] = defaultdict(list)
    with problems.collect():
        for where, row in _read_jsonl_lines(path) if is_jsonl else _read_table_rows(path):
            try:
                cells, duplicates = _parse_jsonl_row(row) if isinstance(row, bytes) else (row, [])
                for name in cells.keys() - _COLUMNS.keys() - {BEYOND_HEADER}:
                    unknown[name].append(where)
                    del cells[name]
                cells = {name: cell for name, cell in cells.items() if cell is not None and cell == cell}
                if unsupported := [
                    f"{name} is {what}"
                    for name, cell in cells.items()
                    if (what := describe_unsupported_cell(cell))
                ]:
                    problems.add(
                        where,
                        f"{', '.join(unsupported)}; format the column as text, then enter the values again",
                    )
                    continue
                if isinstance(cells.get("program"), str):
                    text = cells["program"]
                    cells["program"] = msgspec.json.decode(text)
                    duplicates += find_duplicate_keys(text.encode())
                for key in duplicates:
                    problems.add(where, f"the key {key} occurs more than once")
                yield where, msgspec.convert(cells, TableRow)
            except DECODE_ERRORS as error:
                problems.add(where, explain_decode_error(error))
    for name, places in sorted(unknown.items()):
        where = f"{path.name}, column {name}"
        problems.add(
            where,
            f"unknown column, in {format_count(len(places), 'row')} (the first is {places[0].partition(', ')[2]}); delete it or rename it. The columns are: {describe_columns()}",
        )


def _parse_jsonl_row(line: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the cells of a JSONL line by column, and the columns that occur more than once."""
    cells = msgspec.json.decode(line, type=dict[str, Any])
    names = _normalize_columns(cells)
    return dict(zip(names, cells.values(), strict=True)), [
        *find_duplicate_keys(line),
        *find_duplicates(names),
    ]


def _read_jsonl_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the place (file and line number) and the content of each line of a JSONL file.

    pandas is not used, because pandas converts ids to numbers and stops at the first invalid line.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if line.strip():
                yield f"{path.name}, line {number}", line


def _read_table_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (file and row number) of each row, and the cells of the row by column.

    Rows are counted as in a spreadsheet, where the header is row 1. In a Parquet file, the first row of data
    is row 1.

    Raises:
        UserError: The file cannot be read, a required column is missing, or a column occurs twice.
    """
    data, name = path.read_bytes(), Path(path.name)
    readers = {".csv": _read_csv, ".tsv": _read_csv, ".xlsx": read_xlsx, ".parquet": read_parquet}
    rows = iter(readers[path.suffix.lower()](data, name))
    header = next(rows, None)
    if header is None:
        raise UserError(f"{name}: the file is empty")
    names = _normalize_columns(header)
    faults = []
    if duplicates := find_duplicates(name for name in names if name != BEYOND_HEADER):
        faults.append(f"{name}: the header has {', '.join(duplicates)} more than once")
    if missing := [column for column, is_required in _COLUMNS.items() if is_required and column not in names]:
        has = ", ".join(str(cell) for cell in header if cell is not None)
        faults.append(
            f"{name}: no column {' and no column '.join(missing)} in the header ({has}); the columns are: {describe_columns()}"
        )
    if faults:
        raise UserError(faults)
    for number, row in enumerate(rows, 1 if path.suffix.lower() == ".parquet" else 2):
        named = zip(chain(names, repeat(BEYOND_HEADER)), row, strict=False)
        if cells := {column: cell for column, cell in named if cell is not None}:
            yield f"{name}, row {number}", cells


def _read_csv(data: bytes, name: Path) -> Iterator[list[Any]]:
    return read_delimited(data, name, ",", {*_COLUMNS, *chain.from_iterable(_COLUMN_ALIASES.values())})


def _normalize_columns(header: Iterable[object]) -> list[str]:
    """Return the names of columns. Known aliases are replaced by the column names of this format."""
    names = [BEYOND_HEADER if name is None else normalize_column_name(name, _COLUMNS) for name in header]
    for column, aliases in _COLUMN_ALIASES.items():
        present_aliases = [name for name in aliases if name in names]
        if column not in names and present_aliases:
            names[names.index(present_aliases[0])] = column
    return names
