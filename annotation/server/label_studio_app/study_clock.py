"""A clock that never goes back, for the times that are stored with answers.

The clock of a machine is set back sometimes. Then a correction would seem older than the answer that it corrects,
and an answer older than its task.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class StudyClock:
    """A clock that is at least as late as the machine's clock, and goes on at the speed of the monotonic clock.

    Args:
        read_time: Returns the time of the machine's clock.
        read_seconds: Returns the seconds of a clock that is never set.

    >>> times = [datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 11, tzinfo=UTC)]
    >>> seconds = [0.0, 30.0]
    >>> clock = StudyClock(lambda: times.pop(0), lambda: seconds.pop(0))
    >>> print(clock.now(), clock.now(), sep="\\n")
    2026-01-01 12:00:00+00:00
    2026-01-01 12:00:30+00:00
    """

    def __init__(
        self,
        read_time: Callable[[], datetime] = lambda: datetime.now(UTC),
        read_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_time, self._read_seconds = read_time, read_seconds
        self._lock = threading.Lock()
        # The last time that was returned, and the seconds of the monotonic clock at it.
        self._last: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """Return the time, which is later than every time returned before."""
        with self._lock:
            moment, seconds = self._read_time(), self._read_seconds()
            if self._last is not None:
                elapsed = timedelta(seconds=seconds - self._last[1])
                moment = max(moment, self._last[0] + max(elapsed, timedelta(microseconds=1)))
            self._last = moment, seconds
            return moment

    def advance(self, moment: datetime | None) -> None:
        """Let the clock go on from a stored time, if this is later than the clock."""
        with self._lock:
            if moment is not None and moment > (self._last[0] if self._last else self._read_time()):
                self._last = moment, self._read_seconds()


CLOCK = StudyClock()
now = CLOCK.now
