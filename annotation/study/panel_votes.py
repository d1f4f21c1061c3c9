"""Weigh the votes of a panel of vision models: what they say about each candidate, as log odds.

A model is an annotator with a sensitivity and a specificity of its own in each subset. They are measured against people: on gold
questions, and on the candidates that people have judged, with the probabilities by people's votes alone. So models that agree with
each other cannot make each other look reliable, and a model whose votes say nothing gets log odds of nearly 0.

Voters with common errors are discounted. With the correlation r(u, v) of the errors of two voters within a class, the log likelihood
of voter v on an item has the weight

    w(v) = 1 / (1 + sum over the other voters u on the item of r(u, v)),

so n voters with the correlation r count as n / (1 + (n - 1) r) independent ones (the design effect of L. Kish, Survey Sampling, 1965),
and a voter and its copy as one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Beta prior of sensitivity and specificity, as pseudo-counts of right and wrong votes: nothing is known, so nothing follows.
RATE_PRIOR = 2.0
# The gold questions of a class count as at most so many candidates, because candidates can be harder.
MAX_GOLD_WEIGHT = 20.0
# Weight, in candidates, of the rates in all subsets against those in one.
SUBSET_STRENGTH = 20.0
# Correlation of errors before any error was seen, for two prompts of a model and for two models, and its weight in errors.
SAME_MODEL_CORRELATION, OTHER_MODEL_CORRELATION, CORRELATION_STRENGTH = 0.8, 0.3, 10.0
# Maximum of the log odds by the panel. They never replace a person's vote.
MAX_EVIDENCE = 3.0


class PanelVotes(NamedTuple):
    """The votes of a panel.

    Attributes:
        votes: [items, voters], 1 for "invalid", 0 for "valid", NaN without a vote.
        subset: [items], from 0 on.
        num_subsets: Number of subsets.
        invalid_by_people: [items], probability of being unanswerable by people's votes alone; NaN if no person judged it.
        gold_votes: [gold questions, voters], like `votes`.
        is_gold_invalid: [gold questions] of bool.
        model: [voters], the number of the model of each voter.
    """

    votes: np.ndarray
    subset: np.ndarray
    num_subsets: int
    invalid_by_people: np.ndarray
    gold_votes: np.ndarray
    is_gold_invalid: np.ndarray
    model: np.ndarray


class PanelFit(NamedTuple):
    """What the votes of a panel say.

    Attributes:
        rates: [voters, subsets, 2], sensitivity and specificity.
        correlation: [voters, voters], correlation of errors, from 0 to 1.
        evidence: [items], log odds of being answerable by the panel alone.
    """

    rates: np.ndarray
    correlation: np.ndarray
    evidence: np.ndarray


def fit_panel(panel: PanelVotes) -> PanelFit:
    """Estimate error rates and correlations of the voters, and what their votes say.

    A voter that nobody can check says nothing:

    >>> nothing = np.empty((0, 1))
    >>> table = PanelVotes(np.array([[1.0]]), np.array([0]), 1, np.array([np.nan]), nothing, np.zeros(0, bool), np.array([0]))
    >>> fit_panel(table).evidence.tolist()
    [0.0]
    """
    judged = ~np.isnan(panel.invalid_by_people)
    invalid = panel.invalid_by_people[judged]
    rates = _estimate_rates(panel, judged, invalid)
    votes = np.concatenate([panel.votes[judged], panel.gold_votes])
    classes = np.concatenate([invalid, panel.is_gold_invalid.astype(float)])
    correlation = _estimate_correlation(votes, classes, panel.model)
    has_vote = ~np.isnan(panel.votes)
    weight = has_vote / np.maximum(has_vote @ correlation, 1.0)
    # [items, voters]
    sensitivity, specificity = (rates[:, panel.subset, kind].T for kind in (0, 1))
    says_invalid = np.log(1 - specificity) - np.log(sensitivity)
    says_valid = np.log(specificity) - np.log(1 - sensitivity)
    logs = np.where(panel.votes == 1, says_invalid, says_valid)
    evidence = (weight * np.where(has_vote, logs, 0.0)).sum(axis=1)
    return PanelFit(rates, correlation, np.clip(evidence, -MAX_EVIDENCE, MAX_EVIDENCE))


def _estimate_rates(panel: PanelVotes, judged: np.ndarray, invalid: np.ndarray) -> np.ndarray:
    """Return sensitivity and specificity, [voters, subsets, 2]."""
    num_voters = panel.votes.shape[1]
    votes, subset = panel.votes[judged], panel.subset[judged]
    rates = np.empty((num_voters, panel.num_subsets, 2))
    for kind in (0, 1):
        of_class = invalid if kind == 0 else 1 - invalid
        is_gold = panel.is_gold_invalid if kind == 0 else ~panel.is_gold_invalid
        gold = panel.gold_votes[is_gold]
        gold_total = (~np.isnan(gold)).sum(axis=0)
        gold_right = (gold == 1 - kind).sum(axis=0)
        scale = np.minimum(1.0, MAX_GOLD_WEIGHT / np.maximum(gold_total, 1))
        # [subsets, voters]
        total, right = np.zeros((2, panel.num_subsets, num_voters))
        np.add.at(total, subset, of_class[:, None] * ~np.isnan(votes))
        np.add.at(right, subset, of_class[:, None] * (votes == 1 - kind))
        overall = (right.sum(axis=0) + scale * gold_right + RATE_PRIOR) / (
            total.sum(axis=0) + scale * gold_total + 2 * RATE_PRIOR
        )
        rates[:, :, kind] = ((right + SUBSET_STRENGTH * overall) / (total + SUBSET_STRENGTH)).T
    return rates


def _estimate_correlation(votes: np.ndarray, invalid: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Return the correlation of errors within a class, [voters, voters], shrunk towards what is usual.

    Args:
        votes: [items, voters], on items whose class is known.
        invalid: [items], the probability that each is unanswerable.
        model: [voters], the number of the model of each voter.
    """
    has_vote = ~np.isnan(votes)
    covariance, errors = np.zeros((2, len(model), len(model)))
    variance = np.zeros((len(model), len(model)))
    for kind, of_class in enumerate((invalid, 1 - invalid)):
        is_error = has_vote & (votes == kind)
        total = (of_class[:, None] * has_vote).sum(axis=0)
        mean = (of_class[:, None] * is_error).sum(axis=0) / np.maximum(total, 1e-9)
        residual = np.where(has_vote, is_error - mean, 0.0)
        covariance += residual.T @ (of_class[:, None] * residual)
        # Only items on which both have voted.
        both = has_vote.astype(float)
        variance += (of_class[:, None] * residual**2).T @ both
        errors += (of_class[:, None] * is_error).T @ both
    raw = covariance / np.maximum(np.sqrt(variance * variance.T), 1e-9)
    num_errors = np.sqrt(errors * errors.T)
    usual = np.where(model[:, None] == model, SAME_MODEL_CORRELATION, OTHER_MODEL_CORRELATION)
    found = (num_errors * raw + CORRELATION_STRENGTH * usual) / (num_errors + CORRELATION_STRENGTH)
    found = np.clip(found, 0.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found
