"""What people judged, a table with a row for each question; and the rules by which it is weighed and counted.

"unsure" counts as "valid", as the guidelines tell annotators to say valid in doubt.

Columns: of the verdict `verdict_id`, `task_id`, `annotator`, `order`, `seconds` (the shorter of its two clocks), `simulated`,
`rehearsal`; of the question `place` (0 first, 1 second) and the fields of TaskQuestion; and
    picture_id, subset   of the task; a repeat is of its candidate's subset
    choice, why          what was said, and the reason if it is invalid and one was given
    right                whether a filter question was answered as expected; false of others
    expert               whether whoever said it is an expert, whose word decides
    fallen               whether the filter question is taken to be wrong itself, once weighed
    aside, detail        why the answer does not count, and the figures, once weighed; else ""
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
import pandas as pd

from annotation.study.exports import EXPERT
from pipeline.core.params import Params
from pipeline.core.records import Choice, Record, Task, TaskQuestion, Verdict

R = TypeVar("R", bound=Record)
BLOCK = 1 << 14  # rows made together
# Columns that some verdicts may leave empty, and that are texts all the same.
TEXTS = ("candidate_id", "question_id", "expected", "source", "why")
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Fault = Literal["sensitivity", "specificity", "drift", "speed"]


class CollectRules(Params):
    """The rules by which verdicts are weighed and counted."""

    rule: Literal["dawid-skene", "majority", "unanimity"] = "dawid-skene"
    # Of dawid-skene: a candidate less probably (un)answerable than this is doubtful. One vote may do.
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, le=1)] = 0.95
    min_votes: Annotated[int, msgspec.Meta(ge=1)] = 2  # of the other two: fewer leave a candidate unjudged
    # Of known invalid and of known valid filters, to be answered as known. What is called invalid gets into the set: there
    # an error costs more than where a candidate is lost.
    min_sensitivity: Share = 0.7
    min_specificity: Share = 0.8
    window: Annotated[int, msgspec.Meta(ge=10)] = 40  # of so many filters of a kind on end, too: drift
    max_fallen: Share = 0.03  # of a source's filters may be wrong (one of any); with more, source or crowd is, and collect stops
    excluding: tuple[Fault, ...] = ("sensitivity", "specificity", "drift", "speed")  # others are told
    fast_seconds: Annotated[float, msgspec.Meta(ge=0)] = 3.0  # nobody reads two questions and looks in less
    max_fast: Share = 0.5  # with a larger share of such tasks nothing of theirs counts


def answers(task: Task, verdict: Verdict) -> tuple[tuple[TaskQuestion, Choice, str], ...]:
    """The task's two questions, what was said of each, and the reason if that is "invalid" and one was given."""
    return (
        (task.first, verdict.first, verdict.first_reason if verdict.first == "invalid" else ""),
        (task.second, verdict.second, verdict.second_reason if verdict.second == "invalid" else ""),
    )


def judged_questions(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """The table of all verdicts, one or more, in their order; tasks are given by id, and looked up a verdict at a time."""
    subset = {
        asked.candidate_id: task.subset
        for task in tasks.values()
        for asked in (task.first, task.second)
        if asked.role == "candidate"
    }
    rows, blocks = iter(verdicts), list[pd.DataFrame]()
    while some := list(islice(rows, BLOCK)):  # tables take a fifth of the memory that their rows would
        blocks.append(_answered(tasks, some, subset))
    judged = pd.concat(blocks, ignore_index=True)
    clocks = judged[["seconds", "gap"]]
    right = (judged["choice"] == "invalid") == (judged["expected"] == "invalid")
    return judged.drop(columns="gap").assign(
        seconds=clocks.where((clocks > 0) & np.isfinite(clocks)).min(axis=1),
        right=right & (judged["role"] == "filter"),
        fallen=False,
        expert=judged["annotator"].str.startswith(EXPERT),
        aside="",
        detail="",
    )


def _answered(
    tasks: Mapping[str, Task], verdicts: Sequence[Verdict], subset: Mapping[str | None, str]
) -> pd.DataFrame:
    """A row for each question of some verdicts, `subset` telling that of each candidate."""
    columns: dict[str, list[Any]] = defaultdict(list)
    of_verdict = ("verdict_id", "task_id", "annotator", "order", "seconds", "gap", "simulated", "rehearsal")
    of_question = ("role", "candidate_id", "question_id", "text", "source", "expected")
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        for place, (asked, choice, why) in enumerate(answers(task, verdict)):
            for name in of_verdict:
                columns[name].append(getattr(verdict, name))
            for name in of_question:
                columns[name].append(getattr(asked, name))
            own = subset.get(asked.candidate_id, task.subset) if asked.candidate_id else task.subset
            for name, value in zip(
                ("place", "picture_id", "subset", "choice", "why"),
                (place, task.picture_id, own, choice, why),
                strict=True,
            ):
                columns[name].append(value)
    numbers = {"seconds": float, "gap": float}
    return pd.DataFrame(columns).astype(numbers | dict.fromkeys(TEXTS, "str"))


def filters(judged: pd.DataFrame) -> pd.DataFrame:
    """The answers on filter questions that have not fallen."""
    return judged[(judged["role"] == "filter") & ~judged["fallen"]]


def votes(judged: pd.DataFrame) -> pd.DataFrame:
    """The answers of annotators on candidates, first and repeated, that count."""
    return judged[(judged["role"] != "filter") & (judged["aside"] == "") & ~judged["expert"]]


def words(judged: pd.DataFrame) -> pd.Series:
    """Candidate id -> whether experts say that it is invalid; not of those on which as many say the one as the other."""
    given = judged[(judged["role"] != "filter") & (judged["aside"] == "") & judged["expert"]]
    share = (given["choice"] == "invalid").groupby(given["candidate_id"]).mean()
    return share[share != 0.5] > 0.5


def records(table: pd.DataFrame, kind: type[R]) -> list[R]:
    """The rows of a table whose columns are the fields of a record."""
    found: list[R] = []
    for start in range(0, len(table), BLOCK):
        found += msgspec.convert(table.iloc[start : start + BLOCK].to_dict("records"), list[kind])
    return found
