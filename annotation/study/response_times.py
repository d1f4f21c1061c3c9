"""How fast somebody answers.

The tool's own time counts while the annotator is away, is told by the browser, and may be missing; the time since the
submission before counts pauses. The shorter of both is taken (`judged_questions`), and only very short times are held against
anybody. That somebody gives one answer on and on is seen by sensitivity, specificity and drift.
"""

from __future__ import annotations

import pandas as pd

from annotation.study.answers_table import CollectRules
from pipeline.core.errors import counted
from pipeline.core.records import Record

FEWEST_TASKS = 20  # of fewer nothing is said


class Pace(Record):
    """Seconds per task. `known` tasks have a time; quartiles are None if none has; `fast` are below the limit."""

    known: int
    low: float | None
    median: float | None
    high: float | None
    fast: int


def paces(judged: pd.DataFrame, rules: CollectRules) -> dict[str, Pace]:
    """Annotator -> pace, sorted by name."""
    tasks = judged[["verdict_id", "annotator", "seconds"]].drop_duplicates("verdict_id")
    of_person = tasks.groupby("annotator", observed=True)["seconds"]
    return {str(name): pace(seconds, rules.fast_seconds) for name, seconds in of_person}


def pace(seconds: pd.Series, fast_seconds: float) -> Pace:
    """Quartiles of the times that are known: positive numbers."""
    known = seconds.dropna()
    low, median, high = known.quantile([0.25, 0.5, 0.75]) if len(known) else (None,) * 3
    return Pace(known=len(known), low=low, median=median, high=high, fast=int((known < fast_seconds).sum()))


def too_fast(found: Pace, rules: CollectRules) -> str:
    """The figures, if most of their tasks took too short a time; else ""."""
    if found.known < FEWEST_TASKS or found.fast <= rules.max_fast * found.known:
        return ""
    return f"{found.fast} of {counted(found.known, 'task')} in under {rules.fast_seconds:g} s, median {found.median:.1f} s"
