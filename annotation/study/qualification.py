"""Select the training and qualification tasks of an annotator, and score the answers.

The module uses only the standard library, because it also runs in Label Studio's Python environment. Known
tasks are mappings `{"key": ..., "first": {"expected": "valid" | "invalid", ...}, "second": {...}}` from
`annotation.study.qualification_tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

# From this number of questions on, choices that are all the same do not pass.
MIN_UNIFORM_CHOICES = 4
# Number of attempts at the qualification test. Each attempt has different tasks.
MAX_ATTEMPTS = 2


class QualificationScore(NamedTuple):
    """Number of answered and of correctly answered questions, for valid and invalid questions separately.

    The two kinds are counted separately, so that nobody passes by choosing the same for every question. Pending
    questions are those on which annotators do not agree yet. They are neither correct nor wrong, but also for
    them somebody who chooses the same every time does not pass.

    Attributes:
        num_valid, num_invalid: Number of answered questions that count.
        num_valid_correct, num_invalid_correct: Number of these that were answered correctly.
        num_pending_valid, num_pending_invalid: Number of answered questions that do not count yet.
        num_pending_called_invalid: Number of these that were called invalid.
    """

    num_valid: int = 0
    num_valid_correct: int = 0
    num_invalid: int = 0
    num_invalid_correct: int = 0
    num_pending_valid: int = 0
    num_pending_invalid: int = 0
    num_pending_called_invalid: int = 0

    @property
    def num_correct(self) -> int:
        return self.num_valid_correct + self.num_invalid_correct

    @property
    def num_answered(self) -> int:
        return self.num_valid + self.num_invalid

    @property
    def num_pending(self) -> int:
        return self.num_pending_valid + self.num_pending_invalid

    @property
    def is_uniform(self) -> bool:
        """Whether all choices are the same, although questions of both kinds were asked."""
        total = self.num_answered + self.num_pending
        asks_both = self.num_valid + self.num_pending_valid and self.num_invalid + self.num_pending_invalid
        num_called_invalid = (
            self.num_invalid_correct
            + self.num_valid
            - self.num_valid_correct
            + self.num_pending_called_invalid
        )
        return bool(asks_both) and total >= MIN_UNIFORM_CHOICES and num_called_invalid in (0, total)

    def has_passed(self, min_accuracy: float) -> bool:
        """Return whether the accuracy on valid and on invalid questions is at least `min_accuracy` (0 to 1), and
        the choices are not all the same.

        >>> QualificationScore(num_valid=10, num_valid_correct=10, num_invalid=10, num_invalid_correct=7).has_passed(0.8)
        False
        >>> QualificationScore(num_pending_valid=4, num_pending_invalid=4).has_passed(0.8)  # all called valid
        False
        """
        return (
            not self.is_uniform
            and self.num_valid_correct >= min_accuracy * self.num_valid
            and self.num_invalid_correct >= min_accuracy * self.num_invalid
        )


def select_tasks(
    known: Sequence[Mapping[str, Any]], training: int, test: int, person: str, num_retakes: int = 0
) -> tuple[list[str], list[str]]:
    """Return the keys of the training tasks and of the test tasks of one person, each in a random order.

    All people have the same training. The tests differ: each task of a test is drawn from those that have the
    same place in the tests of the pool, so that all tests consist of the same kinds of tasks. If the questions
    must be confirmed, all people have the same test in each attempt, so that they confirm the same questions.

    Args:
        known: All known tasks: first the training tasks, then the pool, one test after the other.
        training: Number of training tasks.
        test: Number of tasks in the test.
        person: The annotator.
        num_retakes: Number of failed attempts at the test.

    >>> tests = [sorted(select_tasks([{"key": key} for key in "xABCabc"], 1, 3, name)[1]) for name in ("ann", "ben")]
    >>> tests
    [['a', 'b', 'c'], ['B', 'C', 'a']]
    >>> sorted(select_tasks([{"key": key} for key in "xABCabc"], 1, 3, "ann", num_retakes=1)[1])
    ['A', 'B', 'C']
    """

    def order(*key: str) -> bytes:
        return sha256("\x1f".join((person, *key)).encode()).digest()

    pool = [row["key"] for row in known[training:]]
    is_unconfirmed = any("unconfirmed" in row.get(side, ()) for row in known for side in ("first", "second"))
    chosen = []
    for place in range(test):
        same_place = pool[place::test]
        ordered = same_place if is_unconfirmed else sorted(same_place, key=lambda key: order("test", key))
        chosen += ordered[num_retakes : num_retakes + 1]
    return sorted((row["key"] for row in known[:training]), key=order), sorted(chosen, key=order)


def is_correct(question: Mapping[str, Any], choice: str) -> bool:
    """Return whether a choice is the expected one. "unsure" counts as "valid"."""
    return (choice == "invalid") == (question["expected"] == "invalid")


def score_answers(
    known: Sequence[Mapping[str, Any]],
    answers: Mapping[str, tuple[str, str]],
    is_counted: Callable[[Mapping[str, Any]], bool] = lambda question: True,
) -> QualificationScore:
    """Score an annotator's answers to known tasks.

    Args:
        known: All known tasks.
        answers: Task key -> the choices for the first and second question. Tasks without an answer do not
            count.
        is_counted: A function that returns whether a question counts. The others are pending.
    """
    counts = dict.fromkeys(QualificationScore._fields, 0)
    for row in known:
        for name, choice in zip(("first", "second"), answers.get(row["key"], ()), strict=False):
            if is_counted(row[name]):
                counts[f"num_{row[name]['expected']}"] += 1
                counts[f"num_{row[name]['expected']}_correct"] += is_correct(row[name], choice)
            else:
                counts[f"num_pending_{row[name]['expected']}"] += 1
                counts["num_pending_called_invalid"] += choice == "invalid"
    return QualificationScore(**counts)
