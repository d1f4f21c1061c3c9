"""State the label error of a study: how many candidates that votes verified as unanswerable have an answer after all.

The error is measured, not derived from the model of the votes: if annotators share a misreading, the model is sure of
wrong verdicts. An adjudicator, who sees neither the votes nor why a task is asked, judges a random sample of the
tasks (the audit sample, `annotation.study.assignment.is_audit_task`). Adjudicators err, too. How often is measured on the
gold questions that they answer, and the interval allows for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy.special import betaln, gammaln

from pipeline.core.records import Record

# Minimum number of audited candidates that votes verified as unanswerable.
MIN_AUDITED = 30
# Beta prior of the two error rates of adjudicators, as pseudo-counts of (wrong, right) answers: 5 % before any gold question.
ADJUDICATOR_PRIOR = (1.0, 19.0)
# Beta prior of the label error (Jeffreys).
ERROR_PRIOR = (0.5, 0.5)
# Number of points of the grid for the label error (0 to 1, finer near 0), and the probability of the interval.
NUM_ERROR_POINTS, LEVEL = 501, 0.95
MAX_BLOCK_SIZE = 1_000_000


class LabelError(Record):
    """The proportion of answerable candidates among those that votes verified as unanswerable.

    Attributes:
        value: The median of the posterior distribution of this proportion; None if it is not known.
        low, high: Its 95 % interval.
        num_audited: Number of candidates in the audit sample that votes verified as unanswerable.
        num_wrong: Number of these that an adjudicator calls answerable.
        unknown_because: Why the error is not known; "" if it is.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    num_audited: int = 0
    num_wrong: int = 0
    unknown_because: str = ""


def measure_label_error(
    status_by_votes: Mapping[str, str],
    adjudicated: Mapping[str, bool],
    audited: Collection[str],
    gold_counts: Sequence[int] = (0, 0, 0, 0),
) -> LabelError:
    """Measure the label error on the audit sample.

    Args:
        status_by_votes: Candidate id -> status by the votes alone, for all candidates.
        adjudicated: Candidate id -> whether adjudicators call the candidate invalid.
        audited: The ids of the candidates of the audit sample.
        gold_counts: Adjudicators' answers to gold questions: invalid ones called invalid and called valid, valid ones called valid
            and called invalid.

    >>> measure_label_error({"a": "unanswerable"}, {}, ["a"]).unknown_because
    'no adjudicator has judged the audit sample'
    """
    judged = [
        adjudicated[key]
        for key in sorted(audited)
        if key in adjudicated and status_by_votes.get(key) == "unanswerable"
    ]
    num_wrong = judged.count(False)
    num_uqs = sum(status == "unanswerable" for status in status_by_votes.values())
    if len(judged) < MIN_AUDITED:
        reason = (
            f"only {len(judged)} of the {MIN_AUDITED} UQs that are needed were audited by an adjudicator"
            if judged
            else "no adjudicator has judged the audit sample"
        )
        return LabelError(num_audited=len(judged), num_wrong=num_wrong, unknown_because=reason)
    value, low, high = estimate_error(num_wrong, len(judged), num_uqs, gold_counts)
    return LabelError(value=value, low=low, high=high, num_audited=len(judged), num_wrong=num_wrong)


