"""Does one ranking of rows agree with another? Kendall's tau and Pearson's r with intervals, on arrays.

The one is a reference (here: counterfactual twins). Of all pairs of rows only those count that the reference itself tells
apart: where it cannot, nobody can be wrong. Images are drawn anew on both sides, so that an interval holds what either
leaves open. A ranking of redrawn images is noisier than that of the data, so a percentile interval of a tau near 1
lies low: its upper end may be below the tau.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pipeline.core.errors import UserError, format_count
from pipeline.core.records import Record
from pipeline.scoring.bootstrap import CONFIDENCE_LEVEL, percentile_interval, percentile_intervals

MIN_RANKED_ROWS = 14  # rows, with fewer of which no ranking is told
OptionalFloat = float | None  # NaN has no place in JSON
OptionalInterval = tuple[OptionalFloat, OptionalFloat]


class RowScores(NamedTuple):
    """A row's score on one set.

    Attributes:
        reference: it is no method (it sees the truth, or no image), so it has no rank.
        seeds: [s, 1 + r], of each seed the score on the data, then on each of r draws of images.
    """

    name: str
    is_reference: bool
    scores: np.ndarray


class RankAgreement(Record):
    """How a ranking agrees with the reference's. Intervals at `LEVEL`; higher is better; None where undefined.

    Attributes:
        rows: that are ranked. pairs: of all their pairs those that the reference separates; tau is over these.
    """

    num_rows: int
    num_pairs: int
    tau: OptionalFloat
    tau_interval: OptionalInterval
    pearson: OptionalFloat
    pearson_interval: OptionalInterval


class TauDifference(Record):
    """By how much one ranking's tau is above another's, on the same draws; above 0: the first agrees better."""

    tau: OptionalFloat
    interval: OptionalInterval


def average_ranked_rows(
    rows: Sequence[RowScores], min_rows: int = MIN_RANKED_ROWS
) -> tuple[list[str], np.ndarray]:
    """Names and scores [rows, 1 + r] of the rows that have a rank: references are left out, seeds are averaged.

    Raises:
        UserError: fewer than `least` rows.
    """
    stay = [row for row in rows if not row.is_reference]
    if len(stay) < min_rows:
        raise UserError(
            f"{format_count(len(stay), 'row')} to rank, wanted {min_rows} or more: {', '.join(row.name for row in stay) or 'none'}"
        )
    return [row.name for row in stay], np.array([row.scores.mean(axis=0) for row in stay])


def find_separated_pairs(reference: np.ndarray, level: float = CONFIDENCE_LEVEL) -> np.ndarray:
    """The pairs of rows, [p, 2] places, of whose difference the interval over draws excludes 0.

    Args:
        reference: [rows, 1 + r].

    >>> scores = np.array([[0.9, 0.8, 0.9], [0.5, 0.6, 0.5], [0.5, 0.55, 0.6]])
    >>> separated(scores).tolist()  # the last two are now the one, now the other above
    [[0, 1], [0, 2]]
    """
    every = np.array([*combinations(range(len(reference)), 2)], int).reshape(-1, 2)
    differences = reference[every[:, 0], 1:] - reference[every[:, 1], 1:]
    low, high = percentile_intervals(differences.T, level)
    return every[(low > 0) | (high < 0)]


def kendall_tau(reference: np.ndarray, other: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Kendall's tau over these pairs of rows: pairs in the same order less those in the other, as a share of all; a tie
    in either counts as neither. In [-1, 1]; NaN without pairs.

    Args:
        reference, other: [rows, ...], each column for itself. pairs: [p, 2] places of rows.

    >>> float(tau(np.array([3, 2, 1]), np.array([2, 3, 1]), np.array([[0, 1], [0, 2], [1, 2]])))  # (2 - 1) / 3
    0.3333333333333333
    """
    if not len(pairs):
        return np.full(reference.shape[1:], np.nan)
    first, second = pairs.T
    signs = np.sign(reference[first] - reference[second]) * np.sign(other[first] - other[second])
    return signs.mean(axis=0)


def pearson_correlation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Pearson's r of the rows' scores, [rows, ...], each column for itself; NaN where either does not vary."""
    x, y = (scores - scores.mean(axis=0) for scores in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x * y).sum(axis=0) / np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))


def measure_agreement(
    reference: np.ndarray, other: np.ndarray, level: float = CONFIDENCE_LEVEL
) -> RankAgreement:
    """How the ranking by `other` agrees with that by `reference`; [rows, 1 + r] both, of the same rows. The draws of the
    two are of different images, or the same ones in both."""
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
    """The tau of `ours` less that of `theirs`, [rows, 1 + r] each; draws of these two are of the same images."""
    pairs = find_separated_pairs(reference, level)
    differences = kendall_tau(reference, ours, pairs) - kendall_tau(reference, theirs, pairs)
    return TauDifference(
        tau=_round_or_none(differences[0]), interval=_optional_interval(differences[1:], level)
    )


def reweight_categories(
    by_category: Mapping[str, np.ndarray], proportions: Mapping[str, float]
) -> tuple[np.ndarray, float]:
    """The scores of a set whose unanswerable questions are of categories in other shares, and the part of `shares` that is
    of categories that the set does not have; the others then count in proportion.

    AUAF is a mean over unanswerable questions, so this is exact.

    Args:
        by_category: [rows, 1 + r] AUAF of each category's unanswerable questions against all answerable ones.

    Raises:
        ValueError: no category in common.
    """
    known = {name: share for name, share in proportions.items() if name in by_category and share > 0}
    whole = sum(known.values())
    if not whole:
        raise ValueError(f"no category of {sorted(proportions)} among {sorted(by_category)}")
    parts = [share / whole * by_category[name] for name, share in known.items()]
    return np.sum(parts, axis=0), 1 - whole / sum(proportions.values())


def _optional_interval(draws: np.ndarray, level: float) -> OptionalInterval:
    low, high = percentile_interval(draws, level)
    return _round_or_none(low), _round_or_none(high)


def _round_or_none(value: float) -> OptionalFloat:
    return None if np.isnan(value) else round(float(value), 4)
