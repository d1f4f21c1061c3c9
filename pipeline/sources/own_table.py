"""Any other pictures and questions: a table in `source/`, one question a row. The way in for own data.

    questions.csv      UTF-8, with a header
    questions.xlsx     one sheet, with a header; cells that hold ids or answers are text, not numbers
    questions.parquet  columns of text
    questions.jsonl    one object a line
    images/            the pictures, any format that Pillow reads, in this folder itself
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
The same checks hold for all four forms. An empty cell, null and NaN are missing; "NA" and "None" are texts.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import Question, Record, Split
from pipeline.sources.gqa_files import StepRow, program
from pipeline.sources.json_members import fault
from pipeline.sources.picture_files import ENDINGS

if TYPE_CHECKING:
    import pandas as pd

FILES = ("questions.jsonl", "questions.csv", "questions.xlsx", "questions.parquet")
BEYOND = "(beyond the header)"
Rows = Iterator[tuple[str, dict[str, Any]]]  # where a row stands, and its cells by column


class TableRow(Record, omit_defaults=True):
    """A row of the table."""

    question_id: str
    picture: str
    question: str
    answer: str
    split: Split | None = None
    program: tuple[StepRow, ...] = ()
    full_answer: str = ""
    structural: str = ""
    semantic: str = ""
    detailed: str = ""


def questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, default: Split
) -> Iterator[Question]:
    """The table's questions of some splits, sorted by id; what is wrong with a row goes to `problems`.

    Args:
        default: the split of rows that name none.
    """
    present = [name for name in FILES if (source / name).is_file()]
    if len(present) != 1:
        problems.add(" or ".join(FILES), f"expected one of them, there are {len(present)}")
        return
    table: dict[str, tuple[str, TableRow]] = {}
    for where, row in _checked(source / present[0], problems):
        if row.question_id in table:
            problems.add(
                f"{where}, question {row.question_id}", f"the same id is in {table[row.question_id][0]}"
            )
        else:
            table[row.question_id] = where, row
    for question_id, (_, row) in sorted(table.items()):
        split = row.split or default
        if split in splits:
            yield Question(
                question_id=question_id,
                picture_id=_picture_id(row.picture),
                split=split,
                text=row.question,
                answer=row.answer,
                full_answer=row.full_answer,
                structural=row.structural,
                semantic=row.semantic,
                detailed=row.detailed,
                program=program(row.program),
            )


def _picture_id(picture: str) -> str:
    stem, dot, ending = picture.rpartition(".")
    return stem if dot and f".{ending.lower()}" in ENDINGS else picture


def _checked(path: Path, problems: Problems) -> Iterator[tuple[str, TableRow]]:
    try:
        for where, cells in _lines(path, problems) if path.suffix == ".jsonl" else _rows(path):
            try:
                if isinstance(cells.get("program"), str):
                    cells["program"] = msgspec.json.decode(cells["program"])
                yield where, msgspec.convert(cells, TableRow)
            except msgspec.MsgspecError as error:
                problems.add(where, fault(error))
    except UnicodeDecodeError as error:
        problems.add(path.name, f"not UTF-8 ({error}); save the table as UTF-8")
    except (
        ValueError,
        KeyError,
        OSError,
        BadZipFile,
        csv.Error,
    ) as error:  # what pandas and its readers raise
        problems.add(path.name, f"cannot be read: {error}")


def _lines(path: Path, problems: Problems) -> Rows:
    """Rows of JSON Lines. Not read by pandas: it makes numbers of ids, and ends at the first line that is wrong."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            where = f"{path.name}, line {number}"
            try:
                cells = msgspec.json.decode(line, type=dict[str, Any]) if line.strip() else {}
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                problems.add(where, fault(error))
                continue
            if cells:
                yield where, {name: value for name, value in cells.items() if value is not None}


def _rows(path: Path) -> Rows:
    """Rows of a table, counted as a spreadsheet counts them: the header is row 1 (in Parquet, which has none, the first
    row is)."""
    import pandas as pd

    if path.suffix == ".parquet":
        table = pd.read_parquet(path, dtype_backend="pyarrow")
        table.index = pd.RangeIndex(1, len(table) + 1)
    else:
        table = _named(_csv(path) if path.suffix == ".csv" else _sheet(path))
    values, there = table.itertuples(index=False, name=None), table.notna().to_numpy()
    names = [str(name) for name in table.columns]
    for number, row, present in zip(table.index, values, there, strict=True):
        if cells := {names[at]: row[at] for at in present.nonzero()[0]}:
            yield f"{path.name}, row {number}", cells


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.stat().st_size:
        raise ValueError("the file is empty")
    read = partial(
        pd.read_csv,
        path,
        header=None,  # else a row with a cell too many would make its first column an index
        dtype=str,
        keep_default_na=False,
        na_values=[""],
        skip_blank_lines=False,
        encoding="utf-8-sig",
        engine="python",  # the strict one: it refuses a quote in the middle of a cell
    )
    with path.open(encoding="utf-8-sig", newline="") as file:
        columns = max(map(len, csv.reader(file)))  # of the longest row, so that each one too long is told
    return read(names=range(columns))


def _sheet(path: Path) -> pd.DataFrame:
    import pandas as pd

    sheets = pd.read_excel(
        path,
        sheet_name=None,
        header=None,
        dtype=object,
        keep_default_na=False,
        na_values=[""],
        engine="openpyxl",
    )
    filled = [name for name, sheet in sheets.items() if len(sheet)]
    if len(filled) != 1:
        raise ValueError(f"expected one sheet with questions, there are {len(filled)}")
    return sheets[filled[0]]


def _named(cells: pd.DataFrame) -> pd.DataFrame:
    """The rows below the header, with its names; their index is their number."""
    cells = cells.dropna(axis="columns", how="all")
    names = cells.iloc[0].where(cells.iloc[0].notna(), BEYOND).astype(str)
    twice = sorted(set(names[names.duplicated() & (names != BEYOND)]))
    if twice:
        raise ValueError(f"the header names {', '.join(twice)} more than once")
    return cells.set_axis(names, axis="columns").set_axis(cells.index + 1, axis="index").iloc[1:]
