"""A progress bar for long work, and the one line that ends it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO, TypeVar

T = TypeVar("T")


def track(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Iterate with a progress bar on stderr (a line now and then when stderr is not a terminal)."""
    from tqdm import tqdm

    shown = sys.stderr.isatty()
    interval = 0.2 if shown else 10
    return iter(tqdm(items, label, total, unit=unit, mininterval=interval, dynamic_ncols=shown))


def report_written(stage: str, summary: str, destination: Path | str, stream: TextIO | None = None) -> None:
    """Say what was made and where, in one line: `rank: 12,750 candidates -> data/sample/interim/rank`; on stdout, or
    where that is for something else, on another stream."""
    print(f"{stage}: {summary} -> {destination}", file=stream)
