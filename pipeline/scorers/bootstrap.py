"""The cluster bootstrap: resample clusters, weight a statistic by how often each was drawn, and read off intervals.

Questions about one image are not independent, so whole images (or other groups of rows) are resampled. A replicate is a row of
counts, one for each cluster. A statistic takes a matrix of counts [replicates, clusters] and returns one value, or one row of
values, for each replicate. Rows of data are never copied. The same seed gives the same replicates for every model and every
statistic, so differences between models are paired.

    count, (cluster,) = number_clusters([image_ids])
    samples = bootstrap(cluster_auroc(scores, positive, cluster), count, replicates=1000, seed=0)
    low, high = percentile_interval(samples)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from .answered import Answered, Options
from .sweep import share

LEVEL = 0.95  # the confidence level of every interval, unless another is asked for
# An interval is undefined if more than this proportion of the replicates is.
MAX_UNDEFINED = 0.05
# Numbers that a statistic holds at once for a batch of replicates: they stay in the processor's cache.
BATCH = 1 << 16
Statistic = Callable[[np.ndarray], np.ndarray]  # counts [replicates, clusters] -> [replicates, ...]


def number_clusters(columns: Sequence[Sequence[str]]) -> tuple[int, list[np.ndarray]]:
    """Number the clusters of several columns of names together.

    Args:
        columns: For each set of rows, the name of each row's cluster.

    Returns:
        The number of distinct clusters, and for each column the number of each row's cluster, [n] integers.

    >>> number_clusters([["b", "a", "b"], ["c", "a"]])
    (3, [array([0, 1, 0]), array([2, 1])])
    """
    numbers: dict[str, int] = {}
    places = [np.array([numbers.setdefault(name, len(numbers)) for name in names], int) for names in columns]
    return len(numbers), places


def cluster_counts(num_clusters: int, replicates: int | range, seed: int) -> np.ndarray:
    """Draw clusters with replacement.

    Args:
        num_clusters: How many clusters there are; as many are drawn in each replicate.
        replicates: How many replicates, or the numbers of those wanted. A replicate depends on its own number and the seed
            alone, so batches can be drawn separately and in any order.
        seed: A non-negative integer.

    Returns:
        How often each cluster is drawn, [replicates, num_clusters] integers; each row sums to `num_clusters`.
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
    """Compute a statistic on every replicate, batch by batch, so that memory does not grow with the number of replicates.

    Args:
        statistic: Takes counts [r, num_clusters] and returns an array [r, ...].
        num_clusters, replicates, seed: As for `cluster_counts`.
        num_rows: Rows of data that the statistic weights, if they are more than the clusters: batches are smaller then.
        threads: Batches computed at the same time, if the statistic may be called from several threads. The result is the
            same with any number of them.

    Returns:
        [replicates, ...].
    """
    size = max(1, BATCH // max(num_rows, num_clusters, 1))
    batches = [range(first, min(first + size, replicates)) for first in range(0, replicates, size)]

    def compute(batch: range) -> np.ndarray:
        return statistic(cluster_counts(num_clusters, batch, seed))

    if threads == 1:
        return np.concatenate([*map(compute, batches)])
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate([*pool.map(compute, batches)])


def cluster_mean(values: ArrayLike, cluster: np.ndarray) -> Statistic:
    """The mean over rows as a statistic of cluster counts; NaN where no row with a value is drawn.

    Args:
        values: [n] or [n, k]; NaN for rows that do not count.
        cluster: [n], the number of each row's cluster.

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
        return share(drawn @ totals, drawn @ defined)

    return mean


def cluster_auroc(
    scores: np.ndarray, positive: np.ndarray, cluster: np.ndarray, strata: np.ndarray | None = None
) -> Statistic:
    """AUROC as a statistic of cluster counts: the probability that a random positive row has a higher score than a random
    negative one, ties counted half. Rows are sorted once. NaN where a replicate has no pair to compare.

    Args:
        scores: [n], without NaN.
        positive: [n] booleans.
        cluster: [n], the number of each row's cluster.
        strata: [n] integers; only rows of the same stratum are compared, and all such pairs count the same. None for one
            stratum.

    Returns:
        A statistic that returns [replicates].

    >>> auroc = cluster_auroc(np.array([3, 2, 1]), np.array([True, False, True]), np.array([0, 1, 2]))
    >>> auroc(np.array([[1, 1, 1], [2, 1, 0], [3, 0, 0]]))
    array([0.5, 1. , nan])
    """
    positive = positive.astype(bool)
    values, rank = np.unique(scores, return_inverse=True)
    stratum = np.zeros(len(rank), int) if strata is None else np.unique(strata, return_inverse=True)[1]
    key = stratum * len(values) + rank  # orders rows by stratum, then by score
    order = np.flatnonzero(~positive)[np.argsort(key[~positive], kind="stable")]
    negative_key, positive_key = key[order], key[positive]
    # Of the negatives in this order, how many come before each positive's stratum, before it, and up to the end of its tie.
    before = np.searchsorted(negative_key, stratum[positive] * len(values))
    below = np.searchsorted(negative_key, positive_key, "left")
    to = np.searchsorted(negative_key, positive_key, "right")
    end = np.searchsorted(negative_key, (stratum[positive] + 1) * len(values))
    several, tied = strata is not None, bool((below < to).any())
    positive_cluster, negative_cluster = cluster[positive], cluster[order]

    def auroc(counts: np.ndarray) -> np.ndarray:
        # Sums of integers are exact, in whatever order they are added.
        weights = counts[:, positive_cluster]
        sums = np.zeros((len(counts), len(order) + 1), counts.dtype)
        np.cumsum(counts[:, negative_cluster], axis=1, out=sums[:, 1:])
        twice = sums[:, below] + (sums[:, to] if tied else sums[:, below])
        if not several:
            return share((weights * twice).sum(axis=1) / 2, weights.sum(axis=1) * sums[:, -1])
        first = sums[:, before]
        pairs = (weights * (sums[:, end] - first)).sum(axis=1)
        return share((weights * (twice - 2 * first)).sum(axis=1) / 2, pairs)

    return auroc


def percentile_interval(samples: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """The percentile interval of one statistic.

    Args:
        samples: [replicates]; NaN where undefined.
        level: The confidence level.

    Returns:
        Its ends; NaN if more than 5 % of the replicates are undefined.
    """
    defined = samples[~np.isnan(samples)]
    if len(defined) < (1 - MAX_UNDEFINED) * max(len(samples), 1):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def simultaneous_intervals(estimates: ArrayLike, samples: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Intervals of several statistics that hold together: with probability `level` none of them misses (max-t, also called
    sup-t bands: Montiel Olea and Plagborg-Møller, 2019, Journal of Applied Econometrics 34, 1-17).

    Each interval is the estimate plus or minus its standard error times one critical value, the quantile of the largest
    standardized deviation over all statistics. For all differences of a few independent means it is that of Tukey's range test.

    Args:
        estimates: [k], from the data. samples: [k, replicates]; NaN where undefined.
        level: The joint confidence level.

    Returns:
        The lower and the upper ends, [k, 2]; NaN for a statistic that is undefined in more than 5 % of the replicates. A
        statistic that is the same in all replicates has an interval without width.
    """
    estimates = np.asarray(estimates, float)
    found = np.full((len(estimates), 2), np.nan)
    defined = np.isfinite(samples)
    usable = (defined.mean(axis=1) >= 1 - MAX_UNDEFINED) & np.isfinite(estimates) if defined.size else []
    rows = np.flatnonzero(usable)
    kept = samples[rows][:, defined[rows].all(axis=0)]
    if not kept.size:
        return found
    errors = kept.std(axis=1)
    varies = errors > 1e-12  # a difference of equal numbers may leave a rounding error
    critical = 0.0
    if varies.any():
        deviations = np.abs(kept[varies] - estimates[rows][varies, None]) / errors[varies, None]
        critical = float(np.quantile(deviations.max(axis=0), level))
    widths = np.where(varies, critical * errors, 0.0)
    found[rows, 0], found[rows, 1] = estimates[rows] - widths, estimates[rows] + widths
    return found


# Below: what still goes replicate by replicate, until its callers use the functions above.
MANY = 100_000  # items of a subset from which on two threads are faster than one
Scoring = Callable[[np.ndarray], dict[str, float]]  # how often each picture is drawn [pictures] -> scores
Replicates = dict[str, dict[str, np.ndarray]]  # subset (and "mean") -> score -> [b], the repetitions
clusters, interval = number_clusters, percentile_interval


def replicates(
    subsets: Mapping[str, Answered],
    scoring: Callable[[Answered, np.ndarray, Options], Scoring],
    options: Options,
) -> Replicates:
    """Scores of every repetition, [b] each, of every subset and, of several, of their "mean". The same seed draws the
    same pictures for every model, so that differences are paired."""
    count, places = clusters([at.items.clusters.tolist() for at in subsets.values()])
    parted = [*zip(subsets.values(), places, strict=True)]

    def share(first: int) -> list[list[dict[str, float]]]:
        scores_of = [scoring(answered, place, options) for answered, place in parted]
        numbers = range(first, options.bootstrap, threads)
        return [[scores(drawn) for scores in scores_of] for drawn in draws(count, numbers, options.seed)]

    threads = 2 if max(map(len, places)) >= MANY else 1
    with ThreadPoolExecutor(threads) as pool:  # numpy's loops over many items run beside each other
        shares = [*pool.map(share, range(threads))]
    rows = [shares[number % threads][number // threads] for number in range(options.bootstrap)]
    found = {
        name: {score: np.array([row[place][score] for row in rows]) for score in rows[0][place]}
        for place, name in enumerate(subsets)
    }
    if len(subsets) > 1:
        columns = list(found.values())
        shared = [score for score in columns[0] if all(score in column for column in columns)]
        found["mean"] = {score: np.mean([column[score] for column in columns], axis=0) for score in shared}
    return found


def draws(count: int, repetitions: Iterable[int], seed: int) -> Iterator[np.ndarray]:
    """How often each of `count` pictures is drawn, with replacement, in each of these repetitions: [count] whole numbers.
    What is drawn in a repetition depends on its number and the seed alone."""
    for repetition in repetitions:
        generator = np.random.default_rng([seed, repetition])
        yield np.bincount(generator.integers(0, count, count), minlength=count)
