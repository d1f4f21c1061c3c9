"""Exclude items that are known to be faulty from a benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..core.errors import UserError
from .input_validation import parse_json, read_bytes
from .items import Benchmark, Items

ERRATA_FILE = "errata.json"
# Value of --exclude-errata that means the errata list in the release.
OWN_ERRATA = "auto"


def exclude_errata(benchmark: Benchmark, release: Path, errata: str) -> Benchmark:
    """Exclude the items of an errata list and their paired items, so that the benchmark loses as many AQs as
    UQs.

    Predictions for excluded items are not a fault, because the benchmark keeps the ids of the excluded items.

    Args:
        benchmark: The benchmark.
        release: Path that the benchmark was read from.
        errata: An errata file, or "auto" for the errata list in the release.

    Raises:
        UserError: The file does not exist or is no errata list.
    """
    ids = _read_errata_ids(release / ERRATA_FILE if errata == OWN_ERRATA else Path(errata), errata)
    kept = {
        name: items.select(~_is_listed_or_paired(items, ids)) for name, items in benchmark.subsets.items()
    }
    excluded = [item for name, items in benchmark.subsets.items() for item in items.ids - kept[name].ids]
    return benchmark._replace(subsets=kept, errata=tuple(sorted({*excluded})))


def _is_listed_or_paired(items: Items, ids: set[str]) -> np.ndarray:
    """Return for each item whether it is listed or paired with a listed item, [n] booleans."""
    listed = items.isin(ids)
    pairs = {pair for pair in items["pair_id"][listed] if pair}
    return listed | np.array([pair in pairs for pair in items["pair_id"]], bool)


def _read_errata_ids(path: Path, given: str) -> set[str]:
    if given == OWN_ERRATA and not path.is_file():
        raise UserError(
            f"--exclude-errata {OWN_ERRATA}: no {path}. Name a file instead (data/<data set>/errata/{ERRATA_FILE}, or that of a newer version)"
        )
    rows = parse_json(read_bytes(path), path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "item_id" in row for row in rows):
        raise UserError(f"{path}: expected a list of {{item_id, reason}} like {ERRATA_FILE} of a release")
    return {str(row["item_id"]) for row in rows}
