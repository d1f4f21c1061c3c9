"""Summarize how fast each annotator answers, and find annotators who answer too fast.

There are two clocks. The tool's own time comes from the browser, goes on while the annotator is away, and may be missing. The time
since the previous submission includes pauses. The shorter one is used (`annotation.study.answers_table.build_answers_table`), and only
very short times count against an annotator. Annotators who always give the same answer are found by sensitivity, specificity and drift.
"""

from __future__ import annotations

import pandas as pd

from annotation.study.answers_table import QualityRules
from pipeline.core.errors import format_count
from pipeline.core.records import Record

# Annotators with fewer timed tasks are never reported as too fast.
MIN_TIMED_TASKS = 20


class ResponseTimes(Record):
    """Times per task of one annotator, in seconds.

    Attributes:
        num_timed: Number of tasks with a known time.
        lower_quartile: Lower quartile of the known times; None if there are none.
        median: Median of the known times; None if there are none.
        upper_quartile: Upper quartile of the known times; None if there are none.
        num_fast: Number of tasks below the limit.
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
    """Return the figures if too many tasks were answered too fast, else an empty string."""
    if times.num_timed < MIN_TIMED_TASKS or times.num_fast <= rules.max_fast_rate * times.num_timed:
        return ""
    return f"{times.num_fast} of {format_count(times.num_timed, 'task')} in under {rules.min_task_seconds:g} s, median {times.median:.1f} s"
