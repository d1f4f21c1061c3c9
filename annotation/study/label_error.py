"""State the label error of a study: how many candidates that votes verified as unanswerable have an answer after all.

The error is measured, not derived from the model of the votes: if annotators share a misreading, the model is sure of
wrong verdicts. An adjudicator, who sees neither the votes nor why a task is asked, judges a random sample of the
tasks (the audit sample, `annotation.study.assignment.is_audit_task`). Adjudicators err, too. How often is measured on the
gold questions that they answer, and the interval allows for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from pipeline.core.records import Record

# Minimum number of audited candidates that votes verified as unanswerable.
MIN_AUDITED = 30
# Pseudo-counts of right and of wrong answers of adjudicators (a uniform prior of their error rates).
ADJUDICATOR_PRIOR = 1.0
# Number of points of the grid for the label error (0 to 1, finer near 0), and the probability of the interval.
NUM_ERROR_POINTS, LEVEL = 2001, 0.95


class LabelError(Record):
    """The proportion of answerable candidates among those that votes verified as unanswerable.

    Attributes:
        value: The most probable proportion; None if it is not known.
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
        status_by_votes: Candidate id -> status by the votes alone.
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
    if len(judged) < MIN_AUDITED:
        reason = (
            f"only {len(judged)} of the {MIN_AUDITED} UQs that are needed were audited by an adjudicator"
            if judged
            else "no adjudicator has judged the audit sample"
        )
        return LabelError(num_audited=len(judged), num_wrong=num_wrong, unknown_because=reason)
    value, low, high = estimate_error(num_wrong, len(judged), gold_counts)
    return LabelError(value=value, low=low, high=high, num_audited=len(judged), num_wrong=num_wrong)


def estimate_error(
    num_wrong: int, num_audited: int, gold_counts: Sequence[int] = (0, 0, 0, 0)
) -> tuple[float, float, float]:
    """Estimate the label error from the verdicts of adjudicators who err themselves.

    The model: an adjudicator calls an audited candidate answerable with the probability e t + (1 - e) (1 - s), where e is the
    label error and s and t are the adjudicators' sensitivity and specificity. e is uniformly distributed before the audit; s and
    t have beta distributions by the gold questions. Source of the correction: W. J. Rogan and B. Gladen, American Journal of
    Epidemiology 107, 1978.

    Args:
        num_wrong: Number of audited candidates that adjudicators call answerable.
        num_audited: Number of audited candidates.
        gold_counts: As in `measure_label_error`.

    Returns:
        The most probable error, and its interval of highest density, with a probability of 95 %.

    >>> [round(end, 3) for end in estimate_error(0, 100, (10_000, 0, 10_000, 0))]  # 1 - 0.05 ** (1 / 101)
    [0.0, 0.0, 0.029]
    """
    errors = np.linspace(0, 1, NUM_ERROR_POINTS) ** 2
    found, missed, clear, alarms = (count + ADJUDICATOR_PRIOR for count in gold_counts)
    misses, false_alarms = _spread(missed, found), _spread(alarms, clear)
    likelihood = np.zeros(NUM_ERROR_POINTS)
    for miss, weight in zip(*misses, strict=True):
        for alarm, other in zip(*false_alarms, strict=True):
            called = np.clip(errors * (1 - alarm) + (1 - errors) * miss, 1e-12, 1 - 1e-12)
            logs = num_wrong * np.log(called) + (num_audited - num_wrong) * np.log1p(-called)
            likelihood += weight * other * np.exp(logs - _max_log_likelihood(num_wrong, num_audited))
    # The distance between neighbouring points of the grid grows.
    mass = likelihood * np.gradient(errors)
    mass /= mass.sum()
    order = np.argsort(-likelihood, kind="stable")
    inside = order[: int(np.searchsorted(np.cumsum(mass[order]), LEVEL)) + 1]
    return (
        float(errors[likelihood.argmax()]),
        float(errors[inside.min()]),
        float(errors[inside.max()]),
    )


def _spread(wrong: float, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return 15 values of an error rate with a beta distribution, and their weights."""
    mean = wrong / (wrong + right)
    points = np.linspace(0.02, 4, 15) * mean
    points = points[points < 1]
    logs = (wrong - 1) * np.log(points) + (right - 1) * np.log1p(-points)
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()


def _max_log_likelihood(num_wrong: int, num_audited: int) -> float:
    rate = num_wrong / num_audited
    return sum(
        count * np.log(share)
        for count, share in ((num_wrong, rate), (num_audited - num_wrong, 1 - rate))
        if count
    )
