"""Dawid and Skene's estimate of what is true from what several annotators say (Applied Statistics 28, 1979).

Every annotator has a table of their own: how often they give each response where each class is true. Tables and
truths are estimated in turn (EM), from the shares of responses on. There are more responses than classes: "unsure"
is one, and says as much as the annotator's habit makes it say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """What EM came to.

    Attributes:
        posterior: [items, classes], probability of each class; rows sum to 1.
        prior: [classes], share of each class.
        confusion: [annotators, classes, responses], probability of a response where a class is true.
        rounds: how many were needed. settled: the last one moved no posterior by more than the tolerance.
    """

    posterior: np.ndarray
    prior: np.ndarray
    confusion: np.ndarray
    rounds: int
    settled: bool


def dawid_skene(
    item: np.ndarray,
    annotator: np.ndarray,
    response: np.ndarray,
    *,
    classes: int = 2,
    responses: int = 3,
    smoothing: float = 1.0,
    tolerance: float = 1e-9,
    most_rounds: int = 1000,
) -> Estimate:
    """Estimate classes and tables from votes; the same votes give the same numbers.

    Args:
        item, annotator, response: [votes], whole numbers from 0 on: on what, by whom, what. The responses below
            `classes` name the class; those above name none.
        smoothing: added to each count of a table and to each class, so that few votes never make certainty; 0 gives
            the plain maximum likelihood.

    Raises:
        ValueError: no votes, or arrays of different lengths.

    >>> found = dawid_skene(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), smoothing=0)
    >>> found.posterior.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not len(item) or not len(item) == len(annotator) == len(response):
        raise ValueError(
            f"{len(item)} items, {len(annotator)} annotators, {len(response)} responses: wanted as many of each"
        )
    votes = np.zeros((item.max() + 1, responses))
    np.add.at(votes, (item, response), 1)
    posterior = votes[:, :classes] + votes[:, classes:].sum(axis=1, keepdims=True) / classes
    posterior /= posterior.sum(axis=1, keepdims=True)
    cell = annotator * responses + response
    cells = (int(annotator.max()) + 1) * responses
    for rounds in range(1, most_rounds + 1):
        prior = posterior.sum(axis=0) + smoothing
        prior /= prior.sum()
        tables = np.stack([np.bincount(cell, posterior[item, c], cells) for c in range(classes)], axis=-1)
        tables = tables.reshape(-1, responses, classes).transpose(0, 2, 1) + smoothing
        total = tables.sum(axis=2, keepdims=True)
        confusion = np.divide(tables, total, out=np.full_like(tables, 1 / responses), where=total > 0)
        with np.errstate(divide="ignore"):  # a probability of 0 rules a class out
            spoken, begun = np.log(confusion), np.log(prior)
        logs = np.stack(
            [
                begun[c] + np.bincount(item, spoken[annotator, c, response], len(votes))
                for c in range(classes)
            ],
            axis=1,
        )
        logs -= logs.max(axis=1, keepdims=True)
        new = np.exp(logs)
        new /= new.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - posterior).max())
        posterior = new
        if moved <= tolerance:
            break
    return Estimate(posterior, prior, confusion, rounds, moved <= tolerance)
