"""Worker processes of this machine for `engine.ordered_map`: a `ProcessPoolExecutor` that replaces workers which were killed, and
that ends at once, whatever its workers are doing, when the command is stopped by Ctrl-C, SIGTERM or SIGHUP.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context, parent_process, resource_tracker
from types import FrameType
from typing import Any, Protocol

from pipeline.core.errors import UserError

AGAIN = 3  # how often a piece of work is given out again when a process was killed over it
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Crew(Protocol):
    """Processes that are given pieces of work: as many as are `ready`, at least one, may have some. What `give` returns is
    `take`n for the results, or for what the work raised."""

    def ready(self) -> int: ...
    def give(self, piece: list[Any]) -> Any: ...
    def take(self, given: Any) -> list[Any]: ...
    def end(self) -> None: ...


def killed(reason: object) -> UserError:
    """What the user is told when a piece was given out `AGAIN` times in vain."""
    said = str(reason).strip().splitlines() or [type(reason).__name__]
    return UserError(
        f"a process that worked beside this one was killed, and so were those that did its work again, {AGAIN} times; perhaps "
        f"for want of memory: run the same command again with fewer of them, OMP_NUM_THREADS=1 ({said[0]})"
    )


class ProcessPool:
    """A `Crew` of this machine. When one of its processes is killed, all of them are replaced, and what they had not
    finished is done again."""

    def __init__(self, work: Callable[[Any, Any], Any], set_up: Callable[[], object], processes: int) -> None:
        self._work, self._set_up, self._processes = work, set_up, processes
        self._out: dict[int, tuple[list[Any], Future[list[Any]]]] = {}  # what was given and not yet taken
        self._given = 0
        with _for_the_parent_alone():
            resource_tracker.ensure_running()  # else the first worker starts it, and by that unblocks SIGINT
        self._pool = self._begun()
        _watch(self)

    def ready(self) -> int:
        return self._processes

    def give(self, piece: list[Any]) -> int:
        self._given += 1
        self._out[self._given] = piece, self._submitted(piece)
        return self._given

    def take(self, given: int) -> list[Any]:
        for again in range(1 + AGAIN):
            try:
                results = self._out[given][1].result()
                del self._out[given]
                return results
            except BrokenProcessPool as error:
                if again == AGAIN:
                    raise killed(error) from error
                self._begin_again()
        raise AssertionError("the last round returns or raises")

    def end(self) -> None:
        """End the workers. Those that are still at work are killed, as their results are not needed."""
        try:
            if self._out:
                self.kill()
            self._pool.shutdown(cancel_futures=True)
        finally:
            _forget(self)

    def kill(self) -> None:
        """Kill the workers, so that nothing waits for them any more; the executor notices by itself."""
        # Python 3.14 has `kill_workers` for this.
        for process in list((self._pool._processes or {}).values()):
            process.kill()

    def _begun(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._processes, get_context("spawn"), _start, (self._set_up,))

    def _begin_again(self) -> None:
        self._pool.shutdown()
        self._pool = self._begun()
        for number, (piece, future) in self._out.items():
            if isinstance(future.exception(), BrokenProcessPool):
                self._out[number] = piece, self._submitted(piece)

    def _submitted(self, piece: list[Any]) -> Future[list[Any]]:
        try:
            with _for_the_parent_alone():
                return self._pool.submit(work_on, self._work, piece)
        except BrokenProcessPool as error:  # to be told when it is taken
            failed: Future[list[Any]] = Future()
            failed.set_exception(error)
            return failed


@contextmanager
def _for_the_parent_alone() -> Iterator[None]:
    """Keep Ctrl-C and the end of a terminal, which reach all processes of a group, from processes that are begun here: these
    inherit the mask. Their parent has them stopped."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_pools: list[ProcessPool] = []  # those of this process that have not ended
_before: dict[int, Any] = {}  # signal -> what it did before the first of them began


def _watch(pool: ProcessPool) -> None:
    """Kill the workers of this pool when the command is stopped, from now on until `_forget`.

    Without this a stopped command would wait until its workers have finished what they were given: the interpreter joins them
    when it ends, and `finally` blocks may run only then.
    """
    _pools.append(pool)
    if len(_pools) == 1 and threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            if (before := signal.getsignal(number)) not in (None, signal.SIG_IGN):
                _before[number] = before
                signal.signal(number, _stop)


def _forget(pool: ProcessPool) -> None:
    if pool in _pools:
        _pools.remove(pool)
    if not _pools and threading.current_thread() is threading.main_thread():
        for number, before in _before.items():
            signal.signal(number, before)
        _before.clear()


def _stop(number: int, frame: FrameType | None) -> None:
    """Kill all workers, then do what the signal did before; by default raise, so that `finally` blocks run."""
    for pool in _pools:
        pool.kill()
    before = _before[number]
    if not callable(before):
        raise SystemExit(128 + number)
    before(number, frame)


_state: Callable[[], Any]  # of a worker process: what it set up


def keep(set_up: Callable[[], object]) -> None:
    """Of a worker process: what sets it up, with the first item, so that its errors reach the parent like any other."""
    global _state
    _state = cache(set_up)


def work_on(work: Callable[[Any, Any], Any], piece: list[Any]) -> list[Any]:
    """Of a worker process: what comes of each item, by what was set up."""
    return [work(_state(), item) for item in piece]


def _start(set_up: Callable[[], object]) -> None:
    """A worker process begins: without a parent it has nothing to do."""
    keep(set_up)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
