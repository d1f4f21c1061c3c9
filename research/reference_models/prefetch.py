"""Compute the next values in a thread while the current value is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")
# Number of values that wait while one value is in use. In addition, one value is being computed.
PREFETCH_DEPTH = 2


def prefetch(make: Callable[[K], T], keys: Iterable[K], depth: int = PREFETCH_DEPTH) -> Iterator[tuple[K, T]]:
    """Yield (key, make(key)) for each key, in order.

    A thread calls `make` for at most `depth` keys in advance. If `make` fails for a key, the error is raised
    when the iteration reaches this key. If the iteration ends early, waiting values are discarded.

    Args:
        make: Computes the value of a key.
        keys: The keys.
        depth: Number of values that may wait.

    >>> list(prefetch(str.upper, ["a", "b"]))
    [('a', 'A'), ('b', 'B')]
    """
    waiting: deque[tuple[K, Future[T]]] = deque()
    pool = ThreadPoolExecutor(1, "read-ahead")
    try:
        for key in keys:
            waiting.append((key, pool.submit(make, key)))
            if len(waiting) > depth:
                first, made = waiting.popleft()
                yield first, made.result()
        while waiting:
            first, made = waiting.popleft()
            yield first, made.result()
    finally:
        pool.shutdown(cancel_futures=True)
