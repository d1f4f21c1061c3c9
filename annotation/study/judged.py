"""Verdicts as they are weighed and counted, a table with a row for each, candidate and filter question told apart; and the
rules for that.

"unsure" counts as "valid", as the guidelines tell annotators to say valid in doubt.

Columns, beside the fields of Verdict:
    subset, picture_id   of the task
    candidate_id, choice, why   what was said of the candidate, and the reason if it is invalid and one was given
    text, question_id, source, expected, filter_choice   the filter question, and what was said of it
    passed   whether that was as expected
    refuted   whether nearly all annotators contradict the expected verdict: the filter question, a text at a picture, is
              wrong itself (sources err too), and nobody is blamed for it
    aside, detail   why the verdict does not count, and the figures, once `annotation.study.weighing` has found it; else ""
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import pandas as pd

from pipeline.core.params import Params
from pipeline.core.records import SUBSETS, Record, Subset, Task, TaskQuestion, Verdict

FEWEST_ANSWERS = 3  # fewer annotators than this cannot refute a filter question,
MOST_PASSED = 0.25  # nor can they while more than this share gave the expected verdict
R = TypeVar("R", bound=Record)
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class CollectRules(Params):
    """The rules by which verdicts are weighed and counted."""

    min_votes: Annotated[int, msgspec.Meta(ge=1)] = 2  # fewer counted votes leave a candidate unjudged
    rule: Literal["majority", "unanimity", "dawid-skene"] = "majority"  # how many votes must say invalid
    # Of dawid-skene: a candidate less probably (un)answerable than this is doubtful.
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, le=1)] = 0.95
    min_filter_accuracy: Share = 0.8  # annotators below it fail "accuracy"
    min_filter_answers: Annotated[int, msgspec.Meta(ge=1)] = 20  # fewer answers say too little of anybody
    # Who fails one of these is excluded; the others are told in the quality report.
    excluding: tuple[Literal["accuracy", "speed", "one answer", "long run"], ...] = ("accuracy",)
    fast_seconds: Annotated[float, msgspec.Meta(ge=0)] = 3.0  # nobody reads two questions and looks in less
    max_fast: Share = 0.25  # a larger share of such tasks is suspect speed
    max_excess: Share = 0.2  # a choice given so much more often than by others is suspect,
    flag_level: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.001  # if less probable than this by chance


def judged_task(task: Task, verdict: Verdict) -> dict[str, Any]:
    """A row of the table."""
    answers = [
        (task.first, verdict.first, verdict.first_reason),
        (task.second, verdict.second, verdict.second_reason),
    ]
    (asked, choice, why), (known, said, _) = sorted(answers, key=lambda answer: answer[0].role)
    return msgspec.structs.asdict(verdict) | {
        "subset": task.subset,
        "picture_id": task.picture_id,
        "candidate_id": asked.candidate_id,
        "choice": choice,
        "why": why,
        "text": known.text,
        "question_id": known.question_id or "",
        "source": known.source,
        "expected": known.expected,
        "filter_choice": said,
        "passed": as_expected(known, said),
    }


def judged_tasks(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """The table of all verdicts, one or more, in their order; tasks are given by id."""
    columns: dict[str, list[Any]] = defaultdict(list)  # rows would take twice the memory
    for verdict in verdicts:
        for name, value in judged_task(tasks[verdict.task_id], verdict).items():
            columns[name].append(value)
    judged = pd.DataFrame(columns).astype({"seconds": float, "gap": float})
    passed = judged.groupby(["picture_id", "text"])["passed"]
    refuted = (passed.transform("size") >= FEWEST_ANSWERS) & (passed.transform("mean") <= MOST_PASSED)
    return judged.assign(refuted=refuted, aside="", detail="")


def as_expected(question: TaskQuestion, choice: str) -> bool:
    """Whether a filter question was answered as it should be."""
    return (choice == "invalid") == (question.expected == "invalid")


def counted(judged: pd.DataFrame) -> pd.DataFrame:
    """The verdicts that count."""
    return judged[judged["aside"] == ""]


def by_subset(judged: pd.DataFrame) -> dict[Subset, pd.DataFrame]:
    """The verdicts in each subset that has any."""
    rows: dict[Subset, pd.DataFrame] = {subset: judged[judged["subset"] == subset] for subset in SUBSETS}
    return {subset: of for subset, of in rows.items() if len(of)}


def records(table: pd.DataFrame, kind: type[R]) -> list[R]:
    """The rows of a table whose columns are the fields of a record."""
    return msgspec.convert(table.to_dict("records"), list[kind])
