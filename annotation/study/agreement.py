"""Measure inter-annotator agreement on candidates, with 95 % bootstrap intervals over images.

A number is None where it is undefined: no candidate has two verdicts, or all verdicts are equal. ptive
voting, it is mainly doubtful candidates that get several votes. So agreement must be measured on a random
sample of tasks (`annotation.study.assignment.is_overlap_task`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from pipeline.core.records import Record, Subset, list_judged_subsets
from pipeline.scoring.bootstrap import bootstrap, percentile_interval

NUM_REPLICATES, BOOTSTRAP_SEED = 1000, 0


class IntervalEstimate(Record):
    """A value with its 95 % interval; None where undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class SubsetAgreement(Record):
    """Agreement on the candidates of one subset, or of all subsets together.

    Attributes:
        subset: The subset; None for all subsets together.
        candidates: Number of candidates with at least two verdicts.
        verdicts: Number of verdicts on these candidates.
        observed: Observed agreement in [0, 1]: the proportion of equal pairs of verdicts, averaged over
            candidates.
        krippendorff_alpha: Krippendorff's nominal alpha, at most 1; 0 is chance level.
        gwet_ac1: Gwet's AC1, at most 1. Unlike alpha, it does not drop when nearly all verdicts are equal.
    """

    subset: Subset | None
    candidates: int
    verdicts: int
    observed: IntervalEstimate
    krippendorff_alpha: IntervalEstimate
    gwet_ac1: IntervalEstimate


class RetestReliability(Record):
    """How often an annotator who judges a candidate twice gives the same verdict, as a rate in [0, 1]."""

    num_repeated: int
    agreement_rate: IntervalEstimate


def compute_agreement(votes: pd.DataFrame) -> list[SubsetAgreement]:
    """Compute agreement on all candidates together, then on the candidates of each non-empty subset.

    Args:
        votes: Rows of the answers table about candidates, one row per annotator and candidate.

    Returns:
        First the agreement on all candidates, then one entry per subset in the order of `SUBSETS`.
    """
    subsets = list_judged_subsets(set(votes["subset"]))
    own: list[tuple[Subset, pd.DataFrame]] = [(key, votes[votes["subset"] == key]) for key in subsets]
    return [_subset_agreement(None, votes), *(_subset_agreement(key, rows) for key, rows in own if len(rows))]


def compute_retest(answers: pd.DataFrame) -> RetestReliability:
    """Compute test-retest reliability from the answers that annotators who are not excluded gave about
    candidates and about repeated candidates.
    """
    rows = answers.assign(invalid=answers["choice"] == "invalid").groupby(
        ["annotator", "candidate_id"], observed=True
    )
    given = rows["invalid"].agg(["size", "mean"]).assign(image_id=rows["image_id"].first())
    repeated = given[given["size"] > 1]
    sums = np.stack([repeated["mean"].isin([0, 1]), np.ones(len(repeated))], axis=1).astype(float)
    rate = bootstrap_estimate(
        sums, repeated["image_id"].to_numpy(), lambda total: total[..., 0] / total[..., 1]
    )
    return RetestReliability(num_repeated=len(repeated), agreement_rate=rate)


def bootstrap_estimate(
    sums: np.ndarray, images: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]
) -> IntervalEstimate:
    """Return a statistic of sums over units, with its 95 % interval by cluster bootstrap over images.

    Args:
        sums: [units, terms], the additive terms of each unit (`compute_terms`).
        images: [units], the image of each unit.
        statistic: Maps sums over units, [..., terms], to values, [...].
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
    """Return the additive terms of the three agreement coefficients, [units, 7].

    Args:
        counts: [units, 2], for each unit the number of annotators who gave each of the two values; at least
            one annotator per unit.
    """
    one, other = counts.T.astype(float)
    total, twice = one + other, one + other >= 2
    # Number of disagreeing ordered pairs of annotators, divided by the number of annotators minus 1.
    pairs = np.where(twice, 2 * one * other / np.maximum(total - 1, 1), 0)
    differ = np.where(twice, pairs / total, 0)
    return np.stack(
        [twice - differ, twice, pairs, twice * one, twice * other, other / total, np.ones(len(total))], axis=1
    )


def observed_agreement(sums: np.ndarray) -> np.ndarray:
    """Return observed agreement in [0, 1] from summed terms (`compute_terms`)."""
    return sums[..., 0] / sums[..., 1]


def krippendorff_alpha(sums: np.ndarray) -> np.ndarray:
    """Return Krippendorff's nominal alpha from summed terms (`compute_terms`).

    Source: K. Krippendorff, Content Analysis, 2004.

    In the example, observed disagreement is 1/3 and expected disagreement 3/5:

    >>> float(krippendorff_alpha(compute_terms(np.array([[2, 0], [0, 2], [1, 1]])).sum(axis=0)).round(4))
    0.4444
    """
    pairs, one, other = (sums[..., place] for place in (2, 3, 4))
    return 1 - pairs * (one + other - 1) / (2 * one * other)


def gwet_ac1(sums: np.ndarray) -> np.ndarray:
    """Return Gwet's AC1 from summed terms (`compute_terms`).

    Source: K. Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008.

    In the example, observed agreement is 3/4 and chance agreement 7/32:

    >>> float(gwet_ac1(compute_terms(np.array([[2, 0], [2, 0], [2, 0], [1, 1]])).sum(axis=0)).round(4))
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
