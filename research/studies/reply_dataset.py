"""Read the written replies of `research/studies/replies` and their labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from pipeline.core.json_files import read_jsonl
from pipeline.core.records import Record

REPLIES_FOLDER = Path(__file__).with_name("replies")
ReplyLabel = Literal["answers", "refuses", "unclear"]
ReplySplit = Literal["train", "dev", "held_out"]


class Reply(Record):
    """One reply. The fields are described in research/studies/replies/README.md."""

    question: str
    reply: str
    style: str
    written: ReplyLabel
    read: tuple[ReplyLabel, ...] = ()
    id: str = ""
    writer: int = 0

    @property
    def label(self) -> ReplyLabel:
        """Return the label that the writer and the raters give most often."""
        votes: Counter[ReplyLabel] = Counter([self.written, *self.read])
        return votes.most_common(1)[0][0]


def read_replies(split: ReplySplit) -> list[Reply]:
    """Return the replies of a split whose label is not "unclear"."""
    return [row for row in read_jsonl(REPLIES_FOLDER / f"{split}.jsonl", Reply) if row.label != "unclear"]
