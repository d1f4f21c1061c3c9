"""Build the answers table, with one row per answered question, and define the rules of quality control.

"unsure" counts as "valid", because the guidelines tell annotators to say valid when in doubt.

Columns
    verdict_id, task_id, annotator, sequence_index, simulated, rehearsal   fields of Verdict
    duration_seconds   the shorter of the two clocks of the verdict; NaN if unknown
    position           0 for the first question of the task, 1 for the second
    role, candidate_id, question_id, text, gold_source, expected_choice    fields of TaskQuestion
    image_id, subset   of the task; a repeat has the subset of its candidate
    choice             valid, invalid or unsure; of a corrected verdict the first choice for a gold question, and
                       the last one for other questions
    invalid_reason     the reason given for "invalid"; else ""
    is_correct         whether a gold question was answered as expected; False for other questions
    is_adjudicator     whether the annotator is an adjudicator
    is_discarded       whether the gold question is discarded as mislabelled; False before quality control
    is_pending         whether the gold question counts for nobody until annotators agree on it; before
                       `gold_status.resolve_unconfirmed_gold`, all unconfirmed gold questions do
    exclusion_reason   why the answer does not count; "" if it counts, and before quality control
    detail             the figures behind the exclusion reason; else ""

Text columns are categorical with alphabetically sorted categories, so that each distinct text is stored once.
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
from pipeline.core.params import (
    PARAMS_FILE,
    Count,
    Params,
    convert_params,
    read_dataset_name,
    read_dataset_params,
)
from pipeline.core.records import UNCONFIRMED, Choice, Record, Task, TaskQuestion, Verdict

RecordType = TypeVar("RecordType", bound=Record)
# Number of records that are converted together.
BLOCK_SIZE = 1 << 14
VERDICT_FIELDS = ("verdict_id", "task_id", "annotator")
QUESTION_FIELDS = ("role", "candidate_id", "question_id", "text", "gold_source", "expected_choice")
# The categories of the column exclusion_reason.
EXCLUSION_REASONS = (
    *("", "annotator excluded", "gold question failed", "duplicate", "self-contradiction"),
    *("not trusted", "copy"),
)
Proportion = Annotated[float, msgspec.Meta(ge=0, le=1)]
QualityCheck = Literal["sensitivity", "specificity", "drift", "speed", "uniform"]


class QualityRules(Params):
    """The rules of quality control and vote aggregation, part of section `collect` of params.yaml.

    Attributes:
        aggregation: How votes decide the status of a candidate: `dawid-skene` (posterior from priors, votes and gold
            questions, see `annotation.study.vote_model`), `majority` or `unanimity`.
        min_posterior: Dawid-Skene: minimum posterior probability (0.5 to 1) of a verdict. Less certain
            candidates are not released.
        min_votes: Majority and unanimity: minimum number of votes for a verdict.
        min_people: Dawid-Skene: number of people whose votes at least must say that a question is unanswerable. With 0, a panel of
            models (`rgqa annotate panel`) decides candidates that nobody has judged. They are marked with `decided_by: panel`, and the
            title of the dataset card says so.
        min_sensitivity: Minimum proportion (0 to 1) of unanswerable gold questions that an annotator must
            recognize.
        min_specificity: Minimum proportion (0 to 1) of answerable gold questions that an annotator must
            recognize.
        drift_window: Minimum number of gold questions of one kind before drift is checked. After every half of
            this number, a new check begins.
        max_discarded_rate: If a larger proportion (0 to 1) of the gold questions of one origin (`gold_source`) is discarded,
            the report warns and names the questions and the people.
        exclusion_checks: Quality checks that exclude an annotator. The others are only reported.
        min_task_seconds: A task of two questions answered in fewer seconds counts as too fast.
        max_fast_rate: Annotators with a larger proportion (0 to 1) of too fast tasks are excluded.
    """

    aggregation: Literal["dawid-skene", "majority", "unanimity"] = "dawid-skene"
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, le=1)] = 0.95
    min_votes: Count = 2
    min_people: Annotated[int, msgspec.Meta(ge=0, le=1)] = 1
    # Minimum accuracy on invalid and on valid gold questions. The limit for valid gold questions is higher,
    # because a question that is wrongly called invalid gets into the benchmark, while a question that is
    # wrongly called valid is only lost.
    min_sensitivity: Proportion = 0.7
    min_specificity: Proportion = 0.8
    drift_window: Annotated[int, msgspec.Meta(ge=10, le=1_000_000)] = 40
    max_discarded_rate: Proportion = 0.03
    exclusion_checks: tuple[QualityCheck, ...] = (
        "sensitivity",
        "specificity",
        "drift",
        "speed",
        "uniform",
    )
    min_task_seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 3.0
    max_fast_rate: Proportion = 0.5


def load_quality_rules() -> QualityRules:
    """Return the rules in section `collect` of params.yaml; the defaults if there is no such section.

    Raises:
        UserError: Lists every rule that has the wrong type or is out of range.
    """
    section = read_dataset_params().get("collect") or {}
    own = {name: section[name] for name in QualityRules.__struct_fields__ if name in section}
    return convert_params(own, QualityRules, f"{PARAMS_FILE}, {read_dataset_name()}.collect")


def split_verdict(task: Task, verdict: Verdict) -> tuple[tuple[TaskQuestion, Choice, str], ...]:
    """Return (question, choice, reason) for both questions of a task.

    The reason is "" unless the choice is "invalid". If the annotator corrected the verdict, the choice for a
    gold question is the first one, and that for any other question is the last one.
    """
    before = verdict.first_answer or verdict
    first = before if task.first.role == "gold" else verdict
    second = before if task.second.role == "gold" else verdict
    return (
        (task.first, first.first, first.first_reason if first.first == "invalid" else ""),
        (task.second, second.second, second.second_reason if second.second == "invalid" else ""),
    )


class CategoricalBuilder:
    """Build a categorical column of repeating texts row by row."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._rows = array("i")

    def append(self, text: str | None) -> None:
        self._rows.append(-1 if text is None else self._codes.setdefault(text, len(self._codes)))

    def to_categorical(self) -> pd.Categorical:
        """Return the column with sorted categories. None becomes a missing value."""
        texts = sorted(self._codes)
        # The last entry maps -1, the code of None, to -1.
        ranks = np.full(len(texts) + 1, -1, np.int32)
        ranks[[self._codes[text] for text in texts]] = np.arange(len(texts))
        return make_categorical(ranks[np.asarray(self._rows)], texts, ordered=True)


