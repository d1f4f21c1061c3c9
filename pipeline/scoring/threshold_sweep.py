"""Sort the confidences once and derive every threshold score from the sorted items."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .input_validation import check_arrays

# Tolerance for comparing a count with a target: in floating point, 0.95 x 40 may be slightly above 38.
TOLERANCE = 1e-12
# Number of items in a block, so that the intermediate arrays of a block fit into the cache of the processor.
BLOCK_SIZE = 1 << 14


class ThresholdSweep(NamedTuple):
    """Sums over the accepted items (confidence >= t) for each threshold t, from the highest to the lowest.

    Each array is [m + 1]: first 0 (nothing is accepted), then a sum for each of the m distinct confidences.
    The sums are sums of weights, or counts if there are no weights.

    Attributes:
        correct: AQs accepted and answered correctly; floats if some answers are partially correct.
        aqs: AQs accepted.
        uqs: UQs accepted.
    """

    correct: np.ndarray
    aqs: np.ndarray
    uqs: np.ndarray

    @property
    def accepted(self) -> np.ndarray:
        """Return the number of accepted items."""
        return self.aqs + self.uqs

    def blocks(self) -> Iterator[ThresholdSweep]:
        """Yield the sweep in blocks of at most `BLOCK_SIZE` steps.

        Each block starts at the last point of the previous block.
        """
        for start in range(0, len(self.aqs) - 1, BLOCK_SIZE):
            yield ThresholdSweep(*(column[start : start + BLOCK_SIZE + 1] for column in self))


class RankedItems(NamedTuple):
    """Items sorted by falling confidence, ready for sweeps with any weights.

    Attributes:
        rows: [n], the index of the item at each rank.
        confidence: [n], the confidence of the item at each rank.
        tie_ends: [m + 1], first 0, then the rank after each tie (group of equal confidences); None if there
            are no ties.
        correct, aqs: [n], what the item at each rank adds to the sums of a sweep. The arrays are integers if
            all values are 0 or 1, because sums of integers are ten times faster.
    """

    rows: np.ndarray
    confidence: np.ndarray
    tie_ends: np.ndarray | None
    correct: np.ndarray
    aqs: np.ndarray

    def sweep(self, weights: np.ndarray | None = None, out: np.ndarray | None = None) -> ThresholdSweep:
        """Sweep over the items.

        Args:
            weights: [n] integers, in the order of the ranks: how often each item counts. None: each item
                counts once.
            out: Memory for the sums, [3, n + 1], from `allocate_sums`. Repeated sweeps are much faster if
                they use the same memory. None: new memory is allocated.
        """
        sums, count = self.allocate_sums() if out is None else out, len(self.rows)
        sums[:, 0] = 0
        for start in range(0, count, BLOCK_SIZE):
            here = slice(start, start + BLOCK_SIZE)
            right, aqs = self.correct[here].astype(sums.dtype), self.aqs[here].astype(np.int64)
            each = 1
            if weights is not None:
                each = weights[here]
                right *= each
                aqs *= each
            for total, column in zip(sums[:, start:], (right, aqs, each - aqs), strict=True):
                end = len(column) + 1
                np.cumsum(column, out=total[1:end])
                total[1:end] += total[0]
        return ThresholdSweep(*(sums if self.tie_ends is None else sums[:, self.tie_ends]))

    def allocate_sums(self) -> np.ndarray:
        """Allocate memory for a sweep."""
        return np.empty((3, len(self.rows) + 1), float if self.correct.dtype.kind == "f" else np.int64)

    @property
    def thresholds(self) -> np.ndarray:
        """Return the distinct confidences in falling order, [m]."""
        return self.confidence if self.tie_ends is None else self.confidence[self.tie_ends[1:] - 1]


def rank_items(confidence: np.ndarray, correct: np.ndarray, answerable: np.ndarray) -> RankedItems:
    """Sort items by confidence. The arguments are the same as in `sweep_thresholds`."""
    rows = np.argsort(confidence)[::-1]
    ranked = confidence[rows]
    apart = ranked[1:] != ranked[:-1]
    ends = None if apart.all() else np.concatenate([[0], np.flatnonzero(apart) + 1, [len(rows)]])
    answerable, right = answerable.astype(bool, copy=False), correct.astype(bool, copy=False)
    if correct.dtype.kind == "f" and ((right != correct) & answerable).any():
        right = np.where(answerable, correct, 0.0)
    else:
        right = (right & answerable).view(np.int8)
    return RankedItems(rows, ranked, ends, right[rows], answerable.view(np.int8)[rows])


def sweep_thresholds(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> ThresholdSweep:
    """Sweep over items, each counted once.

    Args:
        confidence: [n], the confidence of each item.
        correct: [n] booleans or fractions in [0, 1], ignored for unanswerable items.
        answerable: [n] booleans.
    """
    confidence, correct, answerable = check_arrays(
        confidence=confidence, correct=correct, answerable=answerable
    )
    return rank_items(confidence, correct, answerable).sweep()


def area_under_curve(swept: ThresholdSweep, count_all_accepted: bool = False) -> float:
    """Return the area under the ACC-FPR curve by the trapezoid rule; NaN without AQs or without UQs.

    Args:
        swept: A sweep.
        count_all_accepted: Count all accepted AQs instead of only correctly answered ones. The area is then
            AUROC.
    """
    twice = 0
    for part in swept.blocks():
        gain = part.aqs if count_all_accepted else part.correct
        twice += (np.diff(part.uqs) * (gain[1:] + gain[:-1])).sum()
    return safe_divide(twice / 2, float(swept.aqs[-1]) * float(swept.uqs[-1]))


def lowest_fpr(gain: np.ndarray, uqs: np.ndarray, proportion: float) -> float:
    """Return the lowest FPR at which `gain` reaches a proportion of its last value.

    Values are interpolated linearly between the points. NaN if the last value of `gain` is 0 or if there are
    no UQs.

    Args:
        gain: [m + 1], a sum that grows as the threshold falls, such as the number of accepted AQs.
        uqs: [m + 1], the number of accepted UQs.
        proportion: Proportion of the last value of `gain`, in [0, 1].
    """
    target = proportion * gain[-1]
    reached = bisect_left(gain, target * (1 - TOLERANCE))
    before = max(reached - 1, 0)
    way = (target - gain[before]) / max(gain[reached] - gain[before], TOLERANCE)
    accepted = uqs[before] + min(max(way, 0), 1) * (uqs[reached] - uqs[before])
    return safe_divide(accepted, uqs[-1]) if gain[-1] > 0 else float("nan")


def lowest_detection_error(swept: ThresholdSweep, first: int) -> float:
    """Return the lowest proportion of misclassified items from the point with index `first` on; NaN without
    AQs or UQs.
    """
    aqs, uqs = int(swept.aqs[-1]), int(swept.uqs[-1])
    rest = ThresholdSweep(*(column[first:] for column in swept))
    lowest = min((int((part.uqs - part.aqs).min()) for part in rest.blocks()), default=uqs - aqs)
    return safe_divide(aqs + lowest, aqs + uqs) if aqs and uqs else float("nan")


def safe_divide(numerator: Any, denominator: Any) -> float:
    """Return `numerator / denominator`, NaN if the denominator is 0."""
    return float(numerator / denominator) if denominator > 0 else float("nan")


def safe_divide_arrays(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return `numerator / denominator` elementwise, NaN where the denominator is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1), np.nan)


def nan_mean(values: np.ndarray) -> float:
    """Return the mean of the finite values; NaN, without a warning, if there are none."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
