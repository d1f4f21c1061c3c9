"""The Parquet table of one subset and part, which `datasets.load_dataset(folder, subset)` opens offline, pictures included.

A picture is shown in many rows and stored once. In memory are the pictures of one row group at a time: the table is given to
the writer as Parquet will have it, as numbers of pictures in a dictionary.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pipeline.core.errors import OUTSIDE, UserError
from pipeline.core.files import replacing
from pipeline.core.records import Item, Picture

if TYPE_CHECKING:
    import pyarrow

# Columns that are named as fields of an item are these; the others are in COLUMNS.
FIELDS = {"question": "text", "label": "unanswerable", "clip_score": "score", "clip_rank": "rank"}
GROUP_BYTES, GROUP_ROWS = 1 << 26, 1 << 15  # of the pictures, and rows, of a row group
DICTIONARY_BYTES = 1 << 30  # one page for all pictures of a group


def write_subset_table(
    path: Path,
    items: Sequence[Item],
    pictures: Mapping[str, Picture],
    canary: str,
    embed: bool,
    group_bytes: int = GROUP_BYTES,
) -> None:
    """Write the rows of one subset and part, in the order of the items but for what `row_groups` says. Without `embed` the
    table names pictures by id only.

    Same items, same bytes: no time is recorded.

    Args:
        group_bytes: of the pictures of a row group, unless a single one has more.
    """
    import pyarrow
    import pyarrow.parquet

    told = _schema(embed)
    places = {item.picture_id: Path(pictures[item.picture_id].path) for item in items} if embed else {}
    groups = row_groups(items, {key: place.stat().st_size for key, place in places.items()}, group_bytes)
    first = _table(next(groups), told, places, canary)
    with (
        replacing(path) as file,
        pyarrow.parquet.ParquetWriter(
            file,
            first.schema,
            compression="zstd",
            dictionary_pagesize_limit=DICTIONARY_BYTES,
            store_schema=False,
        ) as writer,
    ):
        writer.write_table(first, len(first))
        del first
        for rows in groups:
            writer.write_table(_table(rows, told, places, canary), len(rows))
        # What readers are told are the types of the columns, not that a dictionary was given.
        stored = {b"ARROW:schema": base64.b64encode(told.serialize())}
        writer.add_key_value_metadata({key.decode(): text for key, text in (told.metadata | stored).items()})


def table_rows(path: Path) -> Iterator[tuple[str, str, str, str, int]]:
    """Of each row of such a table id, picture, question, answer and label, in some order.

    Raises:
        UserError: it is no Parquet file, cut off, or has other columns.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path)
        for group in range(table.num_row_groups):
            rows = table.read_row_group(group, ["item_id", "picture_id", "question", "answer", "label"])
            yield from zip(*rows.to_pydict().values(), strict=True)
    except (pyarrow.ArrowException, OSError, KeyError) as error:
        if isinstance(error, OSError) and error.errno in OUTSIDE:
            raise
        raise UserError(f"{path}: no Parquet file, or cut off: {error}") from error


def row_groups(
    items: Sequence[Item], sizes: Mapping[str, int], most: int, most_rows: int = GROUP_ROWS
) -> Iterator[list[Item]]:
    """The rows of each row group: all of so many pictures, in the order in which these come first, as do not exceed a limit.

    So a picture is in one group alone, and a group is a fair small sample of the pictures, as the items are in release order.

    Args:
        sizes: bytes of each picture; {}: pictures are not in the table. most: bytes, most_rows: rows of a group, unless a single
            picture has more.
    """
    shown: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        shown.setdefault(item.picture_id, []).append(place)
    group: list[int] = []
    held = 0
    for key, places in shown.items():
        size = sizes.get(key, 0)
        if group and (held + size > most or len(group) + len(places) > most_rows):
            yield [items[place] for place in sorted(group)]
            group, held = [], 0
        group, held = group + places, held + size
    yield [items[place] for place in sorted(group)]


def _schema(embed: bool) -> pyarrow.Schema:
    """The columns, with what `datasets` wants to know of them."""
    from datasets import ClassLabel, Features, Image, List, Value

    text, number, flag = Value("string"), Value("int32"), Value("bool")
    columns = {
        **dict.fromkeys(("item_id", "picture_id", "question_id", "question"), text),
        "label": ClassLabel(names=["answerable", "unanswerable"]),
        **dict.fromkeys(("answer", "pair_id", "structural", "semantic", "detailed"), text),
        **dict.fromkeys(("category", "difficulty"), text),
        "edits": List({"start": number, "end": number, "kind": text, "old": text, "new": text}),
        "clip_score": Value("float64"),
        "clip_rank": number,
        "simulated": flag,
        "weak": flag,
        "source_text": text,
        "canary": text,
        **({"image": Image()} if embed else {}),
    }
    return Features(columns).arrow_schema


def _table(
    items: Sequence[Item], told: pyarrow.Schema, places: Mapping[str, Path], canary: str
) -> pyarrow.Table:
    """The rows of a row group."""
    import pyarrow

    rows = [msgspec.to_builtins(item) | {"canary": canary} for item in items]
    arrays = {
        column.name: pyarrow.array([row[FIELDS.get(column.name, column.name)] for row in rows], column.type)
        for column in told
        if column.name not in ("label", "image")
    }
    arrays["label"] = pyarrow.array([int(item.unanswerable) for item in items], told.field("label").type)
    if places:
        arrays["image"] = _images([item.picture_id for item in items], places)
    fields = [column.with_type(arrays[column.name].type) for column in told]
    return pyarrow.Table.from_arrays([arrays[column.name] for column in told], schema=pyarrow.schema(fields))


def _images(shown: Sequence[str], places: Mapping[str, Path]) -> pyarrow.StructArray:
    """A column of pictures, by the number of each in a dictionary that has it once."""
    import pyarrow

    contents: dict[bytes, int] = {}  # a dictionary has nothing twice, though two pictures may be the same
    number = {
        key: contents.setdefault(places[key].read_bytes(), len(contents)) for key in dict.fromkeys(shown)
    }
    numbers = pyarrow.array([number[key] for key in shown], pyarrow.int32())
    data = pyarrow.DictionaryArray.from_arrays(numbers, pyarrow.array(contents, pyarrow.binary()))
    names = pyarrow.array([places[key].name for key in shown], pyarrow.string()).dictionary_encode()
    return pyarrow.StructArray.from_arrays([data, names], names=["bytes", "path"])
