"""A JSON list of hundreds of thousands of rows, read part by part: in less time and a fraction of the memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from .validation import parse_json

PART, TRIES = 1 << 15, 8  # letters that are parsed at once: their objects fit the cache; gaps tried
_OPENING, _GAP = re.compile(r"[ \t\n\r]*\["), re.compile(r"\}[ \t\n\r]*,[ \t\n\r]*\{")


def parse_list(data: bytes, path: Path | str) -> Iterator[Any] | None:
    """The values of a file's JSON list, parsed part by part, so that never all of them need be held; None if it is no list.

    Raises:
        InputError: says where it breaks, once that is reached.
    """
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass")
    except UnicodeDecodeError:
        return parse_json(data, path)  # which says what is wrong
    opening = _OPENING.match(text)
    return chain.from_iterable(_parts(text, opening.end(), data, path)) if opening else None


def _parts(text: str, place: int, data: bytes, path: Path | str) -> Iterator[list[Any]]:
    """Cut between two objects; where such a part is no list, the gap was inside of an object or a string."""
    reach, tries = place + PART, 0
    while tries < TRIES and (gap := _GAP.search(text, reach)):
        reach = gap.end() - 1
        try:
            part = json.loads(f"[{text[place : gap.start() + 1]}]")
        except (ValueError, RecursionError):
            tries += 1
            continue
        yield part
        place, reach, tries = reach, reach + PART, 0
    try:
        yield json.loads("[" + text[place:])
    except (ValueError, RecursionError):
        yield parse_json(data, path)  # which says what is wrong
