"""Show progress of long work, and report what it wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO, TypeVar

T = TypeVar("T")


def track(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Yield the items and show the progress on stderr.

    The progress is a bar, or a line every ten seconds if stderr is not a terminal.

    Args:
        items: The items.
        label: What is done, printed before the progress.
        total: Number of items; None if not known.
        unit: Name of one item.
    """
    from tqdm import tqdm

    shown = sys.stderr.isatty()
    interval = 0.2 if shown else 10
    return iter(tqdm(items, label, total, unit=unit, mininterval=interval, dynamic_ncols=shown))


def report_written(stage: str, summary: str, destination: Path | str, stream: TextIO | None = None) -> None:
    """Print one line that says what was written, and where.

    Args:
        stage: Name of the stage or command.
        summary: What was written.
        destination: File or folder that was written.
        stream: Stream to print to; None for stdout.

    Example:
        >>> report_written("rank", "12,750 candidates", "data/sample/interim/rank")
        rank: 12,750 candidates -> data/sample/interim/rank
    """
    print(f"{stage}: {summary} -> {destination}", file=stream)
