"""Work functions for several processes, which import this module."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from pipeline.core.errors import UserError

ROOT = Path(__file__).parents[2]


def tables(number: int) -> tuple[int, int]:
    return number, os.getpid()


def broken() -> None:
    raise UserError(["2 problems", "one", "another"])


def added(state: tuple[int, int], item: int) -> tuple[int, int]:
    # The work has different lengths, so later items are often ready first.
    sum(range(20_000 * (2 - item % 3)))
    return state[0] + item, os.getpid()


def refused(state: object, item: int) -> int:
    if item == 7:
        raise UserError(f"item {item}: no good")
    return item


ENDLESS = """
from functools import partial
from pipeline.core.errors import run_command
from pipeline.core.parallel import ordered_map
from tests.core.parallel_work import added, tables

def main():
    for value, process in ordered_map(added, range(10**9), partial(tables, 0), 2, chunk_size=1):
        print(process, flush=True)

if __name__ == "__main__":
    run_command(main)
"""


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
