"""Questions in Parquet, as the hub has them, turned into GQA's own JSON.

`annotations` are lists of {objectId, value} there, `entailed` and `equivalent` may be one text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from pipeline.core.errors import UserError
from pipeline.core.progress import track

ID_PATTERN = re.compile(r"[A-Za-z0-9_.-]+")
OBJECT_ID_PATTERN = re.compile(r"\((\d+)\)")


def read_questions(paths: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The questions of Parquet files as GQA writes them, by id.

    Raises:
        UserError: columns are missing.
    """
    needed = {"id", "imageId", "question", "semantic", "types"}
    for path in paths:
        objects_first = _detect_object_column(islice(iter_rows(path, needed), 2000))
        for row in track(iter_rows(path, needed), f"fetch: {path.parent.name}", unit="question"):
            yield row.pop("id"), convert_to_gqa(row, objects_first)


def convert_to_gqa(row: dict[str, Any], is_object_id_first: bool) -> dict[str, Any]:
    """A row of the hub as GQA writes it.

    Args:
        objects_first: in `annotations`, `objectId` is the object and `value` the word's position; else the reverse.
    """
    word, thing = ("value", "objectId") if is_object_id_first else ("objectId", "value")
    question = {name: content for name, content in row.items() if content is not None}
    marks = question.get("annotations") or {}
    question["annotations"] = {
        text: {mark[word]: mark[thing] for mark in marks.get(text) or []}
        for text in ("question", "answer", "fullAnswer")
    }
    for name in ("entailed", "equivalent"):
        ids = question.get(name) or []
        question[name] = ID_PATTERN.findall(ids) if isinstance(ids, str) else list(ids)
    question.setdefault("groups", {"global": None, "local": None})
    return question


def iter_rows(path: Path, required_columns: set[str]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, a few in memory at a time.

    Raises:
        UserError: it lacks columns that are needed, or is no such file.
    """
    try:
        table = ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: not a Parquet file, or cut off ({error})") from error
    columns = table.schema_arrow.names
    if missing := sorted(required_columns - set(columns)):
        raise UserError(f"{path}: columns {', '.join(missing)} are missing; there are {', '.join(columns)}")
    for batch in table.iter_batches(batch_size=64):
        yield from batch.to_pylist()


def _detect_object_column(rows: Iterable[dict[str, Any]]) -> bool:
    """Which of `objectId` and `value` holds the objects: the one that is more often an object of the program. (The other
    holds the position of the word.)"""
    votes = Counter[str]()
    for row in rows:
        objects = set(
            OBJECT_ID_PATTERN.findall(" ".join(step["argument"] or "" for step in row["semantic"] or []))
        )
        marks = (row.get("annotations") or {}).values()
        for mark in chain.from_iterable(filter(None, marks)):
            votes.update(name for name in ("objectId", "value") if mark[name] in objects)
    return votes["objectId"] > votes["value"]
