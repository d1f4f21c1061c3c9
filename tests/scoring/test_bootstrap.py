import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm, studentized_range
from sklearn.metrics import roc_auc_score

from pipeline.scoring.bootstrap import (
    bootstrap,
    cluster_auroc,
    cluster_mean,
    number_clusters,
    percentile_interval,
    percentile_intervals,
    sample_cluster_counts,
    simultaneous_intervals,
)


def test_clusters_are_sampled_with_replacement():
    counts = sample_cluster_counts(2, 500, 0)
    assert counts.shape == (500, 2) and (counts.sum(axis=1) == 2).all()
    # Each count is binomial(2, 1/2): mean 1, standard error 0.03.
    assert counts.mean(axis=0) == pytest.approx([1, 1], abs=0.12)


def test_a_cluster_of_two_columns_has_one_number():
    count, places = number_clusters([["n1", "n2"], ["n2", "n3"]])
    assert count == 3 and [place.tolist() for place in places] == [[0, 1], [1, 2]]


def test_a_replicate_depends_on_its_number_and_the_seed_alone():
    first, again, other = (sample_cluster_counts(4, 5, seed) for seed in (7, 7, 8))
    assert (first == again).all() and (first != other).any()
    assert (sample_cluster_counts(4, range(3, 5), 7) == first[3:]).all()
    assert sample_cluster_counts(0, 3, 7).shape == (3, 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("num_rows", [0, 10**9])  # in one batch, and in batches of one replicate
def test_batches_and_threads_change_nothing(threads, num_rows):
    statistic = cluster_mean([0.1, 0.2, 0.7], np.array([0, 1, 1]))
    found = bootstrap(statistic, 2, 21, 3, threads=threads, num_rows=num_rows)
    assert (found == statistic(sample_cluster_counts(2, 21, 3))).all()


def test_memory_does_not_grow_with_the_number_of_replicates():
    statistic = cluster_mean(np.ones(20_000), np.arange(20_000))
    tracemalloc.start()
    bootstrap(statistic, 20_000, 100)  # all counts at once: 16 MB
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_a_weighted_mean_is_that_of_the_repeated_rows():
    rng = np.random.default_rng(0)
    values, cluster = rng.random((40, 2)), rng.integers(0, 9, 40)
    values[::7, 0] = math.nan
    counts = sample_cluster_counts(9, 20, 0)
    expected = [np.nanmean(np.repeat(values, row[cluster], axis=0), axis=0) for row in counts]
    np.testing.assert_allclose(cluster_mean(values, cluster)(counts), expected)


@pytest.mark.parametrize("levels", [3, 10**9])  # with ties, and without
def test_a_weighted_auroc_is_that_of_the_repeated_rows(levels):
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, levels, 60), rng.random(60) < 0.4
    cluster = rng.integers(0, 20, 60)
    counts = sample_cluster_counts(20, 30, 0)
    expected = [roc_auc_score(positive, scores, sample_weight=row[cluster]) for row in counts]
    np.testing.assert_allclose(cluster_auroc(scores, positive, cluster)(counts), expected)


def test_within_strata_all_pairs_count_the_same():
    scores, strata = np.array([3, 1, 2, 5, 0, 9, 2]), np.array([7, 7, 7, 4, 4, 4, 7])
    positive = np.array([True, False, True, True, False, False, False])
    # Stratum 7: positives 3, 2 against 1, 2: 1 + 1 + 1 + 0.5. Stratum 4: 5 against 0, 9: 1 + 0. In all 4.5 of 6 pairs.
    auroc = cluster_auroc(scores, positive, np.arange(7), strata)
    assert auroc(np.ones((1, 7), int)).tolist() == [4.5 / 6]
    # Without stratum 4, 3.5 of 4; with the positive 3 twice and without the negative 1: 2 + 0.5 of 3.
    assert auroc(np.array([[1, 1, 1, 0, 0, 0, 1], [2, 0, 1, 0, 1, 1, 1]])).tolist() == [3.5 / 4, 2.5 / 3]


def test_within_strata_pairs_of_different_strata_are_not_compared():
    rng = np.random.default_rng(1)
    scores, positive = rng.integers(4, size=60), rng.random(60) < 0.4
    strata, weights = rng.integers(3, size=60), rng.integers(3, size=60)
    won = pairs = 0.0
    for i, j in product(range(60), repeat=2):
        if positive[i] and not positive[j] and strata[i] == strata[j]:
            pairs += weights[i] * weights[j]
            won += weights[i] * weights[j] * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    (found,) = cluster_auroc(scores, positive, np.arange(60), strata)(weights[None])
    assert found == pytest.approx(won / pairs)


