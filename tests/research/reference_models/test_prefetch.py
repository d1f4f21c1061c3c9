"""What is needed next, made meanwhile."""

import threading

import pytest

from research.reference_models.prefetch import prefetch


def test_values_come_in_order_and_few_are_computed_in_advance():
    made = []
    found = prefetch(lambda key: made.append(key) or -key, range(10), depth=2)
    for key, value in found:
        assert value == -key
        assert len(made) <= key + 3  # this one and two that wait
    assert made == list(range(10))


def test_values_are_computed_in_another_thread():
    threads = {thread for _, thread in prefetch(lambda key: threading.current_thread(), range(5))}
    assert len(threads) == 1 and threads != {threading.current_thread()}


def test_an_error_is_raised_at_its_key_and_waiting_values_are_dropped():
    made, got = [], []

    def make(key):
        made.append(key)
        return 1 / (3 - key)

    with pytest.raises(ZeroDivisionError):
        for key, _ in prefetch(make, range(1000), depth=2):
            got.append(key)
    assert got == [0, 1, 2] and len(made) < 10


def test_an_early_stop_leaves_no_thread():
    found = prefetch(lambda key: key, range(1000))
    next(found)
    found.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]
