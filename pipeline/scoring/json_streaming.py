"""A JSON list of hundreds of thousands of rows, read part by part: in less time and a fraction of the memory."""

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

ROWS_PER_CHUNK = 1 << 9  # rows that are looked at together
BYTES_PER_CHUNK, MAX_BOUNDARY_ATTEMPTS = (
    1 << 15,
    8,
)  # bytes that are parsed at once: their objects fit the cache; gaps tried
T = TypeVar("T")
_LIST_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\[")  # after a byte-order mark, if there is one
_SPACE = re.compile(r"\s*")
_OBJECT_BOUNDARY = re.compile(rb"\}[ \t\n\r]*,[ \t\n\r]*\{")


def stream_list(data: bytes, path: Path | str) -> Iterator[Any] | None:
    """The values of a file's JSON list, parsed part by part, so that never all of them need be held; None if it is no list.

    Raises:
        UserError: says where it breaks, once that is reached.
    """
    data = to_utf8(data)
    opening = _LIST_OPENING.match(data)
    return chain.from_iterable(_stream_chunks(data, opening.end(), path)) if opening else None


def stream_documents(data: bytes, path: Path | str) -> Iterator[Any]:
    """The values of JSON Lines, or of JSON values one after the other that are pretty-printed.

    Raises:
        UserError: says in which line it breaks, once that is reached.
    """
    data = to_utf8(data)
    first, _, _ = data.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")
    with suppress(ValueError):
        loads_strict(first)
        return (value for _, value in parse_json_lines(data, path))
    return _stream_concatenated(data, path)


def has_multiple_documents(data: bytes) -> bool:
    """Do the bytes begin with a JSON value in a line of its own, or with one that is followed by an object?"""
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
    """The JSON values that stand one after the other, as they are written, each with the line in which it begins.

    Raises:
        UserError: says in which line it breaks, once that is reached.
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
    """JSON's bytes as UTF-8, if they are UTF-16 or UTF-32."""
    if not (encoding := json.detect_encoding(data)).startswith("utf-8"):
        with suppress(UnicodeDecodeError):  # else the parser says what is wrong
            return data.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    return data


def find_list_key(value: Mapping[str, Any], names: Iterable[str] = ()) -> str | None:
    """The key of the list of rows in an object: the first of `names` that has a list; else the only list of objects, or the
    only list.

    >>> list_key({"info": {}, "licenses": ["CC0"], "questions": [{"id": "a"}]}), list_key({"a": [{}], "b": [{}]})
    ('questions', None)
    """
    lists = {key: rows for key, rows in value.items() if isinstance(rows, list)}
    if named := [key for key in names if key in lists]:
        return named[0]
    of_objects = [key for key, rows in lists.items() if rows and all(isinstance(row, dict) for row in rows)]
    found = of_objects or [*lists]
    return found[0] if len(found) == 1 else None


def iterate_chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    """Rows, `ROWS` at a time."""
    left = iter(rows)
    while part := list(islice(left, ROWS_PER_CHUNK)):
        yield part


def _stream_chunks(data: bytes, place: int, path: Path | str) -> Iterator[list[Any]]:
    """Cut between two objects; where such a part is no list, the gap was inside of an object or a string."""
    reach, tries = place + BYTES_PER_CHUNK, 0
    while tries < MAX_BOUNDARY_ATTEMPTS and (gap := _OBJECT_BOUNDARY.search(data, reach)):
        reach = gap.end() - 1
        try:
            part = loads_strict(b"[%b]" % data[place : gap.start() + 1])
        except ValueError:
            tries += 1
            continue
        yield part
        place, reach, tries = reach, reach + BYTES_PER_CHUNK, 0
    try:
        yield loads_strict(b"[" + data[place:])
    except ValueError:
        yield parse_json(data, path)  # which says what is wrong
