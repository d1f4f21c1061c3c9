"""Worker processes that are killed. The work functions are in this module."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from pipeline.core.parallel import ordered_map
from pipeline.core.process_pool import MAX_RETRIES, ProcessPool, worker_killed_error


def killed_once(folder: Path, item: int) -> int:
    """Kill the first process that works on each seventh item."""
    trace = folder / str(item)
    if item % 7 == 3 and not trace.exists():
        trace.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def always_killed(folder: Path, item: int) -> int:
    if item == 5:
        with (folder / "tries").open("a") as file:
            file.write(".")
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_chunks_of_a_killed_process_are_repeated(tmp_path):
    results = ordered_map(killed_once, range(20), partial(Path, tmp_path), 2, chunk_size=2)
    assert list(results) == [item * item for item in range(20)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "17", "3"]


def test_work_that_kills_every_process_is_reported_with_what_to_do(tmp_path):
    with pytest.raises(UserError, match="was killed.*3 times.*OMP_NUM_THREADS=1"):
        list(ordered_map(always_killed, range(20), partial(Path, tmp_path), 2, chunk_size=1))
    assert (tmp_path / "tries").read_text() == "." * (1 + MAX_RETRIES)


def test_a_chunk_submitted_to_a_broken_pool_is_processed(tmp_path):
    pool = ProcessPool(killed_once, partial(Path, tmp_path), 1)
    first = pool.submit([3])
    with pytest.raises(Exception, match="terminated abruptly"):
        pool._pending[first][1].result()
    then = pool.submit([4])
    assert (pool.get_result(then), pool.get_result(first)) == ([16], [9])
    pool.shutdown()


def test_the_reason_has_one_line():
    assert (
        worker_killed_error("one\ntwo").problems[0].count("(one)") == 1
        and "two" not in worker_killed_error("one\ntwo").problems[0]
    )
    assert "(KeyError)" in worker_killed_error(KeyError()).problems[0]
