"""How far annotators can be relied on: their accuracy on filter questions.

"unsure" counts as "valid", as the guidelines tell annotators to say valid in doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import nan, sqrt

from pipeline.core.records import Choice, Record, Task, TaskQuestion, Verdict

FEWEST_ANSWERS = 3  # fewer annotators than this cannot outvote a filter question,
MOST_PASSED = 0.25  # nor can they while more than this share gave the expected verdict


class Accuracy(Record):
    """Filter questions answered, those answered as expected, and the 95 % Wilson interval of the share."""

    right: int
    answered: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.right / self.answered if self.answered else nan


def wilson(right: int, total: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson score interval of a share (Wilson 1927); (nan, nan) for a total of 0.

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not total:
        return nan, nan
    share, spread = right / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def said(choice: Choice) -> str:
    """The verdict that a choice counts as."""
    return "invalid" if choice == "invalid" else "valid"


def answers(task: Task, verdict: Verdict) -> Iterator[tuple[TaskQuestion, Choice]]:
    """The two questions of a task with what the annotator chose."""
    yield task.first, verdict.first
    yield task.second, verdict.second


def filter_choice(task: Task, verdict: Verdict) -> tuple[TaskQuestion, Choice]:
    """The task's filter question and what the annotator chose."""
    return next(pair for pair in answers(task, verdict) if pair[0].role == "filter")


def candidate_of(task: Task) -> str:
    """Id of the candidate that the task asks about."""
    return next(q.candidate_id for q in (task.first, task.second) if q.role == "candidate") or ""


def candidate_choice(task: Task, verdict: Verdict) -> Choice:
    return next(choice for question, choice in answers(task, verdict) if question.role == "candidate")


def refuted(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> set[tuple[str, str]]:
    """(picture, text) of the filter questions whose expected verdict nearly all annotators contradict: those
    are wrong themselves (sources err too), and nobody is blamed for them."""
    passed: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        question, choice = filter_choice(task, verdict)
        passed[task.picture_id, question.text].append(said(choice) == question.expected)
    return {
        key
        for key, row in passed.items()
        if len(row) >= FEWEST_ANSWERS and sum(row) <= MOST_PASSED * len(row)
    }


def accuracies(
    tasks: Mapping[str, Task], verdicts: Iterable[Verdict], ignored: set[tuple[str, str]]
) -> dict[str, Accuracy]:
    """Annotator -> accuracy on filter questions, those `ignored` (see `refuted`) left out."""
    results: dict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        question, choice = filter_choice(task, verdict)
        row = results[verdict.annotator]
        if (task.picture_id, question.text) not in ignored:
            row.append(said(choice) == question.expected)
    made = {}
    for annotator in sorted(results):
        row = results[annotator]
        low, high = wilson(sum(row), len(row))
        made[annotator] = Accuracy(right=sum(row), answered=len(row), low=low, high=high)
    return made


def excluded(found: Mapping[str, Accuracy], least: float, fewest: int) -> set[str]:
    """Annotators whose accuracy is below `least` over at least `fewest` filter questions."""
    return {annotator for annotator, row in found.items() if row.answered >= fewest and row.share < least}
