"""Keep edits whose words are put in about as often as they are taken out.

Perturbation sees to that for all questions that it edits, as far as replacements fit; what is left ("happy" becomes
"sad", and no "sad" ever becomes "happy") tells an edit by its words alone. So of the verified pairs those are left out
that are in the way. Words are counted, nothing else: no model that tells edits from originals is asked.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

import numpy as np

from pipeline.core.records import Edit

Word = tuple[str, str]  # the edit's kind, the words


def even(edits: Sequence[Sequence[Edit]], slack: float, rng: np.random.Generator) -> list[bool]:
    """Which edited questions stay: those are left out, most helpful first, that bring a word nearer to being put in as
    often as it is taken out, until every word is near enough or nothing helps any more.

    Args:
        edits: of each question.
        slack: 0 to 2: how far both counts of a word may differ, as a share of their mean; by one they always may.
        rng: decides between questions that help equally.

    >>> from pipeline.core.records import Edit
    >>> def edit(old, new): return [Edit(start=0, end=1, kind="attribute", old=old, new=new)]
    >>> rows = [edit("red", "blue"), edit("blue", "red"), *[edit("happy", "sad")] * 3]
    >>> even(rows, 0.3, np.random.default_rng(0)).count(True)  # one "happy" may stay
    3
    """
    changes = [_changes(row) for row in edits]
    surplus: Counter[Word] = Counter()  # put in - taken out
    edited: Counter[Word] = Counter()
    for change in changes:
        surplus.update(change)
        edited.update({word: abs(by) for word, by in change.items()})
    allowed = {word: max(1.0, slack * count / 2) for word, count in edited.items()}

    def gain(row: int) -> float:
        """By how much the words come nearer to what is allowed if a question is left out."""
        return sum(
            max(abs(surplus[word]) - allowed[word], 0) - max(abs(surplus[word] - by) - allowed[word], 0)
            for word, by in changes[row].items()
        )

    stays = [True] * len(edits)
    chance = rng.permutation(len(edits)).tolist()

    # Again and again, since a question may begin to help when others have gone.
    while waiting := [
        (-gain(row), chance[row], row) for row, here in enumerate(stays) if here and gain(row) > 0
    ]:
        heapq.heapify(waiting)
        while waiting:
            expected, order, row = heapq.heappop(waiting)
            now = gain(row)
            if now >= -expected:
                stays[row] = False
                surplus.subtract(changes[row])
            elif now > 0:  # it helps less than it did
                heapq.heappush(waiting, (-now, order, row))
    return stays


def _changes(edits: Sequence[Edit]) -> dict[Word, int]:
    """How much more often than taken out a question's edits put each word in."""
    change: Counter[Word] = Counter()
    for edit in edits:
        change[edit.kind, edit.old.lower()] -= 1
        change[edit.kind, edit.new.lower()] += 1
    return {word: by for word, by in change.items() if by}
