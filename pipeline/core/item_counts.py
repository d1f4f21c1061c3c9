"""Check the items of stage `balance` against the counts in its report."""

from __future__ import annotations

from collections import Counter

import msgspec

from pipeline.core.errors import Problems, format_count
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Item, Subset


class _Item(msgspec.Struct):
    item_id: str
    subset: Subset
    unanswerable: bool


class _LabelCounts(msgspec.Struct):
    uqs: int
    aqs: int


class _SubsetReport(msgspec.Struct):
    all: _LabelCounts


class _BalanceReport(msgspec.Struct):
    subsets: dict[Subset, _SubsetReport]


def check_item_counts(folders: DatasetFolders) -> None:
    """Compare `balance/items.jsonl` with the counts in `balance/balance.json`.

    A file that was emptied, truncated after a line, extended or copied from another run is still valid JSONL.
    Without this check, the wrong items would be audited and released.

    Args:
        folders: The data set.

    Raises:
        UserError: An item occurs twice, or the number of items of a subset differs from the report.
    """
    path = folders.record_file(Item)
    found, ids = Counter[tuple[str, bool]](), Counter[tuple[str, str]]()
    for item in read_jsonl(path, _Item):
        found[item.subset, item.unanswerable] += 1
        ids[item.subset, item.item_id] += 1
    report = read_json(folders.stage_dir("balance") / "balance.json", _BalanceReport)
    problems = Problems(
        f"{path}: changed since stage balance wrote it, or from another run; run dvc repro balance"
    )
    for (subset, item_id), count in ids.items():
        if count > 1:
            problems.add(f"{subset} {item_id}", f"occurs {count} times")
    for subset in sorted({*report.subsets, *(subset for subset, _ in found)}):
        stated = report.subsets[subset].all if subset in report.subsets else _LabelCounts(0, 0)
        for label, stated_count, actual_count in (
            ("UQ", stated.uqs, found[subset, True]),
            ("AQ", stated.aqs, found[subset, False]),
        ):
            if stated_count != actual_count:
                problems.add(
                    subset,
                    f"has {format_count(actual_count, label)}, but balance.json counts {stated_count:,}",
                )
    problems.raise_if_any()
