"""Send requests to a model: many at the same time, with retries, and with every reply saved when it arrives."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..core.server_errors import format_error
from .progress_display import ProgressDisplay
from .run_folder import JournalRow, RunFolder
from .run_monitor import RunMonitor
from .run_options import RunOptions

if TYPE_CHECKING:
    from .chat_model import ChatModel, ChatSender, Message, Reply, RequestSettings

# Number of retries of a request. The waiting times are 1, 2, 4, ... seconds, and at most MAX_WAIT_SECONDS: together 4 minutes.
MAX_RETRIES = 8
MAX_WAIT_SECONDS = 60.0
# A request is not sent again if the server wants to be asked after more than so many seconds, as after the end of a day's quota.
MAX_RETRY_AFTER_SECONDS = 300.0


class HasId(Protocol):
    """A request. Its id is the id of its row in the journal."""

    @property
    def id(self) -> str: ...


RequestT = TypeVar("RequestT", bound=HasId)


class RequestsOutcome(NamedTuple):
    """What became of the requests.

    Attributes:
        stop_reason: Why asking stopped early; "" if it did not.
        failures: Request id -> why there was no reply.
        session: Start, duration and counts, for the record of the run.
    """

    stop_reason: str
    failures: dict[str, str]
    session: dict[str, Any]


def ask_requests(
    options: RunOptions,
    model: ChatModel,
    requests: Sequence[RequestT],
    ask: Callable[[RequestT, ChatSender], Awaitable[JournalRow]],
    folder: RunFolder,
    num_done_before: int,
    command: str = "run",
) -> RequestsOutcome:
    """Ask a model all requests, and append each reply to the journal.

    Args:
        options: How to ask: number of requests at the same time, prices. The release is not used.
        model: The model.
        requests: The requests that have no reply yet.
        ask: Sends a request, and returns the row of the journal.
        folder: The folder to whose journal each row is appended.
        num_done_before: Number of requests that have a reply, for the progress bar.
        command: Name of the command, for messages.
    """
    import anyio
    from threadpoolctl import threadpool_limits

    with ProgressDisplay(num_done_before, num_done_before + len(requests), command) as display:
        confirm = (
            display.confirm if options.prices.is_known and not options.yes and sys.stdin.isatty() else None
        )
        num_concurrent = min(options.max_connections or model.default_connections, len(requests))
        monitor = RunMonitor(
            folder,
            len(requests),
            options.prices,
            display.print_line,
            confirm,
            display.update,
            num_concurrent,
            command,
        )
        error = ""
        try:
            # The threads of matrix products would wait for each other, and take the processor's time from the requests.
            with nullcontext() if model.is_local else threadpool_limits(1, "blas"):
                anyio.run(_ask_all, model, iter(requests), ask, monitor, num_concurrent)
        except KeyboardInterrupt:
            error = "Ctrl-C"
    usage = monitor.usage
    session = make_session(monitor.started_at, usage.seconds, usage.num_replies, len(monitor.failures))
    return RequestsOutcome(monitor.stop_reason or error, monitor.failures, session)


async def _ask_all(
    model: ChatModel,
    requests: Iterator[RequestT],
    ask: Callable[[RequestT, ChatSender], Awaitable[JournalRow]],
    monitor: RunMonitor,
    num_concurrent: int,
) -> None:
    """Ask the requests. Each of `num_concurrent` workers takes the next request when it has finished one."""
    import anyio

    async def work() -> None:
        for request in requests:
            await monitor.wait_if_paused()
            if monitor.stop_reason:
                return
            try:
                row = await ask(request, retrying)
            # Clients and servers fail in many ways. The failure is counted, and the request is repeated by the next run.
            except Exception as error:
                monitor.record_failure(request.id, format_error(error))
            else:
                await monitor.record_row(row)

    async with model:
        retrying = _RetryingModel(model, monitor, num_concurrent)
        async with anyio.create_task_group() as group:
            monitor.cancel = group.cancel_scope.cancel
            for _ in range(num_concurrent):
                group.start_soon(work)


class _RetryingModel:
    """A model whose failed requests are repeated, if they may succeed later. At most `num_concurrent` are sent at the same time."""

    def __init__(self, model: ChatModel, monitor: RunMonitor, num_concurrent: int) -> None:
        import anyio

        self._model, self._monitor, self._free = model, monitor, anyio.Semaphore(num_concurrent)

    async def send(self, messages: Sequence[Message], settings: RequestSettings) -> Reply:
        import anyio

        for attempt in range(MAX_RETRIES + 1):
            try:
                async with self._free:
                    reply = await self._model.send(messages, settings)
            except Exception as error:
                retry_after = getattr(error, "retry_after", 0.0)
                if (
                    attempt == MAX_RETRIES
                    or retry_after > MAX_RETRY_AFTER_SECONDS
                    or not self._model.is_transient(error)
                ):
                    raise
                self._monitor.record_retry(error)
                await anyio.sleep(_compute_wait(attempt, retry_after))
            else:
                if reply.choices:
                    self._monitor.note_reply()
                return reply
        raise AssertionError("the last attempt returns or raises")


def _compute_wait(attempt: int, retry_after: float) -> float:
    """Return how many seconds to wait before the next attempt: as the server wants, or twice as long each time.

    The time is random, so that requests that failed together are not repeated together.
    """
    return max(retry_after, min(2.0**attempt, MAX_WAIT_SECONDS) * random.uniform(0.5, 1.0))


@contextmanager
def redirect_inspect_files(folder: Path) -> Iterator[None]:
    """Redirect the files that inspect_ai writes under HOME to a temporary folder in the folder of the run.

    HOME may be full or read-only. The trace files of inspect_ai stay empty.
    """
    with tempfile.TemporaryDirectory(
        prefix=".inspect-", dir=folder.resolve(), ignore_cleanup_errors=True
    ) as data_home:
        variables = {
            "XDG_DATA_HOME": data_home,
            "INSPECT_TRACE_FILE": str(Path(data_home, "trace.log")),
            "INSPECT_TRACE_LEVEL": "CRITICAL",
        }
        before = {name: os.environ.get(name) for name in variables}
        os.environ |= variables
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def make_session(started_at: float, seconds: float, replies: int, failed: int) -> dict[str, Any]:
    started = datetime.fromtimestamp(started_at, UTC).isoformat(timespec="seconds")
    return {"started_at": started, "seconds": round(seconds, 1), "replies": replies, "failed": failed}


def recover_sessions(known: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add a session for the rows that are in no session.

    A killed run writes its rows, but not its session.
    """
    lost = rows[sum(session["replies"] for session in known) :]
    if not lost:
        return [*known]
    started_at = min(row["started_at"] for row in lost)
    ended_at = max(row["started_at"] + row["seconds"] for row in lost)
    return [*known, make_session(started_at, ended_at - started_at, len(lost), 0)]
