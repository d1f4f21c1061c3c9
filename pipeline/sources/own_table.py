"""Any other pictures and questions: a table in `source/`, one question a row. The way in for own data.

    questions.csv      UTF-8, with a header; between the cells commas, semicolons or tabs
    questions.xlsx     one sheet, with a header; cells that hold ids or answers are text, not numbers
    questions.parquet  columns of text
    questions.jsonl    one object a line
    images/            the pictures (JPEG, PNG, WebP, GIF, BMP, AVIF), in this folder itself
    sceneGraphs/<split>_sceneGraphs.json      optional, as GQA writes them, keyed by picture id

Columns:
    question_id   text; unique
    picture       file name in images/, with or without its ending; without it, it is the picture's id
    question      the text
    answer        the one right answer
    split         optional: testdev, train, val or test; when missing, that which the benchmark is built from
    program       optional: the functional program as GQA's `semantic` list, or as JSON text; without it the question
                  can be ranked and perturbed, but not judged
    full_answer, structural, semantic, detailed   optional, as in GQA
The same checks hold for all four forms. An empty cell, null and NaN are missing; "NA" and "None" are texts. Columns may be
written with capitals and blanks ("Question ID").
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.core.errors import OUTSIDE, Problems
from pipeline.core.images import without_suffix
from pipeline.core.records import Question, Record, Split, Step
from pipeline.sources.json_members import UNREADABLE, fault, repeated

if TYPE_CHECKING:
    import pandas as pd  # loaded where a table needs it, as GQA's files do not: half of what ingest has to load

FILES = ("questions.jsonl", "questions.csv", "questions.xlsx", "questions.parquet")
BEYOND = "(beyond the header)"
DELIMITERS = ",;\t"


class TableRow(Record, omit_defaults=True):
    """A row of the table."""

    question_id: str
    picture: str
    text: str = msgspec.field(name="question")
    answer: str
    split: Split | None = None
    program: tuple[Step, ...] = ()
    full_answer: str = ""
    structural: str = ""
    semantic: str = ""
    detailed: str = ""


_COLUMNS = {field.encode_name for field in msgspec.structs.fields(TableRow)}


def questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, default: Split
) -> Iterator[Question]:
    """The table's questions of some splits, sorted by id; what is wrong with a row goes to `problems`.

    Args:
        default: the split of rows that name none.
    """
    present = [name for name in FILES if (source / name).is_file()]
    if len(present) != 1:
        what = f"{in_its_place(source)}expected one of them, there are {len(present)}"
        problems.add(" or ".join(FILES), what)
        return
    table: dict[str, tuple[str, TableRow]] = {}
    for where, row in _checked(source / present[0], problems):
        if row.question_id in table:
            problems.add(
                f"{where}, question {row.question_id}", f"the same id is in {table[row.question_id][0]}"
            )
        else:
            table[row.question_id] = where, row
    for _, (_, row) in sorted(table.items()):
        fields: dict[str, Any] = msgspec.structs.asdict(row) | {"split": row.split or default}
        if fields["split"] in splits:
            yield Question(picture_id=without_suffix(fields.pop("picture")), **fields)


def in_its_place(source: Path) -> str:
    """What lies there under a table's name and is none, for messages; "" where nothing does."""
    told = ""
    for path in sorted(source.iterdir()) if source.is_dir() else ():
        if path.name.lower() in FILES and not (path.name in FILES and path.is_file()):
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


def _checked(path: Path, problems: Problems) -> Iterator[tuple[str, TableRow]]:
    try:
        for where, row in _lines(path) if path.suffix == ".jsonl" else _rows(path):
            try:
                cells = msgspec.json.decode(row, type=dict[str, Any]) if isinstance(row, bytes) else row
                twice = repeated(row) if isinstance(row, bytes) else []
                cells = {name: cell for name, cell in cells.items() if cell is not None}
                if isinstance(cells.get("program"), str):
                    text = cells["program"]
                    cells["program"] = msgspec.json.decode(text)
                    twice += repeated(text.encode())
                for key in twice:
                    problems.add(where, f"the key {key} occurs more than once")
                yield where, msgspec.convert(cells, TableRow)
            except UNREADABLE as error:
                problems.add(where, fault(error))
    except UnicodeDecodeError as error:
        problems.add(path.name, f"not UTF-8 ({error}); save the table as UTF-8")
    except (
        Exception
    ) as error:  # a damaged Parquet file or workbook makes its reader raise whatever its parts raise
        if isinstance(error, OSError) and error.errno in OUTSIDE:
            raise
        problems.add(path.name, f"cannot be read: {str(error) or type(error).__name__}")


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Lines of JSON. Not read by pandas: it makes numbers of ids, and ends at the first line that is wrong."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if line.strip():
                yield f"{path.name}, line {number}", line


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where a row stands, and its cells by column; counted as a spreadsheet counts them: the header is row 1 (in Parquet,
    which has none, the first row is)."""
    if path.suffix == ".parquet":
        import pandas as pd

        table = pd.read_parquet(path, dtype_backend="pyarrow")
        rows = [list(table.columns), *_cells(table)]
    else:
        rows = _csv(path) if path.suffix == ".csv" else _cells(_sheet(path))
    if not rows:
        raise ValueError("the file is empty")
    names = [BEYOND if name is None else _column(name) for name in rows[0]]
    if twice := [name for name, count in Counter(names).items() if count > 1 and name != BEYOND]:
        raise ValueError(f"the header names {', '.join(sorted(twice))} more than once")
    for number, row in enumerate(rows[1:], 1 if path.suffix == ".parquet" else 2):
        named = zip(chain(names, repeat(BEYOND)), row, strict=False)
        if cells := {name: cell for name, cell in named if cell is not None}:
            yield f"{path.name}, row {number}", cells


def _csv(path: Path) -> list[list[Any]]:
    """Not by pandas, which passes over a row's cells beyond the header. Strict: no quote in the middle of a cell. What stands
    between the cells is what makes most of the header's names known ones."""
    text = path.read_bytes().decode("utf-8-sig")

    def parsed(delimiter: str) -> Iterator[list[str]]:
        return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    def known(delimiter: str) -> int:
        with suppress(csv.Error):
            return len({_column(name) for name in next(parsed(delimiter), [])} & _COLUMNS)
        return 0

    rows: list[list[Any]] = []
    try:
        rows.extend([cell or None for cell in row] for row in parsed(max(DELIMITERS, key=known)))
    except csv.Error as error:
        raise ValueError(f"row {len(rows) + 1}: {error}") from error
    return rows


def _column(name: object) -> str:
    """A column's name; of a known one, however it is written, the known one."""
    written = str(name).strip()
    plain = "_".join(written.casefold().split())
    return plain if plain in _COLUMNS else written


def _sheet(path: Path) -> pd.DataFrame:
    """The one sheet of a workbook that is not empty."""
    cells: dict[str, Any] = {"dtype": object, "keep_default_na": False, "na_values": [""]}
    import pandas as pd

    sheets = pd.read_excel(path, sheet_name=None, header=None, engine="openpyxl", **cells)
    filled = [sheet for sheet in sheets.values() if len(sheet)]
    if len(filled) != 1:
        raise ValueError(f"expected one sheet with questions, there are {len(filled)}")
    return filled[0]


def _cells(table: pd.DataFrame) -> list[list[Any]]:
    """The rows of a table, None for what is missing."""
    return table.where(table.notna(), None).to_dict("split")["data"]
