"""Test whether an annotator's accuracy on gold questions is below a limit, however often one looks.

The server looks after every answer, and stage `collect` whenever it runs. A 95 % interval that is computed again after
every answer excludes one in four annotators whose accuracy is exactly at the limit. The tests of this module keep their
error rate over all looks together.

The evidence against an annotator is a bet on the answers: a mixture of likelihood ratios, of some accuracies below the
limit against the limit itself. If the accuracy is at the limit or above it, evidence is a supermartingale that
starts at 1. So by Ville's inequality it ever reaches 1 / a with a probability of at most a. Sources: Robbins, Annals of Mathematical
Statistics 41, 1970; Waudby-Smith and Ramdas, Journal of the Royal Statistical Society B 86, 2024.

The module also runs in Label Studio's Python environment, so it imports only NumPy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# Maximum probability that an annotator whose accuracy on one kind of gold question is exactly at its limit is ever
# excluded for this: for the rate over all answers, and for a change on the way.
MAX_RATE_ERROR, MAX_CHANGE_ERROR = 0.03, 0.01
# The accuracies of the mixture, as proportions of the limit. All have the same weight.
ALTERNATIVES = (0.9, 0.75, 0.5, 0.25)
# Minimum number of answers to gold questions of one kind (valid or invalid) that show anything.
MIN_ANSWERS = 5
# The limit is moved into this range, where all logarithms exist.
LIMIT_RANGE = (1e-6, 1 - 1e-6)


class Change(NamedTuple):
    """A stretch of answers with low accuracy.

    Attributes:
        start: Index of its first answer, which is wrong.
        num_correct: Number of correct answers in the stretch.
        num_answered: Number of answers from `start` to the one at which the change was found.
    """

    start: int
    num_correct: int
    num_answered: int


def compute_log_evidence(num_correct: Any, num_answered: Any, limit: float) -> np.ndarray:
    """Return the logarithm of the evidence that an accuracy is below a limit.

    Args:
        num_correct: Number of correct answers, a number or an array of any shape.
        num_answered: Number of answers, in the same shape.
        limit: The limit, in [0, 1].

    Returns:
        The logarithms, in the same shape.

    Three wrong answers at a limit of 0.5, by hand: the mean of (2 * 0.55) ** 3, (2 * 0.625) ** 3, (2 * 0.75) ** 3 and
    (2 * 0.875) ** 3 is 3.0046.

    >>> round(float(np.exp(compute_log_evidence(0, 3, 0.5))), 4)
    3.0046
    """
    correct, answered = np.asarray(num_correct, float), np.asarray(num_answered, float)
    limit = min(max(limit, LIMIT_RANGE[0]), LIMIT_RANGE[1])
    rates = limit * np.array(ALTERNATIVES).reshape(-1, *[1] * correct.ndim)
    logs = correct * np.log(rates / limit) + (answered - correct) * np.log((1 - rates) / (1 - limit))
    return np.logaddexp.reduce(logs) - np.log(len(ALTERNATIVES))


@lru_cache(maxsize=100_000)
def is_below_limit(num_correct: int, num_answered: int, limit: float) -> bool:
    """Return whether the answers show that the accuracy of an annotator is below a limit.

    Somebody exactly at the limit is ever found with a probability of at most `MAX_RATE_ERROR`, even if one looks after
    every answer.

    >>> is_below_limit(5, 10, 0.8), is_below_limit(9, 20, 0.8), is_below_limit(0, 4, 0.8)
    (False, True, False)
    """
    return num_answered >= MIN_ANSWERS and bool(
        compute_log_evidence(num_correct, num_answered, limit) >= -np.log(MAX_RATE_ERROR)
    )


def find_change(is_correct: np.ndarray, limit: float, window: int) -> Change | None:
    """Find where the accuracy of an annotator drops below a limit.

    New evidence is collected from every half window on. The k-th start (from 1) has a share of 1 / (k * (k + 1)) in
    `MAX_CHANGE_ERROR`. These shares add up to 1, so it does not matter how many answers will come.

    Args:
        is_correct: [answers] of bool: whether each answer is correct, in the order in which the annotator
            gave the answers.
        limit: The minimum accuracy, in [0, 1].
        window: Minimum number of answers.

    Returns:
        The first change that is found; None if there is none, or if there are fewer answers than `window`.
    """
    if len(is_correct) < window:
        return None
    totals = np.concatenate([[0], np.cumsum(is_correct)])
    # Number of answers after which a change is found, at the latest. Nothing beyond it is needed.
    end, found = len(is_correct), False
    for number, start in enumerate(range(window // 2, len(is_correct), window // 2), 1):
        if start >= end:
            break
        lengths = np.arange(1, end - start + 1)
        evidence = compute_log_evidence(totals[start + 1 : end + 1] - totals[start], lengths, limit)
        hits = np.flatnonzero(evidence >= np.log(number * (number + 1) / MAX_CHANGE_ERROR))
        if len(hits):
            end, found = start + 1 + int(hits[0]), True
    if not found:
        return None
    # The change was most probably where most evidence begins that ends here.
    evidence = compute_log_evidence(totals[end] - totals[:end], end - np.arange(end), limit)
    start = int(evidence.argmax())
    return Change(start, int(totals[end] - totals[start]), end - start)
