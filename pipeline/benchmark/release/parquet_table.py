"""The Parquet table of one subset and part, which `datasets.load_dataset(folder, subset)` opens offline, images included.

An image is shown in many rows and stored once. In memory are the images of one row group at a time: the table is given to
the writer as Parquet will have it, as numbers of images in a dictionary.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import OS_ERROR_HINTS, UserError
from pipeline.core.records import ImageRecord, Item

if TYPE_CHECKING:
    import pyarrow

# Columns that are named otherwise than the fields of an item.
FIELD_OF_COLUMN = {"question": "text", "label": "unanswerable", "clip_score": "score", "clip_rank": "rank"}
LABEL_NAMES = ("answerable", "unanswerable")
EDIT_TYPES = {"start": "int32", "end": "int32", "kind": "string", "old": "string", "new": "string"}


class Column(NamedTuple):
    """A column of the tables: its type, in the words of `datasets`, and what its values mean."""

    name: str
    type: str
    description: str


COLUMNS = (
    Column("item_id", "string", "id of the item, unique in its subset: the key of predictions (`questionId`)"),
    Column("image_id", "string", "id of the image, `img_id` in `rgqa/`"),
    Column("source_question_id", "string", "id of the source's question that the item was made from; several items share it"),
    Column("question", "string", "the text to ask, `sent` in `rgqa/`"),
    Column("label", "class", "0 = answerable (AQ), 1 = unanswerable (UQ)"),
    Column("answer", "string", "the source's answer; empty for a UQ"),
    Column("pair_id", "string", "the same for a UQ and the AQ it is paired with"),
    Column("structural", "string", "the source's structural type of the question; empty if it states none"),
    Column("semantic", "string", "the source's semantic type; empty if it states none"),
    Column("detailed", "string", "the source's detailed type; empty if it states none"),
    Column("category", "string", "why a UQ has no answer; null for AQs and where no reason is known"),
    Column("difficulty", "string", "random, popular or adversarial; null for AQs and where it was not estimated"),
    Column("edits", "edits", "what was replaced in the source's text, by character positions; empty if nothing was"),
    Column("clip_score", "float64", "CLIP cosine of text and image; null where it is not known, as for texts that are too long for the model"),
    Column("clip_rank", "int32", "place among the image's admissible questions, 1 = most similar; null if not ranked"),
    Column("simulated", "bool", "true if the verdicts of the pair are simulated"),
    Column("weak", "bool", "true if only what the question asks for was edited, so that it may well have an answer"),
    Column("source_text", "string", "the source's wording; empty if `question` is the source's wording or an edit of it"),
    Column("canary", "string", "a string that marks benchmark data"),
)  # fmt: skip
IMAGE_COLUMN = Column("image", "image", "the image itself")


def table_columns(has_images: bool) -> tuple[Column, ...]:
    """The columns of a table, with the image where it is embedded."""
    return (*COLUMNS, IMAGE_COLUMN) if has_images else COLUMNS


def format_type(column: Column) -> str:
    """The type of a column, as people read it."""
    edits = f"list of {{{', '.join(EDIT_TYPES)}}}"
    return {"class": "int64", "edits": edits, "image": "bytes and file name"}.get(column.type, column.type)


MAX_ROW_GROUP_BYTES, MAX_ROW_GROUP_ROWS = 1 << 26, 1 << 15  # of the images, and rows, of a row group
MAX_DICTIONARY_BYTES = 1 << 30  # one page for all images of a group


def write_subset_table(
    path: Path,
    items: Sequence[Item],
    images: Mapping[str, ImageRecord],
    canary: str,
    has_images: bool,
    group_bytes: int = MAX_ROW_GROUP_BYTES,
) -> None:
    """Write the rows of one subset and part, in the order of the items but for what `row_groups` says. Without `embed` the
    table names images by id only.

    Same items, same bytes: no time is recorded.

    Args:
        group_bytes: of the images of a row group, unless a single one has more.
    """
    import pyarrow
    import pyarrow.parquet

    told = _schema(has_images)
    places = {item.image_id: Path(images[item.image_id].path) for item in items} if has_images else {}
    groups = make_row_groups(items, {key: place.stat().st_size for key, place in places.items()}, group_bytes)
    first = _make_table(next(groups), told, places, canary)
    with (
        atomic_write(path) as file,
        pyarrow.parquet.ParquetWriter(
            file,
            first.schema,
            compression="zstd",
            dictionary_pagesize_limit=MAX_DICTIONARY_BYTES,
            store_schema=False,
        ) as writer,
    ):
        writer.write_table(first, len(first))
        del first
        for rows in groups:
            writer.write_table(_make_table(rows, told, places, canary), len(rows))
        # What readers are told are the types of the columns, not that a dictionary was given.
        stored = {b"ARROW:schema": base64.b64encode(told.serialize())}
        writer.add_key_value_metadata({key.decode(): text for key, text in (told.metadata | stored).items()})


def make_row(item: Item, canary: str) -> dict[str, Any]:
    """The values of an item by column, without its image."""
    fields = msgspec.to_builtins(item) | {"canary": canary}
    row = {column.name: fields[FIELD_OF_COLUMN.get(column.name, column.name)] for column in COLUMNS}
    edits = [{name: edit[name] for name in EDIT_TYPES} for edit in fields["edits"]]
    return row | {"label": int(item.unanswerable), "edits": edits}


def find_column_faults(path: Path, embed: bool) -> list[str]:
    """What distinguishes the columns of a table from those that a release has: names, types and the names of labels.

    Raises:
        UserError: it is no Parquet file, or cut off.
    """
    with _parquet_errors(path):
        import pyarrow as pa
        import pyarrow.parquet

        kinds = {
            "class": pa.int64(),
            "edits": pa.list_(
                pa.struct([(name, pa.type_for_alias(kind)) for name, kind in EDIT_TYPES.items()])
            ),
            "image": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        }
        columns = table_columns(embed)
        told = pa.schema([(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind, _ in columns])
        found = pyarrow.parquet.read_schema(path)
    types = {field.name: field.type for field in found}
    faults = [f"has no column {name}" for name in told.names if name not in types]
    faults += [f"has a column {name}, which no release has" for name in found.names if name not in told.names]
    faults += [f"has the column {name} twice" for name in types if found.names.count(name) > 1]
    faults += [
        f"column {field.name} has the type {types[field.name]}, wanted {field.type}"
        for field in told
        if field.name in types and types[field.name] != field.type
    ]
    if not faults:
        # What `datasets` wrote of the columns; it is not installed where a release is only checked.
        written = (found.metadata or {}).get(b"huggingface", b"{}").decode("utf-8", "replace")
        names = f'"names":{msgspec.json.encode(LABEL_NAMES).decode()}'
        if names not in written.replace(" ", ""):
            faults.append(f"column label does not name its values {' and '.join(LABEL_NAMES)}")
    return faults


def read_column_names(path: Path) -> list[str]:
    """The names of the columns of a table.

    Raises:
        UserError: it is no Parquet file, or cut off.
    """
    with _parquet_errors(path):
        import pyarrow.parquet

        return pyarrow.parquet.read_schema(path).names


def read_rows(path: Path, embed: bool) -> Iterator[dict[str, Any]]:
    """The rows of a table whose columns are right, in some order: the values by column, of the image its file's name.

    Raises:
        UserError: it is no Parquet file, or cut off.
    """
    with _parquet_errors(path):
        import pyarrow.parquet

        names = [column.name for column in COLUMNS]
        table = pyarrow.parquet.ParquetFile(path, read_dictionary=["image.bytes"] if embed else [])
        for group in range(table.num_row_groups):
            rows = table.read_row_group(group, names).to_pylist()
            if embed:
                image = table.read_row_group(group, ["image"]).column("image").combine_chunks()
                # Rows without bytes have no image, whatever file they name.
                there = image.field("bytes").is_valid().to_pylist()
                files = image.field("path").to_pylist()
                rows = [
                    row | {"image": name if known else None}
                    for row, name, known in zip(rows, files, there, strict=True)
                ]
            yield from rows


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file into one message."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno in OS_ERROR_HINTS:
            raise
        raise UserError(f"{path}: no Parquet file, or cut off: {error}") from error


def make_row_groups(
    items: Sequence[Item], sizes: Mapping[str, int], max_bytes: int, max_rows: int = MAX_ROW_GROUP_ROWS
) -> Iterator[list[Item]]:
    """The rows of each row group: all of so many images, in the order in which these come first, as do not exceed a limit.

    So an image is in one group alone, and a group is a fair small sample of the images, as the items are in release order.

    Args:
        sizes: bytes of each image; {}: images are not in the table. most: bytes, most_rows: rows of a group, unless a single
            image has more.
    """
    shown: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        shown.setdefault(item.image_id, []).append(place)
    group: list[int] = []
    held = 0
    for key, places in shown.items():
        size = sizes.get(key, 0)
        if group and (held + size > max_bytes or len(group) + len(places) > max_rows):
            yield [items[place] for place in sorted(group)]
            group, held = [], 0
        group, held = group + places, held + size
    yield [items[place] for place in sorted(group)]


def _schema(embed: bool) -> pyarrow.Schema:
    """The columns, with what `datasets` wants to know of them."""
    from datasets import ClassLabel, Features, Image, List, Value

    kinds = {
        "class": ClassLabel(names=list(LABEL_NAMES)),
        "edits": List({name: Value(kind) for name, kind in EDIT_TYPES.items()}),
        "image": Image(),
    }
    columns = table_columns(embed)
    return Features({name: kinds.get(kind) or Value(kind) for name, kind, _ in columns}).arrow_schema


def _make_table(
    items: Sequence[Item], told: pyarrow.Schema, places: Mapping[str, Path], canary: str
) -> pyarrow.Table:
    """The rows of a row group."""
    import pyarrow

    rows = [make_row(item, canary) for item in items]
    arrays = {
        column.name: pyarrow.array([row[column.name] for row in rows], column.type)
        for column in told
        if column.name != IMAGE_COLUMN.name
    }
    if places:
        arrays["image"] = _make_image_column([item.image_id for item in items], places)
    fields = [column.with_type(arrays[column.name].type) for column in told]
    return pyarrow.Table.from_arrays([arrays[column.name] for column in told], schema=pyarrow.schema(fields))


def _make_image_column(shown: Sequence[str], places: Mapping[str, Path]) -> pyarrow.StructArray:
    """A column of images, by the number of each in a dictionary that has it once."""
    import pyarrow

    contents: dict[bytes, int] = {}  # a dictionary has nothing twice, though two images may be the same
    number = {
        key: contents.setdefault(places[key].read_bytes(), len(contents)) for key in dict.fromkeys(shown)
    }
    numbers = pyarrow.array([number[key] for key in shown], pyarrow.int32())
    data = pyarrow.DictionaryArray.from_arrays(numbers, pyarrow.array(contents, pyarrow.binary()))
    names = pyarrow.array([places[key].name for key in shown], pyarrow.string()).dictionary_encode()
    return pyarrow.StructArray.from_arrays([data, names], names=["bytes", "path"])
