"""Estimate which proportion of the candidates of each subset is answerable, from estimates and from verdicts.

Task assignment, forecast, status and stage `collect` all use this model. It runs in Label Studio's Python
environment, too, so it imports only NumPy.

The model, for candidate i of subset s:

- The log odds that i is answerable are `log_odds[i] + shift[s]`. `log_odds[i]` comes from stage `estimate`,
  which measures how candidates differ. `shift[s]` corrects all candidates of the subset together, because an
  estimate without scene graphs knows little about the level.
- With the shift, the base rate of subset s is `r = expit(center[s] + shift[s])`, where `center[s]` is the log
  odds of the subset's mean estimate. Its prior is a beta distribution: `r ~ Beta(k m, k (1 - m))`.
- All subsets share the hyperparameters of this prior, so a subset learns from the others. `k` is the strength
  in candidates (`STRENGTHS`). The mean `m` has the log odds `center[s] + d`. The deviation d is that of the
  whole data set, with a normal distribution (`DEVIATION_SD`). The means are corrected so that the expected
  base rate is the subset's mean estimate as long as there are no verdicts.

The lattice of shifts ends at 6, so the distributions are truncated there.

A verdict is evidence about its candidate: the log of how much more probable the votes are if the candidate is
answerable. The candidate's class and all parameters are integrated out on a lattice of shifts, so a
posterior includes the uncertainty of the base rate. With few verdicts this uncertainty is large.

Source of the model: the beta-binomial model with a hyperprior, A. Gelman et al., Bayesian Data Analysis, 3rd
edition, section 5.3.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

# Estimates of single candidates are clipped to [1 - MAX_PRIOR, MAX_PRIOR], because even well-supported
# estimates can be wrong.
MAX_PRIOR = 0.98
# Strengths of the beta prior, in candidates, which are equally probable, and standard deviation of the log
# odds of a data set's base rate from the estimate.
STRENGTHS = (4.0, 12.0, 36.0)
DEVIATION_SD = 1.0
# The deviations of the data set, in standard deviations, and the log of their weights.
_DEVIATIONS = np.linspace(-2.4, 2.4, 9)
_LOG_WEIGHTS = np.repeat(-(_DEVIATIONS**2) / 2, len(STRENGTHS))
# Distance of neighbours on the lattice, the shifts on it, and the log odds on it.
_STEP = 0.1
_SHIFTS = np.arange(-60, 61) * _STEP
_LATTICE = np.arange(-200, 201) * _STEP
_MAX_LOG_ODDS = 20.0
# Smallest probability, so that logarithms are finite.
_TINY = 1e-300
# Counts on the lattice are multiples of this, so that their sums do not depend on the order of the summands.
_UNIT = 2.0**-20


class BaseRate(NamedTuple):
    """The proportion of answerable candidates of a group, with its 95 % credible interval."""

    rate: float
    low: float
    high: float


def to_log_odds(probability: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities, which are clipped to [1 - MAX_PRIOR, MAX_PRIOR]."""
    clipped = np.clip(probability, 1 - MAX_PRIOR, MAX_PRIOR)
    return np.log(clipped) - np.log1p(-clipped)


def count_on_lattice(
    log_odds: np.ndarray, group: np.ndarray, num_groups: int, weights: np.ndarray | float = 1.0
) -> np.ndarray:
    """Count log odds on the lattice, [groups, lattice points].

    Each value is divided between the two neighbouring points.

    Args:
        log_odds: [candidates].
        group: [candidates], the group of each, from 0 on.
        num_groups: Number of groups.
        weights: [candidates], or one weight for all.
    """
    position = np.clip(log_odds, -_MAX_LOG_ODDS, _MAX_LOG_ODDS) / _STEP + len(_LATTICE) // 2
    low = np.minimum(position.astype(np.int64), len(_LATTICE) - 2)
    upper_part = np.rint((position - low) / _UNIT) * _UNIT
    cell, size = np.asarray(group, np.int64) * len(_LATTICE) + low, num_groups * len(_LATTICE)
    counts = np.bincount(cell, (1 - upper_part) * weights, size) + np.bincount(
        cell + 1, upper_part * weights, size
    )
    # Without values, bincount returns integers.
    return counts.astype(float).reshape(num_groups, len(_LATTICE))


