"""The base rates of answerable candidates, beside numerical integration with SciPy."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import expit, logit

from annotation.study import base_rates as model
from annotation.study.base_rates import (
    DEVIATION_SD,
    STRENGTHS,
    BaseRatePrior,
    count_on_lattice,
    to_log_odds,
)

# Log likelihood ratios for "answerable" of a valid and of an invalid vote, at sensitivity 0.9, specificity 0.95.
VALID, INVALID = np.log(0.95 / 0.1), np.log(0.05 / 0.9)


def learn(estimates, evidence, group=None):
    log_odds = to_log_odds(np.array(estimates, float))
    group = np.zeros(len(log_odds), int) if group is None else np.array(group)
    size, judged = int(group.max()) + 1, np.array(evidence, float)
    counts = count_on_lattice(log_odds + judged, group, size) - count_on_lattice(log_odds, group, size)
    posterior = BaseRatePrior(log_odds, group, size).update(counts)
    rates = posterior.compute_rates(count_on_lattice(log_odds + judged, group, size))
    return expit(posterior.compute_log_odds(log_odds + judged, group)), [rate for rate in rates if rate]


@pytest.mark.parametrize("rate", [0.03, 0.15, 0.5, 0.9])
def test_without_votes_the_base_rate_is_the_mean_estimate(rate):
    found, (base,) = learn([rate] * 3, [0, 0, 0])
    assert found == pytest.approx(rate, abs=1e-3) and base.rate == pytest.approx(rate, abs=1e-3)
    # The log odds of the base rate are uncertain by more than 1.
    assert logit(base.high) - logit(base.low) > 2 and base.low < rate < base.high


def test_one_vote_is_bayes_rule_with_the_mean():
    # The classes of one candidate depend on the expected base rate only: odds 0.1 / 0.9 times 9.5 or 1 / 18.
    (found, other), _ = learn([0.1, 0.1], [VALID, 0])
    assert found == pytest.approx(0.95 / (0.95 + 0.9), abs=1e-3)
    assert 0.1 < other < found
    assert learn([0.1], [INVALID])[0] == pytest.approx(0.1 / (0.1 + 0.9 * 18), abs=1e-3)


def test_posterior_agrees_with_numerical_integration():
    # Ten candidates with an estimate of 0.2: three are called valid, seven invalid.
    votes = np.array([VALID] * 3 + [INVALID] * 7)
    found, (base,) = learn([0.2] * 10, votes)
    deviations = np.linspace(-2.4, 2.4, 9)
    weights = stats.norm.pdf(deviations) / stats.norm.pdf(deviations).sum()
    # Shifts are limited to 6.
    log_odds = np.linspace(logit(0.2) - 6, logit(0.2) + 6, 20_001)
    rate = expit(log_odds)

    def make_prior(move):
        means = expit(logit(0.2) + move + deviations * DEVIATION_SD)
        rows = np.array([[stats.beta.pdf(rate, k * m, k * (1 - m)) for k in STRENGTHS] for m in means])
        rows *= rate * (1 - rate)
        return weights @ (rows / integrate.trapezoid(rows, log_odds)[..., None]).mean(axis=1)

    # The means of the beta distributions are moved together, so that the expected base rate is 0.2.
    move = optimize.brentq(lambda move: integrate.trapezoid(make_prior(move) * rate, log_odds) - 0.2, -3, 3)
    density = make_prior(move) * np.prod(rate * np.exp(votes)[:, None] + 1 - rate, axis=0)

    def expect(values):
        return integrate.trapezoid(density * values, log_odds) / integrate.trapezoid(density, log_odds)

    assert found[0] == pytest.approx(expect(expit(log_odds + VALID)), abs=1e-3)
    assert found[9] == pytest.approx(expect(expit(log_odds + INVALID)), abs=1e-3)
    assert base.rate == pytest.approx(expect(expit(log_odds + votes[:, None]).mean(axis=0)), abs=1e-3)


@pytest.mark.parametrize("truth", [0.05, 0.2, 0.6])
def test_base_rates_are_recovered_from_noisy_votes(truth):
    rng = np.random.default_rng(3)
    is_answerable = rng.random((3, 2000)) < truth
    wrong = rng.random((3, 2000)) < np.where(is_answerable[0], 0.05, 0.1)
    # Three votes on each candidate, which share the first row's truth.
    votes = np.where(wrong ^ is_answerable[0], VALID, INVALID).sum(axis=0)
    found, (base,) = learn([0.15] * 2000, votes)
    assert base.rate == pytest.approx(is_answerable[0].mean(), abs=0.01) and base.high - base.low < 0.1
    assert found.mean() == pytest.approx(base.rate, abs=1e-3)


def test_estimates_of_single_candidates_keep_their_odds_ratios():
    # Many votes move both by about the same log odds.
    estimates = [0.05, 0.2] + [0.1] * 500
    found, _ = learn(estimates, [0, 0] + [VALID * 2] * 250 + [INVALID * 2] * 250)
    assert logit(found[1]) - logit(found[0]) == pytest.approx(logit(0.2) - logit(0.05), abs=0.05)
    assert found[0] > 0.2


def test_order_of_candidates_makes_no_difference_to_a_bit():
    rng = np.random.default_rng(1)
    log_odds, group = rng.normal(size=1000), rng.integers(0, 3, 1000)
    order = rng.permutation(1000)
    counts = count_on_lattice(log_odds, group, 3)
    assert (counts == count_on_lattice(log_odds[order], group[order], 3)).all()
    parts = [count_on_lattice(log_odds[[n]], group[[n]], 3) for n in order]
    assert np.array_equal(np.sum(parts, axis=0), counts) and counts.sum() == 1000


def test_a_group_without_candidates_has_no_base_rate():
    _, rates = learn([0.1, 0.1], [VALID, INVALID], [0, 2])
    assert len(rates) == 2


def test_extreme_evidence_stays_finite():
    found, rates = learn([1.0, 0.0], [1e6, -1e6])
    assert np.isfinite(logit(found)).all() and rates[0].rate == pytest.approx(0.5, abs=0.01)


def test_module_imports_only_numpy():
    code = "import sys, annotation.study.base_rates; print({n.split('.')[0] for n in sys.modules} & {'pipeline', 'msgspec', 'pandas', 'scipy', 'yaml'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()" and model.__doc__
