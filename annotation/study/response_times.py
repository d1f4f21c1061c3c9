"""How fast somebody answers.

The tool's own time counts while the annotator is away, is told by the browser, and may be missing; the time since the
submission before counts pauses. The shorter of both is taken (`judged_questions`), and only very short times are held against
anybody. That somebody gives one answer on and on is seen by sensitivity, specificity and drift.
"""

from __future__ import annotations

import pandas as pd

from annotation.study.answers_table import QualityRules
from pipeline.core.errors import format_count
from pipeline.core.records import Record

MIN_TIMED_TASKS = 20  # of fewer nothing is said


class ResponseTimes(Record):
    """Seconds per task. `known` tasks have a time; quartiles are None if none has; `fast` are below the limit."""

    num_timed: int
    lower_quartile: float | None
    median: float | None
    upper_quartile: float | None
    num_fast: int


def summarize_by_annotator(answers: pd.DataFrame, rules: QualityRules) -> dict[str, ResponseTimes]:
    """Annotator -> pace, sorted by name."""
    tasks = answers[["verdict_id", "annotator", "seconds"]].drop_duplicates("verdict_id")
    of_person = tasks.groupby("annotator", observed=True)["seconds"]
    return {str(name): summarize_times(seconds, rules.min_task_seconds) for name, seconds in of_person}


def summarize_times(seconds: pd.Series, fast_seconds: float) -> ResponseTimes:
    """Quartiles of the times that are known: positive numbers."""
    known = seconds.dropna()
    low, median, high = known.quantile([0.25, 0.5, 0.75]) if len(known) else (None,) * 3
    return ResponseTimes(
        num_timed=len(known),
        lower_quartile=low,
        median=median,
        upper_quartile=high,
        num_fast=int((known < fast_seconds).sum()),
    )


def describe_if_too_fast(times: ResponseTimes, rules: QualityRules) -> str:
    """The figures, if most of their tasks took too short a time; else ""."""
    if times.num_timed < MIN_TIMED_TASKS or times.num_fast <= rules.max_fast_rate * times.num_timed:
        return ""
    return f"{times.num_fast} of {format_count(times.num_timed, 'task')} in under {rules.min_task_seconds:g} s, median {times.median:.1f} s"
