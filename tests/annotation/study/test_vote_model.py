"""The model of the votes: its parts by arithmetic, and the whole on made-up votes."""

import math

import numpy as np
import pytest

from annotation.study.vote_model import (
    COPY_RATE,
    HARD_PRIOR,
    MAX_SUBSET_SHIFT,
    NUM_PERIODS,
    Credibility,
    VoteTable,
    _log_beta_binomial,
    _pair_rows,
    _shift_rates,
    _split_periods,
    compute_class_evidence,
    compute_vote_table,
    estimate_gold_rates,
    fit_votes,
    group_people,
)

MANY_GOLD = [950, 50, 980, 20]


def make_votes(choices, gold=None, prior=0.5, known=None, subset=None):
    """Return the table of choices [items, persons] of 1 (invalid), 0 (valid) and -1 (no vote), each person from the first item on."""
    choices = np.asarray(choices)
    item, person = np.nonzero(choices >= 0)
    count, people = choices.shape
    subsets = np.zeros(count, int) if subset is None else np.asarray(subset)
    return VoteTable(
        item,
        person,
        item,
        choices[item, person] == 1,
        np.array(gold or [MANY_GOLD] * people),
        np.full(count, math.log(prior / (1 - prior))),
        subsets,
        int(subsets.max(initial=0)) + 1,
        np.full(count, np.nan) if known is None else np.asarray(known, float),
    )


def judge(truth, rng, miss=0.1, alarm=0.03):
    """Return choices with independent errors."""
    wrong = rng.random(len(truth)) < np.where(truth, miss, alarm)
    return np.where(wrong, ~truth, truth).astype(int)


def make_truth(count=400, rate=0.8):
    return np.random.default_rng(0).permutation(count) < rate * count


def fit_em(choices, rates, prior, iterations=200):
    """Dawid and Skene's model with given error rates and a class prior that is learned: P(invalid) of each item."""
    choices, share = np.asarray(choices), 1 - prior
    sensitivity, specificity = np.asarray(rates).T
    for _ in range(iterations):
        bad = np.prod(np.where(choices == 1, sensitivity, 1 - sensitivity), axis=1)
        good = np.prod(np.where(choices == 1, 1 - specificity, specificity), axis=1)
        invalid = share * bad / (share * bad + (1 - share) * good)
        share = invalid.mean()
    return invalid


def test_gold_rates_have_beta_priors():
    # Priors: (18, 2) and (19, 1). (18 + 6) / (20 + 10) and (19 + 1) / (20 + 5).
    assert estimate_gold_rates(np.array([[6, 4, 1, 4]])).tolist() == [[24 / 30, 20 / 25]]
    assert estimate_gold_rates(np.zeros((1, 4))).tolist() == [[0.9, 0.95]]


def test_vote_table_has_a_probability_for_each_component():
    rates = np.array([[[0.8, 0.9], [0.6, 0.7]]])
    table = np.exp(compute_vote_table(rates))
    assert table.shape == (1, 2, 2, 4)
    # Valid: missed, by chance, right, by chance. Invalid: found, by chance, false alarm, by chance.
    assert table[0, 1] == pytest.approx(np.array([[0.4, 0.5, 0.7, 0.5], [0.6, 0.5, 0.3, 0.5]]))
    assert table.sum(axis=-2) == pytest.approx(np.ones((1, 2, 4)))


def test_class_evidence_is_a_ratio_of_mixtures():
    # P(votes | answerable) / P(votes | unanswerable) = (0.9 * 0.3 + 0.1 * 0.5) / (0.8 * 0.6 + 0.2 * 0.5) = 0.32 / 0.58
    logs = np.log([[0.6, 0.5, 0.3, 0.5]])
    assert compute_class_evidence(logs, np.array([[0.2, 0.1]])) == pytest.approx(math.log(0.32 / 0.58))
    # The same with the row of a subset, and without votes.
    both = np.vstack([logs, np.zeros((1, 4))])
    hard = np.array([[0.5, 0.5], [0.2, 0.1]])
    found = compute_class_evidence(both, hard, np.array([1, 0]))
    assert found == pytest.approx([math.log(0.32 / 0.58), 0.0])


