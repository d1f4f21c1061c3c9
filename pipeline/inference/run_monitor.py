"""Monitor a run: save every reply when it arrives, print the forecast, and stop a run that gets no replies."""

from __future__ import annotations

import errno
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..core.errors import format_count
from ..core.server_errors import format_error, get_http_status
from .cost_forecast import Prices, Usage, format_duration, format_forecast, replies_before_forecast
from .run_folder import JournalRow, RunFolder

DISK_FULL_MESSAGE = "the disk is full; free some space"
# The run stops after this number of failed requests in a row.
MAX_CONSECUTIVE_FAILURES = 20
# The run also stops if requests are retried and no reply arrives for this number of seconds.
MAX_SECONDS_WITHOUT_REPLY = 180.0
# The first words of the errors of replies that arrived but cannot be used.
UNUSABLE_REPLY_KINDS = ("truncated", "no confidence")


class RunMonitor:
    """Receives the reply to each request of a run, saves it, and stops the run if needed.

    Attributes:
        rows: The rows of answers.jsonl that this run wrote.
        failures: Request id -> why there was no reply.
        num_retries: Kind of failure -> number of retries.
        stop_reason: Why the run was stopped early; "" if it was not stopped.
        cancel: Called to stop the run.
    """

    def __init__(
        self,
        folder: RunFolder,
        num_remaining: int,
        prices: Prices,
        print_line: Callable[[str], None],
        confirm: Callable[[str], bool] | None,
        update_progress: Callable[[int, int], None],
        num_concurrent: int = 1,
        command: str = "run",
    ) -> None:
        """
        Args:
            folder: Folder of the run.
            num_remaining: Number of requests without a reply.
            prices: Prices for the forecast.
            print_line: Prints a line to the user.
            confirm: Shows the forecast and asks whether to continue; None to continue without asking.
            update_progress: Called with the number of replies and the number of failed requests.
            num_concurrent: Number of requests at the same time.
            command: Name of the command, at the beginning of each line.
        """
        self.folder, self.num_remaining, self.prices, self.print_line, self.confirm = (
            folder,
            num_remaining,
            prices,
            print_line,
            confirm,
        )
        self.update_progress, self.num_concurrent, self.command = update_progress, num_concurrent, command
        self.forecast_after = replies_before_forecast(num_concurrent)
        self.failures: dict[str, str] = {}
        self.num_retries: Counter[str] = Counter()
        self.stop_reason = ""
        self.cancel: Callable[[], object] = lambda: None
        # The times of the failures since the last reply of a question that was answered.
        self.failure_times: list[float] = []
        self.rows: list[dict[str, Any]] = []
        self.started_at = time.time()
        self.reply_times: list[float] = []
        self.last_reply_time = time.monotonic()
        # Event that is set when the user has confirmed the forecast; None before the forecast is shown.
        self.resume_event: Any = None

    async def wait_if_paused(self) -> None:
        """Wait while the user is asked to confirm the forecast. Called before each request."""
        if self.resume_event:
            await self.resume_event.wait()

    def note_reply(self) -> None:
        """Note that the server has replied. Called when a reply arrives, before it is read."""
        self.last_reply_time = time.monotonic()

    async def record_row(self, row: JournalRow) -> None:
        """Save the row of a reply."""
        # A reply takes a moment to be read. Failures after its arrival still count.
        self.failure_times = [moment for moment in self.failure_times if moment > self.last_reply_time]
        self._save(row)
        if len(self.rows) == self.forecast_after and self.num_remaining > self.forecast_after:
            await self._report_forecast()
        self.update_progress(len(self.rows), len(self.failures))

    def record_failure(self, name: str, reason: str) -> None:
        """Record a request without a reply."""
        self.failures[name] = reason
        self.failure_times.append(time.monotonic())
        if len(self.failure_times) >= MAX_CONSECUTIVE_FAILURES:
            self.stop(
                f"{format_count(len(self.failure_times), 'request')} in a row failed; the last with: {reason}"
            )
        self.update_progress(len(self.rows), len(self.failures))

    def record_retry(self, error: Exception) -> None:
        """Count a failed request that is sent again.

        Each kind of failure is reported once. The run stops after `MAX_SECONDS_WITHOUT_REPLY` seconds without
        a reply.
        """
        what = _describe_kind(error)
        if what not in self.num_retries:
            self.print_line(f"{self.command}: {what}; such requests are sent again")
        self.num_retries[what] += 1
        if (waited := time.monotonic() - self.last_reply_time) >= MAX_SECONDS_WITHOUT_REPLY:
            self.stop(
                f"no reply for {format_duration(waited)}; the last request failed with: {format_error(error)}"
            )

    def _save(self, row: JournalRow) -> None:
        try:
            self.folder.append_row(row)
            self.rows.append(row)
            self.reply_times.append(time.monotonic())
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            self.stop(DISK_FULL_MESSAGE if full else str(error))

    async def _report_forecast(self) -> None:
        import anyio

        num_replies = len(self.rows)
        forecast = f"{num_replies:,} replies so far, " + format_forecast(
            self.steady_usage, self.num_remaining - num_replies, self.prices
        )
        if not self.confirm:
            self.print_line(f"{self.command}: {forecast}")
            return
        self.resume_event = anyio.Event()
        if await anyio.to_thread.run_sync(self.confirm, forecast, abandon_on_cancel=True):
            self.last_reply_time = time.monotonic()
            self.resume_event.set()
        else:
            self.stop("the forecast was declined")

    @property
    def usage(self) -> Usage:
        """Return the usage since the run started or was resumed."""
        return self._usage_since(0, time.time() - self.started_at)

    @property
    def steady_usage(self) -> Usage:
        """Return the usage without the first replies, whose times include loading models and images and
        opening connections.
        """
        first = min(self.num_concurrent, len(self.rows) - 1)
        return self._usage_since(first, self.reply_times[-1] - self.reply_times[first - 1])

    def _usage_since(self, first: int, seconds: float) -> Usage:
        tokens = [row["tokens"] for row in self.rows[first:]]
        return Usage(len(tokens), seconds, sum(row[0] for row in tokens), sum(row[1] for row in tokens))

    def stop(self, reason: str) -> None:
        """Stop the run. The first reason is kept."""
        if not self.stop_reason:
            self.stop_reason = reason
            self.cancel()


def _describe_kind(error: Exception) -> str:
    """Return the kind of a failure, for the message that is printed once for each kind."""
    if status := get_http_status(error):
        return f"the server answered with HTTP status {status}"
    if isinstance(error, TimeoutError):
        return "a request had no reply in time"
    return "a connection failed" if isinstance(error, ConnectionError) else type(error).__name__
