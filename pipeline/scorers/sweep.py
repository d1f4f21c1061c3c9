"""One sort of the confidences, from which every threshold score follows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .validation import arrays

# Counts are compared with a target like 0.95 x 40, which floating point may put a hair above 38.
SLACK = 1e-12


class Sweep(NamedTuple):
    """What is accepted (confidence >= t) as the threshold t falls, items of equal confidence together.

    All are sums of weights (counts, if there are no weights), [..., m + 1] for m distinct confidences, from 0 on:
    AQs accepted and answered right, AQs accepted, UQs accepted.
    """

    right: np.ndarray
    aqs: np.ndarray
    uqs: np.ndarray


class Order(NamedTuple):
    """The rows by falling confidence, and for each distinct confidence the place of its last row."""

    rows: np.ndarray
    last: np.ndarray
    thresholds: np.ndarray


def order(confidence: np.ndarray) -> Order:
    """Sort once."""
    rows = np.argsort(confidence)[::-1]
    ranked = confidence[rows]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)])
    return Order(rows, last, ranked[last])


def sweep(confidence: ArrayLike, correct: ArrayLike, answerable: ArrayLike) -> Sweep:
    """Sweep over n items, each counted once.

    Args:
        confidence: [n]. correct: [n] booleans or fractions, ignored where not answerable. answerable: [n] booleans.
    """
    confidence, correct, answerable = arrays(confidence=confidence, correct=correct, answerable=answerable)
    answerable, by = answerable.astype(bool), order(confidence)
    right = np.where(answerable, correct if correct.dtype.kind == "f" else correct.astype(bool), False)
    aqs = _totals(answerable[by.rows], by.last)
    return Sweep(_totals(right[by.rows], by.last), aqs, np.append(0, by.last + 1) - aqs)


def weighted_sweep(
    by: Order, correct: np.ndarray, answerable: np.ndarray, cluster: np.ndarray, weights: np.ndarray
) -> Sweep:
    """Sweeps over n items for several weightings at once (the bootstrap's): item i has the weight
    `weights[:, cluster[i]]`, `weights` is [b, clusters]. The counts are [b, m + 1]."""
    ranked = weights[:, cluster[by.rows]]
    aq = answerable[by.rows]
    right = np.where(aq, correct[by.rows], 0.0)
    return Sweep(*(_totals(ranked * part, by.last) for part in (right, aq, ~aq)))


def area(gain: np.ndarray, sweep: Sweep) -> np.ndarray:
    """Area under `gain` (as a share of the AQs) over FPR by the trapezoid rule, for every sweep, [...]; NaN where
    one kind of item is missing. `gain` is [..., m + 1]."""
    whole = sweep.aqs[..., -1] * sweep.uqs[..., -1].astype(float)
    return share(np.asarray(np.trapezoid(gain.astype(float), sweep.uqs, axis=-1)), whole)


def lowest_fpr(gain: np.ndarray, uqs: np.ndarray, part: float) -> np.ndarray:
    """The lowest FPR at which `gain`, straight between the curve's points, reaches `part` of its last value.
    NaN where that is 0 or there is no UQ. `gain` and `uqs` are [..., m + 1], the result is [...]."""
    target = part * gain[..., -1:]
    reached = np.argmax(gain >= target * (1 - SLACK), axis=-1, keepdims=True)
    before = np.maximum(reached - 1, 0)
    low, start = np.take_along_axis(gain, before, -1), np.take_along_axis(uqs, before, -1)
    rise = np.maximum(np.take_along_axis(gain, reached, -1) - low, SLACK)
    accepted = start + np.clip((target - low) / rise, 0, 1) * (np.take_along_axis(uqs, reached, -1) - start)
    return np.where(gain[..., -1] > 0, share(accepted[..., 0], uqs[..., -1]), np.nan)


def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """`part / whole`, NaN where `whole` is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


def mean_defined(values: np.ndarray) -> float:
    """The mean of what is defined; NaN where nothing is."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _totals(ranked: np.ndarray, last: np.ndarray) -> np.ndarray:
    kind = float if ranked.dtype.kind == "f" else np.int64
    totals = np.cumsum(ranked, axis=-1, dtype=kind)
    if len(last) != ranked.shape[-1]:
        totals = totals[..., last]
    return np.concatenate([np.zeros((*totals.shape[:-1], 1), kind), totals], axis=-1)
