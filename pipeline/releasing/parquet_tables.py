"""Parquet tables that `datasets.load_dataset(folder, subset)` opens offline, pictures included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.files import replacing
from pipeline.core.records import Item, Picture

# One dictionary page holds every picture of a file, so that a picture shown in many rows is stored once.
DICTIONARY_BYTES = 1 << 30


def write_table(
    path: Path, items: Sequence[Item], pictures: dict[str, Picture], canary: str, embed: bool
) -> None:
    """Write the rows of one subset and part. Without `embed` the table names pictures by id only.

    Same items, same bytes: rows keep their order and no time is recorded.
    """
    import pyarrow
    import pyarrow.parquet
    from datasets import ClassLabel, Features, Image, List, Value

    text = Value("string")
    features = {
        "item_id": text,
        "picture_id": text,
        "question_id": text,
        "question": text,
        "label": ClassLabel(names=["answerable", "unanswerable"]),
        "answer": text,
        "pair_id": text,
        "structural": text,
        "semantic": text,
        "detailed": text,
        "category": text,
        "edits": List(
            {"start": Value("int32"), "end": Value("int32"), "kind": text, "old": text, "new": text}
        ),
        "clip_score": Value("float64"),
        "clip_rank": Value("int32"),
        "simulated": Value("bool"),
        "canary": text,
    }
    if embed:
        features["image"] = Image()
    data = (
        {item.picture_id: Path(pictures[item.picture_id].path).read_bytes() for item in items}
        if embed
        else {}
    )

    def row(item: Item) -> dict[str, object]:
        values: dict[str, object] = {
            "item_id": item.item_id,
            "picture_id": item.picture_id,
            "question_id": item.question_id,
            "question": item.text,
            "label": int(item.unanswerable),
            "answer": item.answer,
            "pair_id": item.pair_id,
            "structural": item.structural,
            "semantic": item.semantic,
            "detailed": item.detailed,
            "category": item.category,
            "edits": [
                {"start": e.start, "end": e.end, "kind": e.kind, "old": e.old, "new": e.new}
                for e in item.edits
            ],
            "clip_score": item.score,
            "clip_rank": item.rank,
            "simulated": item.simulated,
            "canary": canary,
        }
        if embed:
            values["image"] = {
                "bytes": data[item.picture_id],
                "path": Path(pictures[item.picture_id].path).name,
            }
        return values

    table = pyarrow.Table.from_pylist([row(item) for item in items], schema=Features(features).arrow_schema)
    with replacing(path) as file:
        pyarrow.parquet.write_table(
            table,
            file,
            compression="zstd",
            row_group_size=max(len(items), 1),
            dictionary_pagesize_limit=DICTIONARY_BYTES,
        )
