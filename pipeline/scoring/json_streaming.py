"""Parse long JSON lists in chunks.

This is faster and needs a fraction of the memory of parsing the whole list.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import UserError
from .input_validation import DuplicateKeyError, loads_strict, parse_json, parse_json_lines

ROWS_PER_CHUNK = 1 << 9
# Size of a chunk. The objects of a chunk of this size fit into the cache of the processor.
BYTES_PER_CHUNK = 1 << 15
# Number of possible boundaries between objects that are tried before the rest of the file is parsed at once.
MAX_BOUNDARY_ATTEMPTS = 8
T = TypeVar("T")
# A list may be preceded by a byte order mark.
_LIST_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\[")
_SPACE = re.compile(r"\s*")
_OBJECT_BOUNDARY = re.compile(rb"\}[ \t\n\r]*,[ \t\n\r]*\{")


def stream_list(data: bytes, path: Path | str) -> Iterator[Any] | None:
    """Parse the values of a file that is one JSON list lazily, in chunks.

    Return None if the file is not a list.

    Raises:
        UserError: The JSON is invalid. Raised when parsing reaches the error; the message names the place.
    """
    data = to_utf8(data)
    opening = _LIST_OPENING.match(data)
    return chain.from_iterable(_stream_chunks(data, opening.end(), path)) if opening else None


def stream_documents(data: bytes, path: Path | str) -> Iterator[Any]:
    """Parse the values of JSON Lines, or of consecutive pretty-printed JSON values, lazily.

    Raises:
        UserError: The JSON is invalid. Raised when parsing reaches the error; the message names the place.
    """
    data = to_utf8(data)
    first, _, _ = data.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")
    with suppress(ValueError):
        loads_strict(first)
        return (value for _, value in parse_json_lines(data, path))
    return _stream_concatenated(data, path)


def has_multiple_documents(data: bytes) -> bool:
    """Return whether the data consists of several JSON values.

    This is so if the first line is a JSON value and other lines follow, or if an object follows the first
    JSON value.
    """
    data = to_utf8(data)
    first, _, rest = data.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")
    if not rest.strip():
        return False
    with suppress(ValueError):
        loads_strict(first)
        return True
    with suppress(ValueError, RecursionError):
        text = data.decode("utf-8-sig")
        _, end = json.JSONDecoder().raw_decode(text, _SPACE.match(text).end())  # pyright: ignore[reportOptionalMemberAccess]
        return text[end:].lstrip()[:1] == "{"
    return False


def stream_raw_documents(data: bytes, path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield consecutive JSON values as text, each with the number of the line where it starts.

    Raises:
        UserError: The JSON is invalid. Raised when parsing reaches the error; the message names the place.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    decoder, place, line = json.JSONDecoder(), 0, 1
    while True:
        start = _SPACE.match(text, place).end()  # pyright: ignore[reportOptionalMemberAccess]
        line += text.count("\n", place, start)
        if start == len(text):
            return
        try:
            _, place = decoder.raw_decode(text, start)
        except RecursionError:
            raise UserError(f"{path}, line {line}: not valid JSON (nested too deep)") from None
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {error.lineno}: not valid JSON ({error.msg})") from None
        yield line, text[start:place]
        line += text.count("\n", start, place)


def _stream_concatenated(data: bytes, path: Path | str) -> Iterator[Any]:
    for line, text in stream_raw_documents(data, path):
        try:
            value = loads_strict(text.encode("utf-8", "surrogatepass"))
        except DuplicateKeyError as error:
            raise UserError(f"{path}, line {line}: {error}") from None
        except ValueError as error:
            raise UserError(f"{path}, line {line}: not valid JSON ({error})") from None
        yield value


def to_utf8(data: bytes) -> bytes:
    """Convert JSON data from UTF-16 or UTF-32 to UTF-8."""
    if not (encoding := json.detect_encoding(data)).startswith("utf-8"):
        # The parser reports undecodable data.
        with suppress(UnicodeDecodeError):
            return data.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    return data


def find_list_key(value: Mapping[str, Any], names: Iterable[str] = ()) -> str | None:
    """Return the key of the list of rows in an object.

    The first key in `names` whose value is a list is returned, else the key of the only list of objects, else
    the key of the only list, else None.

    >>> find_list_key({"info": {}, "licenses": ["CC0"], "questions": [{"id": "a"}]}), find_list_key({"a": [{}], "b": [{}]})
    ('questions', None)
    """
    lists = {key: rows for key, rows in value.items() if isinstance(rows, list)}
    if named := [key for key in names if key in lists]:
        return named[0]
    of_objects = [key for key, rows in lists.items() if rows and all(isinstance(row, dict) for row in rows)]
    found = of_objects or [*lists]
    return found[0] if len(found) == 1 else None


def iterate_chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield rows in lists of up to `ROWS_PER_CHUNK`."""
    rest = iter(rows)
    while chunk := list(islice(rest, ROWS_PER_CHUNK)):
        yield chunk


def _stream_chunks(data: bytes, place: int, path: Path | str) -> Iterator[list[Any]]:
    """Yield the values of a JSON list in chunks, cutting the data between two objects.

    If a chunk is not a valid list, the cut was inside an object or a string, and another cut is tried.
    """
    reach, tries = place + BYTES_PER_CHUNK, 0
    while tries < MAX_BOUNDARY_ATTEMPTS and (gap := _OBJECT_BOUNDARY.search(data, reach)):
        reach = gap.end() - 1
        try:
            chunk = loads_strict(b"[%b]" % data[place : gap.start() + 1])
        except ValueError:
            tries += 1
            continue
        yield chunk
        place, reach, tries = reach, reach + BYTES_PER_CHUNK, 0
    try:
        yield loads_strict(b"[" + data[place:])
    except ValueError:
        # Parse the whole file, because the error message then names the place.
        yield parse_json(data, path)
