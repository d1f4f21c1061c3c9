"""Measure how well the scorers read which fault of its question a reply names.

Command: `rgqa study reason-reader`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pipeline.core.errors import format_count
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import Record
from pipeline.scoring.abstention import ABSTAINED, classify_abstention
from pipeline.scoring.items import Fault
from pipeline.scoring.reason_reader import ReadReason, read_reason

REPLIES_FOLDER = Path(__file__).with_name("replies")
ReasonSplit = Literal["dev", "held_out"]
ReasonLabel = Literal["claims_fault", "names_fault", "names_instead"]
# Title -> the label, and whether it is measured on replies to UQs, to AQs, or (None) to both.
MEASURES: dict[str, tuple[ReasonLabel, bool | None]] = {
    "names the fault": ("names_fault", True),
    "names what is there instead": ("names_instead", True),
    "claims a fault": ("claims_fault", None),
    "claims a fault, UQs": ("claims_fault", True),
    "claims a fault, AQs": ("claims_fault", False),
}


class ReplyFault(Record):
    """A fault of a question, as in `pipeline.scoring.items.Fault`."""

    kind: Literal["object", "attribute", "relation"]
    wrong: str
    actual: str = ""


class ReasonReply(Record):
    """One reply with its labels. The fields are described in research/studies/replies/README.md."""

    id: str
    question: str
    faults: tuple[ReplyFault, ...]
    source: str
    reply: str
    style: str
    round: int
    written: tuple[ReasonLabel, ...]
    read: tuple[ReasonLabel, ...] | None = None

    def get_label(self, name: ReasonLabel) -> bool | None:
        """Return whether a label holds; None if the two labellings differ."""
        wrote = name in self.written
        return wrote if self.read is None or wrote == (name in self.read) else None


class ReasonMetrics(NamedTuple):
    """Confusion counts of one label.

    Attributes:
        true_positives, false_positives, false_negatives: Numbers of replies.
        num_disagreements: Replies whose two labellings differ. They are in none of the other counts.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    num_disagreements: int

    @property
    def precision(self) -> float:
        return self.true_positives / max(self.true_positives + self.false_positives, 1)

    @property
    def recall(self) -> float:
        return self.true_positives / max(self.true_positives + self.false_negatives, 1)


def read_replies(split: ReasonSplit) -> list[ReasonReply]:
    """Return the labelled replies of a split."""
    return [*read_jsonl(REPLIES_FOLDER / f"reasons_{split}.jsonl", ReasonReply)]


def predict_reasons(rows: Sequence[ReasonReply]) -> list[ReadReason]:
    """Read the replies as `rgqa score` does."""
    abstains = classify_abstention([row.question for row in rows], [row.reply for row in rows]) == ABSTAINED
    return [
        read_reason(
            row.question,
            row.reply,
            bool(abstaining),
            [Fault(fault.kind, fault.wrong, fault.actual) for fault in row.faults],
        )
        for row, abstaining in zip(rows, abstains.tolist(), strict=True)
    ]


def compute_reason_metrics(
    rows: Sequence[ReasonReply], predicted: Sequence[ReadReason], label: ReasonLabel, on_uqs: bool | None
) -> ReasonMetrics:
    """Compare predictions with one label.

    Args:
        rows: The labelled replies.
        predicted: The prediction for each reply.
        label: The label.
        on_uqs: Whether to count only replies to UQs (True) or to AQs (False); None for all.
    """
    pairs = [
        (row.get_label(label), getattr(found, label))
        for row, found in zip(rows, predicted, strict=True)
        if on_uqs is None or bool(row.faults) == on_uqs
    ]
    return ReasonMetrics(
        true_positives=pairs.count((True, True)),
        false_positives=pairs.count((False, True)),
        false_negatives=pairs.count((True, False)),
        num_disagreements=sum(true is None for true, _ in pairs),
    )


def evaluate_reason_reader(split: ReasonSplit, num_examples: int = 0) -> str:
    """Return the metrics of one split as text, with the first `num_examples` wrong predictions."""
    rows = read_replies(split)
    predicted = predict_reasons(rows)
    uqs = sum(bool(row.faults) for row in rows)
    lines = [
        f"{format_count(len(rows), 'reply', 'replies')} of split {split}: {uqs} to UQs, {len(rows) - uqs} to AQs"
    ]
    for title, (label, on_uqs) in MEASURES.items():
        found = compute_reason_metrics(rows, predicted, label, on_uqs)
        hits, claimed = found.true_positives, found.true_positives + found.false_positives
        lines.append(
            f"{title:<28} precision {100 * found.precision:5.1f} %  {hits} of {claimed}, "
            f"recall {100 * found.recall:5.1f} %  {hits} of {hits + found.false_negatives}, "
            f"{format_count(found.num_disagreements, 'disagreement')} of the labels"
        )
    wrong = [_find_errors(row, found) for row, found in zip(rows, predicted, strict=True)]
    for style in dict.fromkeys(row.style for row in rows):
        errors = [bool(error) for row, error in zip(rows, wrong, strict=True) if row.style == style]
        lines.append(f"  {style:<18} {len(errors) - sum(errors)} of {len(errors)} right")
    lines += [
        f"{row.id}, {', '.join(errors)} wrong: {row.question} | {row.reply!r}"
        for row, errors in zip(rows, wrong, strict=True)
        if errors
    ][:num_examples]
    return "\n".join(lines) + "\n"


def _find_errors(row: ReasonReply, found: ReadReason) -> list[ReasonLabel]:
    labels: tuple[ReasonLabel, ...] = ("claims_fault", "names_fault", "names_instead")
    checked = labels if row.faults else labels[:1]
    return [name for name in checked if row.get_label(name) not in (None, getattr(found, name))]
