"""The scores of a subset whose pictures are drawn anew: what each repetition of the bootstrap computes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from .answer_scores import item_scores
from .answered import Answered, Options
from .bootstrap import Scoring
from .calibration import BINS, outcomes, unfit
from .drawings import Drawings
from .dual_accuracy import best_dual_threshold, has_enough_pairs, pairs
from .realistic import SCORES, scores_of
from .selective import accuracies, coverages, earned, thresholds_of_costs
from .sweep import Sweep, ranking, ratio


def resampled(answered: Answered, cluster: np.ndarray, options: Options, groups: Collection[str]) -> Scoring:
    """The scores that have an interval, by the way to each in its group ("coverage_at_risk/0.01").

    Args:
        cluster: [n], the number of each item's picture. groups: those wanted.
    """
    told_apart = Swept(*answered.columns, cluster)
    by_confidence = told_apart
    if answered.missing.any():
        by_confidence = Swept(answered.confidence, answered.correct, answered.answerable, cluster)
    parts: list[Scoring] = []
    if "realistic" in groups:
        parts.append(_realistic(answered, cluster, told_apart))
    if "pairs" in groups and has_enough_pairs(answered):
        parts.append(_pairs(answered, cluster, options))
    if "answers" in groups:
        parts.append(_means(item_scores(answered), cluster))
    if "selective" in groups and answered.confident:
        parts += _selective(answered, cluster, options, by_confidence)
    if "calibration" in groups and not unfit(answered):
        parts += _calibration(answered, cluster, by_confidence)
    return lambda drawn: {name: value for part in parts for name, value in part(drawn).items()}


class Swept:
    """Items in the order of their confidence, swept over anew for each drawing; of the same drawing once."""

    def __init__(
        self, confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray, cluster: np.ndarray
    ) -> None:
        self.by = ranking(confidence, correct, answerable)
        self.places, self.memory = cluster[self.by.rows], self.by.sums()
        self.weights = self.drawn = self.places
        self.swept: Sweep | None = None

    def __call__(self, drawn: np.ndarray) -> Sweep:
        if self.swept is None or drawn is not self.drawn:
            self.drawn, self.weights = drawn, drawn[self.places]
            self.swept = self.by.sweep(self.weights, self.memory)
        return self.swept


def _realistic(answered: Answered, cluster: np.ndarray, told_apart: Swept) -> Scoring:
    """By `Drawings`, but where most items are tied: then the sweep is short."""
    ends = told_apart.by.ends
    if ends is not None and 2 * len(ends) < len(cluster):
        return lambda drawn: scores_of(told_apart(drawn))
    drawings = Drawings(told_apart.by, cluster)

    def scores(drawn: np.ndarray) -> dict[str, float]:
        found = drawings(drawn)
        return {
            name: found[name] if name in found else score.of(told_apart(drawn))
            for name, score in SCORES.items()
        }

    return scores


def _means(columns: dict[str, np.ndarray], cluster: np.ndarray) -> Scoring:
    """Means over items, [n] each, NaN for those that do not count: of sums over pictures."""
    count = int(cluster.max(initial=-1)) + 1
    totals = {name: np.bincount(cluster, np.nan_to_num(values), count) for name, values in columns.items()}
    defined = {name: np.bincount(cluster, ~np.isnan(values), count) for name, values in columns.items()}

    def scores(drawn: np.ndarray) -> dict[str, float]:
        return {
            name: ratio((drawn[:count] * totals[name]).sum(), (drawn[:count] * defined[name]).sum())
            for name in columns
        }

    return scores


def _pairs(answered: Answered, cluster: np.ndarray, options: Options) -> Scoring:
    """Dual accuracy; the threshold stays that chosen on dev."""
    threshold = best_dual_threshold(*answered.dev.paired) if answered.dev else options.threshold
    uqs, lowest, right = pairs(*answered.paired)
    high = answered.columns[0][uqs]
    columns = {
        "dual_accuracy": right * (lowest > high),
        "dual_accuracy_at_threshold": right * ((lowest >= threshold) & (high < threshold)),
    }
    return _means(columns, cluster[uqs])


def _selective(answered: Answered, cluster: np.ndarray, options: Options, swept: Swept) -> list[Scoring]:
    """C@R with thresholds of each drawing; Phi_c with those chosen on dev, which stay."""
    accuracy = accuracies(answered)
    if answered.people:
        swept = Swept(answered.confidence, accuracy, answered.answerable, cluster)
    parts: list[Scoring] = [
        lambda drawn: {
            f"coverage_at_risk/{risk}": value
            for risk, value in coverages(swept(drawn), options.risks).items()
        }
    ]
    if answered.dev:
        thresholds = thresholds_of_costs(answered.dev.confidence, accuracies(answered.dev), options.costs)
        columns = {
            f"effective_reliability/{cost:g}/phi": np.where(
                answered.confidence >= threshold, earned(accuracy, cost), 0.0
            )
            for cost, threshold in thresholds.items()
        }
        parts.append(_means(columns, cluster))
    return parts


def _calibration(answered: Answered, cluster: np.ndarray, swept: Swept) -> list[Scoring]:
    """ECE and Brier. By falling confidence the items of a bin stand side by side, so that its sums are differences."""
    at, happened = outcomes(answered)
    cluster = cluster[~answered.missing]
    if answered.people or answered.missing.any():
        swept = Swept(at.confidence, happened["right"], at.answerable, cluster)
    by, memory = swept.by, np.empty(len(swept.by.rows))
    of_width = np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], by.thresholds)
    width_starts = np.flatnonzero(np.diff(of_width, prepend=-1))

    def scores(drawn: np.ndarray) -> dict[str, float]:
        sums = swept(drawn)
        taken = sums.taken
        # Of BINS equal parts a bin takes those below which items / BINS x its number stand, as `bin_of_mass`.
        items = int(taken[-1])
        limits = items - -(-np.arange(BINS - 1, 0, -1) * items // BINS)
        starts = np.searchsorted(taken[1:], limits, side="right")
        mass_starts = np.unique(np.append(0, starts[starts < len(taken) - 1]))
        said = np.multiply(by.confidence, swept.weights, out=memory)
        found = {}
        for name, of_bins in (("ece", width_starts), ("ece_equal_mass", mass_starts)):
            places = of_bins if by.ends is None else by.ends[of_bins]
            confidences = np.add.reduceat(said, places)
            for outcome in happened:
                column = sums.aqs if outcome == "answerable" else sums.right
                true = np.diff(np.append(column[of_bins], column[-1]))
                found[f"{outcome}/{name}"] = ratio(np.abs(confidences - true).sum(), items)
        return found

    squares = {f"{name}/brier": (at.confidence - true) ** 2 for name, true in happened.items()}
    return [scores, _means(squares, cluster)]
