"""Models compared with each other: intervals that hold together, ranks, letters."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import tukey_hsd

from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.leaderboard.pairwise_comparison import (
    ScoreEstimate,
    compact_letter_display,
    compare_models,
    compute_rank_intervals,
)
from pipeline.scoring.leaderboard.row_scores import score_rows
from pipeline.scoring.leaderboard.rows import LeaderboardRow
from pipeline.scoring.model_report import score_models

NAMES = [f"m{number}" for number in range(7)]
PAIRS = [*combinations(NAMES, 2)]
BETTER = st.sets(st.sampled_from(PAIRS))  # the first of a pair stands above the second


def normal(value, error=1.0, seed=0, replicates=4000):
    """A score with independent normal replicates."""
    return ScoreEstimate(
        np.array([value]), value + error * np.random.default_rng(seed).normal(size=replicates)
    )


def test_models_differ_as_by_tukeys_range_test():
    """Ten independent models with 400 normal values each; the bootstrap of a mean is normal with its standard error."""
    rng = np.random.default_rng(1)
    means = np.linspace(0, 0.6, 10)
    values = [rng.normal(mean, 1, 400) for mean in means]
    scores = {
        f"m{number}": ScoreEstimate(
            np.array([one.mean()]), one.mean() + rng.normal(size=20_000) * one.std() / 20
        )
        for number, one in enumerate(values)
    }
    found, expected = compare_models(scores), tukey_hsd(*values).pvalue
    agree = [
        (change.interval[0] > 0) == (expected[int(one[1:]), int(other[1:])] < 0.05)
        for (one, other), change in found.differences.items()
        if not 0.02
        < expected[int(one[1:]), int(other[1:])]
        < 0.1  # the two tests use slightly different variances
    ]
    assert len(agree) > 35 and all(agree)


def test_many_equal_models_differ_significantly_in_at_most_one_table_of_twenty():
    """With 12 models and one pair at a time 95 % each, two tables of three would accept some pair different."""
    false = singly = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        true = rng.normal(size=12)
        scores = {
            f"m{n}": ScoreEstimate(np.array([value]), value + rng.normal(size=400))
            for n, value in enumerate(true)
        }
        found = compare_models(scores)
        false += any(change.interval[0] > 0 for change in found.differences.values())
        singly += any(abs(true[i] - true[j]) > 1.96 * np.sqrt(2) for i, j in combinations(range(12), 2))
    assert false <= 0.08 * 200 and singly > 0.5 * 200  # 5 % and three standard errors


def test_the_true_ranks_are_in_the_intervals():
    """Of 200 tables of 8 models that differ a little, with unequal errors, all true ranks lie in 95 %."""
    true, errors = np.linspace(2, 0, 8), np.array([0.2, 1, 0.2, 1, 0.2, 1, 0.2, 1])
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        estimates = true + errors * rng.normal(size=8)
        scores = {
            f"m{n}": ScoreEstimate(np.array([value]), value + errors[n] * rng.normal(size=400))
            for n, value in enumerate(estimates)
        }
        ranks = compare_models(scores).rank_intervals
        held += all(ranks[f"m{n}"][0] <= n + 1 <= ranks[f"m{n}"][1] for n in range(8))
    assert held >= 0.92 * 200


@given(BETTER)
def test_ranks_are_monotonic_and_contain_the_raw_intervals(better):
    ranks = compute_rank_intervals(NAMES, better)
    best, worst = zip(*ranks.values(), strict=True)
    assert [*ranks] == NAMES and [*best] == sorted(best) and [*worst] == sorted(worst)
    for place, name in enumerate(NAMES):
        above, below = (sum(pair[side] == name for pair in better) for side in (1, 0))
        assert ranks[name][0] <= min(1 + above, place + 1) and ranks[name][1] >= max(7 - below, place + 1)


def test_different_models_have_one_rank_each_and_equal_models_share_all():
    assert [*compute_rank_intervals(NAMES, PAIRS).values()] == [(n, n) for n in range(1, 8)]
    assert {*compute_rank_intervals(NAMES, []).values()} == {(1, 7)}


def test_a_noisy_model_does_not_push_its_rank_above_the_one_over_it():
    # b is precise and below a; c is noisy, so nothing is above it for sure. One critical value for both would rank b 2, c 1.
    scores = {"a": normal(3, 0.1, 1), "b": normal(2, 0.1, 2), "c": normal(1, 5, 3)}
    assert compare_models(scores).rank_intervals == {"a": (1, 2), "b": (1, 3), "c": (1, 3)}


def test_indistinguishable_is_not_transitive():
    # Errors 1, critical value about 2.3 * sqrt(2) = 3.3: a and c are 4 apart, b is 2 from either.
    found = compare_models({"a": normal(4, seed=1), "b": normal(2, seed=2), "c": normal(0, seed=3)})
    assert found.rank_intervals == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert found.letter_display == {"a": "a", "b": "ab", "c": "b"}


def test_of_a_score_that_is_better_when_lower_the_lowest_is_first():
    found = compare_models({"a": normal(9, seed=1), "b": normal(0, seed=2)}, lower_is_better=True)
    assert found.model_names == ["b", "a"] and found.rank_intervals == {"b": (1, 1), "a": (2, 2)}


def test_a_model_without_a_value_is_not_compared():
    undefined = ScoreEstimate(np.array([np.nan]), np.full(4000, np.nan))
    found = compare_models({"a": normal(1), "u": undefined})
    assert found.model_names == ["a"] and found.rank_intervals == {"a": (1, 1)} and found.differences == {}
    assert found.get_difference("a", "u") is None and found.get_difference("a", "a") is None
    assert compare_models({}).model_names == []


def test_a_difference_is_available_in_both_directions():
    found = compare_models({"a": normal(9, seed=1), "b": normal(0, seed=2)})
    one, other = found.get_difference("a", "b"), found.get_difference("b", "a")
    assert one.difference == -other.difference == 9 and one.interval == (
        -other.interval[1],
        -other.interval[0],
    )


def test_a_real_gap_is_found_and_a_chance_one_is_not(benchmark, said):
    """Skills of 2.0 and 0.3 standard deviations differ beyond doubt with 40 images; the answers are the same."""
    models = {"skilled": said(2.0, 1), "poor": said(0.3, 1), "twin": said(0.3, 1)}
    rows = [
        LeaderboardRow(name, "model", (dict.fromkeys(benchmark.subsets, one),), "")
        for name, one in models.items()
    ]
    scored = score_rows(benchmark, rows, ScoringOptions(bootstrap=300))
    for place in ("mean", "pt-hard"):
        found = compare_models({one.row.name: one.scores[place]["auaf"] for one in scored})
        assert found.rank_intervals == {"skilled": (1, 1), "poor": (2, 3), "twin": (2, 3)}


def test_differences_equal_those_of_rgqa_score(benchmark, said):
    """One rule: of the same files `rgqa score A B C` and the leaderboard have the same intervals."""
    models = [said(skill, seed, f"m{seed}") for seed, skill in enumerate((0.5, 0.8, 2.0))]
    rows = [LeaderboardRow(one.name, "model", (dict.fromkeys(benchmark.subsets, one),), "") for one in models]
    options = ScoringOptions(("realistic",), bootstrap=200, seed=7)
    scored = score_rows(benchmark, rows, options)
    for place in ("mean", "clip-hard"):
        found = compare_models({one.row.name: one.scores[place]["auaf"] for one in scored})
        for told in score_models(benchmark, models, options).comparisons:
            own, change = found.get_difference(told.model, told.baseline), told.scores[place]["auaf"]
            assert own.difference == pytest.approx(change.difference, abs=1e-12)
            assert own.interval == pytest.approx(change.interval, abs=1e-12)


def test_equal_models_share_one_letter_and_different_models_share_none():
    assert set(compact_letter_display(NAMES, []).values()) == {"a"}
    assert list(compact_letter_display(NAMES, PAIRS).values()) == [*"abcdefg"]


def test_a_letter_whose_models_all_share_another_is_omitted():
    # Apart: 1-3, 1-4, 2-4. The sets that hold only models not apart, none within another: {1, 2}, {2, 3}, {3, 4}.
    apart = [("m1", "m3"), ("m1", "m4"), ("m2", "m4")]
    found = compact_letter_display(["m1", "m2", "m3", "m4"], apart)
    assert found == {"m1": "a", "m2": "ab", "m3": "bc", "m4": "c"}


@given(BETTER)
def test_two_share_a_letter_exactly_if_they_do_not_differ(apart):
    letters = compact_letter_display(NAMES, [*apart])
    for pair in PAIRS:
        assert bool(set(letters[pair[0]]) & set(letters[pair[1]])) == (pair not in apart)
    assert all(letters.values())


def test_more_than_26_letters_have_a_number():
    names = [f"m{number:02}" for number in range(28)]
    letters = compact_letter_display(names, [*combinations(names, 2)])
    assert [*letters.values()][24:] == ["y", "z", "a1", "b1"]
