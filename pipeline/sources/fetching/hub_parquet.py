"""Questions in Parquet, as the hub has them, turned into GQA's own JSON.

`annotations` are lists of {objectId, value} there, `entailed` and `equivalent` may be one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.progress import track

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

ID = re.compile(r"[A-Za-z0-9_.-]+")
IN_PROGRAM = re.compile(r"\((\d+)\)")


def write_questions(paths: Iterable[Path], target: BinaryIO) -> int:
    """Write the questions of Parquet files as GQA's JSON, an object of id -> question; return how many.

    Raises:
        UserError: columns are missing.
    """
    encode = msgspec.json.Encoder().encode
    count = 0
    for path in paths:
        table = opened(path, {"id", "imageId", "question", "semantic", "types"})
        objects_first = _objects_first(table)
        for batch in track(table.iter_batches(batch_size=1024), f"fetch: {path.parent.name}", unit="batch"):
            for row in batch.to_pylist():
                question_id = row.pop("id")
                target.write(b",\n" if count else b"{")
                target.write(encode(question_id) + b":" + encode(as_gqa(row, objects_first)))
                count += 1
    target.write(b"}\n" if count else b"{}\n")
    return count


def as_gqa(row: dict[str, Any], objects_first: bool) -> dict[str, Any]:
    """A row of the hub as GQA writes it.

    Args:
        objects_first: in `annotations`, `objectId` is the object and `value` the word's position; else the reverse.
    """
    word, thing = ("value", "objectId") if objects_first else ("objectId", "value")
    question = {name: content for name, content in row.items() if content is not None}
    marks = question.get("annotations") or {}
    question["annotations"] = {
        text: {mark[word]: mark[thing] for mark in marks.get(text) or []}
        for text in ("question", "answer", "fullAnswer")
    }
    for name in ("entailed", "equivalent"):
        ids = question.get(name) or []
        question[name] = ID.findall(ids) if isinstance(ids, str) else list(ids)
    question.setdefault("groups", {"global": None, "local": None})
    return question


def opened(path: Path, needed: set[str]) -> ParquetFile:
    """A Parquet file that has the columns needed.

    Raises:
        UserError: it has not, or is no such file.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        table = ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: not a Parquet file, or cut off ({error})") from error
    columns = table.schema_arrow.names
    if missing := sorted(needed - set(columns)):
        raise UserError(f"{path}: columns {', '.join(missing)} are missing; there are {', '.join(columns)}")
    return table


def _objects_first(table: ParquetFile, rows: int = 2000) -> bool:
    """Which of `objectId` and `value` holds the objects: the one that more often is an object of the program. (The
    other holds the position of the word.)"""
    votes = {"objectId": 0, "value": 0}
    first = next(table.iter_batches(batch_size=rows), None)
    for row in first.to_pylist() if first else []:
        objects = {
            number for step in row["semantic"] or [] for number in IN_PROGRAM.findall(step["argument"] or "")
        }
        for marks in (row.get("annotations") or {}).values():
            for mark in marks or []:
                for name in votes:
                    votes[name] += mark[name] in objects
    return votes["objectId"] > votes["value"]
