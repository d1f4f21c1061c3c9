"""Compute the next values in a thread while the current one is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")
# Values that wait while one is in use. Memory holds one more.
PREFETCH_DEPTH = 2


def prefetch(make: Callable[[K], T], keys: Iterable[K], depth: int = PREFETCH_DEPTH) -> Iterator[tuple[K, T]]:
    """Yield (key, make(key)) for each key, in order.

    One thread calls `make` at most `depth` keys in advance. An error of `make` is raised at its key. If the iteration ends early, waiting
    values are discarded.

    Args:
        make: Computes a value.
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
