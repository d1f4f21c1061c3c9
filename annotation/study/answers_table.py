"""What people judged, a table with a row for each question; and the rules by which it is weighed and counted.

"unsure" counts as "valid", as the guidelines tell annotators to say valid in doubt.

Columns: of the verdict `verdict_id`, `task_id`, `annotator`, `order`, `seconds` (the shorter of its two clocks), `simulated`,
`rehearsal`; of the question `place` (0 first, 1 second) and the fields of TaskQuestion; and
    image_id, subset   of the task; a repeat is of its candidate's subset
    choice, why          what was said, and the reason if it is invalid and one was given
    right                whether a filter question was answered as expected; false of others
    expert               whether whoever said it is an expert, whose word decides
    fallen               whether the filter question is taken to be wrong itself, once weighed
    aside, detail        why the answer does not count, and the figures, once weighed; else ""

Texts repeat, so they are categories in the order of the alphabet: each is held once, a row has its number.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import inf, nan
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
import pandas as pd

from annotation.study.exports import ADJUDICATOR_PREFIX
from pipeline.core.params import Count, Params
from pipeline.core.records import Choice, Record, Task, TaskQuestion, Verdict

RecordType = TypeVar("RecordType", bound=Record)
BLOCK_SIZE = 1 << 14  # records made together
VERDICT_FIELDS = ("verdict_id", "task_id", "annotator")
QUESTION_FIELDS = ("role", "candidate_id", "question_id", "text", "source", "expected")
# Why an answer does not count; "" where it does.
EXCLUSION_REASONS = ("", "annotator excluded", "filter failed", "judged before", "contradicts themselves")
Proportion = Annotated[float, msgspec.Meta(ge=0, le=1)]
QualityCheck = Literal["sensitivity", "specificity", "drift", "speed"]


class QualityRules(Params):
    """The rules by which verdicts are weighed and counted."""

    aggregation: Literal["dawid-skene", "majority", "unanimity"] = "dawid-skene"
    # Of dawid-skene: a candidate less probably (un)answerable than this is doubtful. One vote may do.
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, le=1)] = 0.95
    min_votes: Count = 2  # of the other two: fewer leave a candidate unjudged
    # Of known invalid and of known valid filters, to be answered as known. What is called invalid gets into the set: there
    # an error costs more than where a candidate is lost.
    min_sensitivity: Proportion = 0.7
    min_specificity: Proportion = 0.8
    # Drift: both rates are also computed over so many consecutive filter questions of one kind.
    drift_window: Annotated[int, msgspec.Meta(ge=10, le=1_000_000)] = 40
    max_discarded_rate: Proportion = 0.03  # of a source's filters may be wrong (one of any); with more, source or crowd is, and collect stops
    exclusion_checks: tuple[QualityCheck, ...] = (
        "sensitivity",
        "specificity",
        "drift",
        "speed",
    )  # others are told
    # Nobody reads two questions and looks at the image in less time.
    min_task_seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 3.0
    max_fast_rate: Proportion = 0.5  # with a larger share of such tasks nothing of theirs counts


def split_verdict(task: Task, verdict: Verdict) -> tuple[tuple[TaskQuestion, Choice, str], ...]:
    """The task's two questions, what was said of each, and the reason if that is "invalid" and one was given."""
    return (
        (task.first, verdict.first, verdict.first_reason if verdict.first == "invalid" else ""),
        (task.second, verdict.second, verdict.second_reason if verdict.second == "invalid" else ""),
    )