@pytest.mark.parametrize(
    ("successes", "total", "probability"),
    # s! (n - s)! / (n + 1)!
    [(0, 0, 1), (1, 1, 1 / 2), (1, 2, 1 / 6), (2, 5, 2 * 6 / 720), (0, 99, 1 / 100)],
)
def test_beta_binomial(successes, total, probability):
    found = _log_beta_binomial(np.array([successes]), np.array([total]))
    assert math.exp(found[0]) == pytest.approx(probability)


def test_rates_of_a_subset_are_shifted_for_all_alike():
    gold = np.array([0.9, 0.8])
    assert _shift_rates(gold, np.zeros((2, 1)), np.zeros((2, 1))) == pytest.approx(gold[:, None])
    # Two people with 10,000 votes, 0.75 of the first and 0.571 of the second right: odds of 9 and 4 divided by 3.
    total = np.full((2, 1), 10_000.0)
    right = total * np.array([[9 / 3 / (1 + 9 / 3)], [4 / 3 / (1 + 4 / 3)]])
    assert _shift_rates(gold, total, right)[:, 0] == pytest.approx([0.75, 4 / 7], abs=1e-3)
    # Nobody right: odds of 9 and 4 times exp(-1.5).
    odds = np.array([9, 4]) * math.exp(-MAX_SUBSET_SHIFT)
    assert _shift_rates(gold, total, 0 * right)[:, 0] == pytest.approx(odds / (1 + odds))


def test_periods_are_of_equal_length():
    order = np.arange(80)
    period, starts = _split_periods(np.zeros(80, int), order, 1)
    assert np.bincount(period).tolist() == [10] * NUM_PERIODS
    assert starts.tolist() == [[0, 10, 20, 30, 40, 50, 60, 70]]


