"""Questions in Parquet, as the hub has them, turned into GQA's own JSON.

`annotations` are lists of {objectId, value} there, `entailed` and `equivalent` may be one text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.files import replacing
from pipeline.sources.fetching.byte_ranges import bar

ID = re.compile(r"[A-Za-z0-9_.-]+")
IN_PROGRAM = re.compile(r"\((\d+)\)")


def convert(files: list[Path], target: Path) -> int:
    """Write the questions of Parquet files as GQA's JSON, an object of id -> question; return how many.

    Raises:
        UserError: columns are missing.
    """
    encode = msgspec.json.Encoder().encode
    count = 0
    with replacing(target) as file:
        for path in files:
            table = opened(path, {"id", "imageId", "question", "semantic", "types"})
            swapped = _objects_first(table)
            with bar("fetch: questions converted", table.metadata.num_rows, "question") as tell:
                for batch in table.iter_batches(batch_size=1024):
                    for row in batch.to_pylist():
                        question_id = row.pop("id")
                        file.write(b",\n" if count else b"{")
                        file.write(encode(question_id) + b":" + encode(as_gqa(row, swapped)))
                        count += 1
                    tell(len(batch))
        file.write(b"}\n" if count else b"{}\n")
    return count


def as_gqa(row: dict[str, Any], objects_first: bool) -> dict[str, Any]:
    """A row of the hub as GQA writes it.

    Args:
        objects_first: in `annotations`, `objectId` is the object and `value` the word's position; else the reverse.
    """
    key, value = ("value", "objectId") if objects_first else ("objectId", "value")
    found = {name: content for name, content in row.items() if content is not None}
    marks = found.get("annotations") or {}
    found["annotations"] = {
        text: {mark[key]: mark[value] for mark in marks.get(text) or []}
        for text in ("question", "answer", "fullAnswer")
    }
    for name in ("entailed", "equivalent"):
        ids = found.get(name) or []
        found[name] = ID.findall(ids) if isinstance(ids, str) else list(ids)
    found.setdefault("groups", {"global": None, "local": None})
    return found


def _objects_first(table: Any, rows: int = 2000) -> bool:
    """Which of `objectId` and `value` holds the objects: the one that more often is an object of the program. (The
    other holds the position of the word.)"""
    votes = {"objectId": 0, "value": 0}
    first = next(table.iter_batches(batch_size=rows), None)
    for row in first.to_pylist() if first else []:
        objects = {
            found for step in row["semantic"] or [] for found in IN_PROGRAM.findall(step["argument"] or "")
        }
        for marks in (row.get("annotations") or {}).values():
            for mark in marks or []:
                for name in votes:
                    votes[name] += mark[name] in objects
    return votes["objectId"] > votes["value"]


def opened(path: Path, needed: set[str]) -> Any:
    """A Parquet file that has the columns needed.

    Raises:
        UserError: it has not, or is no such file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: not a Parquet file, or cut off ({error})") from error
    there = table.schema_arrow.names
    if missing := sorted(needed - set(there)):
        raise UserError(f"{path}: columns {', '.join(missing)} are missing; there are {', '.join(there)}")
    return table
