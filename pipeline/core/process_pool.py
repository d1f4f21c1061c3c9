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

MAX_RETRIES = 3  # how often a piece of work is given out again when a process was killed over it
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WorkerPool(Protocol):
    """Processes that are given pieces of work: as many as are `ready`, at least one, may have some. What `give` returns is
    `take`n for the results, or for what the work raised."""

    def num_ready(self) -> int: ...
    def submit(self, chunk: list[Any]) -> Any: ...
    def get_result(self, ticket: Any) -> list[Any]: ...
    def shutdown(self) -> None: ...


def worker_killed_error(reason: object) -> UserError:
    """What the user is told when a piece was given out `AGAIN` times in vain."""
    said = str(reason).strip().splitlines() or [type(reason).__name__]
    return UserError(
        f"a process that worked beside this one was killed, and so were those that did its work again, {MAX_RETRIES} times; perhaps "
        f"for want of memory: run the same command again with fewer of them, OMP_NUM_THREADS=1 ({said[0]})"
    )


class ProcessPool:
    """A `Crew` of this machine. When one of its processes is killed, all of them are replaced, and what they had not
    finished is done again."""

    def __init__(self, work: Callable[[Any, Any], Any], set_up: Callable[[], object], processes: int) -> None:
        self._work, self._make_state, self._processes = work, set_up, processes
        self._pending: dict[int, tuple[list[Any], Future[list[Any]]]] = {}  # what was given and not yet taken
        self._num_submitted = 0
        with _block_stop_signals():
            resource_tracker.ensure_running()  # else the first worker starts it, and by that unblocks SIGINT
        self._executor = self._start_executor()
        _register_pool(self)

    def num_ready(self) -> int:
        return self._processes

    def submit(self, chunk: list[Any]) -> int:
        self._num_submitted += 1
        self._pending[self._num_submitted] = chunk, self._submit_chunk(chunk)
        return self._num_submitted

    def get_result(self, ticket: int) -> list[Any]:
        for again in range(1 + MAX_RETRIES):
            try:
                results = self._pending[ticket][1].result()
                del self._pending[ticket]
                return results
            except BrokenProcessPool as error:
                if again == MAX_RETRIES:
                    raise worker_killed_error(error) from error
                self._restart_executor()
        raise AssertionError("the last round returns or raises")

    def shutdown(self) -> None:
        """End the workers. Those that are still at work are killed, as their results are not needed."""
        try:
            if self._pending:
                self.kill()
            self._executor.shutdown(cancel_futures=True)
        finally:
            _unregister_pool(self)

    def kill(self) -> None:
        """Kill the workers, so that nothing waits for them any more; the executor notices by itself."""
        # Python 3.14 has `kill_workers` for this.
        for process in list((self._executor._processes or {}).values()):
            process.kill()

    def _start_executor(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._processes, get_context("spawn"), _start_worker, (self._make_state,))

    def _restart_executor(self) -> None:
        self._executor.shutdown()
        self._executor = self._start_executor()
        for number, (piece, future) in self._pending.items():
            if isinstance(future.exception(), BrokenProcessPool):
                self._pending[number] = piece, self._submit_chunk(piece)

    def _submit_chunk(self, piece: list[Any]) -> Future[list[Any]]:
        try:
            with _block_stop_signals():
                return self._executor.submit(run_chunk, self._work, piece)
        except BrokenProcessPool as error:  # to be told when it is taken
            failed: Future[list[Any]] = Future()
            failed.set_exception(error)
            return failed


@contextmanager
def _block_stop_signals() -> Iterator[None]:
    """Keep Ctrl-C and the end of a terminal, which reach all processes of a group, from processes that are begun here: these
    inherit the mask. Their parent has them stopped."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_open_pools: list[ProcessPool] = []  # those of this process that have not ended
_previous_handlers: dict[int, Any] = {}  # signal -> what it did before the first of them began


def _register_pool(pool: ProcessPool) -> None:
    """Kill the workers of this pool when the command is stopped, from now on until `_forget`.

    Without this a stopped command would wait until its workers have finished what they were given: the interpreter joins them
    when it ends, and `finally` blocks may run only then.
    """
    _open_pools.append(pool)
    if len(_open_pools) == 1 and threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            if (before := signal.getsignal(number)) not in (None, signal.SIG_IGN):
                _previous_handlers[number] = before
                signal.signal(number, _handle_stop_signal)


def _unregister_pool(pool: ProcessPool) -> None:
    if pool in _open_pools:
        _open_pools.remove(pool)
    if not _open_pools and threading.current_thread() is threading.main_thread():
        for number, before in _previous_handlers.items():
            signal.signal(number, before)
        _previous_handlers.clear()


def _handle_stop_signal(number: int, frame: FrameType | None) -> None:
    """Kill all workers, then do what the signal did before; by default raise, so that `finally` blocks run."""
    for pool in _open_pools:
        pool.kill()
    before = _previous_handlers[number]
    if not callable(before):
        raise SystemExit(128 + number)
    before(number, frame)


_get_state: Callable[[], Any]  # of a worker process: what it set up


def init_worker(make_state: Callable[[], object]) -> None:
    """Of a worker process: what sets it up, with the first item, so that its errors reach the parent like any other."""
    global _get_state
    _get_state = cache(make_state)


def run_chunk(work: Callable[[Any, Any], Any], chunk: list[Any]) -> list[Any]:
    """Of a worker process: what comes of each item, by what was set up."""
    return [work(_get_state(), item) for item in chunk]


def _start_worker(set_up: Callable[[], object]) -> None:
    """A worker process begins: without a parent it has nothing to do."""
    init_worker(set_up)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
