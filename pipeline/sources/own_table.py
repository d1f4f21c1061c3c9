"""Any other pictures and questions: a table in `source/`, one question a row. The way in for own data.

    questions.jsonl  or  questions.csv (UTF-8, with a header)
    images/          the pictures, any format that Pillow reads, in this folder itself
    sceneGraphs/<split>_sceneGraphs.json      optional, as GQA writes them, keyed by picture id

Columns:
    question_id   text; unique
    picture       file name in images/, with or without its ending; without it, it is the picture's id
    question      the text
    answer        the one right answer
    split         optional: testdev, train, val or test; when missing, that which the benchmark is built from
    program       optional: the functional program as GQA's `semantic` list (as JSON text in a CSV); without
                  it the question can be ranked and perturbed, but not judged
    full_answer, structural, semantic, detailed   optional, as in GQA
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import Question, Split
from pipeline.sources.gqa_files import Row, StepRow, fault, program
from pipeline.sources.picture_files import ENDINGS

FILES = ("questions.jsonl", "questions.csv")


class _Question(Row):
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
    name = present[0]
    rows = _jsonl if name.endswith(".jsonl") else _csv
    found: dict[str, tuple[str, _Question]] = {}
    for where, row in rows(source / name, name, problems):
        if row.question_id in found:
            problems.add(
                f"{where}, question {row.question_id}", f"the same id is in {found[row.question_id][0]}"
            )
        else:
            found[row.question_id] = where, row
    for question_id in sorted(found):
        row = found[question_id][1]
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


def _jsonl(path: Path, name: str, problems: Problems) -> Iterator[tuple[str, _Question]]:
    decoder = msgspec.json.Decoder(_Question)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{name}, line {number}"
            try:
                yield where, decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                problems.add(where, fault(error))


def _csv(path: Path, name: str, problems: Problems) -> Iterator[tuple[str, _Question]]:
    """Rows of a CSV. An empty cell counts as missing; cells beyond the header are refused."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        problems.add(name, f"not UTF-8 ({error}); save the table as UTF-8")
        return
    reader = csv.DictReader(text.splitlines(keepends=True), restkey="(beyond the header)", strict=True)
    try:
        for cells in reader:
            where = f"{name}, line {reader.line_num}"
            given = {column: cell for column, cell in cells.items() if cell}
            try:
                if "program" in given:
                    given["program"] = msgspec.json.decode(given["program"])
                yield where, msgspec.convert(given, _Question)
            except msgspec.MsgspecError as error:
                problems.add(where, fault(error))
    except csv.Error as error:
        problems.add(f"{name}, line {reader.line_num}", f"not valid CSV: {error}")
