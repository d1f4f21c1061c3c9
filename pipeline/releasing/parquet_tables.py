"""Parquet tables that `datasets.load_dataset(folder, subset)` opens offline, pictures included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pipeline.core.files import replacing
from pipeline.core.records import Item, Picture

# Columns that are named as fields of an item are these; the others are in FIELDS.
FIELDS = {"question": "text", "label": "unanswerable", "clip_score": "score", "clip_rank": "rank"}
# One dictionary page holds every picture of a file, so that a picture shown in many rows is stored once.
DICTIONARY_BYTES = 1 << 30


def write_table(
    path: Path, items: Sequence[Item], pictures: Mapping[str, Picture], canary: str, embed: bool
) -> None:
    """Write the rows of one subset and part. Without `embed` the table names pictures by id only.

    Same items, same bytes: rows keep their order and no time is recorded.
    """
    import pyarrow
    import pyarrow.parquet
    from datasets import ClassLabel, Features, Image, List, Value

    text, number, flag = Value("string"), Value("int32"), Value("bool")
    features = {
        **dict.fromkeys(("item_id", "picture_id", "question_id", "question"), text),
        "label": ClassLabel(names=["answerable", "unanswerable"]),
        **dict.fromkeys(("answer", "pair_id", "structural", "semantic", "detailed", "category"), text),
        "edits": List({"start": number, "end": number, "kind": text, "old": text, "new": text}),
        "clip_score": Value("float64"),
        "clip_rank": number,
        "simulated": flag,
    }
    rows = [msgspec.to_builtins(item) for item in items]
    columns: dict[str, list] = {name: [row[FIELDS.get(name, name)] for row in rows] for name in features}
    columns["label"] = [int(label) for label in columns["label"]]
    features["canary"], columns["canary"] = text, [canary] * len(items)
    if embed:
        places = {item.picture_id: Path(pictures[item.picture_id].path) for item in items}
        images = {key: {"bytes": place.read_bytes(), "path": place.name} for key, place in places.items()}
        features["image"], columns["image"] = Image(), [images[item.picture_id] for item in items]
    with replacing(path) as file:
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pydict(columns, schema=Features(features).arrow_schema),
            file,
            compression="zstd",
            row_group_size=max(len(items), 1),
            dictionary_pagesize_limit=DICTIONARY_BYTES,
        )
