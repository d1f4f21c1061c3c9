"""Summarize how fast each annotator answers, and find annotators who answer too fast.

There are two measurements of the time of a task. Label Studio measures the time in the browser, which
continues while the annotator is away, and may be missing. The time since the previous submission includes
pauses. The shorter time is used (`annotation.study.answers_table.build_answers_table`), and only very short
times count against an annotator. Annotators who always give the same answer are found by sensitivity,
specificity and drift instead.
"""

from __future__ import annotations

import pandas as pd

from annotation.study.answers_table import QualityRules
from pipeline.core.errors import format_count
from pipeline.core.records import Record

# Minimum number of tasks with a known time before an annotator can be reported as too fast.
MIN_TIMED_TASKS = 20


class ResponseTimes(Record):
    """Times per task of one annotator, in seconds.

    Attributes:
        num_timed: Number of tasks with a known time.
        lower_quartile: Lower quartile of the known times; None if no time is known.
        median: Median of the known times; None if no time is known.
        upper_quartile: Upper quartile of the known times; None if no time is known.
        num_fast: Number of tasks that were answered too fast (`min_task_seconds`).
    """

    num_timed: int
    lower_quartile: float | None
    median: float | None
    upper_quartile: float | None
    num_fast: int


def summarize_by_annotator(answers: pd.DataFrame, rules: QualityRules) -> dict[str, ResponseTimes]:
    """Return annotator -> response times, sorted by name."""
    tasks = answers[["verdict_id", "annotator", "duration_seconds"]].drop_duplicates("verdict_id")
    by_annotator = tasks.groupby("annotator", observed=True)["duration_seconds"]
    return {str(name): summarize_times(seconds, rules.min_task_seconds) for name, seconds in by_annotator}


def summarize_times(seconds: pd.Series, fast_seconds: float) -> ResponseTimes:
    """Summarize times in seconds; NaN means unknown. Times below `fast_seconds` count as too fast."""
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
    """Return a description if too many tasks were answered too fast, else an empty string."""
    if times.num_timed < MIN_TIMED_TASKS or times.num_fast <= rules.max_fast_rate * times.num_timed:
        return ""
    return f"{times.num_fast} of {format_count(times.num_timed, 'task')} in under {rules.min_task_seconds:g} s, median {times.median:.1f} s"
