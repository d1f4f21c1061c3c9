"""The cluster bootstrap: resample clusters of rows, compute a statistic on every resample, and compute
intervals.

Questions about one image are not independent, so whole images (or other clusters of rows) are resampled. A
replicate is a resample. It is stored as a row of counts: how often each cluster was sampled. A statistic
takes a matrix of counts [replicates, clusters], weights every row of data by the count of its cluster, and
returns one value, or one row of values, for each replicate. Rows of data are never copied. The same seed
gives the same replicates for every model and every statistic, so differences between models are paired.

>>> count, (cluster,) = number_clusters([["image 1", "image 1", "image 2", "image 3"]])
>>> statistic = cluster_auroc(np.array([0.9, 0.1, 0.8, 0.3]), np.array([True, False, True, False]), cluster)
>>> samples = bootstrap(statistic, count, replicates=100, seed=0)
>>> samples.shape
(100,)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .threshold_sweep import safe_divide_arrays

# Default confidence level of intervals.
CONFIDENCE_LEVEL = 0.95
# An interval is undefined if the statistic is undefined in more than this proportion of the replicates.
MAX_UNDEFINED_PROPORTION = 0.05
# Maximum number of values in a batch of replicates, so that a batch fits into the cache of the processor.
VALUES_PER_BATCH = 1 << 14
Result = TypeVar("Result")
# A function that takes counts [replicates, clusters] and returns values [replicates, ...].
Statistic = Callable[[np.ndarray], np.ndarray]


def number_clusters(columns: Sequence[Sequence[str]]) -> tuple[int, list[np.ndarray]]:
    """Assign indices to the clusters of several data sets together.

    Args:
        columns: For each data set, the name of the cluster of each row.

    Returns:
        The number of distinct clusters, and for each data set the cluster index of each row, [n] integers
        from 0 on.

    >>> number_clusters([["b", "a", "b"], ["c", "a"]])
    (3, [array([0, 1, 0]), array([2, 1])])
    """
    numbers: dict[str, int] = {}
    places = [np.array([numbers.setdefault(name, len(numbers)) for name in names], int) for names in columns]
    return len(numbers), places


def sample_cluster_counts(num_clusters: int, replicates: int | range, seed: int) -> np.ndarray:
    """Sample clusters with replacement.

    Args:
        num_clusters: Number of clusters. Each replicate samples this number of clusters.
        replicates: Number of replicates, or a range of replicate indices. A replicate depends only on its
            index and the seed, so batches of replicates can be sampled separately and in any order.
        seed: A non-negative integer.

    Returns:
        How often each cluster is sampled, [replicates, num_clusters] integers; each row sums to
        `num_clusters`.

    >>> sample_cluster_counts(3, 2, seed=0).sum(axis=1).tolist()
    [3, 3]
    """
    wanted = range(replicates) if isinstance(replicates, int) else replicates
    counts = np.zeros((len(wanted), num_clusters), int)
    if num_clusters:
        for row, number in zip(counts, wanted, strict=True):
            drawn = np.random.default_rng([seed, number]).integers(0, num_clusters, num_clusters)
            row[:] = np.bincount(drawn, minlength=num_clusters)
    return counts


def bootstrap(
    statistic: Statistic,
    num_clusters: int,
    replicates: int = 1000,
    seed: int = 0,
    *,
    num_rows: int = 0,
    threads: int = 1,
) -> np.ndarray:
    """Compute a statistic on every replicate, in batches, so that memory does not grow with the number of
    replicates.

    Args:
        statistic: Takes counts [r, num_clusters] and returns an array [r, ...].
        num_clusters, replicates, seed: As for `sample_cluster_counts`.
        num_rows: Number of rows of data that the statistic weights, if larger than `num_clusters`. It makes
            the batches smaller.
        threads: Number of threads, each of which computes one batch at a time. Above 1, `statistic` must be
            thread-safe. The result does not depend on the number of threads.

    Returns:
        The statistic on each replicate, [replicates, ...].
    """
    return np.concatenate(
        bootstrap_batches(statistic, num_clusters, replicates, seed, num_rows=num_rows, threads=threads)
    )


def bootstrap_batches(
    statistic: Callable[[np.ndarray], Result],
    num_clusters: int,
    replicates: int,
    seed: int,
    *,
    num_rows: int = 0,
    threads: int = 1,
) -> list[Result]:
    """Return the results of a statistic of any type for each batch of replicates, in order.

    Arguments as for `bootstrap`.
    """

    def compute(batch: slice) -> Result:
        return statistic(sample_cluster_counts(num_clusters, range(batch.start, batch.stop), seed))

    batches = _batch_slices(replicates, max(num_rows, num_clusters))
    if threads == 1:
        return [*map(compute, batches)]
    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(compute, batches)]


def apply_in_batches(
    statistic: Callable[[np.ndarray], Result], counts: np.ndarray, num_rows: int = 0
) -> list[Result]:
    """Return the results of a statistic for each batch of the given counts, [replicates, clusters]."""
    return [statistic(counts[batch]) for batch in _batch_slices(len(counts), max(num_rows, counts.shape[1]))]


def _batch_slices(replicates: int, width: int) -> list[slice]:
    size = max(1, VALUES_PER_BATCH // max(width, 1))
    return [slice(first, min(first + size, replicates)) for first in range(0, replicates, size)]


def cluster_mean(values: ArrayLike, cluster: np.ndarray) -> Statistic:
    """Return the mean over rows as a statistic of cluster counts; NaN if no row with a value is sampled.

    Args:
        values: [n] or [n, k]; rows with NaN are not counted.
        cluster: [n], the cluster index of each row.

    Returns:
        A statistic that returns [replicates] or [replicates, k].

    >>> cluster_mean([1, 0, np.nan], np.array([0, 0, 1]))(np.array([[1, 1], [0, 2]]))
    array([0.5, nan])
    """
    values = np.asarray(values, float)
    shape = (int(cluster.max(initial=-1)) + 1, *values.shape[1:])
    totals, defined = np.zeros(shape), np.zeros(shape)
    np.add.at(totals, cluster, np.nan_to_num(values))
    np.add.at(defined, cluster, ~np.isnan(values))

    def mean(counts: np.ndarray) -> np.ndarray:
        drawn = counts[:, : shape[0]].astype(float)
        return safe_divide_arrays(drawn @ totals, drawn @ defined)

    return mean


def cluster_auroc(
    scores: np.ndarray, positive: np.ndarray, cluster: np.ndarray, strata: np.ndarray | None = None
) -> Statistic:
    """Return AUROC as a statistic of cluster counts.

    AUROC is the probability that a random positive row has a higher score than a random negative row, with
    ties counted as one half. The rows are sorted only once, for all replicates. The value is NaN for a
    replicate without any pair of a positive and a negative row.

    Args:
        scores: [n], without NaN.
        positive: [n] booleans.
        cluster: [n], the cluster index of each row.
        strata: [n] integers. Only rows of the same stratum are compared, and all pairs have equal weight.
            None means that all rows are in the same stratum.

    Returns:
        A statistic that returns [replicates].

    >>> auroc = cluster_auroc(np.array([3, 2, 1]), np.array([True, False, True]), np.array([0, 1, 2]))
    >>> auroc(np.array([[1, 1, 1], [2, 1, 0], [3, 0, 0]]))
    array([0.5, 1. , nan])
    """
    positive = positive.astype(bool)
    values, rank = np.unique(scores, return_inverse=True)
    stratum = np.zeros(len(rank), int) if strata is None else np.unique(strata, return_inverse=True)[1]
    # Orders rows by stratum, then by score.
    key = stratum * len(values) + rank
    order = np.flatnonzero(~positive)[np.argsort(key[~positive], kind="stable")]
    negative_key, positive_key = key[order], key[positive]
    # For each positive row, the number of negative rows before its stratum, before the row, and up to the end
    # of its tie.
    before = np.searchsorted(negative_key, stratum[positive] * len(values))
    below = np.searchsorted(negative_key, positive_key, "left")
    to = np.searchsorted(negative_key, positive_key, "right")
    end = np.searchsorted(negative_key, (stratum[positive] + 1) * len(values))
    several, tied = strata is not None, bool((below < to).any())
    positive_cluster, negative_cluster = cluster[positive], cluster[order]

    def auroc(counts: np.ndarray) -> np.ndarray:
        # Sums of integers are exact in any order.
        weights = gather(counts, positive_cluster)
        sums = np.zeros((len(counts), len(order) + 1), counts.dtype)
        np.cumsum(gather(counts, negative_cluster), axis=1, out=sums[:, 1:])
        twice = gather(sums, below)
        twice = twice + gather(sums, to) if tied else 2 * twice
        if not several:
            return safe_divide_arrays((weights * twice).sum(axis=1) / 2, weights.sum(axis=1) * sums[:, -1])
        first = gather(sums, before)
        pairs = (weights * (gather(sums, end) - first)).sum(axis=1)
        return safe_divide_arrays((weights * (twice - 2 * first)).sum(axis=1) / 2, pairs)

    return auroc


def gather(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return `rows[:, indices]`, [r, m], for rows [r, n] and indices [m]. This is faster than indexing."""
    return rows.take(indices, axis=1, mode="clip")


