"""Agreement of rankings against SciPy, and against cases that are counted by hand."""

import numpy as np
import pytest
from scipy import stats

from pipeline.core.errors import UserError
from research.studies.rank_agreement import (
    RowScores,
    average_ranked_rows,
    compare_tau,
    find_separated_pairs,
    kendall_tau,
    measure_agreement,
    pearson_correlation,
    reweight_categories,
)


def drawn(values, spread=0.0, repetitions=200, seed=0):
    """Scores [rows, 1 + r]: these values, and as many draws about them."""
    rng = np.random.default_rng(seed)
    values = np.asarray(values, float)[:, None]
    return np.concatenate([values, values + spread * rng.normal(size=(len(values), repetitions))], axis=1)


def every_pair(rows):
    return np.array([(i, j) for i in range(rows) for j in range(i + 1, rows)])


@pytest.mark.parametrize("seed", range(5))
def test_over_all_pairs_without_ties_tau_and_r_are_scipys(seed):
    one, other = np.random.default_rng(seed).normal(size=(2, 17))
    assert kendall_tau(one, other, every_pair(17)) == pytest.approx(stats.kendalltau(one, other)[0])
    assert pearson_correlation(one, other) == pytest.approx(stats.pearsonr(one, other)[0])


def test_each_column_is_a_ranking_of_its_own():
    one, other = np.random.default_rng(0).normal(size=(2, 9, 4))
    taus, correlations = kendall_tau(one, other, every_pair(9)), pearson_correlation(one, other)
    for column in range(4):
        first, second = one[:, column], other[:, column]
        assert taus[column] == pytest.approx(stats.kendalltau(first, second)[0])
        assert correlations[column] == pytest.approx(stats.pearsonr(first, second)[0])


def test_only_pairs_that_the_reference_separates_count():
    # b and c are one in the reference, up to noise of 0.05; the other set reverses them, and nothing else.
    reference = drawn([0.9, 0.5, 0.501, 0.1], spread=0.05)
    pairs = find_separated_pairs(reference)
    assert pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    other = np.array([0.8, 0.6, 0.4, 0.2])
    assert kendall_tau(reference[:, 0], other, pairs) == 1.0  # all five
    assert kendall_tau(reference[:, 0], other, every_pair(4)) == pytest.approx(
        4 / 6
    )  # 5 right, 1 wrong, of 6


def test_a_tie_is_neither_right_nor_wrong():
    # Of three pairs one is right, one tied, one wrong: (1 - 1) / 3.
    assert kendall_tau(np.array([3.0, 2, 1]), np.array([2.0, 1, 2]), every_pair(3)) == 0
    assert kendall_tau(np.array([3.0, 2, 1]), np.array([1.0, 1, 0]), every_pair(3)) == pytest.approx(2 / 3)


def test_without_a_separated_pair_there_is_no_tau():
    reference = drawn([0.5, 0.5, 0.5], spread=0.1)
    assert len(find_separated_pairs(reference)) == 0
    assert np.isnan(kendall_tau(reference, reference, find_separated_pairs(reference))).all()
    assert measure_agreement(reference, reference).tau is None


def test_separation_depends_on_the_difference_not_on_each_score():
    # Both vary much, always together: the difference is 0.01 in every draw.
    common = np.random.default_rng(0).normal(size=(1, 300))
    reference = np.concatenate([0.5 + common, 0.49 + common])
    assert find_separated_pairs(reference).tolist() == [[0, 1]]


def test_a_stricter_level_separates_fewer_pairs():
    # A difference of 2.2 standard errors: beyond 1.96 of the 95 % interval, within 2.58 of the 99 % one.
    reference = np.array([[2.2, *(2.2 + stats.norm.ppf((np.arange(1000) + 0.5) / 1000))], [0.0] * 1001])
    assert len(find_separated_pairs(reference, 0.95)) == 1 and len(find_separated_pairs(reference, 0.99)) == 0


def test_references_are_left_out_and_seeds_are_averaged():
    rows = [RowScores(f"row {i}", False, np.array([[i, i], [i + 2.0, i]])) for i in range(14)]
    rows.insert(3, RowScores("sees the truth", True, np.array([[99.0, 99.0]])))
    names, scores = average_ranked_rows(rows)
    assert "sees the truth" not in names and len(names) == 14
    assert scores[:, 0].tolist() == [i + 1 for i in range(14)]  # the mean of i and i + 2
    assert scores[:, 1].tolist() == [*range(14)]


def test_fewer_than_fourteen_rows_without_references_are_an_error():
    rows = [RowScores(f"row {i}", i == 0, np.zeros((1, 2))) for i in range(14)]
    with pytest.raises(UserError, match="13 rows to rank: row 1, row 2.*14"):
        average_ranked_rows(rows)


def test_an_interval_covers_the_uncertainty_of_both_sides():
    values = np.arange(14) / 14
    sure = measure_agreement(drawn(values), drawn(values[::-1]))
    assert (sure.num_rows, sure.num_pairs, sure.tau, sure.tau_interval) == (
        14,
        91,
        -1.0,
        (-1.0, -1.0),
    )  # 14 * 13 / 2
    assert sure.pearson == pytest.approx(-1)
    one_side = measure_agreement(drawn(values), drawn(values, 0.1, seed=1))
    both = measure_agreement(drawn(values, 0.02), drawn(values, 0.1, seed=1))
    assert one_side.tau == both.tau == 1.0
    for found in (one_side, both):
        low, high = found.tau_interval
        assert low is not None and high is not None and low < 0.95 and high <= 1


def test_the_difference_is_ours_minus_theirs_on_the_same_resamples():
    reference = drawn(np.arange(5))
    theirs = np.array([1, 0, 2, 3, 4])  # one of 10 pairs reversed: (9 - 1) / 10
    found = compare_tau(reference, drawn(np.arange(5)), drawn(theirs))
    assert found.tau == pytest.approx(0.2) and found.interval == (0.2, 0.2)
    assert compare_tau(reference, drawn(theirs), drawn(np.arange(5))).tau == pytest.approx(-0.2)
    # Noise that both share is none of the difference.
    noisy = drawn(np.arange(5), spread=2)
    assert compare_tau(reference, noisy, noisy).interval == (0.0, 0.0)


def test_reweighted_scores_are_means_with_the_other_proportions():
    by_category = {"missing object": np.array([[0.8, 0.6]]), "wrong attribute": np.array([[0.4, 0.2]])}
    scores, lost = reweight_categories(by_category, {"missing object": 0.3, "wrong attribute": 0.1, "": 0.6})
    # 0.3 / 0.4 * 0.8 + 0.1 / 0.4 * 0.4 = 0.7, and 0.75 * 0.6 + 0.25 * 0.2 = 0.5
    assert scores == pytest.approx(np.array([[0.7, 0.5]])) and lost == pytest.approx(0.6)
    with pytest.raises(ValueError, match="no category"):
        reweight_categories(by_category, {"underspecified": 1.0})
