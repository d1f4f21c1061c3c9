"""The dataset card: README.md of a release, front matter for `datasets` included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.pages import render
from pipeline.core.records import SUBSETS, Item, Record, Subset

HOW: dict[Subset, str] = {
    "clip-easy": "questions of other pictures, least similar to the picture by CLIP",
    "clip-hard": "questions of other pictures, among the most similar by CLIP",
    "pt-easy": "own questions with objects replaced",
    "pt-hard": "own questions with attributes or spatial relations replaced",
}
PAIRING = {
    "image_and_text": "In the CLIP subsets every text appears as often as UQ as it does as AQ (of another picture), and every "
    "picture has as many of either, so that neither alone gives the label away. Judging items against each other "
    '("I have seen this text as an AQ, so here it must be a UQ") defeats the test.',
    "image": "Each UQ of the CLIP subsets stands beside an AQ of the same picture (the rule of the RGQA paper).",
}


class CardFacts(Record):
    """What the card says besides the counts, which it takes from the items."""

    title: str
    version: str
    licence: str
    origin: str
    canary: str
    balance_rule: str
    model: str
    weights: str
    pictures_included: bool
    fetch_recipe: str
    warnings: tuple[str, ...]
    audit_table: str


class CardRow(Record):
    """A subset's line of the card: `texts` are the distinct texts of its UQs."""

    name: Subset
    how: str
    uqs: int
    aqs: int
    texts: int
    pictures: int


def card(items: Sequence[Item], facts: CardFacts) -> str:
    """The text of README.md. Counts are of these items."""
    rows: dict[Subset, list[Item]] = {
        subset: [item for item in items if item.subset == subset] for subset in SUBSETS
    }
    return render(
        Path(__file__).parent / "card.md.jinja",
        front_matter=_front_matter(items, facts),
        subsets=[_counts(subset, of_subset) for subset, of_subset in rows.items() if of_subset],
        simulated=any(item.simulated for item in items),
        rehearsal=any(item.rehearsal for item in items),
        pairing=PAIRING[facts.balance_rule],
        facts=facts,
    )


def _front_matter(items: Sequence[Item], facts: CardFacts) -> str:
    """What the hub and `datasets.load_dataset` read: the tables of each subset and part."""
    from huggingface_hub import DatasetCardData

    tables = {
        subset: [part for part in ("dev", "test") if (subset, part) in {(i.subset, i.part) for i in items}]
        for subset in SUBSETS
    }
    tags = ["unanswerable questions"]
    tags += ["simulated annotation"] if any(item.simulated for item in items) else []
    tags += ["rehearsal"] if any(item.rehearsal for item in items) else []
    return DatasetCardData(
        pretty_name=f"{facts.title} {facts.version}",
        task_categories=["visual-question-answering"],
        language=["en"],
        tags=tags,
        configs=[
            {
                "config_name": subset,
                "data_files": [
                    {"split": part, "path": f"data/{subset}-{part}.parquet"} for part in tables[subset]
                ],
            }
            for subset in SUBSETS
            if tables[subset]
        ],
    ).to_yaml()


def _counts(subset: Subset, items: Sequence[Item]) -> CardRow:
    uqs = [item for item in items if item.unanswerable]
    return CardRow(
        name=subset,
        how=HOW[subset],
        uqs=len(uqs),
        aqs=len(items) - len(uqs),
        texts=len({item.text for item in uqs}),
        pictures=len({item.picture_id for item in items}),
    )
