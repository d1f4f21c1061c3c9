"""Leaving out of a benchmark the items that are known to be faulty."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..core.errors import UserError
from .input_validation import parse_json, read_bytes
from .items import Benchmark, Items

FILE, OWN = "errata.json", "auto"  # a release's list, and what names it


def without_errata(benchmark: Benchmark, release: Path, given: str) -> Benchmark:
    """The benchmark without the items of a list of errata, and without those that they are paired with, so that either kind
    loses as many. Their ids are known still: predictions for them are no fault.

    Args:
        release: where the benchmark was read from. given: a file, or "auto" for the release's own list.

    Raises:
        UserError: there is no such list, or it is none.
    """
    ids = _read(release / FILE if given == OWN else Path(given), given)
    kept = {name: items.at(~_faulty(items, ids)) for name, items in benchmark.subsets.items()}
    gone = [item for name, items in benchmark.subsets.items() for item in items.ids - kept[name].ids]
    return benchmark._replace(subsets=kept, errata=tuple(sorted({*gone})))


def _faulty(items: Items, ids: set[str]) -> np.ndarray:
    """Which items are in the list, or paired with one that is; [n] booleans."""
    listed = items.among(ids)
    pairs = {pair for pair in items["pair"][listed] if pair}
    return listed | np.array([pair in pairs for pair in items["pair"]], bool)


def _read(path: Path, given: str) -> set[str]:
    if given == OWN and not path.is_file():
        raise UserError(
            f"--without-errata {OWN}: no {path}; name a file instead (data/<data set>/errata/{FILE}, or that of a newer version)"
        )
    rows = parse_json(read_bytes(path), path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "item_id" in row for row in rows):
        raise UserError(f"{path}: wanted a list of {{item_id, reason}}, as {FILE} of a release")
    return {str(row["item_id"]) for row in rows}
