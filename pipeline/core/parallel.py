"""Work on several processes; results come in the order of the items, so that their number changes no byte."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Generic, TypeVar

from pipeline.core.errors import UserError

S = TypeVar("S")
I = TypeVar("I")
R = TypeVar("R")

WAITING = 2  # pieces given out ahead for each process: enough to keep it busy, few enough to hold


def threads() -> int:
    """How much is worked on side by side: OMP_NUM_THREADS, else one for each core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) else len(os.sched_getaffinity(0))


def processes(items: int, each: int = 1000) -> int:
    """How many processes so many items are worth: `each` to one, as it takes a second or more to set one up."""
    return max(1, min(threads(), items // each))


class Workers(Generic[S]):
    """Processes that each set themselves up once and then work on items; with one, all is done right here.

    Args:
        set_up: makes what a process needs to work (opens files, reads tables). A function of a module, or a
            `partial` of one, as are those given to `map`.
        processes: how many.

    Use it in a `with`: at its end, also by an error or Ctrl-C, the processes end. They end, too, when this one is
    killed.
    """

    def __init__(self, set_up: Callable[[], S], processes: int) -> None:
        self._set_up, self._processes = set_up, processes
        self._own: list[S] = []
        self._pool: ProcessPoolExecutor | None = None
        if processes > 1:
            self._pool = ProcessPoolExecutor(processes, get_context("spawn"), _start, (set_up,))

    def __enter__(self) -> Workers[S]:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[S, I], R], items: Iterable[I], piece: int = 64) -> Iterator[R]:
        """Yield `work(what was set up, item)` for each item, in order.

        Args:
            piece: how many items a process is given at once. Of results not yet taken, no more than twice that for
                each process are held.

        Raises:
            UserError: a process was killed, as by a lack of memory; else what `work` raises.
        """
        if self._pool is None:
            for item in items:
                self._own = self._own or [self._set_up()]
                yield work(self._own[0], item)
            return
        left, waiting = iter(items), deque[Future[list[R]]]()
        try:
            while True:
                while len(waiting) < WAITING * self._processes and (some := list(islice(left, piece))):
                    waiting.append(self._pool.submit(_work_on, work, some))
                if not waiting:
                    return
                yield from waiting.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                "a process that worked beside this one was killed, perhaps for want of memory; "
                "run the same command again with fewer of them: OMP_NUM_THREADS=1"
            ) from error
        finally:
            for future in waiting:
                future.cancel()


_set_up_here: list[object] = []  # of a worker process: how it is set up, and what that gave


def _start(set_up: Callable[[], object]) -> None:
    """A worker process begins: Ctrl-C is for its parent, and without a parent it has nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _set_up_here.append(set_up)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work_on(work: Callable[[object, I], R], items: list[I]) -> list[R]:
    if len(_set_up_here) == 1:  # here and not in _start, so that its errors reach the parent like any other
        _set_up_here.append(_set_up_here[0]())
    return [work(_set_up_here[1], item) for item in items]
