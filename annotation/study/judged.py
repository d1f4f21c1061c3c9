"""Verdicts as they are weighed and counted: each beside its task, told apart into candidate and filter question.

"unsure" counts as "valid", as the guidelines tell annotators to say valid in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pipeline.core.records import Choice, Record, Task, TaskQuestion, Verdict


class GivenAnswer(Record):
    """What an annotator said of one question of a task, and why if it is invalid and a reason was given."""

    question: TaskQuestion
    choice: Choice
    reason: str

    @property
    def verdict(self) -> Literal["valid", "invalid"]:
        """What the choice counts as."""
        return "invalid" if self.choice == "invalid" else "valid"

    @property
    def as_expected(self) -> bool:
        """Whether a filter question was answered as it should be."""
        return self.verdict == self.question.expected


class Judged(Record):
    """A task as somebody judged it."""

    task: Task
    verdict: Verdict
    candidate: GivenAnswer
    filter: GivenAnswer

    @property
    def candidate_id(self) -> str:
        return self.candidate.question.candidate_id or ""

    @property
    def filter_key(self) -> tuple[str, str]:
        """Picture and text: the same filter question may stand in several tasks."""
        return self.task.picture_id, self.filter.question.text


def answers_of(task: Task, verdict: Verdict) -> tuple[GivenAnswer, GivenAnswer]:
    """The answers to the two questions, in the order shown."""
    return (
        GivenAnswer(question=task.first, choice=verdict.first, reason=verdict.first_reason),
        GivenAnswer(question=task.second, choice=verdict.second, reason=verdict.second_reason),
    )


def judged_task(task: Task, verdict: Verdict) -> Judged:
    first, second = answers_of(task, verdict)
    candidate, known = (first, second) if task.first.role == "candidate" else (second, first)
    return Judged(task=task, verdict=verdict, candidate=candidate, filter=known)


def judged_tasks(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> list[Judged]:
    """All verdicts, in their order, beside their tasks (by id)."""
    return [judged_task(tasks[verdict.task_id], verdict) for verdict in verdicts]
