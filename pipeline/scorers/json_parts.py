"""A JSON list of hundreds of thousands of rows, read part by part: in less time and a fraction of the memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from .validation import loads, parse_json

ROWS = 1 << 9  # rows that are looked at together
PART, TRIES = 1 << 15, 8  # bytes that are parsed at once: their objects fit the cache; gaps tried
T = TypeVar("T")
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\[")  # after a byte-order mark, if there is one
_GAP = re.compile(rb"\}[ \t\n\r]*,[ \t\n\r]*\{")


def parse_list(data: bytes, path: Path | str) -> Iterator[Any] | None:
    """The values of a file's JSON list, parsed part by part, so that never all of them need be held; None if it is no list.

    Raises:
        InputError: says where it breaks, once that is reached.
    """
    if not json.detect_encoding(data).startswith("utf-8"):
        with suppress(UnicodeDecodeError):  # else the parser says what is wrong
            data = data.decode(json.detect_encoding(data), "surrogatepass").encode("utf-8", "surrogatepass")
    opening = _OPENING.match(data)
    return chain.from_iterable(_parts(data, opening.end(), path)) if opening else None


def in_parts(rows: Iterable[T]) -> Iterator[list[T]]:
    """Rows, `ROWS` at a time."""
    left = iter(rows)
    while part := list(islice(left, ROWS)):
        yield part


def _parts(data: bytes, place: int, path: Path | str) -> Iterator[list[Any]]:
    """Cut between two objects; where such a part is no list, the gap was inside of an object or a string."""
    reach, tries = place + PART, 0
    while tries < TRIES and (gap := _GAP.search(data, reach)):
        reach = gap.end() - 1
        try:
            part = loads(b"[%b]" % data[place : gap.start() + 1])
        except ValueError:
            tries += 1
            continue
        yield part
        place, reach, tries = reach, reach + PART, 0
    try:
        yield loads(b"[" + data[place:])
    except ValueError:
        yield parse_json(data, path)  # which says what is wrong
