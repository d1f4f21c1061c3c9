"""Training and test at the desk: which tasks with two known verdicts somebody gets, and how well they were answered.

Pure, and of the standard library alone, as Label Studio's own Python runs it too. `known` is a list of mappings
`{"key": ..., "first": {"expected": "valid" | "invalid", ...}, "second": {...}}` as `annotation.study.qualification_tasks` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

MAX_ATTEMPTS = 2  # of the test; each has tasks of its own


class QualificationScore(NamedTuple):
    """Known questions that somebody answered, and as known: those with an answer and those without apart, so that nobody gets
    through by one word for everything."""

    num_valid: int = 0
    num_valid_correct: int = 0
    num_invalid: int = 0
    num_invalid_correct: int = 0

    @property
    def num_correct(self) -> int:
        return self.num_valid_correct + self.num_invalid_correct

    @property
    def num_answered(self) -> int:
        return self.num_valid + self.num_invalid

    def has_passed(self, min_accuracy: float) -> bool:
        """Whether of the valid ones, and of the invalid ones, at least the share (0 to 1) was answered as known.

        >>> Marks(valid=10, valid_right=10, invalid=10, invalid_right=7).passed(0.8)
        False
        """
        return (
            self.num_valid_correct >= min_accuracy * self.num_valid
            and self.num_invalid_correct >= min_accuracy * self.num_invalid
        )


def select_tasks(
    known: Sequence[Mapping[str, Any]], training: int, test: int, person: str, num_retakes: int = 0
) -> tuple[list[str], list[str]]:
    """The keys of the training, and of the test after so many failed tries, each in an order of the person's own.

    >>> [sorted(part) for part in lessons([{"key": key} for key in "abcdef"], 2, 2, "ann", tried=1)]
    [['a', 'b'], ['e', 'f']]
    """

    def part(begin: int, size: int) -> list[str]:
        keys = [row["key"] for row in known[begin : begin + size]]
        return sorted(keys, key=lambda key: sha256(f"{person}\x1f{key}".encode()).digest())

    return part(0, training), part(training + num_retakes * test, test)


def is_correct(question: Mapping[str, Any], choice: str) -> bool:
    """Whether a known question was answered as known; "unsure" counts as "valid"."""
    return (choice == "invalid") == (question["expected"] == "invalid")


def score_answers(
    known: Sequence[Mapping[str, Any]], answers: Mapping[str, tuple[str, str]]
) -> QualificationScore:
    """What somebody's answers come to.

    Args:
        answers: key of a known task -> the choices for its first and second question; tasks without one do not count.
    """
    counts = dict.fromkeys(QualificationScore._fields, 0)
    for row in known:
        for name, choice in zip(("first", "second"), answers.get(row["key"], ()), strict=False):
            counts[row[name]["expected"]] += 1
            counts[f"{row[name]['expected']}_right"] += is_correct(row[name], choice)
    return QualificationScore(**counts)
