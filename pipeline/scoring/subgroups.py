"""Scores of one kind of items: of a category, of a difficulty, of a kind of edit, of a type of question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .bootstrap import percentile_interval
from .bootstrap_scores import bootstrap_subsets, make_score_statistic
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .realistic_vqa import realistic_scores

GROUPING_FIELDS = ("category", "difficulty", "edit", "structural", "semantic", "detailed")
UQ_ONLY_FIELDS = (
    "category",
    "difficulty",
    "edit",
)  # of UQs alone: all AQs of the subset stand against each of them
REPORTED_SCORES = ("auaf", "ff95", "facc", "auroc")
MIN_ITEMS = 20  # items: with fewer, the interval is exact, and a table shows it instead of the score


def score_subgroups(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """For each kind the scores in `SHOWN`, their `intervals`, and how many AQs and UQs there are. Few items (of the
    rarer kind; for FACC, of AQs) have the exact interval of `bounded_mean_interval`; others that of the bootstrap, where
    `options.by` asks for it."""
    slices: Scores = {}
    confidence, correct, answerable = answered.metric_inputs
    for name in options.group_by or GROUPING_FIELDS:
        parts = dict(_subgroup_masks(answered, name))
        drawn = {}
        if options.group_by and options.bootstrap:
            many = {
                kind: answered.select(at) for kind, at in parts.items() if answerable[at].sum() >= MIN_ITEMS
            }
            drawn = (
                bootstrap_subsets(many, partial(make_score_statistic, groups=("realistic",)), options)
                if many
                else {}
            )
        for kind, at in parts.items():
            scores = realistic_scores(confidence[at], correct[at], answerable[at])
            aqs, uqs = np.flatnonzero(at & answerable), np.flatnonzero(at & ~answerable)
            row: Scores = {score: scores[score] for score in REPORTED_SCORES} | {
                "aqs": len(aqs),
                "uqs": len(uqs),
            }
            intervals = {}
            for score in REPORTED_SCORES:
                if has_too_few_items(row, score):
                    rarer = aqs if score == "facc" or len(aqs) < len(uqs) else uqs
                    images = set(answered.items.clusters[rarer])
                    # With enough AQs FACC is known, above which AUAF cannot be.
                    most = scores["facc"] if score == "auaf" and len(aqs) >= MIN_ITEMS else 1.0
                    bounds = bounded_mean_interval(scores[score] / most if most else 0.0, len(images))
                    intervals[score] = (most * bounds[0], most * bounds[1])
                elif kind in drawn:
                    intervals[score] = percentile_interval(drawn[kind][score])
            slices.setdefault(name, {})[kind] = row | {"intervals": intervals}
    return slices or {
        "unavailable": "the benchmark does not say of what kind its items are (a release folder does)"
    }


def has_too_few_items(row: Scores, score: str) -> bool:
    """Are there too few items for a score of a row of `by_group`?"""
    return (row["aqs"] if score == "facc" else min(row["aqs"], row["uqs"])) < MIN_ITEMS


def bounded_mean_interval(mean: float, count: int, level: float = 0.95) -> tuple[float, float]:
    """An interval for what a mean of `count` independent values in [0, 1] estimates, at least as sure as `level` for
    any count and any distribution (Hoeffding 1963, theorem 1; for a share of pairs, like AUROC, section 5, with the count
    of the rarer kind): all p with count x KL(mean, p) <= log(2 / (1 - level)). At 0 and 1 it is Clopper and Pearson's. NaN where
    the mean is.

    >>> [round(bound, 3) for bound in bounded_mean_interval(1.0, 3)]  # 0.025 ** (1/3)
    [0.292, 1.0]
    """
    if math.isnan(mean) or count < 1:
        return math.nan, math.nan
    mean = min(mean, 1.0)  # but for rounding it is
    limit = math.log(2 / (1 - level)) / count

    def inside(p: float) -> bool:
        parts = ((mean, p), (1 - mean, 1 - p))
        return sum(x * math.log(x / y) if y > 0 else math.inf for x, y in parts if x > 0) <= limit

    return _bisect_bound(inside, mean, 0.0), _bisect_bound(inside, mean, 1.0)


def _bisect_bound(inside: Callable[[float], bool], near: float, far: float) -> float:
    """Where `inside` ends between a place inside and one outside (or `far`, if it is inside)."""
    if inside(far):
        return far
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if inside(middle) else (near, middle)
    return near


def _subgroup_masks(answered: JoinedPredictions, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Which items are of each kind, [n]."""
    kinds_of = answered.items["edits" if name == "edit" else name].tolist()
    number = {kinds: place for place, kinds in enumerate(dict.fromkeys(kinds_of))}
    if not any(number):
        return
    numbers = np.array([number[kinds] for kinds in kinds_of])
    several = {kinds: kinds if name == "edit" else (kinds,) for kinds in number}
    everywhere = answered.answerable & (name in UQ_ONLY_FIELDS)
    for kind in sorted({kind for kinds in several.values() for kind in kinds if kind}):
        of_kind = np.isin(numbers, [number[those] for those, kinds in several.items() if kind in kinds])
        if (of_kind & ~everywhere).any():
            yield kind, everywhere | of_kind
