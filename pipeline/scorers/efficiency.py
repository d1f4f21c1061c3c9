"""What a run cost: latency, throughput, peak memory, from its log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from .benchmark import path_bytes
from .validation import Refused, arrays

PERCENTILES = (50, 90, 95, 99)


def efficiency(seconds, items=None, memory=None, *, wall_seconds: float | None = None) -> dict[str, float]:
    """Percentiles of the seconds per request, items per second and the highest memory.

    Args:
        seconds: [n] seconds each request took. items: [n] items in each (1 if not given).
        memory: [n] bytes in use (None: not measured, NaN). wall_seconds: from the first start to the last end,
            for requests that overlap; else their sum.
    """
    (seconds,) = arrays(seconds=seconds)
    items = np.ones(len(seconds)) if items is None else arrays(items=items)[0]
    if len(seconds) and (seconds < 0).any():
        raise ValueError(f"seconds has {np.count_nonzero(seconds < 0)} negative values")
    total = float(seconds.sum()) if wall_seconds is None else wall_seconds
    found = {
        f"latency_p{p}": float(np.percentile(seconds, p)) if len(seconds) else float("nan")
        for p in PERCENTILES
    }
    found["latency_mean"] = float(seconds.mean()) if len(seconds) else float("nan")
    found["items_per_second"] = float(items.sum()) / total if total > 0 else float("nan")
    found["peak_memory_bytes"] = float(np.max(memory)) if memory is not None and len(memory) else float("nan")
    return found | {"requests": len(seconds), "items": int(items.sum())}


def read_run_log(path: Path | str) -> dict[str, float]:
    """Score a log: JSON lines with `seconds` and, if known, `items`, `start` (seconds on one clock) and
    `memory_bytes`.

    Raises:
        Refused: lists every line that is not so.
    """
    path, rows, problems = Path(path), [], []
    for number, line in enumerate(path_bytes(path).splitlines(), 1):
        try:
            row = json.loads(line)
            numbers = {k: float(row[k]) for k in ("seconds", "items", "start", "memory_bytes") if k in row}
            if not all(map(np.isfinite, numbers.values())) or numbers["seconds"] < 0:
                raise ValueError("wanted finite numbers, seconds not negative")
            rows.append(numbers)
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"line {number}: wanted an object with `seconds` ({error})")
    if problems or not rows:
        raise Refused([f"{path}: not a run log", *(problems or ["no lines"])])
    clocked = all("start" in row for row in rows)
    wall = max(r["start"] + r["seconds"] for r in rows) - min(r["start"] for r in rows) if clocked else None
    memory = [row["memory_bytes"] for row in rows if "memory_bytes" in row]
    return efficiency(
        [r["seconds"] for r in rows], [r.get("items", 1.0) for r in rows], memory or None, wall_seconds=wall
    )
