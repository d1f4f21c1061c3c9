"""Watch a run: keep every reply as it comes, print the forecast, and end a run that gets no replies."""

from __future__ import annotations

import errno
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..core.errors import counted
from ..core.server_errors import reason_of
from .cost_forecast import Prices, Usage, duration, forecast, replies_before_forecast
from .run_folder import RunFolder

FULL = "the disk is full; free some space"
MOST_FAILED = 20  # requests in a row, before the run is ended
PATIENCE = (
    180.0  # seconds without a reply, in which requests fail and are tried again, before the run is ended
)
NO_ANSWERS = ("truncated", "no confidence")  # how errors begin of replies that came but are of no use


class Watch:
    """
    Attributes:
        left: how many samples are still to be asked.
        failed: why there was no reply, by the sample's id. retried: how often requests were tried again, by kind of failure.
        stopped: why the run was ended before its end, "" if it was not.
    """

    def __init__(
        self,
        folder: RunFolder,
        left: int,
        prices: Prices,
        say: Callable[[str], None],
        agreed: Callable[[str], bool] | None,
        step: Callable[[int, int], None],
        at_once: int = 1,
        last_error: Callable[[], str] = str,
    ) -> None:
        """
        Args:
            agreed: Asks whether the run is worth its forecast; None: nobody is asked.
            step: Is called with the number of replies and that of failed requests.
            at_once: How many requests are under way at the same time.
            last_error: Says what went wrong with the last request that failed.
        """
        self.folder, self.left, self.prices, self.say, self.agreed = folder, left, prices, say, agreed
        self.step, self.at_once, self.last_error = step, at_once, last_error
        self.forecast_after = replies_before_forecast(at_once)
        self.failed: dict[str, str] = {}
        self.retried: Counter[str] = Counter()
        self.stopped = ""
        self.in_a_row = 0
        self.rows: list[dict[str, Any]] = []
        self.began = time.time()
        self.times: list[float] = []  # of the replies
        self.last_reply = time.monotonic()
        self.gate: Any = None  # closed while somebody is asked

    async def before(self) -> None:
        """Before a sample is asked."""
        if self.gate:
            await self.gate.wait()

    async def after(self, sample: Any) -> None:
        """After a sample of inspect_ai ended in a reply or an error."""
        if sample.error and sample.error.message.startswith("CancelledError"):  # by Ctrl-C
            return
        reason = reason_of(sample.error) if sample.error else ""
        if reason and not reason.startswith(NO_ANSWERS):
            self._failed(str(sample.id), reason)
        else:
            self._replied(row_of(sample, reason))
            if len(self.rows) == self.forecast_after and self.left > self.forecast_after:
                await self._tell()
        self.step(len(self.rows), len(self.failed))

    def again(self, kind: str | None, status: int | None) -> None:
        """Count a request that failed and is tried again. Each kind of failure is reported once. The run ends when no
        reply has come for `PATIENCE` seconds."""
        kind = kind or "failure"
        what = f"{kind} ({status})" if status else kind
        if what not in self.retried:
            self.say(f"run: {what} from the server; such requests are tried again")
        self.retried[what] += 1
        if (waited := time.monotonic() - self.last_reply) >= PATIENCE:
            self.stop(
                f"no reply for {duration(waited)}, the last request failed with: {self.last_error() or what}"
            )

    def _replied(self, row: dict[str, Any]) -> None:
        self.in_a_row = 0
        self.last_reply = time.monotonic()
        try:
            self.folder.add(row)
            self.rows.append(row)
            self.times.append(self.last_reply)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            self.stop(FULL if full else str(error))

    def _failed(self, name: str, reason: str) -> None:
        self.failed[name] = reason
        self.in_a_row += 1
        if self.in_a_row >= MOST_FAILED:
            self.stop(f"{counted(self.in_a_row, 'request')} in a row failed, the last with: {reason}")

    async def _tell(self) -> None:
        import anyio

        told = forecast(self.pace, self.left - len(self.rows), self.prices)
        if not self.agreed:
            self.say(f"run: {told}")
            return
        self.gate = anyio.Event()
        if await anyio.to_thread.run_sync(self.agreed, told, abandon_on_cancel=True):
            self.last_reply = time.monotonic()
            self.gate.set()
        else:
            self.stop("not wanted any more")

    @property
    def usage(self) -> Usage:
        """What was used since the run began or was resumed."""
        return self._usage(0, time.time() - self.began)

    @property
    def pace(self) -> Usage:
        """What was used after the first replies, which also waited for the start: of models, pictures, connections."""
        first = min(self.at_once, len(self.rows) - 1)
        return self._usage(first, self.times[-1] - self.times[first - 1])

    def _usage(self, first: int, seconds: float) -> Usage:
        tokens = [row["tokens"] for row in self.rows[first:]]
        return Usage(len(tokens), seconds, sum(row[0] for row in tokens), sum(row[1] for row in tokens))

    def stop(self, reason: str) -> None:
        """End the run as Ctrl-C does, which inspect_ai knows: what was answered is in its log, too."""
        if not self.stopped:
            self.stopped = reason
            signal.raise_signal(signal.SIGINT)


def row_of(sample: Any, failure: str) -> dict[str, Any]:
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
def watching(watch: Watch) -> Iterator[None]:
    """Let inspect_ai tell `watch` of every sample. What a script runs in the background has Ctrl-C switched off, by which
    a run is ended: it is switched on meanwhile."""
    _Current.watch = watch
    if not _Current.hooked:
        _hook()
        _Current.hooked = True
    switched_off = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if switched_off:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        _Current.watch = None
        if switched_off:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Current:
    """inspect_ai keeps one object of hooks for good; which run it belongs to changes."""

    watch: Watch | None = None
    hooked = False


def _hook() -> None:
    from inspect_ai.hooks import Hooks, ModelRetry, SampleEnd, SampleStart, hooks

    @hooks("rgqa_run", "keeps the replies of rgqa run")
    class _RunHooks(Hooks):
        def enabled(self) -> bool:
            return _Current.watch is not None

        async def on_sample_start(self, data: SampleStart) -> None:
            if _Current.watch:
                await _Current.watch.before()

        async def on_model_retry(self, data: ModelRetry) -> None:
            if _Current.watch:
                _Current.watch.again(data.exception_type, data.status_code)

        async def on_sample_end(self, data: SampleEnd) -> None:
            if watch := _Current.watch:
                try:
                    await watch.after(data.sample)
                except (
                    Exception
                ) as error:  # inspect_ai passes over it, and the reply would be lost without a word
                    watch.stop(f"a reply could not be kept ({type(error).__name__}: {error})")
