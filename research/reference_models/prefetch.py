"""What is needed next, made by a thread while this one works."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")
PREFETCH_DEPTH = 2  # things that wait while one is in use: memory is that of so many and one more


def prefetch(make: Callable[[K], T], keys: Iterable[K], depth: int = PREFETCH_DEPTH) -> Iterator[tuple[K, T]]:
    """(key, make(key)) for each key in its order. One thread makes them, one after the other and at most `depth` before
    their time; what it raises is raised here, at its key. When this ends early, what waits is dropped.

    >>> list(ahead(str.upper, ["a", "b"]))
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
