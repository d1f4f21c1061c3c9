"""What the card of a small release says."""

from datetime import date
from pathlib import Path

from pipeline.benchmark.release.parquet_table import write_subset_table
from pipeline.benchmark.release.release_summary import (
    PAIRING_DESCRIPTIONS,
    ReleaseSummary,
    VoteCounts,
    count_items,
)
from pipeline.core.release_params import Licence, ReleaseParams

P = ReleaseParams(
    title="Tiny",
    data_source="Drawn.",
    licence="CC BY 4.0",
    licence_url="u",
    release_date=date(2026, 1, 1),
    include_images=True,
    licence_overrides={"images": Licence(name="CC BY 4.0", url="u")},
)
JUDGED = VoteCounts(
    annotators=8,
    excluded=1,
    uqs_by_votes={1: 2, 2: 5, 3: 13},
    agreement_text="Alpha is high.",
    by_adjudicator=7,
    invalid_gold_answers=40,
)


def facts(items, **changed) -> ReleaseSummary:
    """Of these items; what is named is otherwise."""
    given = {
        "dataset": "tiny",
        "version": "1.0.0",
        "canary": "RGQA-CANARY x",
        "pairing": PAIRING_DESCRIPTIONS["image_and_text"],
        "judged": JUDGED,
        "model": "m",
        "weights": "ab",
        "warnings": (),
        "audit_table": "| a |",
        "resolved": {"clip-hard": 0.05},
        "errata": (),
        "faulty": 0,
        "p": P,
    }
    return ReleaseSummary(**count_items(items) | given | changed)


def tables(home: Path, items) -> Path:
    """Tables of these items, without images, as a release has them; the release's folder."""
    for subset, part in {(item.subset, item.part) for item in items}:
        members = [item for item in items if (item.subset, item.part) == (subset, part)]
        write_subset_table(home / f"data/{subset}-{part}.parquet", members, {}, "canary", False)
    return home
