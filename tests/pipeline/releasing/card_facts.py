"""What the card of a small release says."""

from datetime import date
from typing import Any

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
    "version": "1.0.0",
    "canary": "RGQA-CANARY x",
    "model": "m",
    "weights": "ab",
    "warnings": [],
    "audit_table": "| a |",
}
