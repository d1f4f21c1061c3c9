"""The numbers of Reliable VQA's script (facebookresearch/reliable_vqa d9586af), quirks kept; unrounded.

What it does otherwise than the strict scores: it sorts by accuracy before it sorts by confidence, so that the area has the
best of a tie first; a threshold for a cost is read off item by item, also inside a tie; accuracies lose all but four
decimals before they are sorted and before such a threshold is chosen; where nothing keeps to a risk the threshold is
0; answering nothing is never chosen for a cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import format_count
from .input_validation import check_arrays, check_fractions


def published_selective_scores(
    confidence: ArrayLike,
    accuracy: ArrayLike,
    validation_confidence: ArrayLike | None = None,
    validation_accuracy: ArrayLike | None = None,
    *,
    risks: Sequence[float] = (0.01, 0.05, 0.1, 0.2),
    costs: Sequence[float] = (1, 10, 100),
) -> dict[str, float]:
    """`accuracy`, `auc`, `best_auc`, for every risk `coverage@r`, `threshold@r`, `best_coverage@r`, and, with dev
    items to choose thresholds on, for every cost `phi@c`, `phi_threshold@c`, `best_phi@c`. All shares, not percent.

    Args:
        confidence: [n]. accuracy: [n] in [0, 1]. dev_...: the same of the items that thresholds are chosen on.

    Raises:
        ValueError: fewer than two items, for which the script has no area.

    >>> scores = published_selective_scores([0.9, 0.5, 0.5], [1, 0, 1], risks=[0.1])
    >>> scores["coverage@0.1"], scores["threshold@0.1"]  # the right one of the two ties comes first; a tie is left
    (0.3333333333333333, 0.9)
    """
    confidence, accuracy = _check_columns(confidence, accuracy)
    if len(confidence) < 2:
        raise ValueError(f"{format_count(len(confidence), 'item')}, wanted 2 or more")
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
    """As the script keeps them: percent with two decimals."""
    return np.array([round(100.0 * value, 2) / 100 for value in accuracy.tolist()])


def _last_within(ranked: np.ndarray, risk: np.ndarray, limit: float) -> int:
    """The last place whose risk is within the limit; if the next item has the same confidence, the last before it
    that also ends its tie. -1 for none."""
    within = risk <= limit
    ends_tie = np.append(ranked[1:] != ranked[:-1], True)
    last = np.flatnonzero(within)
    if not len(last) or ends_tie[last[-1]]:
        return int(last[-1]) if len(last) else -1
    return int(max(np.flatnonzero(within & ends_tie), default=-1))


def _choose_cost_threshold(confidence: np.ndarray, accuracy: np.ndarray, cost: float) -> float:
    """The confidence of the last item (ties in the order given) up to which the sum of what is earned is highest."""
    order = np.argsort(-confidence, kind="stable")
    total = np.cumsum(_compute_utility(accuracy, cost)[order])
    return float(confidence[order][np.flatnonzero(total == total.max())[-1]])


def _compute_utility(accuracy: np.ndarray, cost: float) -> np.ndarray:
    return np.where(accuracy > 0, accuracy, -float(cost))
