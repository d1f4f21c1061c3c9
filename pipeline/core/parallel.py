"""Work on several processes; results come in the order of the items, so that their number changes no byte."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from pipeline.core.errors import UserError

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

WAITING = 2  # pieces given out ahead for each process: enough to keep it busy, few enough to hold


def threads() -> int:
    """How much is worked on side by side: OMP_NUM_THREADS, else one for each core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) else len(os.sched_getaffinity(0))


def processes(items: int, each: int = 1000) -> int:
    """How many processes so many items are worth: `each` to one, as it takes a second or more to set one up."""
    return max(1, min(threads(), items // each))


def ordered_map(
    work: Callable[[State, Item], Result],
    items: Iterable[Item],
    set_up: Callable[[], State],
    processes: int,
    piece: int = 64,
) -> Iterator[Result]:
    """Yield `work(what was set up, item)` for each item, in order, from processes that each set themselves up once.

    At the end, also by an error or Ctrl-C, the processes end. They end, too, when this one is killed.

    Args:
        set_up: makes what a process needs to work (opens files, reads tables), once there is an item. This and
            `work` are functions of a module, or a `partial` of one.
        processes: how many; with one, all is done right here.
        piece: how many items a process is given at once. Of results not yet taken, no more than twice that for
            each process are held.

    Raises:
        UserError: a process was killed, as by a lack of memory; else what `work` raises.
    """
    if processes == 1:
        state = cache(set_up)
        yield from (work(state(), item) for item in items)
        return
    left, waiting = iter(items), deque[Future[list[Result]]]()
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _start, (set_up,))
    try:
        while True:
            while len(waiting) < WAITING * processes and (some := list(islice(left, piece))):
                waiting.append(pool.submit(_work_on, work, some))
            if not waiting:
                return
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise UserError(
            "a process that worked beside this one was killed, perhaps for want of memory; "
            "run the same command again with fewer of them: OMP_NUM_THREADS=1"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_state: Callable[[], Any]  # of a worker process: what it set up


def _start(set_up: Callable[[], object]) -> None:
    """A worker process begins: Ctrl-C is for its parent, and without a parent it has nothing to do."""
    global _state
    _state = cache(set_up)  # called with the first item, so that its errors reach the parent like any other
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work_on(work: Callable[[Any, Item], Result], items: list[Item]) -> list[Result]:
    return [work(_state(), item) for item in items]
