"""Dawid and Skene's estimate of what is true from what several annotators say (Applied Statistics 28, 1979).

Every annotator has a table of their own: how often they give each response where each class is true. Tables and
truths are estimated in turn (EM), from the shares of responses on. There are more responses than classes: "unsure"
is one, and says as much as the annotator's habit makes it say. Ours, as libraries (crowd-kit) know neither such a
response nor smoothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax


class Estimate(NamedTuple):
    """What EM came to.

    Attributes:
        posterior: [items, classes], probability of each class; rows sum to 1.
        prior: [classes], share of each class.
        confusion: [annotators, classes, responses], probability of a response where a class is true.
        settled: the last round moved no posterior by more than the tolerance.
    """

    posterior: np.ndarray
    prior: np.ndarray
    confusion: np.ndarray
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
    shape = int(item.max()) + 1, int(annotator.max()) + 1, responses
    votes = csr_array(  # [items, annotators x responses]
        (np.ones(len(item)), (item, annotator * responses + response)), (shape[0], shape[1] * responses)
    )
    counts = np.asarray(votes @ np.tile(np.eye(responses), (shape[1], 1)))  # [items, responses]
    posterior = counts[:, :classes] + counts[:, classes:].sum(axis=1, keepdims=True) / classes
    posterior /= posterior.sum(axis=1, keepdims=True)
    prior, tables, settled = np.empty(0), np.empty(0), False
    for _ in range(most_rounds):
        prior = posterior.sum(axis=0) + smoothing
        prior /= prior.sum()
        tables = (votes.T @ posterior).reshape(*shape[1:], classes) + smoothing
        total = tables.sum(axis=1, keepdims=True)
        tables = np.divide(tables, total, out=np.full_like(tables, 1 / responses), where=total > 0)
        with np.errstate(divide="ignore"):  # a probability of 0 rules a class out
            logs = np.log(prior) + votes @ np.log(tables).reshape(-1, classes)
        before, posterior = posterior, softmax(logs, axis=1)
        settled = bool(np.abs(posterior - before).max() <= tolerance)
        if settled:
            break
    return Estimate(posterior, prior, tables.transpose(0, 2, 1), settled)
