"""The dataset card: README.md of a release, front matter for `datasets` included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2
import yaml

from pipeline.core.records import SUBSETS, Item, Record

HOW = {
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


def card(items: Sequence[Item], facts: CardFacts) -> str:
    """The text of README.md. Counts are of these items."""
    subsets = [name for name in SUBSETS if any(item.subset == name for item in items)]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    return environment.get_template("card.md.jinja").render(
        front_matter=_front_matter(subsets, items, facts),
        subsets=[_counts(name, [item for item in items if item.subset == name]) for name in subsets],
        simulated=any(item.simulated for item in items),
        rehearsal=any(item.rehearsal for item in items),
        pairing=PAIRING[facts.balance_rule],
        **{name: getattr(facts, name) for name in facts.__struct_fields__},
    )


def _front_matter(subsets: Sequence[str], items: Sequence[Item], facts: CardFacts) -> str:
    parts = {(item.subset, item.part) for item in items}
    return yaml.safe_dump(
        {
            "pretty_name": f"{facts.title} {facts.version}",
            "task_categories": ["visual-question-answering"],
            "language": ["en"],
            "tags": ["unanswerable questions"]
            + (["simulated annotation"] if any(item.simulated for item in items) else [])
            + (["rehearsal"] if any(item.rehearsal for item in items) else []),
            "configs": [
                {
                    "config_name": name,
                    "data_files": [
                        {"split": part, "path": f"data/{name}-{part}.parquet"}
                        for part in ("dev", "test")
                        if (name, part) in parts
                    ],
                }
                for name in subsets
            ],
        },
        sort_keys=False,
    )


def _counts(name: str, rows: Sequence[Item]) -> dict[str, object]:
    uqs = [row for row in rows if row.unanswerable]
    return {
        "name": name,
        "how": HOW[name],
        "uqs": len(uqs),
        "aqs": len(rows) - len(uqs),
        "texts": len({row.text for row in uqs}),
        "pictures": len({row.picture_id for row in rows}),
    }