class BaseRatePrior:
    """The model before any verdict.

    Args:
        log_odds: [candidates], the log odds of being answerable by stage `estimate`.
        group: [candidates], the subset of each, from 0 on.
        num_groups: Number of subsets.
    """

    def __init__(self, log_odds: np.ndarray, group: np.ndarray, num_groups: int) -> None:
        sizes = np.bincount(group, minlength=num_groups)
        means = np.bincount(group, _expit(log_odds), num_groups) / np.maximum(sizes, 1)
        # The probability of each shift for each value of the hyperparameters, [groups, hyperparameters, shifts].
        self._priors = np.array([_make_priors(float(mean)) for mean in np.where(sizes, means, 0.5)])

    def update(self, evidence: np.ndarray) -> BaseRatePosterior:
        """Return the model after verdicts.

        Args:
            evidence: [groups, lattice points], the counts of the log odds of the judged candidates with the
                evidence of their votes, minus the counts without it (`count_on_lattice`).
        """
        # The likelihood of the votes on one candidate is (1 + exp(a + shift)) / (1 + exp(b + shift)), with
        # the log odds a with the votes and b without them.
        log_likelihood = evidence @ _softplus_table()
        likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
        # [groups, hyperparameters]
        marginal = (self._priors @ likelihood[:, :, None])[:, :, 0] + _TINY
        log_weights = _LOG_WEIGHTS + np.log(marginal).sum(axis=0)
        weights = np.exp(log_weights - log_weights.max())
        mixture = ((weights / marginal)[:, None, :] @ self._priors)[:, 0]
        return BaseRatePosterior(_normalize(mixture * likelihood))


class BaseRatePosterior(NamedTuple):
    """The model after verdicts.

    Attributes:
        shift_weights: [groups, shifts], the probability of each shift.
    """

    shift_weights: np.ndarray

    def compute_log_odds(self, log_odds: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Return the posterior log odds that each candidate is answerable, [candidates].

        Args:
            log_odds: [candidates], the log odds by stage `estimate`, plus the evidence of the candidate's
                votes.
            group: [candidates], the subset of each.
        """
        # Rounding can make a probability 1.
        answerable = np.minimum(self.shift_weights @ _expit_table(), 1 - 1e-12)
        table = np.log(answerable) - np.log1p(-answerable)
        position = np.clip(log_odds, -_MAX_LOG_ODDS, _MAX_LOG_ODDS) / _STEP + len(_LATTICE) // 2
        low = np.minimum(position.astype(np.int64), len(_LATTICE) - 2)
        part = position - low
        return (1 - part) * table[group, low] + part * table[group, low + 1]

    def compute_rates(self, counts: np.ndarray) -> list[BaseRate | None]:
        """Return the expected proportion of answerable candidates in each group; None for an empty group.

        Args:
            counts: [groups, lattice points], the counts of the log odds of all candidates
                (`count_on_lattice`).
        """
        rates: list[BaseRate | None] = []
        for row, weights in zip(counts, self.shift_weights, strict=True):
            if not row.any():
                rates.append(None)
                continue
            by_shift = _expit_table() @ row / row.sum()
            low, high = np.interp((0.025, 0.975), np.cumsum(weights), by_shift)
            rates.append(BaseRate(float(by_shift @ weights), float(low), float(high)))
        return rates

    def select_shifts(self, quantile: float) -> np.ndarray:
        """Return a quantile of the shift of each group, [groups]."""
        return np.array([np.interp(quantile, np.cumsum(weights), _SHIFTS) for weights in self.shift_weights])


def _make_priors(mean: float) -> np.ndarray:
    """Return the probability of each shift for each value of the hyperparameters, [hyperparameters, shifts].

    Args:
        mean: The mean estimate of the group.
    """
    mean = min(max(mean, 1 - MAX_PRIOR), MAX_PRIOR)
    center, weights = float(np.log(mean / (1 - mean))), _normalize(np.exp(_LOG_WEIGHTS))
    low, high, priors = -5.0, 5.0, np.empty(0)
    # Bisection, until the expected base rate is the mean estimate.
    for _ in range(40):
        correction = (low + high) / 2
        priors = _make_beta_priors(center, _expit(center + correction + _DEVIATIONS * DEVIATION_SD))
        is_high = weights @ (priors @ _expit(center + _SHIFTS)) > mean
        low, high = (low, correction) if is_high else (correction, high)
    return priors


def _make_beta_priors(center: float, prior_means: np.ndarray) -> np.ndarray:
    """Return the probability of each shift if the base rate has a beta distribution with each of the means and
    strengths.
    """
    means, strengths = np.repeat(prior_means, len(STRENGTHS)), np.tile(STRENGTHS, len(prior_means))
    a, b = (strengths * means)[:, None], (strengths * (1 - means))[:, None]
    # The density of the log odds of a rate with a beta distribution, up to a factor.
    return _normalize(np.exp(-a * _softplus(-(center + _SHIFTS)) - b * _softplus(center + _SHIFTS)))


@cache
def _softplus_table() -> np.ndarray:
    """Return log(1 + exp(x + shift)) for each log odds x and each shift, [lattice points, shifts]."""
    return _softplus(_LATTICE[:, None] + _SHIFTS)


@cache
def _expit_table() -> np.ndarray:
    """Return the probability that belongs to x + shift for each shift and log odds x, [shifts, lattice points]."""
    return _expit(_SHIFTS[:, None] + _LATTICE)


def _softplus(values: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, values)


def _expit(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def _normalize(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=-1, keepdims=True)