def percentile_interval(samples: np.ndarray, level: float = CONFIDENCE_LEVEL) -> tuple[float, float]:
    """Return the percentile interval of one statistic.

    Args:
        samples: [replicates]; NaN where undefined.
        level: The confidence level.

    Returns:
        The lower and the upper end; NaN if more than 5 % of the replicates are undefined.
    """
    low, high = percentile_intervals(samples, level).tolist()
    return low, high


def percentile_intervals(samples: np.ndarray, level: float = CONFIDENCE_LEVEL) -> np.ndarray:
    """Return the percentile interval of each of several statistics separately.

    Args:
        samples: [replicates, ...]; NaN where undefined.
        level: The confidence level of each interval.

    Returns:
        The lower and the upper ends, [2, ...]; NaN for a statistic that is undefined in more than 5 % of the
        replicates.
    """
    ends = [(1 - level) / 2, (1 + level) / 2]
    undefined = np.isnan(samples).mean(axis=0) if len(samples) else np.ones(samples.shape[1:])
    usable = undefined <= MAX_UNDEFINED_PROPORTION
    if usable.all() and not undefined.any():
        return np.quantile(samples, ends, axis=0)
    found = np.full((2, *samples.shape[1:]), np.nan)
    if usable.any():
        found[:, usable] = np.nanquantile(samples[:, usable], ends, axis=0)
    return found


