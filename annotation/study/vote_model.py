"""Estimate from votes which candidates are unanswerable, and whose votes can be trusted.

The model extends the one of A. P. Dawid and A. M. Skene, Applied Statistics 28, 1979. There, every annotator has a
confusion matrix that is learned from the votes alone. So if several annotators share their errors, the model can
take them for the reliable ones, and the others for unreliable. Here gold questions decide who is reliable:

- **Error rates.** The sensitivity (rate at which unanswerable items are called invalid) and the specificity (rate at
  which answerable items are not called invalid) of an annotator come from the annotator's gold questions. A subset can be
  harder than the gold questions, for all annotators alike. Votes on candidates change a rate only with the weight of
  `RATE_STRENGTH` answers against them.
- **Hard items.** A part of the items of each class is hard: half of the annotators err. So a split vote says
  little about the annotators, and some votes for "valid" do not refute an unanswerable item.
- **Trust.** An annotator can know which questions are gold questions, and answer the others without looking. Such votes
  do not depend on the item. For each stretch of an annotator's answers the model compares how probable they
  are with the annotator's error rates, given the votes of others, and with a constant rate of "invalid" per subset. Stretches
  that the constant rate explains better are not trusted and count nothing.
- **Copies.** Accounts that make the same errors on the same items are one person. Their votes on an item count
  once.

The module runs in Label Studio's Python environment, too, so it imports only NumPy and the standard library.

The constants were chosen on the crowds with the seeds `TUNING_SEEDS` of `research/studies/crowd_robustness.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from math import log
from typing import NamedTuple

import numpy as np

from annotation.study.base_rates import BaseRate, BaseRatePrior, count_on_lattice

# Beta priors of an annotator's sensitivity and specificity, as pseudo-counts of (correct, wrong) answers.
SENSITIVITY_PRIOR, SPECIFICITY_PRIOR = (18.0, 2.0), (19.0, 1.0)
# Weight, in answers, of the rates by gold questions against the votes on candidates of a subset.
RATE_STRENGTH = 40.0
# Standard deviation and maximum of the difference in log odds between the rates in a subset and on gold questions.
SUBSET_SHIFT_SD, MAX_SUBSET_SHIFT = 0.5, 1.5
# Prior of the proportion of hard items among unanswerable and among answerable items: mean and strength in items.
HARD_PRIOR = ((0.08, 50.0), (0.01, 50.0))
# Log odds, before any vote, that a person's votes can be trusted: all votes from some task on, and those in one subset only
# (for each such subset).
TRUST_LOG_ODDS, SUBSET_TRUST_LOG_ODDS = 10.0, 20.0
# Shifts, in log odds, of the rates in a stretch from those by gold questions, and their prior probabilities.
PERSON_SHIFTS, PERSON_SHIFT_WEIGHTS = (-1.0, -0.5, 0.0, 0.5, 1.0), (0.1, 0.2, 0.4, 0.2, 0.1)
# The votes of a person are divided into so many periods. Trust can end at the beginning of any of them.
NUM_PERIODS = 8
# Other searches for an explanation begin without trust in stretches with at least this proportion of equal votes, among at
# least so many.
MIN_CONSTANT_RATE, MIN_CONSTANT_VOTES = 0.98, 20
# An explanation must be more probable than another one by this log ratio to take its place. Maximum number of steps, and
# of the changes of each kind that are tried in a step.
MIN_IMPROVEMENT, MAX_STEPS, MAX_PROPOSALS = 1.0, 100, 4
# Two accounts are copies if their answers are so much more probable, as a log of the ratio, if one copies the other with
# the probability COPY_RATE, and if they share at least so many errors.
COPY_LOG_ODDS, COPY_RATE, MIN_SHARED_ERRORS = 8.0, 0.9, 3.0
# EM stops when no probability changes by more than TOLERANCE. Changes are compared after a rough estimate, with
# ROUGH_TOLERANCE.
TOLERANCE, ROUGH_TOLERANCE, MAX_ITERATIONS = 1e-4, 1e-2, 60

# Components of an item: unanswerable and easy, unanswerable and hard, answerable and easy, answerable and hard.
_NUM_COMPONENTS = 4
_TINY = 1e-9


class VoteTable(NamedTuple):
    """The votes of annotators on candidates, with one vote per annotator and candidate.

    Attributes:
        item: [votes], the candidate of each vote, from 0 on.
        person: [votes], the annotator of each vote, from 0 on.
        order: [votes], the number of the task, from 0 on, in which the annotator gave the vote.
        is_invalid: [votes] of bool, whether the vote is "invalid".
        gold_counts: [persons, 4], answers to gold questions: invalid ones called invalid and called valid, valid ones
            called valid and called invalid.
        log_odds: [items], the log odds of being answerable before any vote.
        subset: [items], the subset of each candidate, from 0 on.
        num_subsets: Number of subsets.
        known_invalid: [items], 1 if an adjudicator calls the candidate invalid, 0 if not, NaN if undecided.
    """

    item: np.ndarray
    person: np.ndarray
    order: np.ndarray
    is_invalid: np.ndarray
    gold_counts: np.ndarray
    log_odds: np.ndarray
    subset: np.ndarray
    num_subsets: int
    known_invalid: np.ndarray


class Credibility(NamedTuple):
    """Which votes count.

    Attributes:
        trusted_before: [persons, subsets], the number of the first task of a person from which on the votes on candidates of a
            subset are not trusted; infinite if all are trusted.
        group: [persons], a number for each person. Copies share a number.
    """

    trusted_before: np.ndarray
    group: np.ndarray


class VoteFit(NamedTuple):
    """The result of `fit_votes`.

    Attributes:
        invalid: [items], the probability that a candidate is unanswerable.
        invalid_by_votes: [items], the same without the verdicts of adjudicators.
        rates: [persons, subsets, 2], sensitivity and specificity on easy items.
        hard_rates: [subsets, 2], proportion of hard items among unanswerable and among answerable candidates.
        credibility: Which votes count.
        vote_weight: [votes], the weight of each vote: 0 if it is not trusted, less than 1 for votes of copies.
        trust_log_odds: [persons], how much more probable the votes of a person are with the person's error rates than with
            constant rates, as a log of the ratio.
        trusted_log_odds: [persons], the same for the trusted votes alone.
        base_rates: The proportion of answerable candidates in each subset; None for an empty subset.
    """

    invalid: np.ndarray
    invalid_by_votes: np.ndarray
    rates: np.ndarray
    hard_rates: np.ndarray
    credibility: Credibility
    vote_weight: np.ndarray
    trust_log_odds: np.ndarray
    trusted_log_odds: np.ndarray
    base_rates: list[BaseRate | None]


def estimate_gold_rates(gold_counts: np.ndarray) -> np.ndarray:
    """Return sensitivity and specificity by gold questions, [persons, 2].

    Args:
        gold_counts: [persons, 4], as in `VoteTable`.

    >>> estimate_gold_rates(np.array([[8, 12, 0, 0]])).round(3).tolist()
    [[0.65, 0.95]]
    """
    counts = np.asarray(gold_counts, float).reshape(-1, 2, 2)
    prior = np.array([SENSITIVITY_PRIOR, SPECIFICITY_PRIOR])
    return (counts[:, :, 0] + prior[:, 0]) / (counts.sum(axis=2) + prior.sum(axis=1))


def compute_vote_table(rates: np.ndarray) -> np.ndarray:
    """Return the log probability of "valid" and "invalid" for each component of an item, [..., 2, 4].

    Args:
        rates: [..., 2], sensitivity and specificity on easy items.

    >>> np.exp(compute_vote_table(np.array([0.9, 0.95]))).round(2).tolist()
    [[0.1, 0.5, 0.95, 0.5], [0.9, 0.5, 0.05, 0.5]]
    """
    sensitivity, specificity = np.clip(np.moveaxis(rates, -1, 0), _TINY, 1 - _TINY)
    half = np.full_like(sensitivity, 0.5)
    invalid = np.stack([sensitivity, half, 1 - specificity, half], axis=-1)
    return np.log(np.stack([1 - invalid, invalid], axis=-2))


def compute_class_evidence(
    log_likelihood: np.ndarray, hard_rates: np.ndarray, subset: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """Return the log of how much more probable the votes are if the candidate is answerable, [items].

    Args:
        log_likelihood: [items, 4], log probability of the votes for each component.
        hard_rates: [subsets, 2], proportion of hard items among unanswerable and among answerable items.
        subset: [items], the subset of each item. By default, each item has its own row in `hard_rates`.
    """
    joint = log_likelihood + _log_component_priors(hard_rates)[subset]
    return np.logaddexp(joint[:, 2], joint[:, 3]) - np.logaddexp(joint[:, 0], joint[:, 1])


def fit_votes(votes: VoteTable, start: Credibility | None = None) -> VoteFit:
    """Fit the model.

    The error rates are first those by gold questions, so that people who agree on errors are not taken for reliable
    ones. Which votes count is then changed step by step, as long as the votes as a whole become more probable.

    Args:
        votes: The votes.
        start: Which votes count at the beginning of the search. Then only small changes are tried, which is
            fast. None: all votes count, and the search is thorough.
    """
    if start:
        return _Fitter(votes, start).search().learn_rates().search().make_fit()
    first = _Fitter(votes)
    starts = [first, *first.iter_constant_starts()]
    best = max(
        (fitter.search().learn_rates().search() for fitter in starts), key=lambda fitter: fitter.log_evidence
    )
    is_better = True
    while is_better:
        is_better = False
        least = best.log_evidence + MIN_IMPROVEMENT
        for other in best.iter_alternatives():
            if other.get_evidence_after_search() <= least:
                continue
            found = other.search()
            if found.log_evidence > least:
                best, is_better = found, True
                break
    return best.make_fit()


class _Fitter:
    """An explanation of the votes: which votes count, and what follows from it.

    Attributes:
        log_evidence: The log probability of all votes, to compare explanations, after `run_em`.
    """

    log_evidence: float

    def __init__(self, votes: VoteTable, start: Credibility | None = None) -> None:
        self._votes = votes
        self._num_items, self._num_people = len(votes.log_odds), len(votes.gold_counts)
        self._shape = self._num_people, votes.num_subsets
        self._vote_subset = votes.subset[votes.item]
        self._cell = votes.person * votes.num_subsets + self._vote_subset
        self._period, self._period_starts = _split_periods(votes.person, votes.order, self._num_people)
        self._is_known = ~np.isnan(votes.known_invalid)
        self._open_log_odds, self._open_subset = (
            values[~self._is_known] for values in (votes.log_odds, votes.subset)
        )
        self._prior = BaseRatePrior(self._open_log_odds, self._open_subset, votes.num_subsets)
        self._counts_before = count_on_lattice(self._open_log_odds, self._open_subset, votes.num_subsets)
        # Explanation -> its log evidence, and explanation -> the log evidence at the end of the search that began with it.
        # All explanations share them.
        self._estimated_evidence = dict[bytes, float]()
        self._evidence_after_search = dict[bytes, float]()
        self._gold_rates = estimate_gold_rates(votes.gold_counts)
        self._rates = np.repeat(self._gold_rates[:, None], votes.num_subsets, axis=1)
        self._expected_rates = self._rates.copy()
        self._strength = np.inf
        self._hard = np.tile([mean for mean, _ in HARD_PRIOR], (votes.num_subsets, 1))
        self._set_credibility(start or Credibility(np.full(self._shape, np.inf), np.arange(self._num_people)))

    def search(self) -> _Fitter:
        """Change which votes count step by step, as long as the votes become more probable. Return the last
        explanation.
        """
        best = self
        best.run_em()
        for _ in range(MAX_STEPS):
            other = max(best._iter_changes(), key=_Fitter.estimate_log_evidence, default=None)
            if not other or other.estimate_log_evidence() <= best.log_evidence + MIN_IMPROVEMENT:
                break
            other.run_em()
            # The rough estimate can be too high. Then the next search for a change knows it.
            self._estimated_evidence[other._make_key()] = other.log_evidence
            if other.log_evidence > best.log_evidence + MIN_IMPROVEMENT:
                best = other
        self._evidence_after_search[self._make_key()] = best.log_evidence
        return best

    def estimate_log_evidence(self) -> float:
        """Return a rough estimate of the log evidence, which is computed once for each explanation."""
        key = self._make_key()
        if key not in self._estimated_evidence:
            self.run_em(ROUGH_TOLERANCE)
            self._estimated_evidence[key] = self.log_evidence
        return self._estimated_evidence[key]

    def get_evidence_after_search(self) -> float:
        """Return the log evidence of what a search found from this explanation; infinite if none has begun here."""
        return self._evidence_after_search.get(self._make_key(), np.inf)

    def _make_key(self) -> bytes:
        """Return the same text for explanations that differ only in the estimates."""
        before, group = self._credibility
        return before.tobytes() + group.tobytes() + str(self._strength).encode()

    def learn_rates(self) -> _Fitter:
        """Let the votes change the error rates of each annotator."""
        self._strength = RATE_STRENGTH
        return self

    def iter_constant_starts(self) -> Iterator[_Fitter]:
        """Yield explanations without trust in votes that are nearly all the same from some period on: in a subset, and
        in all.
        """
        shape = *self._shape, NUM_PERIODS
        cell = self._cell * NUM_PERIODS + self._period
        total, invalid = (
            np.bincount(cell, values, math.prod(shape)).reshape(shape)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
            for values in (np.ones(len(cell)), self._votes.is_invalid)
        )
        # [persons, subsets or 1, periods]
        sums = (values.sum(axis=1, keepdims=True) for values in (total, invalid))
        for num_all, num_invalid in ((total, invalid), tuple(sums)):
            num_same = np.maximum(num_invalid, num_all - num_invalid)
            is_constant = (num_all >= MIN_CONSTANT_VOTES) & (num_same >= MIN_CONSTANT_RATE * num_all)
            starts = np.broadcast_to(self._period_starts[:, None], is_constant.shape)
            before = np.where(is_constant, starts, np.inf).min(axis=2)
            if np.isfinite(before).any() and (before > 0).any():
                yield self._change(Credibility(before + np.zeros(self._shape), self._credibility.group))

    def iter_alternatives(self) -> Iterator[_Fitter]:
        """Yield other explanations: in one subset, or in all, everybody is trusted, or those who are not trusted now
        are trusted in place of the others, or people who are taken for copies are not trusted instead.
        """
        before, group = self._credibility
        is_out, alone = np.isfinite(before), np.arange(self._num_people)
        numbers, sizes = np.unique(group, return_counts=True)
        for subset in [*range(self._votes.num_subsets), slice(None)]:
            if is_out[:, subset].any():
                for value in (np.inf, np.where(is_out[:, subset], np.inf, 0.0)):
                    changed = before.copy()
                    changed[:, subset] = value
                    yield self._change(Credibility(changed, group))
            for number in numbers[sizes > 1]:
                changed = before.copy()
                changed[group == number, subset] = 0.0
                yield self._change(Credibility(changed, alone))

    def _compute_log_evidence(self) -> float:
        """Return the log probability of all votes, to compare explanations."""
        votes, odds = self._votes, self._compute_prior_odds()
        parts = self._log_likelihood + _log_component_priors(self._hard)[votes.subset]
        answerable = np.logaddexp(parts[:, 2], parts[:, 3]) - np.logaddexp(0, -odds)
        unanswerable = np.logaddexp(parts[:, 0], parts[:, 1]) - np.logaddexp(0, odds)
        of_items = np.select(
            [votes.known_invalid == 1, votes.known_invalid == 0],
            [unanswerable, answerable],
            np.logaddexp(answerable, unanswerable),
        )
        out, size = ~self._is_trusted, self._num_people * votes.num_subsets
        total, invalid = (
            np.bincount(self._cell[out], values, size)
            for values in (np.ones(np.count_nonzero(out)), votes.is_invalid[out])
        )
        num_out = (total.reshape(self._shape) > 0).sum(axis=1)
        num_judged = (np.bincount(self._cell, minlength=size).reshape(self._shape) > 0).sum(axis=1)
        trust = np.where(
            (num_out > 0) & (num_out == num_judged), TRUST_LOG_ODDS, num_out * SUBSET_TRUST_LOG_ODDS
        )
        constant = _log_beta_binomial(invalid, total)
        return float(of_items.sum() + constant.sum() - trust.sum() + self._compute_copy_evidence())

    def _compute_prior_odds(self) -> np.ndarray:
        """Return the log odds of being answerable before the votes, with the learned base rates, [items]."""
        return self._base_rate.compute_log_odds(self._votes.log_odds, self._votes.subset)

    def make_fit(self) -> VoteFit:
        """Return the result."""
        gain, trusted_gain = (
            self._compare_with_constant_rates(chosen)[:, :, 0].sum(axis=1)
            for chosen in (np.ones(len(self._votes.item), bool), self._is_trusted)
        )
        return VoteFit(
            self._invalid,
            self._invalid_by_votes,
            self._rates,
            self._hard,
            self._credibility,
            self._weight,
            gain,
            trusted_gain,
            self._base_rate.compute_rates(self._counts),
        )

    def run_em(self, tolerance: float = TOLERANCE) -> None:
        """Estimate items, error rates, base rates and the proportions of hard items alternately."""
        before = None
        for _ in range(MAX_ITERATIONS):
            self._expect()
            if before is not None and np.abs(self._invalid - before).max(initial=0) <= tolerance:
                break
            before = self._invalid
            self._maximize()
        self.log_evidence = self._compute_log_evidence()

    def _change(self, credibility: Credibility) -> _Fitter:
        """Return an explanation in which other votes count."""
        other = copy(self)
        other._rates, other._expected_rates = self._rates.copy(), self._expected_rates.copy()
        other._hard = self._hard.copy()
        other._set_credibility(credibility)
        return other

    def _set_credibility(self, credibility: Credibility) -> None:
        """Compute the weight of each vote. The trusted votes of copies on an item share the weight of one vote."""
        votes = self._votes
        self._credibility = credibility
        self._is_trusted = votes.order < credibility.trusted_before[votes.person, self._vote_subset]
        # Votes with the same number are votes of one person on one item, perhaps under several names.
        key = votes.item.astype(np.int64) * self._num_people + credibility.group[votes.person]
        self._same_vote = np.unique(key, return_inverse=True)[1]
        shared = np.bincount(self._same_vote, self._is_trusted)[self._same_vote]
        self._weight = self._is_trusted / np.maximum(shared, 1)

    def _iter_changes(self) -> Iterator[_Fitter]:
        """Yield explanations that differ in one step: the least credible votes are not trusted any more, the most
        credible ones are trusted again, the accounts that are most alike are copies, or copies are people of their own.
        """
        before, group = self._credibility
        gain = self._compare_with_constant_rates(self._is_trusted)
        sums = np.concatenate(
            [gain + SUBSET_TRUST_LOG_ODDS, gain.sum(axis=1, keepdims=True) + TRUST_LOG_ODDS], axis=1
        )
        periods = sums.argmin(axis=2)
        for person, subset in _list_lowest(sums.min(axis=2)):
            start = self._period_starts[person, periods[person, subset]]
            yield self._set_trusted_before(person, subset, start)
        if np.isfinite(before).any():
            back = self._compare_with_constant_rates(~self._is_trusted)[:, :, 0]
            back = np.concatenate([back, back.sum(axis=1, keepdims=True)], axis=1)
            for person, subset in _list_lowest(-back):
                yield self._set_trusted_before(person, subset, np.inf)
        for one, two in self._list_copies():
            joined = np.where(group == max(group[one], group[two]), min(group[one], group[two]), group)
            yield self._change(Credibility(before, joined))
        numbers, sizes = np.unique(group, return_counts=True)
        for number in numbers[sizes > 1]:
            split = np.where(group == number, np.arange(self._num_people), group)
            yield self._change(Credibility(before, split))

    def _set_trusted_before(self, person: int, subset: int, start: float) -> _Fitter:
        """Return an explanation in which the votes of a person in a subset (or in all, if `subset` is their number) are trusted
        before a task.
        """
        before = self._credibility.trusted_before.copy()
        chosen = subset if subset < self._votes.num_subsets else slice(None)
        before[person, chosen] = start if start == np.inf else np.minimum(before[person, chosen], start)
        return self._change(Credibility(before, self._credibility.group))

    def _expect(self) -> None:
        votes = self._votes
        table = compute_vote_table(self._rates)
        # [votes, components]
        self._vote_log = table[votes.person, self._vote_subset, votes.is_invalid.astype(int)]
        self._log_likelihood = np.stack(
            [
                np.bincount(votes.item, self._weight * self._vote_log[:, part], self._num_items)
                for part in range(_NUM_COMPONENTS)
            ],
            axis=1,
        )
        joint = self._log_likelihood + _log_component_priors(self._hard)[votes.subset]
        unanswerable, answerable = (np.logaddexp(joint[:, at], joint[:, at + 1]) for at in (0, 2))
        evidence = answerable - unanswerable
        judged = self._open_log_odds + evidence[~self._is_known]
        self._counts = count_on_lattice(judged, self._open_subset, votes.num_subsets)
        self._base_rate = self._prior.update(self._counts - self._counts_before)
        odds = self._base_rate.compute_log_odds(votes.log_odds + evidence, votes.subset)
        self._invalid_by_votes = _expit(-odds)
        self._invalid = np.where(self._is_known, votes.known_invalid, self._invalid_by_votes)
        within = joint - np.repeat(np.stack([unanswerable, answerable], axis=1), 2, axis=1)
        classes = np.repeat(np.stack([self._invalid, 1 - self._invalid], axis=1), 2, axis=1)
        # The probability of each component, [items, components].
        self._parts = np.exp(within) * classes
        by_votes = np.stack([self._invalid_by_votes, 1 - self._invalid_by_votes], axis=1)
        # The same without the verdicts of adjudicators.
        self._parts_by_votes = np.exp(within) * np.repeat(by_votes, 2, axis=1)

    def _maximize(self) -> None:
        votes, size = self._votes, self._num_people * self._votes.num_subsets
        has_votes = np.bincount(votes.item, self._weight, self._num_items) > 0
        for kind, (easy, hard) in enumerate(((0, 1), (2, 3))):
            correct = votes.is_invalid if kind == 0 else ~votes.is_invalid
            mass = self._weight * self._parts[votes.item, easy]
            total, right = (
                np.bincount(self._cell, values, size).reshape(self._shape)
                for values in (mass, mass * correct)
            )
            expected = _shift_rates(self._gold_rates[:, kind], total, right)
            self._expected_rates[:, :, kind] = expected
            if self._strength < np.inf:
                expected = (right + self._strength * expected) / (total + self._strength)
            self._rates[:, :, kind] = expected
            mean, strength = HARD_PRIOR[kind]
            # Learned from the votes alone: hard items are hard for adjudicators, too. Their errors on unanswerable items would
            # look like hard answerable items.
            parts = self._parts_by_votes
            num_hard, num_all = (
                np.bincount(votes.subset, has_votes * values, votes.num_subsets)
                for values in (parts[:, hard], parts[:, easy] + parts[:, hard])
            )
            self._hard[:, kind] = (num_hard + strength * mean) / (num_all + strength)

    def _compute_log_parts_without(self, own: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return the log probability of each component without some votes, [rows, components].

        Args:
            own: [rows, components], log probability of the votes that are left out, with their weights.
            at: [rows], the items.
        """
        odds, known = self._compute_prior_odds()[at], self._votes.known_invalid[at]
        classes = np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], axis=1)
        joint = (
            self._log_likelihood[at]
            - own
            + _log_component_priors(self._hard)[self._votes.subset[at]]
            + np.repeat(classes, 2, axis=1)
        )
        joint[known == 1, 2:] = -np.inf
        joint[known == 0, :2] = -np.inf
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def _compare_with_constant_rates(self, chosen: np.ndarray) -> np.ndarray:
        """Return how much more probable votes are with the person's error rates than with a constant rate.

        Args:
            chosen: [votes] of bool, the votes that are compared.

        Returns:
            [persons, subsets, periods], logs of ratios, for the votes from each period on.
        """
        votes, shape = self._votes, (*self._shape, NUM_PERIODS)
        # The votes of copies of a person on the same item are left out with the person's own vote.
        own = np.stack(
            [
                np.bincount(self._same_vote, self._weight * self._vote_log[:, part])[self._same_vote]
                for part in range(_NUM_COMPONENTS)
            ],
            axis=1,
        )
        others = self._compute_log_parts_without(own, votes.item)
        cell = self._cell * NUM_PERIODS + self._period

        def sum_from_period(values: np.ndarray) -> np.ndarray:
            sums = np.bincount(cell, values * chosen, shape[0] * shape[1] * shape[2]).reshape(shape)
            return sums[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]

        # The rates must not be learned from the votes themselves. So those by gold questions are used, with the shift of
        # the subset and a shift of the person.
        faithful = np.full(shape, -np.inf)
        logits = np.log(self._expected_rates) - np.log1p(-self._expected_rates)
        for shift, weight in zip(PERSON_SHIFTS, PERSON_SHIFT_WEIGHTS, strict=True):
            table = compute_vote_table(_expit(logits + shift))
            log_votes = table[votes.person, self._vote_subset, votes.is_invalid.astype(int)]
            predicted = np.logaddexp.reduce(others + log_votes, axis=1)
            faithful = np.logaddexp(faithful, log(weight) + sum_from_period(predicted))
        invalid, total = sum_from_period(votes.is_invalid), sum_from_period(np.ones(len(cell)))
        return faithful - _log_beta_binomial(invalid.ravel(), total.ravel()).reshape(shape)

    def _list_copies(self) -> list[tuple[int, int]]:
        """Return the pairs of accounts that are probably copies, the most probable first."""
        votes, group = self._votes, self._credibility.group
        order = np.lexsort((votes.person, votes.item))
        firsts, seconds = (order[rows] for rows in _pair_rows(votes.item[order]))
        counted = (self._weight[firsts] > 0) & (self._weight[seconds] > 0)
        counted &= group[votes.person[firsts]] != group[votes.person[seconds]]
        firsts, seconds = firsts[counted], seconds[counted]
        if not len(firsts):
            return []
        own = (
            self._weight[firsts, None] * self._vote_log[firsts]
            + self._weight[seconds, None] * self._vote_log[seconds]
        )
        others = self._compute_log_parts_without(own, votes.item[firsts])
        alone = np.logaddexp.reduce(others + self._vote_log[firsts], axis=1)
        both = np.logaddexp.reduce(others + self._vote_log[firsts] + self._vote_log[seconds], axis=1)
        is_same = votes.is_invalid[firsts] == votes.is_invalid[seconds]
        copied = np.where(
            is_same,
            np.logaddexp(log(COPY_RATE) + alone, log(1 - COPY_RATE) + both),
            log(1 - COPY_RATE) + both,
        )
        invalid = np.exp(np.logaddexp(others[:, 0], others[:, 1]))
        is_error = is_same * np.where(votes.is_invalid[firsts], 1 - invalid, invalid)
        pairs, inverse = np.unique(
            votes.person[firsts] * self._num_people + votes.person[seconds], return_inverse=True
        )
        gain, num_errors = np.bincount(inverse, copied - both), np.bincount(inverse, is_error)
        found = np.flatnonzero((gain > COPY_LOG_ODDS) & (num_errors >= MIN_SHARED_ERRORS))
        found = found[np.argsort(-gain[found], kind="stable")][:MAX_PROPOSALS]
        return [(key // self._num_people, key % self._num_people) for key in pairs[found].tolist()]

    def _compute_copy_evidence(self) -> float:
        """Return the log probability of the trusted votes that repeat a vote of a copy, or differ from it."""
        trusted = self._is_trusted
        total = np.bincount(self._same_vote, trusted)
        invalid = np.bincount(self._same_vote, trusted & self._votes.is_invalid)
        most = np.maximum(invalid, total - invalid)
        is_same = COPY_RATE + (1 - COPY_RATE) / 2
        num_joined = self._num_people - len(np.unique(self._credibility.group))
        return float(
            np.maximum(most - 1, 0).sum() * log(is_same)
            + (total - most).sum() * log(1 - is_same)
            - COPY_LOG_ODDS * num_joined
        )


def _shift_rates(gold_rates: np.ndarray, total: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the expected rates in each subset, [persons, subsets]: those by gold questions, shifted in log odds for
    all persons alike.

    Args:
        gold_rates: [persons], rates by gold questions.
        total, right: [persons, subsets], expected numbers of votes and of correct votes on easy items of the class.
    """
    logits = np.log(gold_rates) - np.log1p(-gold_rates)
    shift = np.zeros(total.shape[1])
    # Newton's method for the maximum of the posterior density.
    for _ in range(5):
        rates = _expit(logits[:, None] + shift)
        gradient = (right - total * rates).sum(axis=0) - shift / SUBSET_SHIFT_SD**2
        curvature = (total * rates * (1 - rates)).sum(axis=0) + 1 / SUBSET_SHIFT_SD**2
        shift = np.clip(shift + np.clip(gradient / curvature, -1, 1), -MAX_SUBSET_SHIFT, MAX_SUBSET_SHIFT)
    return _expit(logits[:, None] + shift)


def _list_lowest(values: np.ndarray) -> list[tuple[int, int]]:
    """Return the indices of the lowest negative values, the lowest first, at most one per row and `MAX_PROPOSALS`."""
    columns, lowest = values.argmin(axis=1), values.min(axis=1)
    rows = np.argsort(lowest, kind="stable")[:MAX_PROPOSALS]
    return [(row, int(columns[row])) for row in rows.tolist() if lowest[row] < 0]


def _split_periods(person: np.ndarray, order: np.ndarray, num_people: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide the tasks of each person into `NUM_PERIODS` periods of equal length.

    Returns:
        The period of each vote, from 0 on, [votes], and the first task of each period, [persons, periods].
    """
    ends = np.zeros(num_people)
    np.maximum.at(ends, person, order + 1.0)
    starts = np.floor(ends[:, None] * np.arange(NUM_PERIODS) / NUM_PERIODS)
    return (order[:, None] >= starts[person]).sum(axis=1) - 1, starts


def _pair_rows(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of rows with equal keys. `key` must be sorted."""
    starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, int)
    sizes = np.diff(np.r_[starts, len(key)])
    pairs = [
        (rows, rows + distance)
        for distance in range(1, int(sizes.max(initial=1)))
        for rows in [np.flatnonzero(key[distance:] == key[:-distance])]
    ]
    firsts, seconds = (
        (np.concatenate([np.zeros(0, np.int64), *rows]) for rows in zip(*pairs, strict=True))
        if pairs
        else np.zeros((2, 0), np.int64)
    )
    return firsts, seconds


def _log_component_priors(hard_rates: np.ndarray) -> np.ndarray:
    """Return the log proportion of each component within its class, [..., 4]."""
    rates = np.clip(hard_rates, _TINY, 1 - _TINY)
    unanswerable, answerable = rates[..., 0], rates[..., 1]
    return np.log(np.stack([1 - unanswerable, unanswerable, 1 - answerable, answerable], axis=-1))


def _log_beta_binomial(successes: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the log probability of a sequence with so many successes, if all rates are equally probable.

    It is log(s! (n - s)! / (n + 1)!).
    """
    table = _log_factorials(int(total.max(initial=0)) + 1)
    hits, size = np.rint(successes).astype(np.int64), np.rint(total).astype(np.int64)
    return table[hits] + table[size - hits] - table[size + 1]


def _log_factorials(last: int) -> np.ndarray:
    """Return log(n!) for n from 0 to `last`."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, last + 1)))])


def _expit(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def group_people(names: Sequence[str], group: np.ndarray) -> list[list[str]]:
    """Return the groups of copies, each with at least two names."""
    found: dict[int, list[str]] = {}
    for name, number in zip(names, group.tolist(), strict=True):
        found.setdefault(number, []).append(name)
    return [people for people in found.values() if len(people) > 1]
