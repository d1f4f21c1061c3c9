"""Select the training and qualification tasks of an annotator, and score the answers.

The module uses only the standard library, because it also runs in Label Studio's Python environment. Known
tasks are mappings `{"key": ..., "first": {"expected": "valid" | "invalid", ...}, "second": {...}}` from
`annotation.study.qualification_tasks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

# Number of attempts at the qualification test. Each attempt has different tasks.
MAX_ATTEMPTS = 2


class QualificationScore(NamedTuple):
    """Number of answered and of correctly answered questions, for valid and invalid questions separately.

    The two kinds are counted separately, so that nobody passes by choosing the same for every question.
    """

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
        """Return whether the accuracy on valid and on invalid questions is at least `min_accuracy` (0 to 1).

        >>> QualificationScore(num_valid=10, num_valid_correct=10, num_invalid=10, num_invalid_correct=7).has_passed(0.8)
        False
        """
        return (
            self.num_valid_correct >= min_accuracy * self.num_valid
            and self.num_invalid_correct >= min_accuracy * self.num_invalid
        )


def select_tasks(
    known: Sequence[Mapping[str, Any]], training: int, test: int, person: str, num_retakes: int = 0
) -> tuple[list[str], list[str]]:
    """Return the keys of the training tasks and of the test tasks, each in a random order that differs
    between people.

    Args:
        known: All known tasks: first the training tasks, then the tasks of each attempt at the test.
        training: Number of training tasks.
        test: Number of tasks in the test.
        person: The annotator.
        num_retakes: Number of failed attempts at the test.

    >>> [sorted(keys) for keys in select_tasks([{"key": key} for key in "abcdef"], 2, 2, "ann", num_retakes=1)]
    [['a', 'b'], ['e', 'f']]
    """

    def shuffle(start: int, size: int) -> list[str]:
        keys = [row["key"] for row in known[start : start + size]]
        return sorted(keys, key=lambda key: sha256(f"{person}\x1f{key}".encode()).digest())

    return shuffle(0, training), shuffle(training + num_retakes * test, test)


def is_correct(question: Mapping[str, Any], choice: str) -> bool:
    """Return whether a choice is the expected one. "unsure" counts as "valid"."""
    return (choice == "invalid") == (question["expected"] == "invalid")


def score_answers(
    known: Sequence[Mapping[str, Any]], answers: Mapping[str, tuple[str, str]]
) -> QualificationScore:
    """Score an annotator's answers to known tasks.

    Args:
        known: All known tasks.
        answers: Task key -> the choices for the first and second question. Tasks without an answer do not
            count.
    """
    counts = dict.fromkeys(QualificationScore._fields, 0)
    for row in known:
        for name, choice in zip(("first", "second"), answers.get(row["key"], ()), strict=False):
            counts[f"num_{row[name]['expected']}"] += 1
            counts[f"num_{row[name]['expected']}_correct"] += is_correct(row[name], choice)
    return QualificationScore(**counts)
