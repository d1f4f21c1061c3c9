"""Compare all models in pairs and derive rank intervals.

Each model is compared with every other model. The differences of all pairs have simultaneous 95 % intervals
(max-t, with a bootstrap over images, see `simultaneous_intervals`). So the probability that a table calls any
two equal models different is at most 5 %, whatever the number of models.

The rank of a model is an interval. The best rank is 1 + the number of models that are significantly better.
The worst rank is the number of models - the number of models that are significantly worse. With 95 %
confidence, the true ranks of all models are in these intervals (Klein, Wright and Wieczorek, 2020, Journal of
the Royal Statistical Society C 69, 589-606; Mogstad, Romano, Shaikh and Wilhelm, 2024, Review of Economic
Studies 91, 476-518).

A model with a noisy score can have a better best rank than a model above it in the table. Intervals are
therefore widened until both ends are monotonic in the order of the table: the best rank of a model becomes
the best one of the model and all models below it, and the worst rank becomes the worst one of the model and
all models above it. Widening an interval does not lower the confidence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from pipeline.scoring.bootstrap import percentile_interval, simultaneous_intervals
from pipeline.scoring.model_comparison import ScoreDifference


class ScoreEstimate(NamedTuple):
    """A score of a row.

    Attributes:
        seed_values: [seeds], the score of each seed on the data.
        replicates: [replicates], the mean of the score over seeds on each bootstrap replicate; NaN where
            undefined.
    """

    seed_values: np.ndarray
    replicates: np.ndarray

    @property
    def value(self) -> float:
        """Return the mean over seeds."""
        return float(self.seed_values.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval by the bootstrap over images."""
        return percentile_interval(self.replicates)


class PairwiseComparison(NamedTuple):
    """Models compared by one score.

    Attributes:
        model_names: The models that have the score, best first.
        differences: Pair (one, other) of model names, in the order of `model_names` -> the score of `one`
            minus the score of `other`. The intervals of all pairs are simultaneous.
        rank_intervals: The best and the worst rank of each model.
        letter_display: The compact letter display: two models share a letter exactly if they do not differ
            significantly.
    """

    model_names: list[str]
    differences: dict[tuple[str, str], ScoreDifference]
    rank_intervals: dict[str, tuple[int, int]]
    letter_display: dict[str, str]

    def get_difference(self, one: str, other: str) -> ScoreDifference | None:
        """Return the score of `one` minus the score of `other`; None for the same model, or if either has no
        score.
        """
        if (one, other) in self.differences:
            return self.differences[one, other]
        reverse = self.differences.get((other, one))
        if reverse is None or reverse.interval is None:
            return None
        low, high = reverse.interval
        return ScoreDifference(-reverse.difference, (-high, -low))


def compare_models(scores: Mapping[str, ScoreEstimate], lower_is_better: bool = False) -> PairwiseComparison:
    """Compare all models with each other.

    Args:
        scores: Model name -> score. All scores must use the same replicates. A model whose score is NaN is
            excluded.
        lower_is_better: Whether the lowest score is the best.
    """
    sign = -1 if lower_is_better else 1
    known = {name: one for name, one in scores.items() if not math.isnan(one.value)}
    names = sorted(known, key=lambda name: (-sign * known[name].value, name))
    pairs = list(combinations(names, 2))
    estimates = [known[one].value - known[other].value for one, other in pairs]
    samples = [known[one].replicates - known[other].replicates for one, other in pairs]
    bounds = simultaneous_intervals(estimates, np.array(samples)).tolist() if pairs else []
    differences = {
        pair: ScoreDifference(estimate, (low, high))
        for pair, estimate, (low, high) in zip(pairs, estimates, bounds, strict=True)
    }
    # The first model of each pair is ahead, so only the first model can be significantly better.
    better = [
        pair for pair, (low, high) in zip(pairs, bounds, strict=True) if (low > 0 if sign > 0 else high < 0)
    ]
    return PairwiseComparison(
        names, differences, compute_rank_intervals(names, better), compact_letter_display(names, better)
    )


def find_significant_pairs(comparison: PairwiseComparison) -> set[tuple[str, str]]:
    """Return the pairs of models whose difference is significant, the better one first.

    >>> found = PairwiseComparison(["a", "b"], {("a", "b"): ScoreDifference(0.2, (0.1, 0.3))}, {}, {})
    >>> find_significant_pairs(found)
    {('a', 'b')}
    """
    return {
        pair
        for pair, difference in comparison.differences.items()
        if difference.interval and (difference.interval[0] > 0 or difference.interval[1] < 0)
    }


def compute_rank_intervals(
    names: Sequence[str], better_pairs: Collection[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """Return the best and the worst rank of each model; both are monotonic in the order of the names.

    Args:
        names: Names of the models, best first.
        better_pairs: Pairs of names. The first model of a pair is significantly better than the second.

    >>> compute_rank_intervals(["a", "b", "c"], [("a", "c")])
    {'a': (1, 2), 'b': (1, 3), 'c': (2, 3)}
    >>> compute_rank_intervals(["a", "b", "c"], [("a", "b")])  # c is noisy and might be the best
    {'a': (1, 2), 'b': (1, 3), 'c': (1, 3)}
    """
    place = {name: number for number, name in enumerate(names)}
    best, worst = np.ones(len(names), int), np.full(len(names), len(names))
    for one, other in better_pairs:
        best[place[other]] += 1
        worst[place[one]] -= 1
    best = np.minimum.accumulate(best[::-1])[::-1]
    worst = np.maximum.accumulate(worst)
    return dict(zip(names, zip(best.tolist(), worst.tolist(), strict=True), strict=True))


def compact_letter_display(
    names: Sequence[str], different_pairs: Collection[tuple[str, str]]
) -> dict[str, str]:
    """Return the letters of each name: two names share a letter exactly if they do not differ significantly.

    Source: Piepho, 2004, Journal of Computational and Graphical Statistics 13(2), 456-466, "insert and
    absorb".

    Args:
        names: Names of the models, best first. The letter of the best model is "a".
        different_pairs: Pairs that differ significantly, in any order.

    >>> pairs = [("text_only", "rp"), ("rp", "msp"), ("mix", "text_only")]
    >>> compact_letter_display(["rp", "mix", "msp", "text_only"], pairs)
    {'rp': 'a', 'mix': 'ab', 'msp': 'bc', 'text_only': 'c'}
    """
    groups = [frozenset(names)]
    for one, other in different_pairs:
        split_groups = [
            part for group in groups if {one, other} <= group for part in (group - {one}, group - {other})
        ]
        groups = [group for group in groups if not {one, other} <= group] + split_groups
        groups = [group for group in dict.fromkeys(groups) if not any(group < larger for larger in groups)]
    place = {name: number for number, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    return {
        name: "".join(_format_letter(number) for number, group in enumerate(groups) if name in group)
        for name in names
    }


def _format_letter(number: int) -> str:
    """Return a to z, then a1, b1 and so on.

    >>> _format_letter(25), _format_letter(26)
    ('z', 'a1')
    """
    suffix, index = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[index] + (str(suffix) if suffix else "")