class CategoricalBuilder:
    """A column of texts that repeat, as it grows."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._rows = array("i")

    def append(self, text: str | None) -> None:
        self._rows.append(-1 if text is None else self._codes.setdefault(text, len(self._codes)))

    def to_categorical(self) -> pd.Categorical:
        """The whole column, None as missing."""
        texts = sorted(self._codes)
        places = np.full(len(texts) + 1, -1, np.int32)  # the last one of what is missing
        places[[self._codes[text] for text in texts]] = np.arange(len(texts))
        return make_categorical(places[np.asarray(self._rows)], texts, ordered=True)


def make_categorical(numbers: np.ndarray, texts: Sequence[str], ordered: bool = False) -> pd.Categorical:
    """A column of texts by their number; -1 is missing."""
    # The strings themselves: a type of pandas' own would hold them twice.
    as_they_are: dict[str, Any] = {"dtype": object}
    index: Any = pd.Index(texts, **as_they_are)
    column: Any = pd.Categorical.from_codes(numbers, index, ordered=ordered)
    return column


def build_answers_table(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """The table of all verdicts, one or more, in their order; tasks are given by id, and looked up a verdict at a time."""
    subset = {
        asked.candidate_id: task.subset
        for task in tasks.values()
        for asked in (task.first, task.second)
        if asked.role == "candidate"
    }
    texts = {
        name: CategoricalBuilder()
        for name in (*VERDICT_FIELDS, *QUESTION_FIELDS, "image_id", "subset", "choice", "why")
    }
    numbers = {"order": array("q"), "place": array("b"), "seconds": array("d")}
    marks = {"simulated": bytearray(), "rehearsal": bytearray()}
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        seconds = _shorter_time(verdict)
        for place, (asked, choice, why) in enumerate(split_verdict(task, verdict)):
            for record, names in ((verdict, VERDICT_FIELDS), (asked, QUESTION_FIELDS)):
                for name in names:
                    texts[name].append(getattr(record, name))
            own = subset.get(asked.candidate_id, task.subset) if asked.candidate_id else task.subset
            for name, text in (
                ("image_id", task.image_id),
                ("subset", own),
                ("choice", choice),
                ("why", why),
            ):
                texts[name].append(text)
            for name, number in (("order", verdict.sequence_index), ("place", place), ("seconds", seconds)):
                numbers[name].append(number)
            for name, mark in marks.items():
                mark.append(getattr(verdict, name))
    del subset
    # One after the other, as each takes twice its room while it is made.
    columns: dict[str, Any] = {name: texts.pop(name).to_categorical() for name in [*texts]}
    columns |= {name: np.array(numbers.pop(name)) for name in [*numbers]}
    columns |= {name: np.array(mark, bool) for name, mark in marks.items()}
    judged = pd.DataFrame(columns, copy=False)
    right = (judged["choice"] == "invalid") == (judged["expected"] == "invalid")
    none = np.zeros(len(judged), np.int8)
    return judged.assign(
        right=right & (judged["role"] == "filter"),
        fallen=False,
        expert=judged["annotator"].map(lambda name: str(name).startswith(ADJUDICATOR_PREFIX)).astype(bool),
        aside=make_categorical(none, EXCLUSION_REASONS),
        detail=make_categorical(none, [""]),
    )


def _shorter_time(verdict: Verdict) -> float:
    """Of its two clocks that say something; NaN if none does."""
    clocks = (verdict.duration_seconds, verdict.seconds_since_previous)
    return min((clock for clock in clocks if clock is not None and 0 < clock < inf), default=nan)


def select_gold_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers on filter questions that have not fallen."""
    return answers[(answers["role"] == "filter") & ~answers["fallen"]]


def select_votes(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers of annotators on candidates, first and repeated, that count."""
    return answers[(answers["role"] != "filter") & (answers["aside"] == "") & ~answers["expert"]]


def get_adjudications(answers: pd.DataFrame) -> pd.Series:
    """Candidate id -> whether experts say that it is invalid; not of those on which as many say the one as the other."""
    given = answers[(answers["role"] != "filter") & (answers["aside"] == "") & answers["expert"]]
    share = (given["choice"] == "invalid").groupby(given["candidate_id"], observed=True).mean()
    return share[share != 0.5].rename(str) > 0.5


def to_records(table: pd.DataFrame, kind: type[RecordType]) -> list[RecordType]:
    """The rows of a table whose columns are the fields of a record."""
    found: list[RecordType] = []
    for start in range(0, len(table), BLOCK_SIZE):
        found += msgspec.convert(table.iloc[start : start + BLOCK_SIZE].to_dict("records"), list[kind])
    return found
