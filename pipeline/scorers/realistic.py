"""Realistic VQA: how well are answerable questions (AQs) answered and unanswerable ones (UQs) rejected? Every score
from one sort of the confidences that a question is answerable (Zhang et al., ICCV 2023, section 3.3, eqs. 1-2)."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import Scoring
from .dual_accuracy import pairs
from .items import Answered, Options, ReportedScore, Scores
from .parity import published_scores
from .sweep import SLACK, Sweep, area, lowest_fpr, order, share, sweep, weighted_sweep
from .validation import arrays


def acc_fpr_curve(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """ACC and FPR at every threshold t, accepting where confidence >= t; items with equal confidence go together.

    Args:
        confidence: [n] floats; higher means "answerable".
        correct: [n] booleans or fractions in [0, 1]: was the answer right? Ignored where not answerable.
        answerable: [n] booleans.

    Returns:
        acc, fpr: [m + 1] each, from (0, 0) on, for m distinct confidences in falling order. ACC is the share of
        answerable items that are accepted *and* right, FPR the share of unanswerable ones accepted. Both NaN
        where there is no item of the kind.

    >>> acc, fpr = acc_fpr_curve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    >>> acc.tolist(), fpr.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0])
    """
    swept = sweep(confidence, correct, answerable)
    return share(swept.right, swept.aqs[-1:]), share(swept.uqs, swept.uqs[-1:])


def auaf(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Area under the ACC-FPR curve by the trapezoid rule, in [0, FACC]; higher is better.
    NaN without answerable or without unanswerable items.

    >>> auaf([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.75
    """
    return _of("auaf", confidence, correct, answerable)