def simultaneous_intervals(
    estimates: ArrayLike, samples: np.ndarray, level: float = CONFIDENCE_LEVEL
) -> np.ndarray:
    """Return simultaneous intervals of several statistics: with probability `level` all of them contain the
    true value.

    The method is max-t, also called sup-t bands (Montiel Olea and Plagborg-Møller, 2019, Journal of Applied
    Econometrics 34, 1-17). Each interval is the estimate plus or minus its standard error times a critical
    value. The critical value is the same for all statistics: the quantile of the largest standardized
    deviation over all statistics. For all pairwise differences of a few independent means, the critical value
    equals that of Tukey's range test.

    Args:
        estimates: [k], the value of each statistic on the data.
        samples: [k, replicates]; NaN where undefined.
        level: The joint confidence level.

    Returns:
        The lower and the upper ends, [k, 2]; NaN for a statistic that is undefined in more than 5 % of the
        replicates. A statistic that is the same in all replicates has an interval of width 0.
    """
    estimates = np.asarray(estimates, float)
    found = np.full((len(estimates), 2), np.nan)
    defined = np.isfinite(samples)
    usable = (
        (defined.mean(axis=1) >= 1 - MAX_UNDEFINED_PROPORTION) & np.isfinite(estimates)
        if defined.size
        else []
    )
    rows = np.flatnonzero(usable)
    kept = samples[rows][:, defined[rows].all(axis=0)]
    if not kept.size:
        return found
    errors = kept.std(axis=1)
    # Rounding errors can make a constant statistic seem to vary, so tiny standard errors count as 0.
    varies = errors > 1e-12
    critical = 0.0
    if varies.any():
        deviations = np.abs(kept[varies] - estimates[rows][varies, None]) / errors[varies, None]
        critical = float(np.quantile(deviations.max(axis=0), level))
    widths = np.where(varies, critical * errors, 0.0)
    found[rows, 0], found[rows, 1] = estimates[rows] - widths, estimates[rows] + widths
    return found
