"""Monitor a run: save every reply when it arrives, print the forecast, and stop a run that gets no replies."""

from __future__ import annotations

import errno
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..core.errors import format_count
from ..core.server_errors import get_failure_reason
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
    """Receive each sample of a run from inspect_ai, save its reply, and stop the run if needed.

    Attributes:
        rows: The rows of answers.jsonl that this run wrote.
        failures: Sample id -> why there was no reply.
        num_retries: Kind of failure -> number of retries.
        stop_reason: Why the run was stopped early; "" if it was not stopped.
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
        get_last_error: Callable[[], str] = str,
        command: str = "run",
        make_row: Callable[[Any, str], JournalRow] | None = None,
    ) -> None:
        """
        Args:
            folder: Folder of the run.
            num_remaining: Number of samples without a reply.
            prices: Prices for the forecast.
            print_line: Prints a line to the user.
            confirm: Shows the forecast and asks whether to continue; None to continue without asking.
            update_progress: Called with the number of replies and the number of failed requests.
            num_concurrent: Number of requests at the same time.
            get_last_error: Returns the message of the last failed request.
            command: Name of the command, at the beginning of each line.
            make_row: Makes the row of the journal from a sample and its failure; None for `make_journal_row`.
        """
        self.folder, self.num_remaining, self.prices, self.print_line, self.confirm = (
            folder,
            num_remaining,
            prices,
            print_line,
            confirm,
        )
        self.update_progress, self.num_concurrent, self.get_last_error = (
            update_progress,
            num_concurrent,
            get_last_error,
        )
        self.command, self.make_row = command, make_row or make_journal_row
        self.forecast_after = replies_before_forecast(num_concurrent)
        self.failures: dict[str, str] = {}
        self.num_retries: Counter[str] = Counter()
        self.stop_reason = ""
        self.num_consecutive_failures = 0
        self.rows: list[dict[str, Any]] = []
        self.started_at = time.time()
        self.reply_times: list[float] = []
        self.last_reply_time = time.monotonic()
        # Event that is set when the user has confirmed the forecast; None before the forecast is shown.
        self.resume_event: Any = None

    async def wait_if_paused(self) -> None:
        """Wait while the user is asked to confirm the forecast. Called before each sample."""
        if self.resume_event:
            await self.resume_event.wait()

    async def record_sample(self, sample: Any) -> None:
        """Record a sample of inspect_ai that ended in a reply or an error."""
        # Ctrl-C cancels the samples that are being asked.
        if sample.error and sample.error.message.startswith("CancelledError"):
            return
        reason = get_failure_reason(sample.error) if sample.error else ""
        if reason and not reason.startswith(UNUSABLE_REPLY_KINDS):
            self._record_failure(str(sample.id), reason)
        else:
            self._record_reply(self.make_row(sample, reason))
            if len(self.rows) == self.forecast_after and self.num_remaining > self.forecast_after:
                await self._report_forecast()
        self.update_progress(len(self.rows), len(self.failures))

    def record_retry(self, kind: str | None, status: int | None) -> None:
        """Count a failed request that inspect_ai retries.

        Each kind of failure is reported once. The run stops after `MAX_SECONDS_WITHOUT_REPLY` seconds without
        a reply.
        """
        kind = kind or "failure"
        what = f"{kind} ({status})" if status else kind
        if what not in self.num_retries:
            self.print_line(f"{self.command}: {what} from the server; such requests are retried")
        self.num_retries[what] += 1
        if (waited := time.monotonic() - self.last_reply_time) >= MAX_SECONDS_WITHOUT_REPLY:
            self.stop(
                f"no reply for {format_duration(waited)}; the last request failed with: {self.get_last_error() or what}"
            )

    def _record_reply(self, row: dict[str, Any]) -> None:
        self.num_consecutive_failures = 0
        self.last_reply_time = time.monotonic()
        try:
            # A solver may have saved the reply as soon as it came.
            if not self.folder.has_row(row["id"]):
                self.folder.append_row(row)
            self.rows.append(row)
            self.reply_times.append(self.last_reply_time)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            self.stop(DISK_FULL_MESSAGE if full else str(error))

    def _record_failure(self, name: str, reason: str) -> None:
        self.failures[name] = reason
        self.num_consecutive_failures += 1
        if self.num_consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
            self.stop(
                f"{format_count(self.num_consecutive_failures, 'request')} in a row failed; the last with: {reason}"
            )

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
        """Stop the run like Ctrl-C, so that inspect_ai completes its log with the replies received so far."""
        if not self.stop_reason:
            self.stop_reason = reason
            signal.raise_signal(signal.SIGINT)


def make_journal_row(sample: Any, failure: str) -> dict[str, Any]:
    """Return the row of answers.jsonl for a sample of inspect_ai."""
    score = next((one for one in (sample.scores or {}).values() if isinstance(one.value, Mapping)), None)
    value, details = (score.value, score.metadata or {}) if score else ({}, {})
    usage = list((sample.model_usage or {}).values())
    confidence = value.get("confidence")
    metadata = sample.metadata or {}
    distribution = (sample.output.metadata or {}).get("distribution")
    return {
        "id": str(sample.id),
        "item_ids": [*metadata.get("item_ids", [str(sample.id)])],
        "prediction": details.get("prediction", score.answer if score else None),
        "confidence": confidence,
        "abstained": bool(value.get("detected_abstention")),
        "raw_replies": [*metadata.get("raw_replies", [])],
        "failure": failure or ("" if confidence is not None else "no confidence: none given"),
        "started_at": time.time() - (sample.total_time or 0),
        "seconds": sample.working_time or 0.0,
        "tokens": [sum(one.input_tokens for one in usage), sum(one.output_tokens for one in usage)],
        **({"distribution": distribution} if distribution else {}),
    }


@contextmanager
def attach_monitor(monitor: RunMonitor) -> Iterator[None]:
    """Let inspect_ai call the monitor for every sample.

    The monitor stops a run with the signal SIGINT. In background jobs of a shell this signal is ignored, so
    it is enabled within the context.
    """
    _ActiveMonitor.monitor = monitor
    if not _ActiveMonitor.has_hooks:
        _register_hooks()
        _ActiveMonitor.has_hooks = True
    is_sigint_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_sigint_ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        _ActiveMonitor.monitor = None
        if is_sigint_ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class _ActiveMonitor:
    """Holds the monitor of the current run.

    inspect_ai registers hooks once per process, so the hooks look up the monitor here.
    """

    monitor: RunMonitor | None = None
    has_hooks = False


def _register_hooks() -> None:
    from inspect_ai.hooks import Hooks, ModelRetry, SampleEnd, SampleStart, hooks

    @hooks("rgqa_run", "saves the replies of rgqa run")
    class _RunHooks(Hooks):
        def enabled(self) -> bool:
            return _ActiveMonitor.monitor is not None

        async def on_sample_start(self, data: SampleStart) -> None:
            if _ActiveMonitor.monitor:
                await _ActiveMonitor.monitor.wait_if_paused()

        async def on_model_retry(self, data: ModelRetry) -> None:
            if _ActiveMonitor.monitor:
                _ActiveMonitor.monitor.record_retry(data.exception_type, data.status_code)

        async def on_sample_end(self, data: SampleEnd) -> None:
            if monitor := _ActiveMonitor.monitor:
                try:
                    await monitor.record_sample(data.sample)
                # inspect_ai ignores errors of hooks. Without this code, the reply would be lost silently.
                except Exception as error:
                    monitor.stop(f"a reply could not be saved ({type(error).__name__}: {error})")