def facc(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> float:
    """Full accuracy: the highest ACC, reached when everything is accepted; in [0, 1], higher is better.

    >>> facc([0.9, 0.8, 0.7], [1, 0, 0], [True, False, True])
    0.5
    """
    return _of("facc", confidence, correct, answerable)


def ff95(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike, *, share: float = 0.95) -> float:
    """The lowest FPR at which ACC, straight between the curve's points, reaches `share` of FACC; lower is better.
    NaN where FACC is 0 or undefined, or there is no unanswerable item.

    >>> ff95([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])
    0.5
    """
    swept = sweep(confidence, correct, answerable)
    return float(lowest_fpr(swept.right, swept.uqs, share))


def auroc(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Probability that a random answerable item has a higher confidence than a random unanswerable one, ties
    counted half (Mann-Whitney); in [0, 1], higher is better. NaN where one kind is missing.

    >>> auroc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    return _of("auroc", confidence, answerable, answerable)


def aupr(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Average precision of "answerable": the mean, over answerable items, of the precision at their confidence,
    ties together; in (0, 1], higher is better. NaN where there is no answerable item. For AUPR-out, where
    "unanswerable" is to be found: `aupr(-confidence, ~answerable)`, or `answerability_ap`.

    >>> aupr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return _of("aupr_in", confidence, answerable, answerable)


def fpr_at_tpr(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """The lowest share of unanswerable items accepted at which the share `tpr` of the answerable ones is, straight
    between the points of the ROC curve; lower is better. NaN where one kind is missing.

    >>> fpr_at_tpr([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.5
    """
    swept = sweep(confidence, answerable, answerable)
    return float(lowest_fpr(swept.aqs, swept.uqs, tpr))


def detection_error(confidence: ArrayLike, answerable: ArrayLike, *, tpr: float = 0.95) -> float:
    """The lowest share of items taken for the other kind, over thresholds that accept at least `tpr` of the
    answerable ones; in [0, 1], lower is better. NaN where one kind is missing.

    >>> detection_error([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.25
    """
    return float(_detection_error(sweep(confidence, answerable, answerable), tpr))


def answerability_f1(confidence: ArrayLike, answerable: ArrayLike, *, threshold: float = 0.5) -> float:
    """F1 of finding the unanswerable items, found where confidence < threshold (VizWiz's 1 - answerable > 0.5); in
    [0, 1], higher is better. NaN where there is none and none is found.

    >>> round(answerability_f1([0.9, 0.2, 0.7, 0.1], [True, True, False, False]), 3)  # 1 hit of 2 found and 2 there
    0.5
    """
    confidence, answerable = arrays(confidence=confidence, answerable=answerable)
    there, found = ~answerable.astype(bool), confidence < threshold
    both = np.count_nonzero(there) + np.count_nonzero(found)
    return 2 * np.count_nonzero(there & found) / both if both else float("nan")


def answerability_ap(confidence: ArrayLike, answerable: ArrayLike) -> float:
    """Average precision of finding the unanswerable items, lowest confidence first; NaN where there is none.

    >>> answerability_ap([0.9, 0.1], [True, False])
    1.0
    """
    return _of("aupr_out", confidence, answerable, answerable)


def realistic_scores(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> dict[str, float]:
    """The scores named in `SCORES`, strict definitions; NaN where undefined.

    >>> realistic_scores([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])["auaf"]
    0.75
    """
    scores = scores_of(sweep(confidence, correct, answerable))
    return {name: float(value) for name, value in scores.items()}


def scores_of(swept: Sweep) -> dict[str, np.ndarray]:
    """The scores of every sweep, [...] each."""
    return {name: score.of(swept) for name, score in SCORES.items()}


def _of(name: str, *columns: ArrayLike) -> float:
    return float(SCORES[name].of(sweep(*columns)))


def _detection_error(swept: Sweep, tpr: float = 0.95) -> np.ndarray:
    aqs, uqs = swept.aqs[..., -1:], swept.uqs[..., -1:]
    wrong = np.where(swept.aqs >= tpr * aqs * (1 - SLACK), aqs - swept.aqs + swept.uqs, np.inf).min(axis=-1)
    both = (aqs[..., 0] > 0) & (uqs[..., 0] > 0)
    return np.where(both, share(wrong, (aqs + uqs)[..., 0]), np.nan)


def _average_precision(hits: np.ndarray, misses: np.ndarray) -> np.ndarray:
    taken = (hits + misses)[..., 1:]
    precision = hits[..., 1:] / np.maximum(taken, SLACK)
    return share((np.diff(hits, axis=-1) * precision).sum(axis=-1), hits[..., -1])


def _rejected(accepted: np.ndarray) -> np.ndarray:
    return (accepted[..., -1:] - accepted)[..., ::-1]


# What each score is of a sweep, [...]; a score that is added here stands in every report, with an interval.
SCORES = {
    "auaf": ReportedScore("AUAF", lambda swept: area(swept.right, swept)),
    "ff95": ReportedScore("FF95", lambda swept: lowest_fpr(swept.right, swept.uqs, 0.95), True),
    "facc": ReportedScore("FACC", lambda swept: share(swept.right[..., -1], swept.aqs[..., -1])),
    "auroc": ReportedScore("AUROC", lambda swept: area(swept.aqs, swept)),
    "aupr_in": ReportedScore("AUPR-in", lambda swept: _average_precision(swept.aqs, swept.uqs)),
    "aupr_out": ReportedScore(
        "AUPR-out", lambda swept: _average_precision(_rejected(swept.uqs), _rejected(swept.aqs))
    ),
    "fpr95": ReportedScore("FPR at 95 % TPR", lambda swept: lowest_fpr(swept.aqs, swept.uqs, 0.95), True),
    "detection_error": ReportedScore("detection error", _detection_error, True),
}


def realistic_group(answered: Answered, options: Options) -> Scores:
    """The strict scores, or in mode "parity" those of the published script."""
    if options.mode == "parity":
        return published_scores(answered.confidence, answered.literal, answered.answerable)
    return realistic_scores(*answered.columns)


def answerability_group(answered: Answered, options: Options) -> Scores:
    """Answerability as a task of its own, as VizWiz scores it: "unanswerable" is what is to be found."""
    return {
        "f1": answerability_f1(answered.confidence, answered.answerable, threshold=options.threshold),
        "average_precision": answerability_ap(answered.confidence, answered.answerable),
        "threshold": options.threshold,
    }


def resample_realistic(answered: Answered, cluster: np.ndarray) -> Scoring:
    """The realistic scores and dual accuracy of repetitions; `cluster` is the number of each item's picture, [n]."""
    confidence, correct, answerable = answered.columns
    swept = partial(weighted_sweep, order(confidence), correct, answerable, cluster)
    uqs, lowest, right = pairs(*answered.paired)
    known = answered.paired[-1].all() and len(uqs) > 0
    handled = right * (lowest > confidence[uqs])

    def scores(weights: np.ndarray) -> dict[str, np.ndarray]:
        found = scores_of(swept(weights))
        if known:
            drawn = weights[:, cluster[uqs]]
            found["dual_accuracy"] = share(drawn @ handled, drawn.sum(axis=1))
        return found

    return scores
