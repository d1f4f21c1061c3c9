"""Watch a run: keep every reply as it comes, print the forecast, and end a run that gets no replies."""

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
from .run_folder import RunFolder

DISK_FULL_MESSAGE = "the disk is full; free some space"
MAX_CONSECUTIVE_FAILURES = 20  # requests in a row, before the run is ended
MAX_SECONDS_WITHOUT_REPLY = (
    180.0  # seconds without a reply, in which requests fail and are tried again, before the run is ended
)
UNUSABLE_REPLY_KINDS = (
    "truncated",
    "no confidence",
)  # how errors begin of replies that came but are of no use


class RunMonitor:
    """
    Attributes:
        left: how many samples are still to be asked.
        failed: why there was no reply, by the sample's id. retried: how often requests were tried again, by kind of failure.
        stopped: why the run was ended before its end, "" if it was not.
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
    ) -> None:
        """
        Args:
            agreed: Asks whether the run is worth its forecast; None: nobody is asked.
            step: Is called with the number of replies and that of failed requests.
            at_once: How many requests are under way at the same time.
            last_error: Says what went wrong with the last request that failed.
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
        self.forecast_after = replies_before_forecast(num_concurrent)
        self.failures: dict[str, str] = {}
        self.num_retries: Counter[str] = Counter()
        self.stop_reason = ""
        self.num_consecutive_failures = 0
        self.rows: list[dict[str, Any]] = []
        self.started_at = time.time()
        self.reply_times: list[float] = []  # of the replies
        self.last_reply_time = time.monotonic()
        self.resume_event: Any = None  # closed while somebody is asked

    async def wait_if_paused(self) -> None:
        """Before a sample is asked."""
        if self.resume_event:
            await self.resume_event.wait()

    async def record_sample(self, sample: Any) -> None:
        """After a sample of inspect_ai ended in a reply or an error."""
        if sample.error and sample.error.message.startswith("CancelledError"):  # by Ctrl-C
            return
        reason = get_failure_reason(sample.error) if sample.error else ""
        if reason and not reason.startswith(UNUSABLE_REPLY_KINDS):
            self._record_failure(str(sample.id), reason)
        else:
            self._record_reply(make_journal_row(sample, reason))
            if len(self.rows) == self.forecast_after and self.num_remaining > self.forecast_after:
                await self._report_forecast()
        self.update_progress(len(self.rows), len(self.failures))

    def record_retry(self, kind: str | None, status: int | None) -> None:
        """Count a request that failed and is tried again. Each kind of failure is reported once. The run ends when no
        reply has come for `PATIENCE` seconds."""
        kind = kind or "failure"
        what = f"{kind} ({status})" if status else kind
        if what not in self.num_retries:
            self.print_line(f"run: {what} from the server; such requests are tried again")
        self.num_retries[what] += 1
        if (waited := time.monotonic() - self.last_reply_time) >= MAX_SECONDS_WITHOUT_REPLY:
            self.stop(
                f"no reply for {format_duration(waited)}, the last request failed with: {self.get_last_error() or what}"
            )

    def _record_reply(self, row: dict[str, Any]) -> None:
        self.num_consecutive_failures = 0
        self.last_reply_time = time.monotonic()
        try:
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
                f"{format_count(self.num_consecutive_failures, 'request')} in a row failed, the last with: {reason}"
            )

    async def _report_forecast(self) -> None:
        import anyio

        told = format_forecast(self.steady_usage, self.num_remaining - len(self.rows), self.prices)
        if not self.confirm:
            self.print_line(f"run: {told}")
            return
        self.resume_event = anyio.Event()
        if await anyio.to_thread.run_sync(self.confirm, told, abandon_on_cancel=True):
            self.last_reply_time = time.monotonic()
            self.resume_event.set()
        else:
            self.stop("not wanted any more")

    @property
    def usage(self) -> Usage:
        """What was used since the run began or was resumed."""
        return self._usage_since(0, time.time() - self.started_at)

    @property
    def steady_usage(self) -> Usage:
        """What was used after the first replies, which also waited for the start: of models, images, connections."""
        first = min(self.num_concurrent, len(self.rows) - 1)
        return self._usage_since(first, self.reply_times[-1] - self.reply_times[first - 1])

    def _usage_since(self, first: int, seconds: float) -> Usage:
        tokens = [row["tokens"] for row in self.rows[first:]]
        return Usage(len(tokens), seconds, sum(row[0] for row in tokens), sum(row[1] for row in tokens))

    def stop(self, reason: str) -> None:
        """End the run as Ctrl-C does, which inspect_ai knows: what was answered is in its log, too."""
        if not self.stop_reason:
            self.stop_reason = reason
            signal.raise_signal(signal.SIGINT)


def make_journal_row(sample: Any, failure: str) -> dict[str, Any]:
    """A row of the journal, of a sample of inspect_ai."""
    score = next((one for one in (sample.scores or {}).values() if isinstance(one.value, Mapping)), None)
    value, about = (score.value, score.metadata or {}) if score else ({}, {})
    usage = list((sample.model_usage or {}).values())
    confidence = value.get("confidence")
    known = sample.metadata or {}
    distribution = (sample.output.metadata or {}).get("distribution")
    return {
        "id": str(sample.id),
        "item_ids": [*known.get("items", [str(sample.id)])],
        "prediction": about.get("prediction", score.answer if score else None),
        "confidence": confidence,
        "refused": bool(value.get("refused")),
        "raw": [*known.get("raw", [])],
        "failure": failure or ("" if confidence is not None else "no confidence: none given"),
        "start": time.time() - (sample.total_time or 0),
        "seconds": sample.working_time or 0.0,
        "tokens": [sum(one.input_tokens for one in usage), sum(one.output_tokens for one in usage)],
        **({"distribution": distribution} if distribution else {}),
    }


@contextmanager
def attach_monitor(monitor: RunMonitor) -> Iterator[None]:
    """Let inspect_ai tell `watch` of every sample. What a script runs in the background has Ctrl-C switched off, by which
    a run is ended: it is switched on meanwhile."""
    _ActiveMonitor.monitor = monitor
    if not _ActiveMonitor.has_hooks:
        _register_hooks()
        _ActiveMonitor.has_hooks = True
    switched_off = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if switched_off:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        _ActiveMonitor.monitor = None
        if switched_off:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class _ActiveMonitor:
    """inspect_ai keeps one object of hooks for good; which run it belongs to changes."""

    monitor: RunMonitor | None = None
    has_hooks = False


def _register_hooks() -> None:
    from inspect_ai.hooks import Hooks, ModelRetry, SampleEnd, SampleStart, hooks

    @hooks("rgqa_run", "keeps the replies of rgqa run")
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
            if watch := _ActiveMonitor.monitor:
                try:
                    await watch.record_sample(data.sample)
                except (
                    Exception
                ) as error:  # inspect_ai passes over it, and the reply would be lost without a word
                    watch.stop(f"a reply could not be kept ({type(error).__name__}: {error})")
