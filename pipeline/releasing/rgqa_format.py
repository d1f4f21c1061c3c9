"""RGQA's own file formats, which other people's tools read."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.records import Item, Record


class RgqaRow(Record):
    """A row of a subset: `label` is {"UQ": 1.0} or {answer: 1.0}. `canary` is ours; readers of RGQA ignore it."""

    img_id: str
    question_id: str
    sent: str
    label: dict[str, float]
    canary: str


class Prediction(Record):
    """A model's answer and its confidence that the question is answerable; higher = accept."""

    questionId: str
    prediction: str
    confidence: float


def rgqa_rows(items: Sequence[Item], canary: str) -> list[RgqaRow]:
    """The rows of one subset, in the order of the items."""
    return [
        RgqaRow(
            img_id=item.picture_id,
            question_id=item.item_id,
            sent=item.text,
            label={"UQ" if item.unanswerable else item.answer: 1.0},
            canary=canary,
        )
        for item in items
    ]
