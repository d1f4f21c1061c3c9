"""Agreement and stability of rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import kendalltau

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
from research.studies.rank_stability import compare_leaderboards, compute_agreement, read_leaderboard

# Two leaderboards of synthetic worlds: pairs that one of them separates, and how many of these are in the same order.


SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard", "mean")


def table(values: list[float], half: float = 0.001) -> pd.DataFrame:
    """Rows r00, r01 ... with intervals of `half` to either side."""
    names = [f"r{number:02d}" for number in range(len(values))]
    return pd.DataFrame(
        {"value": values, "low": [v - half for v in values], "high": [v + half for v in values]}, index=names
    )


def project(folder: Path, name: str, values: list[float]) -> Path:
    """A folder with parameters and a leaderboard, which also has a reference."""
    rows = [
        {
            "row": f"r{n:02d}",
            "kind": "model",
            "subset": place,
            "category": None,
            "score": score,
            "value": v,
            "low": v,
            "high": v,
        }
        for place in SUBSETS
        for n, v in enumerate(values)
        for score in ("auaf", "facc")
    ]
    rows += [
        {
            "row": "truth",
            "kind": "reference",
            "subset": place,
            "category": None,
            "score": "auaf",
            "value": n,
            "low": n,
            "high": n,
        }
        for n, place in enumerate(SUBSETS)
    ]
    rows.append(rows[0] | {"category": "missing object", "value": 99.0})
    home = folder / "data" / name / "interim/leaderboard"
    home.mkdir(parents=True)
    pd.DataFrame(rows).to_csv(home / "leaderboard.csv", index=False)
    (folder / "params.yaml").write_text(f"version: '1.0.0'\ndataset: {name}\n{name}: {{}}\n")
    return folder


def test_tau_over_all_pairs_is_scipys() -> None:
    one, other = (
        [float(n) for n in range(14)],
        [1.0, 0.0, 2.0, 3.0, 5.0, 4.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 13.0, 12.0],
    )
    expected: Any = kendalltau(one, other)
    rows, pairs, apart, every = compute_agreement(table(one), table(other))
    assert (rows, pairs) == (14, 91)
    assert every == pytest.approx(float(expected[0]))
    assert apart == pytest.approx((88 - 3) / 91)  # three neighbours changed places


def test_pairs_whose_intervals_overlap_on_both_sets_do_not_count() -> None:
    # 14 rows one apart, intervals of 0.6 to either side: neighbours overlap, 13 pairs. Where the first two have changed places, the
    # second and third are two apart and do not, so 12 pairs count on neither set; all others are in the same order.
    one = [float(n) for n in range(14)]
    other = [1.0, 0.0, *one[2:]]
    _, pairs, apart, every = compute_agreement(table(one, 0.6), table(other, 0.6))
    assert (pairs, apart) == (91 - 12, 1.0)
    assert every == pytest.approx((90 - 1) / 91)


def test_a_pair_counts_if_one_of_the_sets_separates_it() -> None:
    one = [float(n) for n in range(14)]
    assert compute_agreement(table(one, 100.0), table(one))[1] == 91
    assert compute_agreement(table(one, 100.0), table(one[::-1]))[2] == -1


def test_too_few_rows_are_an_error() -> None:
    few = table([float(n) for n in range(13)])
    with pytest.raises(UserError, match="13 rows on both leaderboards"):
        compute_agreement(few, few)


def test_the_page_compares_all_and_leaves_references_and_categories_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [n / 20 for n in range(15)]
    here = project(tmp_path / "here", "sample", values)
    others = [
        project(tmp_path / name, name, values[::order]) for name, order in (("same", 1), ("turned", -1))
    ]
    monkeypatch.chdir(here)
    assert len(read_leaderboard(Path())["mean"]) == 15
    page = compare_leaderboards(others)
    assert "| sample, same | 1.000 (105 of 105); 1.000" in page
    assert "| sample, turned | -1.000 (105 of 105); -1.000" in page
    assert "| same, turned |" in page
    assert page.endswith("clip-easy -1.000, clip-hard -1.000, pt-easy -1.000, pt-hard -1.000, mean -1.000")


def test_folders_without_leaderboard_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = project(tmp_path / "here", "sample", [n / 20 for n in range(15)])
    monkeypatch.chdir(here)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "params.yaml").write_text(f"version: '1.0.0'\ndataset: {name}\n{name}: {{}}\n")
    with pytest.raises(UserError) as error:
        compare_leaderboards([tmp_path / "one", tmp_path / "two"])
    assert sum("leaderboard.csv: no such file" in line for line in error.value.problems) == 2
    with pytest.raises(UserError, match="only one data set"):
        compare_leaderboards([])


# Agreement of rankings against SciPy, and against cases that are counted by hand.


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
