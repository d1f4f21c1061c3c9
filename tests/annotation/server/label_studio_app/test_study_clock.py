"""The clock of the study does not go back when the machine's clock is set back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from annotation.server.label_studio_app.study_clock import StudyClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Machine:
    """A machine whose clock can be set."""

    def __init__(self) -> None:
        self.time, self.seconds = NOON, 0.0
        self.clock = StudyClock(lambda: self.time, lambda: self.seconds)

    def wait(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        self.seconds += seconds


def test_clock_set_back_does_not_change_the_order_or_the_elapsed_time():
    machine = Machine()
    opened = machine.clock.now()
    machine.time -= timedelta(hours=2)
    machine.wait(20)
    assert (machine.clock.now() - opened).total_seconds() == 20


def test_clock_set_forward_is_followed_and_stays():
    machine = Machine()
    machine.clock.now()
    machine.wait(5)
    machine.time += timedelta(days=1)
    assert machine.clock.now() == NOON + timedelta(days=1, seconds=5)
    machine.time -= timedelta(days=1)
    machine.wait(10)
    assert machine.clock.now() == NOON + timedelta(days=1, seconds=15)


def test_times_are_distinct_even_if_no_time_passes():
    machine = Machine()
    times = [machine.clock.now() for _ in range(5)]
    assert len(set(times)) == 5 and times == sorted(times)


def test_clock_goes_on_from_a_stored_time():
    machine = Machine()
    machine.clock.advance(NOON + timedelta(hours=1))
    machine.clock.advance(NOON)
    machine.clock.advance(None)
    machine.wait(3)
    assert machine.clock.now() == NOON + timedelta(hours=1, seconds=3)
