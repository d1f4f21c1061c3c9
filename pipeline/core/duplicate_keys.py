"""Find keys that occur more than once, for example in a JSON object.

The module uses the standard library only, because the wheel of the scorers contains it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any


def find_duplicates(keys: Iterable[str]) -> list[str]:
    """Return the keys that occur more than once, sorted.

    Example:
        >>> find_duplicates("abcab")
        ['a', 'b']
    """
    return sorted(key for key, count in Counter(keys).items() if count > 1)


def find_duplicate_keys(data: bytes) -> list[str]:
    """Find keys that occur more than once in the same object of a JSON text.

    JSON parsers silently keep only the last value of such a key.

    Args:
        data: The JSON text.

    Returns:
        The duplicate keys of all objects in the text, sorted and distinct.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: The text is nested too deeply.

    Example:
        >>> find_duplicate_keys(b'[{"b": 1, "a": {"c": 1, "c": 2}, "b": 3}]')
        ['b', 'c']
    """
    found: set[str] = set()

    def check_object(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            found.update(find_duplicates(key for key, _ in pairs))

    json.loads(data, object_pairs_hook=check_object)
    return sorted(found)
