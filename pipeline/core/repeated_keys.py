"""Find keys that stand twice in an object of a JSON text.

This module needs the standard library alone: the wheel of the scorers carries it, too.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any


def repeated_keys(data: bytes) -> list[str]:
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
            found.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    json.loads(data, object_pairs_hook=look)
    return sorted(found)
