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

# Stated mean base rates, for estimates without scene graphs: rounded means of what was found in the sample
# (0, 17, 1 and 7 %), on photographs (4 and 13 % of the CLIP candidates, 12 to 30 % of the edits), and of the
# two thirds of CLIP candidates that RGQA's annotators rejected, which counts little because its questions and
# images are all alike.
STATED_RATES = {"clip-easy": 0.08, "clip-hard": 0.2, "pt-easy": 0.1, "pt-hard": 0.15}
# Estimates of single candidates are clipped to [1 - MAX_PRIOR, MAX_PRIOR], because even well-supported
# estimates can be wrong.
MAX_PRIOR = 0.98
# Strengths of the beta prior, in candidates, which are equally probable, and standard deviation of the log
# odds of a data set's base rate from the estimate.
STRENGTHS = (4.0, 12.0, 36.0)
DEVIATION_SD = 1.0
# The deviations of the data set, in standard deviations.
_DEVIATIONS = np.linspace(-3, 3, 13)
# Distance of neighbours on the lattice, and largest shift and largest log odds on it.
_STEP, _MAX_SHIFT, _MAX_LOG_ODDS = 0.1, 8.0, 30.0
_SHIFTS = np.arange(-80, 81) * _STEP
_LATTICE = np.arange(-300, 301) * _STEP
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
    cell, size = group * len(_LATTICE) + low, num_groups * len(_LATTICE)
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
        counts = np.bincount(group, minlength=num_groups)
        means = np.bincount(group, _expit(log_odds), num_groups) / np.maximum(counts, 1)
        self._log_weights = np.repeat(-(_DEVIATIONS**2) / 2, len(STRENGTHS))
        # [groups, hyperparameters, shifts]
        self._log_prior = np.array(
            [_make_log_prior(float(mean)) if count else _make_log_prior(0.5) for mean, count in zip(means, counts, strict=True)]
        ).reshape(num_groups, len(self._log_weights), len(_SHIFTS))

    def update(self, evidence: np.ndarray) -> BaseRatePosterior:
        """Return the model after verdicts.

        Args:
            evidence: [groups, lattice points], the counts of the log odds of the judged candidates with the
                evidence of their votes, minus the counts without it (`count_on_lattice`).
        """
        # The likelihood of the votes on one candidate is (1 + exp(a + shift)) / (1 + exp(b + shift)), with
        # the log odds a with the votes and b without them.
        log_likelihood = np.array([np.correlate(_softplus_table(), row, "valid") for row in evidence])
        joint = self._log_prior + log_likelihood[:, None, :]
        # [groups, hyperparameters]
        marginal = _log_sum(joint)
        log_weights = self._log_weights + marginal.sum(axis=0)
        weights = np.exp(log_weights - _log_sum(log_weights))
        shift_weights = np.exp(joint - marginal[:, :, None])
        return BaseRatePosterior((weights[:, None] * shift_weights).sum(axis=1))


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
        answerable, unanswerable = (
            np.array([np.correlate(table, row, "valid") for row in self.shift_weights])
            for table in (_expit_table(), _expit_table()[::-1])
        )
        table = np.log(answerable) - np.log(unanswerable)
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
            by_shift = np.correlate(_expit_table(), row, "valid") / row.sum()
            low, high = np.interp((0.025, 0.975), np.cumsum(weights), by_shift)
            rates.append(BaseRate(float(by_shift @ weights), float(low), float(high)))
        return rates

    def select_shifts(self, quantile: float) -> np.ndarray:
        """Return a quantile of the shift of each group, [groups]."""
        return np.array([np.interp(quantile, np.cumsum(weights), _SHIFTS) for weights in self.shift_weights])


def _make_log_prior(mean: float) -> np.ndarray:
    """Return the log prior probability of each shift, [hyperparameters, shifts], for one group."""
    mean = min(max(mean, 1 - MAX_PRIOR), MAX_PRIOR)
    center = float(np.log(mean / (1 - mean)))
    log_weights = np.repeat(-(_DEVIATIONS**2) / 2, len(STRENGTHS))
    weights, rates = np.exp(log_weights - _log_sum(log_weights)), _expit(center + _SHIFTS)
    low, high, rows = -5.0, 5.0, np.empty(0)
    # Bisection, until the expected base rate is the mean.
    for _ in range(40):
        correction = (low + high) / 2
        rows = _make_beta_rows(center, _expit(center + correction + _DEVIATIONS * DEVIATION_SD))
        is_high = weights @ (np.exp(rows) @ rates) > mean
        low, high = (low, correction) if is_high else (correction, high)
    return rows


def _make_beta_rows(center: float, prior_means: np.ndarray) -> np.ndarray:
    """Return the log probability of each shift under the beta distributions with the given means."""
    means, strengths = np.repeat(prior_means, len(STRENGTHS)), np.tile(STRENGTHS, len(prior_means))
    a, b = (strengths * means)[:, None], (strengths * (1 - means))[:, None]
    # The density of the log odds of a rate with a beta distribution, up to a factor.
    rows = -a * _softplus(-(center + _SHIFTS)) - b * _softplus(center + _SHIFTS)
    return rows - _log_sum(rows)[:, None]


@cache
def _softplus_table() -> np.ndarray:
    return _softplus(_make_wide_lattice())


@cache
def _expit_table() -> np.ndarray:
    return _expit(_make_wide_lattice())


def _make_wide_lattice() -> np.ndarray:
    """Return all sums of a point of the lattice and a shift. Correlation with this table evaluates a function at
    log odds + shift.
    """
    half = len(_LATTICE) // 2 + len(_SHIFTS) // 2
    return np.arange(-half, half + 1) * _STEP


def _softplus(values: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, values)


def _expit(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))


def _log_sum(values: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exp(values) over the last axis."""
    top = values.max(axis=-1, keepdims=True)
    return np.log(np.exp(values - top).sum(axis=-1)) + top[..., 0]
