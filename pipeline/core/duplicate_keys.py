"""Find keys that occur more than once, for example in an object of a JSON text.

This module needs the standard library alone: the wheel of the scorers carries it, too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any


def find_duplicates(keys: Iterable[str]) -> list[str]:
    """Return the keys that occur more than once, sorted.

    >>> more_than_once("abcab")
    ['a', 'b']
    """
    return sorted(key for key, count in Counter(keys).items() if count > 1)


def find_duplicate_keys(data: bytes) -> list[str]:
    """Find the keys that an object of a JSON text names more than once; readers of JSON keep the last one silently.

    Returns:
        The keys of all objects, sorted, each once.

    Raises:
        ValueError, RecursionError: it is no JSON, or nested too deep.

    >>> repeated_keys(b'[{"b": 1, "a": {"c": 1, "c": 2}, "b": 3}]')
    ['b', 'c']
    """
    found: set[str] = set()

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            found.update(find_duplicates(key for key, _ in pairs))

    json.loads(data, object_pairs_hook=look)
    return sorted(found)