def make_categorical(codes: np.ndarray, texts: Sequence[str], ordered: bool = False) -> pd.Categorical:
    """Return a categorical column. `codes` are indices into `texts`; -1 means a missing value."""
    # With dtype object, pandas keeps the given strings. The string type of pandas would copy them.
    options: dict[str, Any] = {"dtype": object}
    index: Any = pd.Index(texts, **options)
    column: Any = pd.Categorical.from_codes(codes, index, ordered=ordered)
    return column


def build_answers_table(tasks: Mapping[str, Task], verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Build the answers table of all verdicts, in the order of the verdicts.

    Args:
        tasks: Task id -> task. Tasks are looked up one at a time, so this can be a mapping that reads a file.
        verdicts: At least one verdict.

    Returns:
        Two rows per verdict, with the columns named in the module docstring.
    """
    subset = {
        asked.candidate_id: task.subset
        for task in tasks.values()
        for asked in (task.first, task.second)
        if asked.role == "candidate"
    }
    texts = {
        name: CategoricalBuilder()
        for name in (*VERDICT_FIELDS, *QUESTION_FIELDS, "image_id", "subset", "choice", "invalid_reason")
    }
    numbers = {"sequence_index": array("q"), "position": array("b"), "duration_seconds": array("d")}
    marks = {"simulated": bytearray(), "rehearsal": bytearray()}
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        seconds = _shorter_time(verdict)
        for position, (asked, choice, reason) in enumerate(split_verdict(task, verdict)):
            for record, names in ((verdict, VERDICT_FIELDS), (asked, QUESTION_FIELDS)):
                for name in names:
                    texts[name].append(getattr(record, name))
            own = subset.get(asked.candidate_id, task.subset) if asked.candidate_id else task.subset
            for name, text in (
                ("image_id", task.image_id),
                ("subset", own),
                ("choice", choice),
                ("invalid_reason", reason),
            ):
                texts[name].append(text)
            for name, number in (
                ("sequence_index", verdict.sequence_index),
                ("position", position),
                ("duration_seconds", seconds),
            ):
                numbers[name].append(number)
            for name, mark in marks.items():
                mark.append(getattr(verdict, name))
    del subset
    # Columns are converted one by one, because each needs twice its memory during conversion.
    columns: dict[str, Any] = {name: texts.pop(name).to_categorical() for name in [*texts]}
    columns |= {name: np.array(numbers.pop(name)) for name in [*numbers]}
    columns |= {name: np.array(mark, bool) for name, mark in marks.items()}
    table = pd.DataFrame(columns, copy=False)
    as_expected = (table["choice"] == "invalid") == (table["expected_choice"] == "invalid")
    none = np.zeros(len(table), np.int8)
    return table.assign(
        is_correct=as_expected & (table["role"] == "gold"),
        is_discarded=False,
        is_pending=table["gold_source"].map(lambda name: str(name).endswith(UNCONFIRMED)).astype(bool),
        is_adjudicator=table["annotator"]
        .map(lambda name: str(name).startswith(ADJUDICATOR_PREFIX))
        .astype(bool),
        exclusion_reason=make_categorical(none, EXCLUSION_REASONS),
        detail=make_categorical(none, [""]),
    )


def _shorter_time(verdict: Verdict) -> float:
    """Return the shorter valid time of the two clocks in seconds; NaN if neither is valid."""
    clocks = (verdict.duration_seconds, verdict.seconds_since_previous)
    return min((clock for clock in clocks if clock is not None and 0 < clock < inf), default=nan)


def select_gold_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to gold questions that are neither discarded nor pending."""
    return answers[(answers["role"] == "gold") & ~answers["is_discarded"] & ~answers["is_pending"]]


def has_gold_answers(answers: pd.DataFrame) -> bool:
    """Return whether any answer to a gold question counts, so that error rates of annotators are known."""
    gold = select_gold_answers(answers)
    return bool((~gold["is_adjudicator"]).any())


def count_adjudicated_gold(answers: pd.DataFrame) -> tuple[int, int, int, int]:
    """Return the numbers of adjudicators' answers to gold questions: invalid ones called invalid and called valid, valid ones
    called valid and called invalid.
    """
    gold = select_gold_answers(answers)
    gold = gold[gold["is_adjudicator"]]
    is_invalid = gold["expected_choice"] == "invalid"
    right = gold["is_correct"].astype(bool)
    found, missed, clear, alarms = (
        int(rows.sum())
        for rows in (is_invalid & right, is_invalid & ~right, ~is_invalid & right, ~is_invalid & ~right)
    )
    return found, missed, clear, alarms


def select_votes(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers about candidates and repeats that count as votes: not excluded, and not from
    adjudicators.
    """
    return answers[
        (answers["role"] != "gold") & (answers["exclusion_reason"] == "") & ~answers["is_adjudicator"]
    ]


def get_adjudications(answers: pd.DataFrame) -> pd.Series:
    """Return candidate id -> whether adjudicators call the candidate invalid.

    Candidates with a tie are omitted.
    """
    given = answers[
        (answers["role"] != "gold") & (answers["exclusion_reason"] == "") & answers["is_adjudicator"]
    ]
    proportion = (given["choice"] == "invalid").groupby(given["candidate_id"], observed=True).mean()
    return proportion[proportion != 0.5].rename(str) > 0.5


def to_records(table: pd.DataFrame, kind: type[RecordType]) -> list[RecordType]:
    """Convert the rows of a table to records. The columns must be the fields of the record type."""
    records: list[RecordType] = []
    for start in range(0, len(table), BLOCK_SIZE):
        records += msgspec.convert(table.iloc[start : start + BLOCK_SIZE].to_dict("records"), list[kind])
    return records
