"""Read cells of the tables of public sets: texts, labels and embedded images."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.core.images import HEADER_BYTES, detect_media_type
from pipeline.public_sets.row_sources import ConcatenatedRows, ParquetRows, RowSource

# A longer text is an image in base64, or another text that is only compared.
MAX_COMPARED_TEXT_LENGTH = 1000
# Texts that stand for an empty cell in tables that pandas wrote.
EMPTY_CELL_TEXTS = ("", "nan", "none")


def normalize_value(value: Any) -> str:
    """Return a value as a string that can be compared.

    Whole numbers lose their ".0". The bytes of an image, and very long texts, are replaced by their hash.
    Missing values become "".

    >>> normalize_value(1.0), normalize_value("yes "), normalize_value(float("nan"))
    ('1', 'yes', '')
    >>> normalize_value({"bytes": b"x", "path": None})
    '2d711642b726b044'
    """
    # The library `datasets` stores an image in this form.
    if isinstance(value, Mapping) and value.keys() == {"bytes", "path"}:
        return normalize_value(value["bytes"]) if value.get("bytes") else str(value.get("path") or "")
    if isinstance(value, bytes) or (isinstance(value, str) and len(value) > MAX_COMPARED_TEXT_LENGTH):
        data = value if isinstance(value, bytes) else value.encode()
        return hashlib.sha256(data).hexdigest()[:16]
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def parse_label(value: Any, label_values: Mapping[str, bool]) -> bool | None:
    """Return the label that a value stands for, or None if the value is not in `label_values`."""
    return label_values.get(normalize_value(value).lower())


def read_text(value: Any) -> str:
    """Return a question or another text as it is; "" for a missing value and for a value that is not a text.

    >>> read_text("Is it red? "), read_text(5), read_text(None)
    ('Is it red? ', '', '')
    """
    return value if isinstance(value, str) else ""


def read_optional_text(value: Any) -> str:
    """Return a normalized text; "" if the cell is empty or says "nan" or "None".

    >>> read_optional_text("nan"), read_optional_text(" Look up. "), read_optional_text(2.0)
    ('', 'Look up.', '2')
    """
    text = "" if value is None or value != value else str(value).strip()
    if isinstance(value, float) and value == value and value.is_integer():
        text = str(int(value))
    return "" if text.lower() in EMPTY_CELL_TEXTS else text


def column_or_empty(source: RowSource, name: str) -> list[Any]:
    """Return a column; None for each row if there is no such column."""
    return source.column(name) if name in source.columns else [None] * len(source)


def detail_columns(source: RowSource, names: Iterable[str]) -> list[dict[str, str]]:
    """Return for each row the normalized values of those of the columns that the source has."""
    there = [name for name in names if name in source.columns]
    columns = [[normalize_value(value) for value in source.column(name)] for name in there]
    return [dict(zip(there, row, strict=True)) for row in zip(*columns, strict=True)] or [
        {} for _ in range(len(source))
    ]


def iterate_column(source: RowSource, name: str) -> Iterator[Any]:
    """Yield the values of a column. The images of a Parquet file are not in memory all at once."""
    if isinstance(source, ConcatenatedRows):
        for one in source.sources:
            yield from iterate_column(one, name)
    elif isinstance(source, ParquetRows):
        yield from source.iterate(name)
    else:
        yield from source.column(name)


def name_images(source: RowSource, column: str) -> list[str]:
    """Return the name of each row's image: the text of the cell, or the hash of an embedded image."""
    return [normalize_value(value) for value in iterate_column(source, column)]


def decode_image(value: Any) -> bytes | None:
    """Return the image that a cell contains: bytes, base64, or the form of the library `datasets`.

    Returns:
        The content of the image file; None if the cell is a file name, or empty.

    >>> decode_image({"bytes": b"x", "path": None}), decode_image("COCO_val2014_000000310196.jpg"), decode_image("n123")
    (b'x', None, None)
    """
    if isinstance(value, Mapping):
        data = value.get("bytes")
        return data if isinstance(data, bytes) else None
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str) or "." in value:
        return None
    try:
        data = base64.b64decode(value.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    # A short name may happen to be valid base64.
    return data if detect_media_type(data[:HEADER_BYTES]) else None
