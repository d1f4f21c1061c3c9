"""Write and read the Parquet table of one subset and split.

`datasets.load_dataset(folder, subset)` opens these tables without network access. An image occurs in many
rows but is stored once per table. All rows of an image are in one row group, and the column of images is
dictionary-encoded. Only the images of one row group are in memory at a time.
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

# Column -> field of an item, for columns whose name differs from the field.
FIELD_OF_COLUMN = {"question": "text", "label": "unanswerable", "clip_score": "score", "clip_rank": "rank"}
LABEL_NAMES = ("answerable", "unanswerable")
EDIT_TYPES = {"start": "int32", "end": "int32", "kind": "string", "old": "string", "new": "string"}


class Column(NamedTuple):
    """A column of the tables.

    Attributes:
        name: The name of the column.
        type: The type in the notation of `datasets`, or "class", "edits" or "image".
        description: What the column contains.
    """

    name: str
    type: str
    description: str


COLUMNS = (
    Column("item_id", "string", "id of the item, unique within its subset; the key of predictions (`questionId`)"),
    Column("subset", "string", "name of the subset"),
    Column("image_id", "string", "id of the image, `img_id` in `rgqa/`"),
    Column("source_question_id", "string", "id of the source question that the item was made from; several items may share it"),
    Column("question", "string", "the question, `sent` in `rgqa/`"),
    Column("label", "class", "0 = answerable (AQ), 1 = unanswerable (UQ)"),
    Column("answer", "string", "the answer of the source; empty for a UQ"),
    Column("pair_id", "string", "id shared by a UQ and the AQ that it is paired with"),
    Column("structural", "string", "structural type of the source question; empty if not stated"),
    Column("semantic", "string", "semantic type of the source question; empty if not stated"),
    Column("detailed", "string", "detailed type of the source question; empty if not stated"),
    Column("category", "string", "why a UQ has no answer; null for AQs and if no reason is known"),
    Column("difficulty", "string", "random, popular or adversarial; null for AQs and if it was not estimated"),
    Column("edits", "edits", "replacements in the text of the source question, by character positions; empty if there are none"),
    Column("clip_score", "float64", "CLIP cosine similarity of text and image; null if unknown, for example if the text is too long for the model"),
    Column("clip_rank", "int32", "rank among the eligible questions of the image, 1 = most similar; null if not ranked"),
    Column("simulated", "bool", "true if the verdicts of the pair are simulated"),
    Column("query_only", "bool", "true if only what the question asks for was edited, so that it may have an answer after all"),
    Column("source_text", "string", "wording of the source; empty if `question` is that wording or an edit of it"),
    Column("canary", "string", "canary string that marks benchmark data"),
)  # fmt: skip
IMAGE_COLUMN = Column("image", "image", "the image")


def table_columns(has_images: bool) -> tuple[Column, ...]:
    """Return the columns of a table, with or without the image."""
    return (*COLUMNS, IMAGE_COLUMN) if has_images else COLUMNS


def format_type(column: Column) -> str:
    """Return the type of a column in readable form."""
    edits = f"list of {{{', '.join(EDIT_TYPES)}}}"
    return {"class": "int64", "edits": edits, "image": "bytes and file name"}.get(column.type, column.type)


# Maximum size of the images of a row group in bytes, and maximum number of rows.
MAX_ROW_GROUP_BYTES, MAX_ROW_GROUP_ROWS = 1 << 26, 1 << 15
# Maximum size of a dictionary page. All images of a row group must fit into one page.
MAX_DICTIONARY_BYTES = 1 << 30


def write_subset_table(
    path: Path,
    items: Sequence[Item],
    images: Mapping[str, ImageRecord],
    canary: str,
    has_images: bool,
    group_bytes: int = MAX_ROW_GROUP_BYTES,
) -> None:
    """Write the rows of one subset and split. The same items give the same bytes.

    Args:
        path: The Parquet file.
        items: The items, in the order of the rows within each row group (`make_row_groups`).
        images: Image id -> image.
        canary: The canary string of every row.
        has_images: Whether to store the images. If not, rows have only the ids of images.
        group_bytes: Maximum size of the images of a row group in bytes. A single larger image makes a larger
            row group.
    """
    import pyarrow
    import pyarrow.parquet

    schema = _schema(has_images)
    paths = {item.image_id: Path(images[item.image_id].path) for item in items} if has_images else {}
    groups = make_row_groups(items, {key: file.stat().st_size for key, file in paths.items()}, group_bytes)
    first = _make_table(next(groups), schema, paths, canary)
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
            writer.write_table(_make_table(rows, schema, paths, canary), len(rows))
        # The stored schema has the types of the columns, not those of their dictionaries.
        stored = {b"ARROW:schema": base64.b64encode(schema.serialize())}
        writer.add_key_value_metadata(
            {key.decode(): text for key, text in (schema.metadata | stored).items()}
        )


def make_row(item: Item, canary: str) -> dict[str, Any]:
    """Return column -> value for an item. The image is left out."""
    fields = msgspec.to_builtins(item) | {"canary": canary}
    row = {column.name: fields[FIELD_OF_COLUMN.get(column.name, column.name)] for column in COLUMNS}
    edits = [{name: edit[name] for name in EDIT_TYPES} for edit in fields["edits"]]
    return row | {"label": int(item.unanswerable), "edits": edits}


def find_column_faults(path: Path, has_images: bool) -> list[str]:
    """Return the differences between the columns of a table and the columns of a release.

    Names, types and the names of the labels are compared.

    Raises:
        UserError: The file is not a Parquet file, or it is truncated.
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
        columns = table_columns(has_images)
        expected = pa.schema(
            [(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind, _ in columns]
        )
        found = pyarrow.parquet.read_schema(path)
    types = {field.name: field.type for field in found}
    faults = [f"has no column {name}" for name in expected.names if name not in types]
    faults += [
        f"has a column {name}, which no release has" for name in found.names if name not in expected.names
    ]
    faults += [f"has the column {name} twice" for name in types if found.names.count(name) > 1]
    faults += [
        f"column {field.name} has the type {types[field.name]}, expected {field.type}"
        for field in expected
        if field.name in types and types[field.name] != field.type
    ]
    if not faults:
        # The metadata of `datasets` is read as text, because a release is also checked where this library is
        # not installed.
        written = (found.metadata or {}).get(b"huggingface", b"{}").decode("utf-8", "replace")
        names = f'"names":{msgspec.json.encode(LABEL_NAMES).decode()}'
        if names not in written.replace(" ", ""):
            faults.append(f"column label does not name its values {' and '.join(LABEL_NAMES)}")
    return faults


def read_column_names(path: Path) -> list[str]:
    """Return the names of the columns of a table.

    Raises:
        UserError: The file is not a Parquet file, or it is truncated.
    """
    with _parquet_errors(path):
        import pyarrow.parquet

        return pyarrow.parquet.read_schema(path).names


def read_rows(path: Path, has_images: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table that has the right columns.

    A row is column -> value. The value of the column `image` is the name of the image file, or None if the
    image is missing.

    Raises:
        UserError: The file is not a Parquet file, or it is truncated.
    """
    with _parquet_errors(path):
        import pyarrow.parquet

        names = [column.name for column in COLUMNS]
        table = pyarrow.parquet.ParquetFile(path, read_dictionary=["image.bytes"] if has_images else [])
        for group in range(table.num_row_groups):
            rows = table.read_row_group(group, names).to_pylist()
            if has_images:
                image = table.read_row_group(group, ["image"]).column("image").combine_chunks()
                # A row without bytes has no image, even if it has the name of a file.
                has_bytes = image.field("bytes").is_valid().to_pylist()
                files = image.field("path").to_pylist()
                rows = [
                    row | {"image": name if known else None}
                    for row, name, known in zip(rows, files, has_bytes, strict=True)
                ]
            yield from rows


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    """Convert the errors of pyarrow on a damaged file to a UserError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno in OS_ERROR_HINTS:
            raise
        raise UserError(f"{path}: not a Parquet file, or truncated: {error}") from error


def make_row_groups(
    items: Sequence[Item], sizes: Mapping[str, int], max_bytes: int, max_rows: int = MAX_ROW_GROUP_ROWS
) -> Iterator[list[Item]]:
    """Yield the items of each row group. All items of an image are in the same group.

    Images are taken in the order of their first item. Items are in release order, which is random. So a group
    is a random sample of the images.

    Args:
        items: The items.
        sizes: Image id -> size of the image in bytes, or {} if images are not in the table.
        max_bytes: Maximum size of the images of a group in bytes.
        max_rows: Maximum number of rows of a group. A single image may exceed both limits.
    """
    rows_by_image: dict[str, list[int]] = {}
    for i, item in enumerate(items):
        rows_by_image.setdefault(item.image_id, []).append(i)
    group: list[int] = []
    group_bytes = 0
    for key, rows in rows_by_image.items():
        size = sizes.get(key, 0)
        if group and (group_bytes + size > max_bytes or len(group) + len(rows) > max_rows):
            yield [items[i] for i in sorted(group)]
            group, group_bytes = [], 0
        group, group_bytes = group + rows, group_bytes + size
    yield [items[i] for i in sorted(group)]


def _schema(has_images: bool) -> pyarrow.Schema:
    """Return the schema of a table with the metadata of `datasets`."""
    from datasets import ClassLabel, Features, Image, List, Value

    kinds = {
        "class": ClassLabel(names=list(LABEL_NAMES)),
        "edits": List({name: Value(kind) for name, kind in EDIT_TYPES.items()}),
        "image": Image(),
    }
    columns = table_columns(has_images)
    return Features({name: kinds.get(kind) or Value(kind) for name, kind, _ in columns}).arrow_schema


def _make_table(
    items: Sequence[Item], schema: pyarrow.Schema, paths: Mapping[str, Path], canary: str
) -> pyarrow.Table:
    """Return the table of a row group."""
    import pyarrow

    rows = [make_row(item, canary) for item in items]
    arrays = {
        column.name: pyarrow.array([row[column.name] for row in rows], column.type)
        for column in schema
        if column.name != IMAGE_COLUMN.name
    }
    if paths:
        arrays["image"] = _make_image_column([item.image_id for item in items], paths)
    fields = [column.with_type(arrays[column.name].type) for column in schema]
    return pyarrow.Table.from_arrays(
        [arrays[column.name] for column in schema], schema=pyarrow.schema(fields)
    )


def _make_image_column(image_ids: Sequence[str], paths: Mapping[str, Path]) -> pyarrow.StructArray:
    """Return a dictionary-encoded column of images."""
    import pyarrow

    # Two images with the same content share an entry.
    contents: dict[bytes, int] = {}
    index = {
        key: contents.setdefault(paths[key].read_bytes(), len(contents)) for key in dict.fromkeys(image_ids)
    }
    indices = pyarrow.array([index[key] for key in image_ids], pyarrow.int32())
    data = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(contents, pyarrow.binary()))
    names = pyarrow.array([paths[key].name for key in image_ids], pyarrow.string()).dictionary_encode()
    return pyarrow.StructArray.from_arrays([data, names], names=["bytes", "path"])
