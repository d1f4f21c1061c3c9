"""What all benchmarks use: a command line made from `main`, timing, and a table of times."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np
import typer

from pipeline.core.errors import run_command

P = ParamSpec("P")
T = TypeVar("T")


def run_benchmark(main: Callable[..., None]) -> None:
    """Run a benchmark as a command.

    Its options are the arguments of `main`, its help is the module's docstring.
    """
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    paragraphs = (sys.modules["__main__"].__doc__ or "").split("\n\n")
    app.command(help="\n\n".join(f"\b\n{paragraph}" for paragraph in paragraphs))(main)
    run_command(app)


def time_call(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, np.ndarray]:
    """Return the result of `work`, and wall-clock and CPU seconds of this process, [2].

    CPU seconds are more reliable on a busy machine.
    """
    clock, processors = time.perf_counter(), time.process_time()
    result = work(*args, **kwargs)
    return result, np.array([time.perf_counter() - clock, time.process_time() - processors])


def print_comparison(what: str, ours: np.ndarray, peer: str, its: np.ndarray) -> None:
    """Print two times of `time_call` and their ratios."""
    rows = {
        "ours, seconds": ours,
        f"{peer}, seconds": its,
        "ours / its": ours / its,
        "its / ours": its / ours,
    }
    print(f"{what}, wall clock / CPU", flush=True)
    for name, (clock, processors) in rows.items():
        print(f"  {name:<40} {clock:8.3g} / {processors:.3g}", flush=True)
