"""Work on several processes. What they are given to do are functions of this module."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest

from pipeline.core.errors import UserError
from pipeline.core.parallel import WAITING, ordered_map, processes, threads

ROOT = Path(__file__).parents[3]


def tables(number: int) -> tuple[int, int]:
    return number, os.getpid()


def broken() -> None:
    raise UserError(["2 problems", "one", "another"])


def added(state: tuple[int, int], item: int) -> tuple[int, int]:
    sum(range(20_000 * (2 - item % 3)))  # work of different length, so that later ones are often ready first
    return state[0] + item, os.getpid()


def refused(state: object, item: int) -> int:
    if item == 7:
        raise UserError(f"item {item}: no good")
    return item


def killed(state: object, item: int) -> int:
    if item == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.mark.parametrize("number", [1, 2, 3])
def test_results_come_in_the_order_of_the_items_from_however_many_processes(number):
    results = list(ordered_map(added, iter(range(50)), partial(tables, 100), number, piece=4))
    assert [value for value, _ in results] == [100 + item for item in range(50)]
    used = {process for _, process in results}
    assert used == {os.getpid()} if number == 1 else os.getpid() not in used and 1 <= len(used) <= number


@pytest.mark.parametrize("number", [1, 2])
def test_a_process_is_set_up_once_and_only_when_there_is_something_to_do(number):
    assert list(ordered_map(refused, [], broken, number)) == []


@pytest.mark.parametrize("number", [1, 2])
def test_items_are_taken_no_further_ahead_than_the_processes_need(number):
    taken = []

    def items():
        for item in range(1000):
            taken.append(item)
            yield item

    results = ordered_map(added, items(), partial(tables, 0), number, piece=5)
    for _ in range(10):
        next(results)
    results.close()
    # Ten results taken, and beyond them what may wait: two pieces of 5 for each process.
    assert len(taken) == 10 if number == 1 else len(taken) <= 10 + 5 * WAITING * number


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "set_up, work, lines",
    [(broken, refused, ["2 problems", "one", "another"]), (partial(tables, 0), refused, ["item 7: no good"])],
)
def test_a_users_mistake_reaches_the_user_whole(number, set_up, work, lines):
    with pytest.raises(UserError) as caught:
        list(ordered_map(work, range(20), set_up, number, piece=2))
    assert caught.value.problems == lines


def test_a_process_that_is_killed_is_told_and_what_to_do():
    with pytest.raises(UserError, match="was killed.*OMP_NUM_THREADS=1"):
        list(ordered_map(killed, range(20), partial(tables, 0), 2, piece=1))


def test_few_items_are_not_worth_a_process_and_the_user_says_how_many_at_most(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [processes(items, each=100) for items in (0, 99, 199, 200, 300, 9000)] == [1, 1, 1, 2, 3, 3]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert processes(9000, each=100) == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads() == len(os.sched_getaffinity(0))


ENDLESS = """
from functools import partial
from pipeline.core.errors import run
from pipeline.core.parallel import ordered_map
from tests.pipeline.core.test_parallel import added, tables

def main():
    for value, process in ordered_map(added, range(10**9), partial(tables, 0), 2, piece=1):
        print(process, flush=True)

if __name__ == "__main__":
    run(main)
"""


@pytest.mark.parametrize(
    "how, code, told",
    [
        (signal.SIGINT, 1, "error: stopped by Ctrl-C; what was finished is kept"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_ctrl_c_and_a_kill_end_all_processes_without_a_traceback(tmp_path, how, code, told):
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    main = subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Whoever runs the tests in the background has Ctrl-C ignored, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    workers = set()
    while len(workers) < 2:
        workers.add(int(main.stdout.readline()))
    running = [psutil.Process(process) for process in workers]
    # Ctrl-C goes to all processes of a terminal, a kill to one.
    (os.killpg if how == signal.SIGINT else os.kill)(main.pid, how)
    _, errors = main.communicate(timeout=60)
    _, alive = psutil.wait_procs(running, timeout=30)
    assert not alive
    assert main.returncode == code
    assert errors.startswith(told) and "Traceback" not in errors
