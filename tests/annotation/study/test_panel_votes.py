"""What the votes of a panel say, with models whose errors are known."""

import numpy as np
import pytest

from annotation.study.panel_votes import MAX_EVIDENCE, PanelVotes, fit_panel


def make_panel(votes, invalid, model, is_known=None):
    known = invalid.astype(float)
    if is_known is not None:
        known[~is_known] = np.nan
    gold = np.empty((0, votes.shape[1]))
    return PanelVotes(votes, np.zeros(len(votes), int), 1, known, gold, np.zeros(0, bool), np.array(model))


def draw(rng, invalid, sensitivity, specificity):
    rate = np.where(invalid, sensitivity, 1 - specificity)
    return (rng.random(len(invalid)) < rate).astype(float)


def test_rates_are_those_of_the_votes_on_known_items():
    rng = np.random.default_rng(0)
    invalid = rng.random(4000) < 0.5
    fit = fit_panel(make_panel(draw(rng, invalid, 0.85, 0.7)[:, None], invalid, [0]))
    assert fit.rates[0, 0] == pytest.approx([0.85, 0.7], abs=0.03)
    # One voter: log(0.7 / 0.15) = 1.54 for "valid", log(0.3 / 0.85) = -1.04 for "invalid".
    assert sorted(set(fit.evidence.round(6))) == pytest.approx([-1.04, 1.54], abs=0.15)


def test_a_useless_model_says_nothing():
    rng = np.random.default_rng(1)
    invalid = rng.random(4000) < 0.5
    fit = fit_panel(make_panel(draw(rng, invalid, 0.5, 0.5)[:, None], invalid, [0]))
    assert np.abs(fit.evidence).max() < 0.15


def test_a_model_that_calls_everything_answerable_does_not_lose_uqs():
    rng = np.random.default_rng(2)
    invalid = rng.random(4000) < 0.8
    fit = fit_panel(make_panel(draw(rng, invalid, 0.1, 0.95)[:, None], invalid, [0]))
    # "valid" from such a model: log(0.95 / 0.9) = 0.05.
    assert fit.evidence[0 if not invalid[0] else int(np.argmin(invalid))] < 0.2


def test_a_copy_counts_as_nothing():
    rng = np.random.default_rng(3)
    invalid = rng.random(4000) < 0.5
    one = draw(rng, invalid, 0.8, 0.8)
    alone = fit_panel(make_panel(one[:, None], invalid, [0]))
    copied = fit_panel(make_panel(np.stack([one, one], axis=1), invalid, [0, 1]))
    assert copied.correlation[0, 1] > 0.97
    assert copied.evidence == pytest.approx(alone.evidence, abs=0.05)


def test_independent_models_add_up():
    rng = np.random.default_rng(4)
    invalid = rng.random(4000) < 0.5
    votes = np.stack([draw(rng, invalid, 0.8, 0.8) for _ in range(2)], axis=1)
    fit = fit_panel(make_panel(votes, invalid, [0, 1]))
    assert fit.correlation[0, 1] < 0.05
    # Both say valid: 2 log(0.8 / 0.2) = 2.77.
    assert fit.evidence[(votes == 0).all(axis=1)] == pytest.approx(2.77, abs=0.2)


def test_colluding_models_that_nobody_checked_say_nothing_together():
    votes = np.ones((50, 6))
    fit = fit_panel(make_panel(votes, np.ones(50, bool), range(6), np.zeros(50, bool)))
    assert fit.evidence == pytest.approx(0.0)


def test_evidence_is_bounded_and_missing_votes_are_none():
    rng = np.random.default_rng(5)
    invalid = rng.random(2000) < 0.5
    votes = np.stack([draw(rng, invalid, 0.99, 0.99) for _ in range(4)], axis=1)
    votes[:10] = np.nan
    fit = fit_panel(make_panel(votes, invalid, range(4)))
    assert np.abs(fit.evidence).max() == MAX_EVIDENCE
    assert (fit.evidence[:10] == 0).all()
