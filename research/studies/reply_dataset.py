"""The written replies of `studies/replies`, and what each of them does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from pipeline.core.json_files import read_jsonl
from pipeline.core.records import Record

FOLDER = Path(__file__).with_name("replies")
Does = Literal["answers", "refuses", "unclear"]
Part = Literal["train", "dev", "held_out"]


class Reply(Record):
    """A row; studies/replies/README.md has its fields."""

    question: str
    reply: str
    style: str
    written: Does
    read: tuple[Does, ...] = ()
    id: str = ""
    writer: int = 0

    @property
    def does(self) -> Does:
        """What its writer and most of its readers say."""
        votes: Counter[Does] = Counter([self.written, *self.read])
        return votes.most_common(1)[0][0]


def replies(part: Part) -> list[Reply]:
    """The rows of a file that do one or the other."""
    return [row for row in read_jsonl(FOLDER / f"{part}.jsonl", Reply) if row.does != "unclear"]
