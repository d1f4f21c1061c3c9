"""Compare models in pairs on the same bootstrap samples of images."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from .answer_scores import ANSWER_SCORES as ANSWER_SCORES
from .bootstrap import simultaneous_intervals
from .bootstrap_scores import Replicates
from .joined_predictions import Scores
from .realistic_vqa import REALISTIC_SCORES as REALISTIC_SCORES

# Titles of the scores by which models are compared.
SCORE_TITLES = {name: score.title for name, score in (REALISTIC_SCORES | ANSWER_SCORES).items()} | {
    "dual_accuracy": "dual accuracy",
    "dual_accuracy_at_threshold": "dual accuracy at threshold",
    "auc": "risk-coverage AUC",
    "coverage_at_risk": "coverage at risk",
    "phi": "effective reliability",
    "ece": "ECE",
    "ece_equal_mass": "ECE of equal mass",
    "brier": "Brier score",
}
LOWER_IS_BETTER = {name for name, score in REALISTIC_SCORES.items() if score.lower_is_better} | {
    *("auc", "ece", "ece_equal_mass", "brier")
}
COMPARED_GROUPS = ("realistic", "pairs", "answers", "selective", "calibration")
# All scores of these groups are compared. Of the other groups, only scores with a title are compared.
FULLY_COMPARED_GROUPS = ("realistic", "answers")


class ScoreDifference(NamedTuple):
    """Score of a model minus the score of another model.

    Attributes:
        difference: The difference.
        interval: Interval of the paired difference, simultaneous with the intervals of all other pairs; None
            without a bootstrap.
        proportion_better: Proportion of bootstrap replicates in which the model is better; None without a
            bootstrap.
    """

    difference: float
    interval: tuple[float, float] | None = None
    proportion_better: float | None = None


class ModelComparison(NamedTuple):
    """A model compared with another one.

    Attributes:
        model: Name of the model.
        baseline: Name of the model whose scores are subtracted.
        scores: Subset (or "mean") -> score -> difference.
    """

    model: str
    baseline: str
    scores: dict[str, dict[str, ScoreDifference]]


def select_compared_scores(groups: Mapping[str, Scores]) -> dict[str, float]:
    """Return the scores by which models are compared.

    Keys are paths within the group, such as "coverage_at_risk/0.01".
    """
    return {
        name: value
        for group in COMPARED_GROUPS
        for name, value in flatten_scores(groups.get(group, {}))
        if group in FULLY_COMPARED_GROUPS or not SCORE_TITLES.keys().isdisjoint(name.split("/"))
    }


def flatten_scores(scores: Mapping[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    """Return all numbers of a group with their paths, without strings and intervals."""
    found: list[tuple[str, float]] = []
    for name, value in scores.items():
        if isinstance(value, Mapping):
            found += flatten_scores(value, f"{prefix}{name}/")
        elif not isinstance(value, str | list | tuple):
            found.append((prefix + name, float(value)))
    return found


def get_score_title(name: str) -> str:
    """Return the title of a compared score from its path, such as "coverage at risk 0.01" or "ECE
    answerable".
    """
    parts = name.removeprefix("effective_reliability/").split("/")
    titled = sorted(parts, key=lambda part: part not in SCORE_TITLES)
    return " ".join(SCORE_TITLES.get(part, part.replace("_", " ")) for part in titled)


def lower_is_better(name: str) -> bool:
    """Return whether lower values of a score are better, given its path."""
    return not LOWER_IS_BETTER.isdisjoint(name.split("/"))


def compare_models(
    models: Sequence[tuple[str, Mapping[str, Mapping[str, float]], Replicates]],
) -> list[ModelComparison]:
    """Compare each model with each earlier model in the list.

    Args:
        models: For each model: its name, its scores by subset, and its bootstrap replicates. All models must
            have the same bootstrap samples.
    """
    if len(models) < 2:
        return []
    pairs = list(combinations(range(len(models)), 2))
    rows: list[dict[str, dict[str, ScoreDifference]]] = [{} for _ in pairs]
    for place in models[0][1]:
        names = [
            name for name in models[0][1][place] if all(name in scores[place] for _, scores, _ in models)
        ]
        for row in rows:
            row[place] = {}
        for name in names:
            values = [scores[place][name] for _, scores, _ in models]
            drawn = [repeated[place][name] for _, _, repeated in models if name in repeated.get(place, {})]
            changes = [ScoreDifference(values[j] - values[i]) for i, j in pairs]
            if len(drawn) == len(models):
                each = np.array([drawn[j] - drawn[i] for i, j in pairs])
                better = each < 0 if lower_is_better(name) else each > 0
                bounds = simultaneous_intervals([change.difference for change in changes], each).tolist()
                changes = [
                    ScoreDifference(change.difference, (low, high), float(share))
                    for change, (low, high), share in zip(changes, bounds, better.mean(axis=1), strict=True)
                ]
            for row, change in zip(rows, changes, strict=True):
                row[place][name] = change
    return [ModelComparison(models[j][0], models[i][0], row) for (i, j), row in zip(pairs, rows, strict=True)]


def describe_difference(difference: ModelComparison, subset: str, name: str) -> str:
    """Describe a difference in words: which model is better, by how much, and the interval."""
    change, lower = difference.scores[subset][name], lower_is_better(name)
    what = f"mean {get_score_title(name)}" if subset == "mean" else f"{get_score_title(name)} on {subset}"
    ahead, behind = difference.model, difference.baseline
    if math.isnan(change.difference):
        return f"{ahead} and {behind} cannot be compared: {what} is undefined for one of them"
    sign = -1 if lower else 1
    if sign * change.difference < 0:
        ahead, behind, sign = behind, ahead, -sign
    amount = (
        f"{_format_points(sign * change.difference)} points of {what}{' (lower is better)' if lower else ''}"
    )
    if change.interval is None:
        return f"{ahead} is ahead of {behind} by {amount}; without an interval this may be by chance"
    low, high = sorted(sign * bound for bound in change.interval)
    if math.isnan(low + high):
        return f"no difference can be established: {what} of {ahead} or {behind} is undefined in too many bootstrap replicates"
    span = f"95 % interval {_format_points(low)} to {_format_points(high)}, images resampled"
    if low > 0:
        return f"{ahead} is better than {behind}: {amount}, {span}"
    comparison = (
        f"{ahead} is ahead of {behind} by {amount}"
        if change.difference
        else f"{ahead} and {behind} have the same {what}"
    )
    return f"statistically indistinguishable: {comparison}, {span}"


def _format_points(difference: float) -> str:
    """Format a difference in percentage points, with more digits if it would otherwise read 0.0."""
    points = 100 * difference + 0.0
    return f"{points:.1f}" if abs(points) >= 0.05 or not points else f"{points:.1g}"