def test_pairs_of_rows():
    firsts, seconds = _pair_rows(np.array([0, 0, 0, 1, 2, 2]))
    assert sorted(zip(firsts.tolist(), seconds.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (4, 5)]
    assert len(_pair_rows(np.zeros(0, int))[0]) == 0


def test_groups_of_copies():
    assert group_people(["a", "b", "c", "d"], np.array([0, 1, 0, 3])) == [["a", "c"]]


def test_without_votes():
    fit = fit_votes(make_votes(np.zeros((0, 0))))
    assert fit.invalid.shape == (0,) and fit.base_rates == [None]
    fit = fit_votes(make_votes(-np.ones((3, 2)), prior=0.2))
    assert fit.invalid == pytest.approx([0.8] * 3, abs=0.01)


def test_one_vote_has_the_weight_of_the_gold_questions():
    fit = fit_votes(make_votes([[1]], gold=[[0, 0, 0, 0]]))
    # Sensitivity 0.9, specificity 0.95, hard 0.08 and 0.01; prior odds 1. (0.92 * 0.9 + 0.08 * 0.5) / (0.99 * 0.05 + 0.01 * 0.5)
    # = 0.868 / 0.0545. The uncertain base rate moves all this a little.
    assert fit.invalid[0] == pytest.approx(0.868 / (0.868 + 0.0545), abs=0.01)
    (hard_uq, _), (hard_aq, _) = HARD_PRIOR
    assert (hard_uq, hard_aq) == (0.08, 0.01)


def test_one_person_is_trusted():
    truth = make_truth(200)
    fit = fit_votes(make_votes(judge(truth, np.random.default_rng(1))[:, None], prior=0.2))
    assert np.isinf(fit.credibility.trusted_before).all() and (fit.vote_weight == 1).all()
    assert ((fit.invalid > 0.5) == truth).mean() > 0.85


def test_agrees_with_dawid_and_skene_if_gold_questions_fix_the_rates(monkeypatch):
    """With much gold, no hard items and a wide prior of the base rate, the model is Dawid and Skene's with known matrices."""
    monkeypatch.setattr("annotation.study.vote_model.HARD_PRIOR", ((1e-9, 1e12), (1e-9, 1e12)))
    monkeypatch.setattr("annotation.study.vote_model.RATE_STRENGTH", 1e9)
    monkeypatch.setattr("annotation.study.vote_model.SUBSET_SHIFT_SD", 1e-4)
    truth, rng = make_truth(3000, 0.7), np.random.default_rng(2)
    errors = [(0.1, 0.05), (0.2, 0.1), (0.3, 0.02)]
    choices = np.stack([judge(truth, rng, *pair) for pair in errors], axis=1)
    gold = [
        [round(1e6 * (1 - miss)), round(1e6 * miss), round(1e6 * (1 - alarm)), round(1e6 * alarm)]
        for miss, alarm in errors
    ]
    fit = fit_votes(make_votes(choices, gold=gold))
    rates = [(1 - miss, 1 - alarm) for miss, alarm in errors]
    assert fit.invalid == pytest.approx(fit_em(choices, rates, 0.5), abs=0.005)


def test_order_of_rows_does_not_matter():
    truth, rng = make_truth(), np.random.default_rng(3)
    choices = np.stack([judge(truth, rng) for _ in range(3)] + [np.ones(400, int)], axis=1)
    votes = make_votes(choices, prior=0.2)
    rows = rng.permutation(len(votes.item))
    mixed = votes._replace(
        item=votes.item[rows],
        person=votes.person[rows],
        order=votes.order[rows],
        is_invalid=votes.is_invalid[rows],
    )
    one, two = fit_votes(votes), fit_votes(mixed)
    assert two.invalid == pytest.approx(one.invalid, abs=1e-9)
    assert (two.credibility.trusted_before == one.credibility.trusted_before).all()
    assert two.vote_weight.tolist() == one.vote_weight[rows].tolist()


def test_adjudicated_items_are_known():
    truth, rng = make_truth(200), np.random.default_rng(4)
    choices = np.stack([judge(truth, rng) for _ in range(3)], axis=1)
    choices[0] = 0
    known = np.full(200, np.nan)
    known[0], known[199] = 1, 0
    fit = fit_votes(make_votes(choices, prior=0.2, known=known))
    assert fit.invalid[[0, 199]].tolist() == [1, 0]
    # The votes themselves say the opposite of the first adjudication.
    assert fit.invalid_by_votes[0] < 0.1


def test_votes_without_looking_are_not_trusted():
    truth, rng = make_truth(), np.random.default_rng(5)
    choices = np.stack(
        [judge(truth, rng) for _ in range(3)] + [np.ones(400, int), np.zeros(400, int)], axis=1
    )
    fit = fit_votes(make_votes(choices, prior=0.2))
    assert np.isinf(fit.credibility.trusted_before[:3]).all() and fit.trust_log_odds[:3].min() > 0
    assert (fit.credibility.trusted_before[3:] == 0).all() and fit.trust_log_odds[3:].max() < 0
    assert set(fit.vote_weight.reshape(400, 5)[:, 3:].ravel()) == {0.0}
    assert (fit.invalid[truth] > 0.95).mean() > 0.95 and (fit.invalid[~truth] > 0.95).mean() < 0.02


def test_votes_count_until_somebody_stops_looking():
    truth, rng = make_truth(), np.random.default_rng(6)
    choices = np.stack([judge(truth, rng) for _ in range(4)], axis=1)
    choices[200:, 3] = 1
    fit = fit_votes(make_votes(choices, prior=0.2))
    # One of the eight periods of 50 tasks; nothing tells before the first answerable item that they do not look.
    assert 150 <= fit.credibility.trusted_before[3, 0] <= 250
    assert np.isinf(fit.credibility.trusted_before[:3]).all()


def test_trust_can_end_in_one_subset_only():
    truth, rng = make_truth(800), np.random.default_rng(7)
    subset = np.arange(800) // 2 % 2
    choices = np.stack([judge(truth, rng) for _ in range(4)], axis=1)
    choices[subset == 1, 3] = 0
    fit = fit_votes(make_votes(choices, prior=0.2, subset=subset))
    assert np.isfinite(fit.credibility.trusted_before).nonzero()[0].tolist() == [3]
    assert np.isfinite(fit.credibility.trusted_before).nonzero()[1].tolist() == [1]


def test_accounts_of_one_person_count_once():
    truth, rng = make_truth(), np.random.default_rng(8)
    lenient = judge(truth, rng, miss=0.28)
    choices = np.stack([judge(truth, rng) for _ in range(4)] + [lenient] * 3, axis=1)
    fit = fit_votes(make_votes(choices, gold=[MANY_GOLD] * 4 + [[750, 250, 980, 20]] * 3, prior=0.2))
    assert fit.credibility.group.tolist() == [0, 1, 2, 3, 4, 4, 4]
    weight = fit.vote_weight.reshape(400, 7)
    assert weight[:, 4:].sum(axis=1) == pytest.approx(np.ones(400))
    # They outvote nobody: 28 % of the unanswerable items have three votes for valid out of seven.
    assert (fit.invalid[truth] > 0.95).mean() > 0.97


def test_a_start_keeps_what_is_known():
    truth, rng = make_truth(), np.random.default_rng(9)
    choices = np.stack([judge(truth, rng) for _ in range(3)] + [np.ones(400, int)], axis=1)
    votes = make_votes(choices, prior=0.2)
    full = fit_votes(votes)
    again = fit_votes(votes, full.credibility)
    assert (again.credibility.trusted_before == full.credibility.trusted_before).all()
    assert again.invalid == pytest.approx(full.invalid, abs=0.01)
    # A wrong start is corrected: honest people are trusted again, and copies that are none are split.
    wrong = Credibility(np.array([[0.0], [np.inf], [np.inf], [0.0]]), np.array([0, 1, 1, 3]))
    corrected = fit_votes(votes, wrong)
    assert (corrected.credibility.trusted_before == full.credibility.trusted_before).all()
    assert corrected.credibility.group.tolist() == [0, 1, 2, 3]


def test_people_who_cheat_alike_in_a_subset_do_not_make_the_others_copies():
    """Three people say valid in one subset. The four honest ones are not one person who always errs there."""
    truth, rng = make_truth(1200), np.random.default_rng(10)
    subset = np.arange(1200) // 2 % 3
    choices = np.stack([judge(truth, rng) for _ in range(7)], axis=1)
    choices[np.ix_(subset == 1, [4, 5, 6])] = 0
    fit = fit_votes(make_votes(choices, prior=0.2, subset=subset))
    assert np.isinf(fit.credibility.trusted_before[:4]).all()
    assert np.isfinite(fit.credibility.trusted_before[4:, 1]).all()
    assert (fit.invalid[truth] > 0.95).mean() > 0.97


def test_constants_are_probabilities():
    assert 0.5 < COPY_RATE < 1


def test_errors_of_adjudicators_do_not_look_like_hard_items():
    """Four people seldom err. An adjudicator calls half of 80 unanswerable items answerable, which changes no rate of hard items."""
    truth, rng = make_truth(), np.random.default_rng(4)
    choices = np.stack([judge(truth, rng, 0.05, 0.02) for _ in range(4)], axis=1)
    known = np.full(len(truth), np.nan)
    audited = np.flatnonzero(truth)[:80]
    known[audited] = np.arange(80) % 2
    fit = fit_votes(make_votes(choices, prior=0.2, known=known))
    # The prior is 0.01, and a third of the items that are called answerable would be hard ones.
    assert fit.hard_rates[0, 1] < 0.03
