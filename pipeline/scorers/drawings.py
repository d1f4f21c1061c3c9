"""The realistic scores of a thousand drawings of pictures, in a third of the time of as many sweeps.

AQs and UQs stand apart, each by falling confidence; where every one stands among the others is found once. A drawing only
changes how often each counts: sums over AQs and over UQs, and what they come to at those places, give the scores of `realistic`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .sweep import BLOCK, SLACK, Ranking, ratio

INT32 = 2**31


class Places(NamedTuple):
    """Of items of one kind by falling confidence, how many AQs and UQs stand above each, and down to the end of its tie."""

    picture: np.ndarray
    aqs_above: np.ndarray
    uqs_above: np.ndarray
    aqs_to: np.ndarray
    uqs_to: np.ndarray


class Drawings:
    """Items that are scored for each drawing: how often each picture is drawn, [pictures] -> scores."""

    def __init__(self, by: Ranking, cluster: np.ndarray) -> None:
        """`cluster` is the number of each item's picture, [n]."""
        count, is_aq = len(by.rows), by.aqs.astype(bool)
        ends = np.arange(count + 1) if by.ends is None else by.ends
        sizes = np.diff(ends)
        above, to = np.repeat(ends[:-1], sizes), np.repeat(ends[1:], sizes)
        aqs = np.append(0, np.cumsum(is_aq))
        uqs = np.arange(count + 1) - aqs
        self.aqs, self.uqs = (
            Places(
                cluster[by.rows[which]], aqs[above[which]], uqs[above[which]], aqs[to[which]], uqs[to[which]]
            )
            for which in (np.flatnonzero(is_aq), np.flatnonzero(~is_aq))
        )
        self.right = by.right[is_aq]
        self.tied = by.ends is not None
        # [n + 1] each, from 0 on; kept, because fresh memory for each drawing takes longer than the sums.
        self.sums = [np.zeros(len(kind.picture) + 1) for kind in (self.aqs, self.aqs, self.uqs)]
        self.largest = int(np.bincount(cluster).max(initial=0))  # items of a picture

    def __call__(self, drawn: np.ndarray) -> dict[str, float]:
        # Sums are at most those of as many draws of the picture with the most items.
        drawn = drawn.astype(np.int32 if int(drawn.sum()) * self.largest < INT32 else np.int64)
        of_aqs, of_uqs = drawn[self.aqs.picture], drawn[self.uqs.picture]
        columns = of_aqs, self.right * of_aqs, of_uqs
        for sums, column in zip(self.sums, columns, strict=True):
            sums[1:] = np.cumsum(
                column, dtype=column.dtype
            )  # of whole numbers in a tenth of the time, and exact
        aqs, right, uqs = self.sums
        all_aqs, all_uqs = float(aqs[-1]), float(uqs[-1])
        both, items = all_aqs * all_uqs, all_aqs + all_uqs
        area = area_right = found_aqs = found_uqs = 0.0
        for here in _blocks(len(of_aqs)):  # the AQs: of those accepted with each, how many are AQs?
            hits = aqs[self.aqs.aqs_to[here]]
            precision = hits / np.maximum(hits + uqs[self.aqs.uqs_to[here]], 1)
            found_aqs += (of_aqs[here] * precision).sum()
        for here in _blocks(
            len(of_uqs)
        ):  # the UQs: AQs above each, and half of those in its tie; of the rest, how many are UQs?
            each, above = of_uqs[here].astype(float), self.uqs.aqs_above[here]
            lost, left = aqs[above], all_uqs - uqs[self.uqs.uqs_above[here]]
            found_uqs += (each * left / np.maximum(all_aqs - lost + left, 1)).sum()
            if self.tied:
                to = self.uqs.aqs_to[here]
                area += (each * (lost + aqs[to])).sum() / 2
                area_right += (each * (right[above] + right[to])).sum() / 2
            else:
                area += (each * lost).sum()
                area_right += (each * right[above]).sum()
        enough = max(bisect_left(aqs, 0.95 * all_aqs * (1 - SLACK)) - 1, 0)
        errors = (
            (uqs[self.aqs.uqs_to[enough:][here]] - aqs[self.aqs.aqs_to[enough:][here]]).min()
            for here in _blocks(len(of_aqs) - enough)
        )
        return {
            "auaf": ratio(area_right, both),
            "ff95": self._lowest_fpr(right, uqs),
            "facc": ratio(right[-1], all_aqs),
            "auroc": ratio(area, both),
            "aupr_in": ratio(found_aqs, all_aqs),
            "aupr_out": ratio(found_uqs, all_uqs),
            "fpr95": self._lowest_fpr(aqs, uqs),
            "detection_error": ratio(all_aqs + min(errors), items) if both else float("nan"),
        }

    def _lowest_fpr(self, gain: np.ndarray, uqs: np.ndarray) -> float:
        """As `sweep.lowest_fpr`: between the point above the tie in which 95 % is reached and its end."""
        if not gain[-1] > 0:
            return float("nan")
        target = 0.95 * gain[-1]
        one = bisect_left(gain, target * (1 - SLACK)) - 1
        low, high = gain[self.aqs.aqs_above[one]], gain[self.aqs.aqs_to[one]]
        start, end = uqs[self.aqs.uqs_above[one]], uqs[self.aqs.uqs_to[one]]
        way = min(max((target - low) / max(high - low, SLACK), 0), 1)
        return ratio(start + way * (end - start), uqs[-1])


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))
