"""The facts about a small release."""

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
VOTES = VoteCounts(
    annotators=8,
    excluded=1,
    uqs_by_votes={1: 2, 2: 5, 3: 13},
    agreement_text="Alpha is high.",
    by_adjudicator=7,
    invalid_gold_answers=40,
)


def facts(items, **changed) -> ReleaseSummary:
    """Return the facts about these items, with some fields replaced."""
    given = {
        "dataset": "tiny",
        "version": "1.0.0",
        "canary": "RGQA-CANARY x",
        "pairing_text": PAIRING_DESCRIPTIONS["image_and_text"],
        "vote_counts": VOTES,
        "clip_model": "m",
        "clip_weights_sha256": "ab",
        "uses_sample_clip": False,
        "wording_text": "",
        "warnings": (),
        "attack_table": "| a |",
        "min_detectable_difference": {"clip-hard": 0.05},
        "errata": (),
        "num_faulty_items": 0,
        "params": P,
    }
    return ReleaseSummary(**count_items(items) | given | changed)


def tables(home: Path, items) -> Path:
    """Write the tables of these items without images, as in a release, and return its folder."""
    for subset, split in {(item.subset, item.split) for item in items}:
        members = [item for item in items if (item.subset, item.split) == (subset, split)]
        write_subset_table(home / f"data/{subset}-{split}.parquet", members, {}, "canary", False)
    return home