def test_an_auroc_without_pairs_is_undefined():
    one_label = cluster_auroc(np.array([1.0, 2.0]), np.array([True, True]), np.array([0, 1]))
    assert np.isnan(one_label(np.ones((1, 2), int))).all()
    apart = cluster_auroc(np.array([1, 2]), np.array([True, False]), np.array([0, 1]), np.array([0, 1]))
    assert np.isnan(apart(np.ones((1, 2), int))).all()


def test_a_percentile_interval_is_the_middle_95_percent():
    assert percentile_interval(np.arange(1001) / 1000) == pytest.approx((0.025, 0.975))
    assert percentile_interval(np.arange(1001) / 1000, level=0.5) == pytest.approx((0.25, 0.75))


def test_an_interval_needs_95_percent_of_the_replicates():
    # 5 of 100 undefined: the interval of the others, 0 to 94; 6 of 100: none.
    values = np.append(np.arange(95.0), [math.nan] * 5)
    assert percentile_interval(values) == pytest.approx((0.025 * 94, 0.975 * 94))
    values[94] = math.nan
    assert all(math.isnan(bound) for bound in percentile_interval(values))
    assert all(math.isnan(bound) for bound in percentile_interval(np.array([1.0, math.nan])))


def test_one_simultaneous_interval_is_that_of_a_normal_estimate():
    samples = 5 + 2 * np.random.default_rng(0).normal(size=(1, 40_000))
    ((low, high),) = simultaneous_intervals([5.0], samples)
    assert (low, high) == pytest.approx((5 - 1.96 * 2, 5 + 1.96 * 2), abs=0.05)


def test_simultaneous_intervals_of_independent_estimates_are_sidaks():
    samples = np.random.default_rng(0).normal(size=(6, 40_000)) * np.arange(1, 7)[:, None]
    each = norm.ppf(1 - (1 - 0.95 ** (1 / 6)) / 2) * np.arange(1, 7)
    found = simultaneous_intervals(np.zeros(6), samples)
    np.testing.assert_allclose(found.T, [-each, each], rtol=0.02)


@pytest.mark.parametrize("models", [2, 5, 12])
def test_all_differences_of_independent_means_have_tukeys_critical_value(models):
    samples = np.random.default_rng(0).normal(size=(models, 40_000))
    first, second = np.triu_indices(models, 1)
    found = simultaneous_intervals(np.zeros(len(first)), samples[first] - samples[second])
    # Tukey's range test compares differences with q times the standard error of one mean, which is 1 here.
    np.testing.assert_allclose(found[:, 1], studentized_range.ppf(0.95, models, np.inf), rtol=0.02)


def test_what_never_varies_or_is_undefined_does_not_widen_the_others():
    one = np.random.default_rng(0).normal(size=(1, 999))
    (alone,) = simultaneous_intervals([0.0], one)
    samples = np.vstack([one, np.zeros_like(one), np.full_like(one, np.nan), one])
    found = simultaneous_intervals([0.0, 0.25, 0.0, math.nan], samples)
    assert found[0] == pytest.approx(alone) and found[1].tolist() == [0.25, 0.25]
    assert np.isnan(found[2:]).all()
    assert np.isnan(simultaneous_intervals([1.0], np.empty((1, 0)))).all()
    assert simultaneous_intervals([], np.empty((0, 9))).shape == (0, 2)


def test_undefined_replicates_are_excluded_for_all_statistics():
    samples = np.random.default_rng(0).normal(size=(2, 1000))
    holes = samples.copy()
    holes[0, :40] = math.nan
    expected = simultaneous_intervals([0.0, 0.0], samples[:, 40:])
    np.testing.assert_allclose(simultaneous_intervals([0.0, 0.0], holes), expected)


def test_percentile_intervals_of_several_are_those_of_each():
    samples = np.random.default_rng(0).random((200, 2, 3))
    samples[:5, 0, 1] = samples[:, 1, 2] = math.nan
    found = percentile_intervals(samples)
    for place in np.ndindex(2, 3):
        expected = percentile_interval(samples[(slice(None), *place)])
        assert found[(slice(None), *place)].tolist() == pytest.approx(expected, nan_ok=True)
    assert np.isfinite(found[:, 0, 1]).all() and np.isnan(found[:, 1, 2]).all()
    assert np.isnan(percentile_intervals(np.empty((0, 2)))).all()