def estimate_error(
    num_wrong: int, num_audited: int, num_uqs: int, gold_counts: Sequence[int] = (0, 0, 0, 0)
) -> tuple[float, float, float]:
    """Estimate the label error from the verdicts of adjudicators who err themselves.

    The proportion is that of the UQs of this study, not of all that could have been asked. So if all UQs are audited by
    adjudicators who never err, the interval has no width. The model: K of the N UQs are answerable. The audit draws n of them without
    replacement, so k answerable ones among these have a hypergeometric distribution. Adjudicators call j of the k answerable, and
    miss some of the n - k others; both numbers have beta-binomial distributions by the gold questions. K has a
    beta-binomial distribution with `ERROR_PRIOR` before the audit. Sources: W. J. Rogan and B. Gladen, American Journal of
    Epidemiology 107, 1978 (errors of the test); L. D. Brown, T. T. Cai and A. DasGupta, Statistical Science 16, 2001 (this prior).

    Args:
        num_wrong: Number of audited UQs that adjudicators call answerable.
        num_audited: Number of audited UQs.
        num_uqs: Number of all UQs.
        gold_counts: As in `measure_label_error`.

    Returns:
        The median of the error, and its interval. It is the interval of highest density with a probability of 95 %, so it
        begins at 0 unless 0 is improbable. Its upper end is raised until at most 2.5 % lie above.

    No error in a sample of 100 of 200, or of very many, by adjudicators who never err:

    >>> [round(end, 3) for end in estimate_error(0, 100, 200, (10_000, 0, 10_000, 0))]
    [0.0, 0.0, 0.015]
    >>> [round(end, 3) for end in estimate_error(0, 100, 10_000, (10_000, 0, 10_000, 0))]
    [0.002, 0.0, 0.024]
    """
    found, missed, clear, alarms = gold_counts
    wrong, right = ADJUDICATOR_PRIOR
    # The log probability of what adjudicators said, for each number k of answerable candidates in the sample.
    in_sample = np.arange(num_audited + 1)
    called = np.full(num_audited + 1, -np.inf)
    for hits in range(num_wrong + 1):
        called = np.logaddexp(
            called,
            _log_beta_binomial(hits, in_sample, clear + right, alarms + wrong)
            + _log_beta_binomial(num_wrong - hits, num_audited - in_sample, missed + wrong, found + right),
        )
    numbers = np.unique(np.rint(num_uqs * np.linspace(0, 1, NUM_ERROR_POINTS) ** 2).astype(np.int64))
    logs = _log_beta_binomial(numbers, num_uqs, *ERROR_PRIOR)
    # In blocks, so that a block has at most about `MAX_BLOCK_SIZE` pairs.
    blocks = np.array_split(numbers[:, None], 1 + len(numbers) * num_audited // MAX_BLOCK_SIZE)
    logs += np.concatenate(
        [
            np.logaddexp.reduce(
                called
                + _log_choose(block, in_sample)
                + _log_choose(num_uqs - block, num_audited - in_sample),
                axis=1,
            )
            for block in blocks
        ]
    )
    density = np.exp(logs - logs.max())
    # A number stands for its neighbours, too, if not all numbers are tried.
    mass = density * np.gradient(numbers.astype(float))
    if len(numbers) == num_uqs + 1:
        mass = density
    order = np.argsort(-density, kind="stable")
    mass_inside = np.cumsum(mass[order]) / mass.sum()
    inside = order[: int(np.searchsorted(mass_inside, LEVEL)) + 1]
    median, upper = np.searchsorted(np.cumsum(mass) / mass.sum(), (0.5, (1 + LEVEL) / 2))
    value, low, high = (
        float(numbers[at] / num_uqs) for at in (median, inside.min(), max(inside.max(), upper))
    )
    return value, low, high


def _log_choose(total: np.ndarray | int, chosen: np.ndarray | int) -> np.ndarray:
    """Return the log of the number of ways to choose; -inf if there is none."""
    possible = (np.asarray(chosen) >= 0) & (np.asarray(chosen) <= total)
    chosen = np.where(possible, chosen, 0)
    logs = (
        gammaln(np.maximum(total, 0) + 1.0)
        - gammaln(chosen + 1.0)
        - gammaln(np.maximum(total - chosen, 0) + 1.0)
    )
    return np.where(possible, logs, -np.inf)


def _log_beta_binomial(hits: np.ndarray | int, total: np.ndarray | int, a: float, b: float) -> np.ndarray:
    """Return the log probability of `hits` of `total`, if their rate has a beta distribution with a and b."""
    misses = np.maximum(np.asarray(total) - hits, 0)
    return _log_choose(total, hits) + betaln(hits + a, misses + b) - betaln(a, b)
