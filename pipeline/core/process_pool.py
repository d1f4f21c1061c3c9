"""Worker processes on this machine for `parallel.ordered_map`.

The pool is based on `ProcessPoolExecutor`, and replaces killed workers. When the command is stopped by
Ctrl-C, SIGTERM or SIGHUP, the pool ends at once, even if its workers are busy.
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

# Number of times that a chunk is submitted again after its worker was killed.
MAX_RETRIES = 3
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WorkerPool(Protocol):
    """Processes that work on chunks of items."""

    def num_ready(self) -> int:
        """Return how many workers have started, at least 1. Wait for the first worker if necessary."""
        ...

    def submit(self, chunk: list[Any]) -> Any:
        """Give a chunk of items to a worker, and return a ticket for the results of the chunk."""
        ...

    def get_result(self, ticket: Any) -> list[Any]:
        """Wait for the results of a chunk and return them. An error of the worker is raised here."""
        ...

    def shutdown(self) -> None:
        """End all workers, without waiting for unfinished chunks."""
        ...


def worker_killed_error(reason: object) -> UserError:
    """Return the error for a chunk that failed in all attempts, because its worker was killed each time."""
    lines = str(reason).strip().splitlines() or [type(reason).__name__]
    return UserError(
        f"a worker process was killed, and so were its replacements, {MAX_RETRIES} times ({lines[0]}). The machine may be out of "
        "memory: run the same command with fewer processes, OMP_NUM_THREADS=1"
    )


class ProcessPool:
    """A `WorkerPool` on this machine.

    If one process of the pool is killed, all processes are replaced, and unfinished chunks are submitted
    again.

    Args:
        work: Called with the state and an item.
        make_state: Makes the state of a worker.
        num_workers: Number of processes.
    """

    def __init__(
        self, work: Callable[[Any, Any], Any], make_state: Callable[[], object], num_workers: int
    ) -> None:
        self._work, self._make_state, self._num_workers = work, make_state, num_workers
        # Ticket -> chunk and future, for chunks whose results were not fetched yet.
        self._pending: dict[int, tuple[list[Any], Future[list[Any]]]] = {}
        self._num_submitted = 0
        with _block_stop_signals():
            # The resource tracker is started here. Otherwise the start of the first worker would start it,
            # and that unblocks SIGINT.
            resource_tracker.ensure_running()
        self._executor = self._start_executor()
        _register_pool(self)

    def num_ready(self) -> int:
        return self._num_workers

    def submit(self, chunk: list[Any]) -> int:
        self._num_submitted += 1
        self._pending[self._num_submitted] = chunk, self._submit_chunk(chunk)
        return self._num_submitted

    def get_result(self, ticket: int) -> list[Any]:
        for attempt in range(1 + MAX_RETRIES):
            try:
                results = self._pending[ticket][1].result()
                del self._pending[ticket]
                return results
            except BrokenProcessPool as error:
                if attempt == MAX_RETRIES:
                    raise worker_killed_error(error) from error
                self._restart_executor()
        raise AssertionError("the last attempt returns or raises")

    def shutdown(self) -> None:
        """End the workers.

        If there are unfinished chunks, the workers are killed, because the results are not needed.
        """
        try:
            if self._pending:
                self.kill()
            self._executor.shutdown(cancel_futures=True)
        finally:
            _unregister_pool(self)

    def kill(self) -> None:
        """Kill the workers. The executor notices by itself that they have ended."""
        # From Python 3.14 on, `ProcessPoolExecutor.kill_workers` does the same.
        for process in list((self._executor._processes or {}).values()):
            process.kill()

    def _start_executor(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._num_workers, get_context("spawn"), _start_worker, (self._make_state,)
        )

    def _restart_executor(self) -> None:
        self._executor.shutdown()
        self._executor = self._start_executor()
        for ticket, (chunk, future) in self._pending.items():
            if isinstance(future.exception(), BrokenProcessPool):
                self._pending[ticket] = chunk, self._submit_chunk(chunk)

    def _submit_chunk(self, chunk: list[Any]) -> Future[list[Any]]:
        try:
            with _block_stop_signals():
                return self._executor.submit(run_chunk, self._work, chunk)
        # The error is raised when the result is fetched.
        except BrokenProcessPool as error:
            failed: Future[list[Any]] = Future()
            failed.set_exception(error)
            return failed


@contextmanager
def _block_stop_signals() -> Iterator[None]:
    """Let processes that are started in the block ignore SIGINT and SIGHUP.

    A terminal sends these signals to all processes of a group. Processes inherit the signal mask of their
    parent, and the parent stops them.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# Pools of this process that were not shut down yet.
_open_pools: list[ProcessPool] = []
# Signal -> its handler before the first pool was opened.
_previous_handlers: dict[int, Any] = {}


def _register_pool(pool: ProcessPool) -> None:
    """Install signal handlers that kill the workers of a pool when the command is stopped.

    The handlers are active until `_unregister_pool` is called. Without them, a stopped command would wait
    until its workers have finished their chunks, because the interpreter joins the workers when it ends, and
    `finally` blocks may run only then.
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
    """Kill all workers, then call the previous handler, or exit so that `finally` blocks run."""
    for pool in _open_pools:
        pool.kill()
    before = _previous_handlers[number]
    if not callable(before):
        raise SystemExit(128 + number)
    before(number, frame)


# Returns the state of a worker process.
_get_state: Callable[[], Any]


def init_worker(make_state: Callable[[], object]) -> None:
    """Prepare a worker process.

    The state is made only with the first item, so that errors of `make_state` reach the parent like other
    errors.
    """
    global _get_state
    _get_state = cache(make_state)


def run_chunk(work: Callable[[Any, Any], Any], chunk: list[Any]) -> list[Any]:
    """Return the results of a chunk in a worker process."""
    return [work(_get_state(), item) for item in chunk]


def _start_worker(make_state: Callable[[], object]) -> None:
    init_worker(make_state)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
