"""What the card of a small release says."""

from pipeline.releasing.card import CardFacts

FACTS = CardFacts(
    title="Tiny",
    version="1.0.0",
    licence="CC BY 4.0",
    origin="Drawn.",
    canary="RGQA-CANARY x",
    balance_rule="image_and_text",
    model="m",
    weights="ab",
    pictures_included=True,
    fetch_recipe="",
    warnings=(),
    audit_table="| a |",
)
