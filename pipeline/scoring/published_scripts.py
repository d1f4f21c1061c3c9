"""Reproduce the scores of the published scripts of RGQA and Reliable VQA, including their quirks.

The script of RGQA (Zhang et al., ICCV 2023) differs from the strict scores as follows
(docs/reference/scores.md shows an example of each difference):

- It drops points of the curve that lie between points on a straight line.
- It reads FPR at the *end* of a flat segment.
- It returns 0 where nothing is correct.
- It computes AUPR by trapezoids.
- It compares answers exactly.
- In the four numbers at a fixed threshold tau, it accepts where confidence > tau (not >=), and counts "UQ" as the correct
  answer to a UQ.
- It prints nine numbers fewer if every item is accepted.

The script of Reliable VQA (Whitehead et al., ECCV 2022; facebookresearch/reliable_vqa d9586af) differs as
follows:

- It sorts items by accuracy before it sorts them by confidence, so in the area the best items of a tie come first.
- It chooses the threshold for a cost item by item, also within a tie.
- It rounds accuracies to four decimals before sorting, and before it chooses the threshold for a cost.
- If no threshold reaches a risk, it uses the threshold 0.
- It never chooses to answer nothing for a cost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import format_count
from .input_validation import check_arrays, check_fractions
from .threshold_sweep import ThresholdSweep, area_under_curve, lowest_detection_error, sweep_thresholds

# Scores that RGQA's script always prints. It prints the other scores only if some item is rejected.
ALWAYS_PRINTED = ("auaf", "ff95", "facc", "accuracy_indomain")


def published_scores(
    confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike, *, tau: float = 0.5
) -> dict[str, float]:
    """Return the thirteen scores of RGQA's script; NaN for scores that the script does not print.

    Args:
        confidence: [n] floats.
        correct: [n] booleans: whether the prediction equals the label exactly ("UQ" for a UQ).
        answerable: [n] booleans.
        tau: Fixed threshold of accuracy_accept, accuracy and f1.

    Raises:
        ValueError: There are no AQs or no UQs; the script fails or prints warnings then.

    >>> published_scores([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], [True, False, True, False])["auaf"]
    0.75
    """
    confidence, correct, answerable = check_arrays(
        confidence=confidence, correct=correct, answerable=answerable
    )
    answerable, correct = answerable.astype(bool), correct.astype(bool)
    if answerable.all() or not answerable.any():
        kind = "AQs" if answerable.all() else "UQs"
        raise ValueError(f"the published script needs AQs and UQs; there are only {kind}")
    swept = sweep_thresholds(confidence, correct, answerable)
    aqs = int(swept.aqs[-1])
    facc = swept.correct[-1] / aqs
    accepted = confidence > tau
    taken, hits = np.count_nonzero(accepted), np.count_nonzero(accepted & answerable)
    numbers = {
        "auaf": area_under_curve(swept),
        "ff95": _fpr_at(0.95 * facc, swept.correct, swept) if facc > 0 else 0.0,
        "facc": facc,
        "fpr95": _fpr_at(0.95, swept.aqs, swept),
        "fpr81.4": _fpr_at(0.814, swept.aqs, swept),
        "auroc": area_under_curve(swept, count_all_accepted=True),
        "aupr_in": _trapezoid_aupr(swept.blocks()),
        "aupr_out": _trapezoid_aupr(_reversed_blocks(swept)),
        "detection_error": _detection_error(swept),
        "accuracy_accept": np.count_nonzero(correct & accepted) / max(taken, 1),
        "accuracy": np.count_nonzero(correct) / len(correct),
        "f1": 2 * hits / (taken + aqs),
        "accuracy_indomain": facc,
    }
    printed = ALWAYS_PRINTED if accepted.all() else numbers
    return {name: float(value) if name in printed else float("nan") for name, value in numbers.items()}


def _fpr_at(target: float, gain: np.ndarray, swept: ThresholdSweep) -> float:
    """Return the FPR at which the gain reaches a target, interpolated like `np.interp` (at the end of a flat
    segment).
    """
    aqs, uqs = int(swept.aqs[-1]), int(swept.uqs[-1])
    here = bisect_right(gain, target, key=lambda count: count / aqs) - 1
    return float(np.interp(target, gain[here : here + 2] / aqs, swept.uqs[here : here + 2] / uqs))


def _detection_error(swept: ThresholdSweep) -> float:
    """Return the lowest detection error over the points of the ROC curve that the script keeps.

    The script drops points between equal steps. The error is linear there, so this only matters where the
    equal steps begin before enough AQs are accepted.
    """
    aqs, uqs, last = swept.aqs, swept.uqs, len(swept.aqs) - 1
    first = bisect_left(aqs, 0.95, key=lambda count: count / aqs[-1])
    step = aqs[first] - aqs[first - 1], uqs[first] - uqs[first - 1]
    while first < last and (aqs[first + 1] - aqs[first], uqs[first + 1] - uqs[first]) == step:
        first += 1
    return lowest_detection_error(swept, first)


def _reversed_blocks(swept: ThresholdSweep) -> Iterator[ThresholdSweep]:
    """Yield the blocks of the reversed sweep, which starts at the lowest confidence and detects UQs."""
    for part in swept.blocks():
        yield ThresholdSweep(part.correct, swept.uqs[-1] - part.uqs, swept.aqs[-1] - part.aqs)


def _trapezoid_aupr(blocks: Iterable[ThresholdSweep]) -> float:
    """Return the area under the precision-recall curve by trapezoids, including the point (recall 0,
    precision 1).
    """
    total, hits = 0.0, 0
    for part in blocks:
        taken = part.accepted
        precision = np.divide(part.aqs, taken, out=np.ones(len(taken)), where=taken > 0)
        total += (np.diff(part.aqs) * (precision[1:] + precision[:-1])).sum()
        hits = max(hits, part.aqs[0], part.aqs[-1])
    return abs(float(total)) / 2 / int(hits)


def published_selective_scores(
    confidence: ArrayLike,
    accuracy: ArrayLike,
    validation_confidence: ArrayLike | None = None,
    validation_accuracy: ArrayLike | None = None,
    *,
    risks: Sequence[float] = (0.01, 0.05, 0.1, 0.2),
    costs: Sequence[float] = (1, 10, 100),
) -> dict[str, float]:
    """Return the scores of Reliable VQA's script, unrounded; all are fractions, not percent.

    Args:
        confidence: [n], the confidence of each item.
        accuracy: [n], the accuracy of each answer, in [0, 1].
        validation_confidence, validation_accuracy: Confidence and accuracy of the items on which thresholds
            are chosen; None if there are none.
        risks: Risk levels, in [0, 1].
        costs: Costs of a wrong answer.

    Returns:
        `accuracy`, `auc`, `best_auc`; for every risk `coverage@r`, `threshold@r`, `best_coverage@r`; and with
        validation items for every cost `phi@c`, `phi_threshold@c`, `best_phi@c`.

    Raises:
        ValueError: There are fewer than two items. The script cannot compute an area then.

    >>> scores = published_selective_scores([0.9, 0.5, 0.5], [1, 0, 1], risks=[0.1])
    >>> scores["coverage@0.1"], scores["threshold@0.1"]  # of the tie the correct item comes first, but a tie is not split
    (0.3333333333333333, 0.9)
    """
    confidence, accuracy = _check_columns(confidence, accuracy)
    if len(confidence) < 2:
        raise ValueError(f"{format_count(len(confidence), 'item')}, expected 2 or more")
    by_accuracy = np.argsort(-_round_as_percent(accuracy), kind="stable")
    by_confidence = by_accuracy[np.argsort(-confidence[by_accuracy], kind="stable")]
    coverage = np.arange(1, len(confidence) + 1) / len(confidence)
    scores = {"accuracy": float(accuracy.mean())}
    for prefix, order in (("best_", by_accuracy), ("", by_confidence)):
        risk = np.cumsum(1 - accuracy[order]) / np.arange(1, len(order) + 1)
        scores[f"{prefix}auc"] = float(np.trapezoid(risk, coverage))
        for limit in risks:
            place = _last_within(confidence[order], risk, limit)
            scores[f"{prefix}coverage@{limit}"] = float(coverage[place]) if place >= 0 else 0.0
            if not prefix:
                scores[f"threshold@{limit}"] = float(confidence[order][place]) if place >= 0 else 0.0
    if validation_confidence is not None and validation_accuracy is not None:
        validation_confidence, validation_accuracy = _check_columns(
            validation_confidence, validation_accuracy
        )
        for cost in costs:
            threshold = _choose_cost_threshold(
                validation_confidence, _round_as_percent(validation_accuracy), cost
            )
            phi = np.where(
                confidence >= threshold, _compute_utility(_round_as_percent(accuracy), cost), 0.0
            ).mean()
            scores |= {
                f"phi@{cost}": float(phi),
                f"phi_threshold@{cost}": threshold,
                f"best_phi@{cost}": float(_round_as_percent(accuracy).mean()),
            }
    return scores


def _check_columns(confidence: ArrayLike, accuracy: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    confidence, accuracy = check_arrays(confidence=confidence, accuracy=accuracy)
    return confidence, check_fractions(accuracy=accuracy)[0]


def _round_as_percent(accuracy: np.ndarray) -> np.ndarray:
    """Round accuracies as the script does: to percent with two decimals."""
    return np.array([round(100.0 * value, 2) / 100 for value in accuracy.tolist()])


def _last_within(ranked: np.ndarray, risk: np.ndarray, limit: float) -> int:
    """Return the last index whose risk is within the limit, -1 for none.

    If the next item has the same confidence, the last earlier index that ends a tie is returned instead.
    """
    within = risk <= limit
    ends_tie = np.append(ranked[1:] != ranked[:-1], True)
    last = np.flatnonzero(within)
    if not len(last) or ends_tie[last[-1]]:
        return int(last[-1]) if len(last) else -1
    return int(max(np.flatnonzero(within & ends_tie), default=-1))


def _choose_cost_threshold(confidence: np.ndarray, accuracy: np.ndarray, cost: float) -> float:
    """Return the confidence of the last item (ties in the given order) up to which the total utility is
    highest.
    """
    order = np.argsort(-confidence, kind="stable")
    total = np.cumsum(_compute_utility(accuracy, cost)[order])
    return float(confidence[order][np.flatnonzero(total == total.max())[-1]])


def _compute_utility(accuracy: np.ndarray, cost: float) -> np.ndarray:
    return np.where(accuracy > 0, accuracy, -float(cost))
