"""Which verdicts count: annotators are weighed, and what cannot be relied on is set aside, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan, sqrt
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from annotation.study.habits import Habits, habits
from annotation.study.judged import CollectRules, records
from pipeline.core.records import Record

Z = 1.959963984540054  # 97.5 % of a normal distribution lie below


class Accuracy(Record):
    """Filter questions answered, those answered as expected, and their share with its 95 % Wilson interval, in [0, 1];
    NaN if none was answered."""

    filters: int
    right: int
    accuracy: float
    low: float
    high: float


class SetAside(Record):
    """A verdict that does not count, and why; `detail` has the figures."""

    verdict_id: str
    task_id: str
    annotator: str
    reason: Literal["annotator excluded", "filter failed"]
    detail: str = ""


class Weighed(NamedTuple):
    """All verdicts, as a table that tells which of them count, and what was found of those who gave them.

    Attributes:
        accuracies, habits: by annotator, sorted. excluded: annotator -> every reason, sorted by name.
    """

    judged: pd.DataFrame
    accuracies: dict[str, Accuracy]
    habits: dict[str, Habits]
    excluded: dict[str, list[str]]

    @property
    def aside(self) -> list[SetAside]:
        """The verdicts that do not count."""
        rows = self.judged[self.judged["aside"] != ""].rename(columns={"aside": "reason"})
        return records(rows[list(SetAside.__struct_fields__)], SetAside)


def weigh(judged: pd.DataFrame, rules: CollectRules) -> Weighed:
    """Weigh annotators, and set aside what does not count."""
    accuracy, how = accuracies(judged), habits(judged, rules)
    excluded = exclusions(accuracy, how, rules)
    return Weighed(set_aside(judged, excluded), accuracy, how, excluded)


def accuracies(judged: pd.DataFrame) -> dict[str, Accuracy]:
    """Annotator -> accuracy on filter questions, sorted; those refuted left out."""
    sound = judged["passed"].where(~judged["refuted"])
    found = {}
    for name, passed in sound.groupby(judged["annotator"]):
        filters, right = int(passed.count()), int(passed.sum())
        low, high = wilson(right, filters)
        share = right / filters if filters else nan
        found[str(name)] = Accuracy(filters=filters, right=right, accuracy=share, low=low, high=high)
    return found


def wilson(right: int, total: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share (Wilson 1927); (nan, nan) for a total of 0.

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not total:
        return nan, nan
    share, twice = right / total, 2 * (total + Z**2)  # scipy.stats has it, but takes half a second to load
    centre = (2 * total * share + Z**2) / twice
    half = Z / twice * sqrt(4 * total * share * (1 - share) + Z**2)
    return (centre - half if right else 0.0), (centre + half if right < total else 1.0)


def exclusions(
    accuracy: Mapping[str, Accuracy], habits: Mapping[str, Habits], rules: CollectRules
) -> dict[str, list[str]]:
    """Annotators that are excluded, with every reason; sorted by name."""
    excluded: dict[str, list[str]] = {}
    for name, row in accuracy.items():
        reasons = []
        known = row.filters >= rules.min_filter_answers
        if "accuracy" in rules.excluding and known and row.accuracy < rules.min_filter_accuracy:
            share = f"{row.right} of {row.filters} filter questions ({row.accuracy:.1%})"
            reasons.append(f"accuracy: {share}, below {rules.min_filter_accuracy:.0%}")
        reasons += [
            f"{flag.kind}: {flag.detail}" for flag in habits[name].flags if flag.kind in rules.excluding
        ]
        if reasons:
            excluded[name] = reasons
    return excluded


def set_aside(judged: pd.DataFrame, excluded: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The table with the reasons for which verdicts are set aside: those of excluded annotators, and those whose filter
    question was failed and is not refuted.

    Args:
        excluded: annotator -> the reasons.
    """
    why = judged["annotator"].map({name: "; ".join(reasons) for name, reasons in excluded.items()})
    said = "said " + judged["filter_choice"] + ", " + judged["expected"] + " was expected"
    cases = [why.notna(), ~judged["passed"] & ~judged["refuted"]]
    return judged.assign(
        aside=np.select(cases, ["annotator excluded", "filter failed"], ""),
        detail=np.select(cases, [why, said], ""),
    )
