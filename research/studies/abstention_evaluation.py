"""`rgqa study reader`: how well the reader of abstentions reads replies of writers that it has not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import counted
from pipeline.scoring.abstention import ABSTAINS, ANSWERS, read
from research.studies.reply_dataset import Part, Reply, replies


class ReaderFigures(NamedTuple):
    """What the reader says of replies.

    Attributes:
        refusals, answers: how many there are of each.
        found: refusals read as abstaining. taken: answers read as abstaining. unclear: read as neither, of both kinds.
        right: by style, replies read as what they are, and how many there are.
    """

    refusals: int
    answers: int
    found: int
    taken: int
    unclear: int
    right: dict[str, tuple[int, int]]

    @property
    def recall(self) -> float:
        """Share of refusals that are found; unclear ones are not."""
        return self.found / self.refusals

    @property
    def precision(self) -> float:
        """Share of refusals in what is read as one; whatever is unclear counts as read so and wrong."""
        return self.found / (self.found + self.taken + self.unclear)

    @property
    def false_share(self) -> float:
        """Share of answers that are read as abstaining."""
        return self.taken / self.answers


def reader_figures(rows: Sequence[Reply], said: np.ndarray) -> ReaderFigures:
    """Compare what rows do with what was read, [n] of `ANSWERS`, `UNCLEAR`, `ABSTAINS`."""
    refuses = np.array([row.does == "refuses" for row in rows])
    right = said == np.where(refuses, ABSTAINS, ANSWERS)
    styles = np.array([row.style for row in rows])
    return ReaderFigures(
        refusals=int(refuses.sum()),
        answers=int((~refuses).sum()),
        found=int((said[refuses] == ABSTAINS).sum()),
        taken=int((said[~refuses] == ABSTAINS).sum()),
        unclear=int(((said != ABSTAINS) & (said != ANSWERS)).sum()),
        right={
            style: (int(right[styles == style].sum()), int((styles == style).sum()))
            for style in dict.fromkeys(styles.tolist())
        },
    )


def reader_page(part: Part, show: int = 0) -> str:
    """The figures of a part of the replies as text, with the first `show` that are read wrongly."""
    rows = replies(part)
    said = read([row.question for row in rows], [row.reply for row in rows])
    found = reader_figures(rows, said)
    lines = [
        f"{counted(len(rows), 'reply', 'replies')} of part {part}: {found.refusals:,} refuse, {found.answers:,} answer",
        f"recall       {100 * found.recall:5.1f} %  {found.found} of {found.refusals} refusals",
        f"precision    {100 * found.precision:5.1f} %  of {found.found + found.taken + found.unclear}, {found.unclear} unclear ones counted as wrong",
        f"false share  {100 * found.false_share:5.1f} %  {found.taken} of {counted(found.answers, 'answer')} read as refusals",
        *(
            f"  {style:<20} {100 * right / count:5.1f} %  {right} of {count} right"
            for style, (right, count) in found.right.items()
        ),
    ]
    wrong = [
        (row, value)
        for row, value in zip(rows, said.tolist(), strict=True)
        if (value == ABSTAINS) != (row.does == "refuses")
    ]
    lines += [f"{row.does}, read as {value:g}: {row.question} | {row.reply!r}" for row, value in wrong[:show]]
    return "\n".join(lines) + "\n"
