"""Leaving out of a benchmark the items that are known to be faulty."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..core.errors import UserError
from .input_validation import parse_json, read_bytes
from .items import Benchmark, Items

ERRATA_FILE, OWN_ERRATA = "errata.json", "auto"  # a release's list, and what names it


def exclude_errata(benchmark: Benchmark, release: Path, errata: str) -> Benchmark:
    """The benchmark without the items of a list of errata, and without those that they are paired with, so that either kind
    loses as many. Their ids are known still: predictions for them are no fault.

    Args:
        release: where the benchmark was read from. given: a file, or "auto" for the release's own list.

    Raises:
        UserError: there is no such list, or it is none.
    """
    ids = _read_errata_ids(release / ERRATA_FILE if errata == OWN_ERRATA else Path(errata), errata)
    kept = {
        name: items.select(~_is_listed_or_paired(items, ids)) for name, items in benchmark.subsets.items()
    }
    gone = [item for name, items in benchmark.subsets.items() for item in items.ids - kept[name].ids]
    return benchmark._replace(subsets=kept, errata=tuple(sorted({*gone})))


def _is_listed_or_paired(items: Items, ids: set[str]) -> np.ndarray:
    """Which items are in the list, or paired with one that is; [n] booleans."""
    listed = items.isin(ids)
    pairs = {pair for pair in items["pair_id"][listed] if pair}
    return listed | np.array([pair in pairs for pair in items["pair_id"]], bool)


def _read_errata_ids(path: Path, given: str) -> set[str]:
    if given == OWN_ERRATA and not path.is_file():
        raise UserError(
            f"--exclude-errata {OWN_ERRATA}: no {path}; name a file instead (data/<data set>/errata/{ERRATA_FILE}, or that of a newer version)"
        )
    rows = parse_json(read_bytes(path), path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "item_id" in row for row in rows):
        raise UserError(f"{path}: wanted a list of {{item_id, reason}}, as {ERRATA_FILE} of a release")
    return {str(row["item_id"]) for row in rows}
