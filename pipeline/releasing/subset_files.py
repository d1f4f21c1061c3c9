"""The files of one subset of a release: RGQA's JSON, Parquet tables, sanity predictions with their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pipeline.core.files import write_json, write_text
from pipeline.core.records import Item, Picture, Subset
from pipeline.releasing.parquet_tables import write_table
from pipeline.releasing.provenance import ReleaseParams
from pipeline.releasing.rgqa_format import rgqa_rows
from pipeline.releasing.sanity import sanity_predictions, score_predictions


def write_subset(
    home: Path,
    subset: Subset,
    items: Sequence[Item],
    pictures: Mapping[str, Picture],
    canary: str,
    p: ReleaseParams,
) -> None:
    """Write the files of a subset that has items."""
    rows = ",\n".join(msgspec.json.encode(row).decode() for row in rgqa_rows(items, canary))
    write_text(home / "rgqa" / f"{subset}.json", f"[\n{rows}\n]\n")
    for part in ("dev", "test"):
        if members := [item for item in items if item.part == part]:
            write_table(home / "data" / f"{subset}-{part}.parquet", members, pictures, canary, p.pictures)
    expected = {}
    for name, predictions in sanity_predictions(items, p.folds, p.seed).items():
        write_json(home / "sanity" / subset / f"{name}.json", predictions)
        expected[name] = score_predictions(items, predictions)
    write_json(home / "sanity" / subset / "expected.json", expected)
