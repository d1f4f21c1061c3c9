"""Convert questions in the Parquet files of the Hugging Face Hub to the JSON of GQA.

In these files, `annotations` are lists of {objectId, value}, and `entailed` and `equivalent` may be a single
text.
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
    """Yield the id and the JSON object of each question.

    Raises:
        UserError: A file is not Parquet, or columns are missing.
    """
    required = {"id", "imageId", "question", "semantic", "types"}
    for path in paths:
        is_object_id_first = _detect_object_column(islice(iter_rows(path, required), 2000))
        for row in track(iter_rows(path, required), f"fetch: {path.parent.name}", unit="question"):
            yield row.pop("id"), convert_to_gqa(row, is_object_id_first)


def convert_to_gqa(row: dict[str, Any], is_object_id_first: bool) -> dict[str, Any]:
    """Convert a row to the JSON object of GQA.

    Args:
        row: The row.
        is_object_id_first: Whether, in `annotations`, the field `objectId` holds the object and the field
            `value` the position of the word. If False, the fields are reversed.
    """
    word, object_id = ("value", "objectId") if is_object_id_first else ("objectId", "value")
    question = {name: content for name, content in row.items() if content is not None}
    marks = question.get("annotations") or {}
    question["annotations"] = {
        text: {mark[word]: mark[object_id] for mark in marks.get(text) or []}
        for text in ("question", "answer", "fullAnswer")
    }
    for name in ("entailed", "equivalent"):
        ids = question.get(name) or []
        question[name] = ID_PATTERN.findall(ids) if isinstance(ids, str) else list(ids)
    question.setdefault("groups", {"global": None, "local": None})
    return question


def iter_rows(path: Path, required_columns: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file. Only a few rows at a time are in memory.

    Raises:
        UserError: The file is not Parquet, or columns are missing.
    """
    try:
        table = ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: not a Parquet file, or truncated ({error})") from error
    columns = table.schema_arrow.names
    if missing := sorted(required_columns - set(columns)):
        raise UserError(
            f"{path}: columns {', '.join(missing)} are missing; the file has {', '.join(columns)}"
        )
    for batch in table.iter_batches(batch_size=64):
        yield from batch.to_pylist()


def _detect_object_column(rows: Iterable[dict[str, Any]]) -> bool:
    """Report whether the field `objectId` of annotations holds the object ids, and not the field `value`.

    The field whose values occur more often in the programs holds the object ids. The other field holds the
    positions of the words.
    """
    votes = Counter[str]()
    for row in rows:
        objects = set(
            OBJECT_ID_PATTERN.findall(" ".join(step["argument"] or "" for step in row["semantic"] or []))
        )
        marks = (row.get("annotations") or {}).values()
        for mark in chain.from_iterable(filter(None, marks)):
            votes.update(name for name in ("objectId", "value") if mark[name] in objects)
    return votes["objectId"] > votes["value"]
