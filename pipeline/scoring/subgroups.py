"""Score subgroups of the items: by category, difficulty, kind of edit or type of question."""

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
# Fields that only UQs have. The subgroups of these fields consist of some UQs and all AQs of the subset.
UQ_ONLY_FIELDS = ("category", "difficulty", "edit")
REPORTED_SCORES = ("auaf", "ff95", "facc", "auroc")
# Minimum number of items for a score. For smaller subgroups, tables show only an exact interval.
MIN_ITEMS = 20


def score_subgroups(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score each subgroup of the fields in `options.group_by`, or of all `GROUPING_FIELDS`.

    Returns:
        Field -> subgroup -> the scores in `REPORTED_SCORES`, their `intervals`, and the numbers of AQs and
        UQs. A subgroup has too few items if it has fewer than `MIN_ITEMS` AQs or UQs (for FACC: AQs). It then
        has the exact interval of `bounded_mean_interval`. Other subgroups have bootstrap intervals if
        `options.group_by` is given.
    """
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
                    # AUAF cannot exceed FACC, which is known if there are enough AQs.
                    most = scores["facc"] if score == "auaf" and len(aqs) >= MIN_ITEMS else 1.0
                    bounds = bounded_mean_interval(scores[score] / most if most else 0.0, len(images))
                    intervals[score] = (most * bounds[0], most * bounds[1])
                elif kind in drawn:
                    intervals[score] = percentile_interval(drawn[kind][score])
            slices.setdefault(name, {})[kind] = row | {"intervals": intervals}
    return slices or {
        "unavailable": "the benchmark has no fields to group its items by (a release folder has them)"
    }


def has_too_few_items(row: Scores, score: str) -> bool:
    """Return whether a row of `score_subgroups` has too few items for a score."""
    return (row["aqs"] if score == "facc" else min(row["aqs"], row["uqs"])) < MIN_ITEMS


def bounded_mean_interval(mean: float, count: int, level: float = 0.95) -> tuple[float, float]:
    """Return a conservative interval for the mean of independent values in [0, 1].

    The coverage is at least `level` for any count and any distribution (Hoeffding 1963, theorem 1). For a
    proportion of pairs, such as AUROC, use the count of the rarer kind (section 5 of the same paper). The
    interval contains all p with count x KL(mean, p) <= log(2 / (1 - level)). For a mean of 0 or 1, it equals
    the interval of Clopper and Pearson.

    Args:
        mean: Mean of the values, in [0, 1]. For NaN, the ends of the interval are NaN.
        count: Number of independent values.
        level: Confidence level, in (0, 1).

    >>> [round(bound, 3) for bound in bounded_mean_interval(1.0, 3)]  # 0.025 ** (1/3)
    [0.292, 1.0]
    """
    if math.isnan(mean) or count < 1:
        return math.nan, math.nan
    # A rounding error may make the mean exceed 1.
    mean = min(mean, 1.0)
    limit = math.log(2 / (1 - level)) / count

    def inside(p: float) -> bool:
        parts = ((mean, p), (1 - mean, 1 - p))
        return sum(x * math.log(x / y) if y > 0 else math.inf for x, y in parts if x > 0) <= limit

    return _bisect_bound(inside, mean, 0.0), _bisect_bound(inside, mean, 1.0)


def _bisect_bound(inside: Callable[[float], bool], near: float, far: float) -> float:
    """Return the end of the interval between `near`, which is inside, and `far`; `far` if `far` is inside,
    too.
    """
    if inside(far):
        return far
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if inside(middle) else (near, middle)
    return near


def _subgroup_masks(answered: JoinedPredictions, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each subgroup and the mask of its items, [n] booleans."""
    kinds_of = answered.items["edits" if name == "edit" else name].tolist()
    number = {kinds: place for place, kinds in enumerate(dict.fromkeys(kinds_of))}
    if not any(number):
        return
    numbers = np.array([number[kinds] for kinds in kinds_of])
    several = {kinds: kinds if name == "edit" else (kinds,) for kinds in number}
    shared_aqs = answered.answerable & (name in UQ_ONLY_FIELDS)
    for kind in sorted({kind for kinds in several.values() for kind in kinds if kind}):
        of_kind = np.isin(numbers, [number[those] for those, kinds in several.items() if kind in kinds])
        if (of_kind & ~shared_aqs).any():
            yield kind, shared_aqs | of_kind
