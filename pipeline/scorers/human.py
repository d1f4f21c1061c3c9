"""People against models: how many UQs do they reject? (RGQA, section 5.4)

Each person's judgement is "answer" or "reject" of an AQ or a UQ; models get the threshold at which they accept AQs
as often as people do."""

from __future__ import annotations

import numpy as np

from .sweep import sweep
from .validation import arrays


def human_rejection(accepted, answerable) -> dict[str, float]:
    """From people's judgements: `true_positive_rate` (share of AQs accepted), `rejection_accuracy` (share of UQs
    rejected), and how many of each there were. NaN without the kind.

    Args:
        accepted: [n] booleans, was the question judged answerable? answerable: [n] booleans, is it?

    >>> human_rejection([1, 1, 0, 0], [True, True, False, False])["rejection_accuracy"]
    1.0
    """
    accepted, answerable = arrays(accepted=accepted, answerable=answerable)
    accepted, answerable = accepted.astype(bool), answerable.astype(bool)

    def rate(part: np.ndarray) -> float:
        return float(part.mean()) if len(part) else float("nan")

    return {
        "true_positive_rate": rate(accepted[answerable]),
        "rejection_accuracy": rate(~accepted[~answerable]),
        "aqs": int(answerable.sum()),
        "uqs": int((~answerable).sum()),
    }


def rejection_at_tpr(confidence, answerable, tpr: float) -> float:
    """Share of UQs a model rejects where it accepts the share `tpr` of AQs, straight between thresholds, the best
    where several do; in [0, 1], higher is better. NaN where one kind is missing.

    >>> rejection_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False], 0.5)
    1.0
    """
    found = sweep(confidence, answerable, answerable)
    aqs, uqs = found.aqs[-1], found.uqs[-1]
    if not aqs or not uqs or np.isnan(tpr):
        return float("nan")
    rate = found.aqs / aqs
    first = int(np.argmax(rate >= tpr - 1e-12))  # the first point that reaches it: the fewest UQs accepted
    if first == 0:
        return 1.0
    weight = min(1.0, (tpr - rate[first - 1]) / (rate[first] - rate[first - 1]))
    return float(1 - (found.uqs[first - 1] + weight * (found.uqs[first] - found.uqs[first - 1])) / uqs)
