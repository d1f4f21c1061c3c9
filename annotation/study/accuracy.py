"""How far annotators can be relied on: their accuracy on filter questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import nan

from scipy.stats import binomtest

from annotation.study.judged import Judged
from pipeline.core.records import Record

FEWEST_ANSWERS = 3  # fewer annotators than this cannot outvote a filter question,
MOST_PASSED = 0.25  # nor can they while more than this share gave the expected verdict

FilterKey = tuple[str, str]  # picture, text


class Accuracy(Record):
    """Filter questions answered, those answered as expected, and the 95 % Wilson interval of the share."""

    right: int
    answered: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """In [0, 1]; NaN if none was answered."""
        return self.right / self.answered if self.answered else nan


def wilson(right: int, total: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share (Wilson 1927); (nan, nan) for a total of 0.

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not total:
        return nan, nan
    low, high = binomtest(right, total).proportion_ci(method="wilson")
    return float(low), float(high)


def refuted(judged: Iterable[Judged]) -> set[FilterKey]:
    """The filter questions whose expected verdict nearly all annotators contradict: those are wrong themselves (sources
    err too), and nobody is blamed for them."""
    passed: dict[FilterKey, list[bool]] = defaultdict(list)
    for row in judged:
        passed[row.filter_key].append(row.filter.as_expected)
    return {
        key
        for key, results in passed.items()
        if len(results) >= FEWEST_ANSWERS and sum(results) <= MOST_PASSED * len(results)
    }


def accuracies(judged: Iterable[Judged], ignored: set[FilterKey]) -> dict[str, Accuracy]:
    """Annotator -> accuracy on filter questions, sorted; those `ignored` (see `refuted`) left out."""
    results: dict[str, list[bool]] = defaultdict(list)
    for row in judged:
        results[row.verdict.annotator] += [row.filter.as_expected] * (row.filter_key not in ignored)
    accuracy = {}
    for annotator, passed in sorted(results.items()):
        low, high = wilson(sum(passed), len(passed))
        accuracy[annotator] = Accuracy(right=sum(passed), answered=len(passed), low=low, high=high)
    return accuracy


def inaccurate(accuracy: Mapping[str, Accuracy], least: float, fewest: int) -> set[str]:
    """Annotators whose accuracy is below `least` over at least `fewest` filter questions."""
    return {annotator for annotator, row in accuracy.items() if row.answered >= fewest and row.share < least}
