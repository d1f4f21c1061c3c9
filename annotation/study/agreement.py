"""How far annotators agree on candidates, beyond what chance would give, with 95 % intervals by bootstrap over images.

Undefined is None: nothing was judged twice, or everybody said the same throughout, so that there is nothing to agree about.
Where votes are asked one after the other until a candidate is sure, those with several are the doubtful ones: agreement is to
be told of candidates drawn by lot (`annotation.study.assignment.drawn`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from pipeline.core.records import SUBSETS, Record, Subset
from pipeline.scoring.bootstrap import bootstrap, percentile_interval

NUM_REPLICATES, BOOTSTRAP_SEED = 1000, 0


class IntervalEstimate(Record):
    """A value and its interval; None where undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class SubsetAgreement(Record):
    """Agreement on the candidates of one subset, or of all (`subset` None).

    Attributes:
        candidates: judged by at least two. verdicts: on those.
        share: of pairs of verdicts on one candidate, those that say the same, the mean over candidates, in [0, 1].
        alpha: Krippendorff's, nominal, at most 1, 0 for chance. ac1: Gwet's, which does not sink where nearly all is alike.
    """

    subset: Subset | None
    candidates: int
    verdicts: int
    observed: IntervalEstimate
    krippendorff_alpha: IntervalEstimate
    gwet_ac1: IntervalEstimate


class RetestReliability(Record):
    """Candidates that one person judged twice, and the share of them on which they said the same again."""

    num_repeated: int
    agreement_rate: IntervalEstimate


def compute_agreement(votes: pd.DataFrame) -> list[SubsetAgreement]:
    """Agreement on all candidates together, then on those of each subset that has any.

    Args:
        votes: answers on candidates, one of each person on each.
    """
    own: list[tuple[Subset, pd.DataFrame]] = [(key, votes[votes["subset"] == key]) for key in SUBSETS]
    return [_subset_agreement(None, votes), *(_subset_agreement(key, rows) for key, rows in own if len(rows))]


def compute_retest(answers: pd.DataFrame) -> RetestReliability:
    """Of answers on candidates by people that are not excluded, repeats among them."""
    rows = answers.assign(invalid=answers["choice"] == "invalid").groupby(
        ["annotator", "candidate_id"], observed=True
    )
    given = rows["invalid"].agg(["size", "mean"]).assign(at=rows["image_id"].first())
    both = given[given["size"] > 1]
    sums = np.stack([both["mean"].isin([0, 1]), np.ones(len(both))], axis=1).astype(float)
    same = bootstrap_estimate(sums, both["at"].to_numpy(), lambda total: total[..., 0] / total[..., 1])
    return RetestReliability(num_repeated=len(both), agreement_rate=same)


def bootstrap_estimate(
    sums: np.ndarray, images: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]
) -> IntervalEstimate:
    """A figure of sums, with its interval.

    Args:
        sums: [units, terms]. images: [units], of which each is. value: sums over units, [..., terms] -> [...].
    """
    with np.errstate(all="ignore"):
        found = float(statistic(sums.sum(axis=0)))
        if not np.isfinite(found):
            return IntervalEstimate()
        names, number = np.unique(images, return_inverse=True)
        by_image = np.zeros((len(names), sums.shape[1]))
        np.add.at(by_image, number, sums)
        again = bootstrap(
            lambda counts: statistic(counts @ by_image), len(names), NUM_REPLICATES, BOOTSTRAP_SEED
        )
        low, high = percentile_interval(np.where(np.isfinite(again), again, np.nan))
    if np.isnan(low + high):
        return IntervalEstimate(value=found)
    return IntervalEstimate(value=found, low=float(low), high=float(high))


def compute_terms(counts: np.ndarray) -> np.ndarray:
    """What `share`, `alpha` and `ac1` are made of: [units, 7].

    Args:
        counts: [units, 2], how many judges gave each value; at least one each.
    """
    one, other = counts.T.astype(float)
    total, twice = one + other, one + other >= 2
    pairs = np.where(twice, 2 * one * other / np.maximum(total - 1, 1), 0)  # that differ, over judges - 1
    differ = np.where(twice, pairs / total, 0)
    return np.stack(
        [twice - differ, twice, pairs, twice * one, twice * other, other / total, np.ones(len(total))], axis=1
    )


def observed_agreement(sums: np.ndarray) -> np.ndarray:
    """Observed agreement of sums of `terms`."""
    return sums[..., 0] / sums[..., 1]


def krippendorff_alpha(sums: np.ndarray) -> np.ndarray:
    """Krippendorff's alpha of sums of `terms`.

    >>> float(alpha(terms(np.array([[2, 0], [0, 2], [1, 1]])).sum(axis=0)).round(4))  # 1 - observed 1/3 / expected 3/5
    0.4444
    """
    pairs, one, other = (sums[..., place] for place in (2, 3, 4))
    return 1 - pairs * (one + other - 1) / (2 * one * other)


def gwet_ac1(sums: np.ndarray) -> np.ndarray:
    """Gwet's AC1 of sums of `terms` (British Journal of Mathematical and Statistical Psychology 61, 2008).

    >>> float(ac1(terms(np.array([[2, 0], [2, 0], [2, 0], [1, 1]])).sum(axis=0)).round(4))  # (3/4 - 7/32) / (1 - 7/32)
    0.68
    """
    often = sums[..., 5] / sums[..., 6]
    chance = 2 * often * (1 - often)
    return (observed_agreement(sums) - chance) / (1 - chance)


def _subset_agreement(subset: Subset | None, rows: pd.DataFrame) -> SubsetAgreement:
    invalid = (rows["choice"] == "invalid").to_numpy(int)
    table = rows.assign(valid=1 - invalid, invalid=invalid).groupby("candidate_id", observed=True)
    counts = table[["valid", "invalid"]].sum().to_numpy()
    images = table["image_id"].first().to_numpy()
    several = counts.sum(axis=1) >= 2
    sums = compute_terms(counts)
    return SubsetAgreement(
        subset=subset,
        candidates=int(several.sum()),
        verdicts=int(counts[several].sum()),
        observed=bootstrap_estimate(sums, images, observed_agreement),
        krippendorff_alpha=bootstrap_estimate(sums, images, krippendorff_alpha),
        gwet_ac1=bootstrap_estimate(sums, images, gwet_ac1),
    )
