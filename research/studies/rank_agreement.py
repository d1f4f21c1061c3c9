"""Measure how well one ranking of models agrees with another: Kendall's tau and Pearson's r with intervals, on
arrays.

One ranking is the reference (here: by counterfactual pairs). Only pairs of models that the reference
separates are counted. Images are resampled on both sides, so an interval covers the uncertainty of both. A ranking on
resampled images is noisier than the ranking on the data. A percentile interval of a tau near 1 is therefore
low, and its upper end may be below the tau.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import UserError, format_count
from pipeline.core.records import Record
from pipeline.scoring.bootstrap import CONFIDENCE_LEVEL, percentile_interval, percentile_intervals
from pipeline.scoring.rank_correlation import kendall_tau

# With fewer rows no ranking is reported.
MIN_RANKED_ROWS = 14
# JSON has no NaN.
OptionalFloat = float | None
OptionalInterval = tuple[OptionalFloat, OptionalFloat]


class RowScores(NamedTuple):
    """The scores of a row on one set.

    Attributes:
        is_reference: The model is not a competitor, because it uses the ground truth or never sees the image. It is not ranked.
        scores: For each seed the score on the data, then on each of r resamples of the images, [s, 1 + r].
    """

    name: str
    is_reference: bool
    scores: np.ndarray


class RankAgreement(Record):
    """The agreement of a ranking with the reference ranking. Higher is better, None is undefined.

    Attributes:
        num_rows: Ranked rows.
        num_pairs: Pairs of rows that the reference separates. Tau is over these.
        tau, pearson: With percentile intervals at `CONFIDENCE_LEVEL`.
    """

    num_rows: int
    num_pairs: int
    tau: OptionalFloat
    tau_interval: OptionalInterval
    pearson: OptionalFloat
    pearson_interval: OptionalInterval


class TauDifference(Record):
    """The difference of two rankings' taus on the same resamples. Above 0, the first agrees better."""

    tau: OptionalFloat
    interval: OptionalInterval


def average_ranked_rows(
    rows: Sequence[RowScores], min_rows: int = MIN_RANKED_ROWS
) -> tuple[list[str], np.ndarray]:
    """Return names and scores [rows, 1 + r] of the ranked rows, averaged over seeds. References are left out.

    Raises:
        UserError: There are fewer than `min_rows` rows.
    """
    stay = [row for row in rows if not row.is_reference]
    if len(stay) < min_rows:
        raise UserError(
            f"{format_count(len(stay), 'row')} to rank: {', '.join(row.name for row in stay) or 'none'}. At least {min_rows} are needed."
        )
    return [row.name for row in stay], np.array([row.scores.mean(axis=0) for row in stay])


def find_separated_pairs(reference: np.ndarray, level: float = CONFIDENCE_LEVEL) -> np.ndarray:
    """Return the pairs of rows, indices [p, 2], whose difference has an interval over resamples that excludes
    0.

    Args:
        reference: Scores [rows, 1 + r].
        level: The level of the interval.

    >>> scores = np.array([[0.9, 0.8, 0.9], [0.5, 0.6, 0.5], [0.5, 0.55, 0.6]])
    >>> find_separated_pairs(scores).tolist()  # the order of the last two rows differs between resamples
    [[0, 1], [0, 2]]
    """
    every = np.array([*combinations(range(len(reference)), 2)], int).reshape(-1, 2)
    differences = reference[every[:, 0], 1:] - reference[every[:, 1], 1:]
    low, high = percentile_intervals(differences.T, level)
    return every[(low > 0) | (high < 0)]


def pearson_correlation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return Pearson's r of two score tables [rows, ...], column by column.

    NaN where one of them does not vary.
    """
    x, y = (scores - scores.mean(axis=0) for scores in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x * y).sum(axis=0) / np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))


def measure_agreement(
    reference: np.ndarray, other: np.ndarray, level: float = CONFIDENCE_LEVEL
) -> RankAgreement:
    """Measure how the ranking by `other` agrees with the ranking by `reference`.

    Args:
        reference, other: Scores of the same rows, [rows, 1 + r]. Their resamples are of different images, or
            the same in both.
        level: The level of the intervals.
    """
    pairs = find_separated_pairs(reference, level)
    taus, correlations = kendall_tau(reference, other, pairs), pearson_correlation(reference, other)
    return RankAgreement(
        num_rows=len(reference),
        num_pairs=len(pairs),
        tau=_round_or_none(taus[0]),
        tau_interval=_optional_interval(taus[1:], level),
        pearson=_round_or_none(correlations[0]),
        pearson_interval=_optional_interval(correlations[1:], level),
    )


def compare_tau(
    reference: np.ndarray, ours: np.ndarray, theirs: np.ndarray, level: float = CONFIDENCE_LEVEL
) -> TauDifference:
    """Return the tau of `ours` minus the tau of `theirs`, [rows, 1 + r] each.

    Both are resampled on the same images.
    """
    pairs = find_separated_pairs(reference, level)
    differences = kendall_tau(reference, ours, pairs) - kendall_tau(reference, theirs, pairs)
    return TauDifference(
        tau=_round_or_none(differences[0]), interval=_optional_interval(differences[1:], level)
    )


def reweight_categories(
    by_category: Mapping[str, np.ndarray], proportions: Mapping[str, float]
) -> tuple[np.ndarray, float]:
    """Reweight the scores of a set to other proportions of categories among its unanswerable questions.

    AUAF is a mean over unanswerable questions, so this is exact.

    Args:
        by_category: [rows, 1 + r] AUAF of each category's unanswerable questions against all answerable ones.
        proportions: The target proportion of each category.

    Returns:
        The scores, and the proportion of `proportions` in categories that the set does not have. The
        remaining categories are scaled up.

    Raises:
        ValueError: There is no category in common.
    """
    known = {name: rate for name, rate in proportions.items() if name in by_category and rate > 0}
    whole = sum(known.values())
    if not whole:
        raise ValueError(f"no category of {sorted(proportions)} among {sorted(by_category)}")
    parts = [rate / whole * by_category[name] for name, rate in known.items()]
    return np.sum(parts, axis=0), 1 - whole / sum(proportions.values())


def _optional_interval(draws: np.ndarray, level: float) -> OptionalInterval:
    low, high = percentile_interval(draws, level)
    return _round_or_none(low), _round_or_none(high)


def _round_or_none(value: float) -> OptionalFloat:
    return None if np.isnan(value) else round(float(value), 4)
