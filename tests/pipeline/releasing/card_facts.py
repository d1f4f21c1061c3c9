"""What the card of a small release says."""

from datetime import date
from typing import Any

from pipeline.releasing.card import VoteCounts
from pipeline.releasing.provenance import ReleaseParams

P = ReleaseParams(
    title="Tiny",
    origin="Drawn.",
    licence="CC BY 4.0",
    licence_url="u",
    published=date(2026, 1, 1),
    pictures=True,
)
FACTS: dict[str, Any] = {
    "balance_rule": "image_and_text",
    "judged": VoteCounts(annotators=8, excluded=1, votes={1: 2, 2: 5, 3: 13}, agreement="Alpha is high."),
    "version": "1.0.0",
    "canary": "RGQA-CANARY x",
    "model": "m",
    "weights": "ab",
    "warnings": [],
    "audit_table": "| a |",
}
