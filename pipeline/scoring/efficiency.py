"""Compute latency, throughput and peak memory of a run from its log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import UserError
from .input_validation import check_arrays, loads_strict, parse_each_row, read_bytes

LATENCY_PERCENTILES = (50, 90, 95, 99)
RUN_LOG_KEYS = ("seconds", "items", "start", "memory_bytes")


def compute_efficiency(
    seconds: ArrayLike,
    items: ArrayLike | None = None,
    memory: ArrayLike | None = None,
    *,
    wall_seconds: float | None = None,
) -> dict[str, float]:
    """Compute latency percentiles (seconds), items per second, and peak memory (bytes).

    Args:
        seconds: [n] seconds of each request.
        items: [n] number of items of each request; None for one item per request.
        memory: [n] bytes in use after each request; None if not measured (the result is then NaN).
        wall_seconds: Seconds from the start of the first request to the end of the last one, for overlapping
            requests. None means the sum of `seconds`.

    Raises:
        ValueError: A latency is negative, or the arrays are invalid.

    >>> compute_efficiency([1.0, 3.0])["latency_p50"]
    2.0
    """
    (seconds,) = check_arrays(seconds=seconds)
    (items,) = check_arrays(items=np.ones(len(seconds)) if items is None else items)
    if len(seconds) and (seconds < 0).any():
        raise ValueError(f"seconds has {np.count_nonzero(seconds < 0)} negative values")
    total = float(seconds.sum()) if wall_seconds is None else wall_seconds
    used = np.asarray([] if memory is None else memory, float)
    percentiles = (
        np.percentile(seconds, LATENCY_PERCENTILES)
        if len(seconds)
        else np.full(len(LATENCY_PERCENTILES), np.nan)
    )
    return {
        f"latency_p{p}": float(value) for p, value in zip(LATENCY_PERCENTILES, percentiles, strict=True)
    } | {
        "latency_mean": float(seconds.mean()) if len(seconds) else float("nan"),
        "items_per_second": float(items.sum()) / total if total > 0 else float("nan"),
        "peak_memory_bytes": float(used.max()) if len(used) else float("nan"),
        "requests": len(seconds),
        "items": int(items.sum()),
    }


def read_run_log(path: Path | str) -> dict[str, float]:
    """Read and score a log: JSON lines with `seconds` and optionally `items`, `start` (in seconds) and
    `memory_bytes`.

    Raises:
        UserError: Lists every invalid line.
    """
    rows, problems = parse_each_row(read_bytes(path).splitlines(), "line", _parse_log_line)
    if problems or not rows:
        raise UserError([f"{path}: not a run log", *(problems or ["no lines"])])
    columns = {key: [row[key] for row in rows if key in row] for key in RUN_LOG_KEYS}
    ends = [row["start"] + row["seconds"] for row in rows if "start" in row]
    return compute_efficiency(
        columns["seconds"],
        [row.get("items", 1.0) for row in rows],
        columns["memory_bytes"],
        wall_seconds=max(ends) - min(columns["start"]) if len(ends) == len(rows) else None,
    )


def _parse_log_line(line: bytes) -> dict[str, float]:
    try:
        row = loads_strict(line)
        numbers = {key: float(row[key]) for key in RUN_LOG_KEYS if key in row}
        if wrong := [key for key in numbers if isinstance(row[key], str | bool)]:
            raise ValueError(f"{', '.join(wrong)}: not a number")
        if not all(map(np.isfinite, numbers.values())) or numbers["seconds"] < 0:
            raise ValueError("expected finite numbers, seconds not negative")
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"expected an object with `seconds` ({error})") from None
    return numbers
