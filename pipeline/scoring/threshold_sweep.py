"""Sort the confidences once and derive every threshold score from the sorted items."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .input_validation import check_arrays

# Counts are compared with a target like 0.95 x 40, which floating point may put slightly above 38.
TOLERANCE = 1e-12
# Items per block: the intermediate arrays of a block fit the processor's cache.
BLOCK_SIZE = 1 << 14


class ThresholdSweep(NamedTuple):
    """Sums over the accepted items (confidence >= t) as the threshold t falls, items of equal confidence together.

    All are sums of weights (counts, if there are no weights), [m + 1] for m distinct confidences, starting at 0.

    Attributes:
        correct: AQs accepted and answered correctly; floats if some are partially correct.
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
        """Yield the sweep in blocks of at most BLOCK_SIZE steps. Each block starts at the last point of the one before."""
        for start in range(0, len(self.aqs) - 1, BLOCK_SIZE):
            yield ThresholdSweep(*(column[start : start + BLOCK_SIZE + 1] for column in self))


class RankedItems(NamedTuple):
    """Items by falling confidence, ready for sweeps with any weights.

    Attributes:
        rows: [n], the index of the item at each rank.
        confidence: [n], in this order.
        tie_ends: [m + 1], 0 and the end of each tie; None if all confidences are distinct.
        correct, aqs: [n], the contribution of each item to a sweep. They are integers if all are 0 or 1, as sums of integers
            are ten times faster.
    """

    rows: np.ndarray
    confidence: np.ndarray
    tie_ends: np.ndarray | None
    correct: np.ndarray
    aqs: np.ndarray

    def sweep(self, weights: np.ndarray | None = None, out: np.ndarray | None = None) -> ThresholdSweep:
        """Sweep over the items.

        Args:
            weights: [n] integers, in the order of the ranks: how often each item counts; None for once.
            out: Memory for the sums, [3, n + 1], as `allocate_sums` returns it. Reusing it saves most of the time of
                repeated sweeps.
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
    """Sort items by confidence. Arguments as in `sweep_thresholds`."""
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
        confidence: [n].
        correct: [n] booleans or fractions in [0, 1], ignored where not answerable.
        answerable: [n] booleans.
    """
    confidence, correct, answerable = check_arrays(
        confidence=confidence, correct=correct, answerable=answerable
    )
    return rank_items(confidence, correct, answerable).sweep()


def area_under_curve(swept: ThresholdSweep, count_all_accepted: bool = False) -> float:
    """Return the area under the ACC-FPR curve by the trapezoid rule; NaN if one kind of item is missing.

    Args:
        swept: A sweep.
        count_all_accepted: Count all accepted AQs instead of those answered correctly, which gives AUROC.
    """
    twice = 0
    for part in swept.blocks():
        gain = part.aqs if count_all_accepted else part.correct
        twice += (np.diff(part.uqs) * (gain[1:] + gain[:-1])).sum()
    return safe_divide(twice / 2, float(swept.aqs[-1]) * float(swept.uqs[-1]))


def lowest_fpr(gain: np.ndarray, uqs: np.ndarray, proportion: float) -> float:
    """Return the lowest FPR at which `gain` reaches a proportion of its last value.

    `gain` and `uqs` are [m + 1]; they are interpolated linearly between their points. NaN if the last value is 0 or there is
    no UQ.
    """
    target = proportion * gain[-1]
    reached = bisect_left(gain, target * (1 - TOLERANCE))
    before = max(reached - 1, 0)
    way = (target - gain[before]) / max(gain[reached] - gain[before], TOLERANCE)
    accepted = uqs[before] + min(max(way, 0), 1) * (uqs[reached] - uqs[before])
    return safe_divide(accepted, uqs[-1]) if gain[-1] > 0 else float("nan")


def lowest_detection_error(swept: ThresholdSweep, first: int) -> float:
    """Return the lowest proportion of misclassified items, from the point `first` on; NaN if one kind is missing."""
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
