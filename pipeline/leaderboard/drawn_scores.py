"""The scores of a row on a thousand draws of pictures at once.

The items are sorted once; a draw only changes how often each counts. So every score follows from running sums over AQs and over
UQs by falling confidence, for many draws beside each other. The numbers are those of `pipeline.scorers`, which goes draw by draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipeline.scorers.answered import Answered
from pipeline.scorers.sweep import SLACK, ranking, share

TOGETHER = 1 << 16  # numbers held at once: they stay in the processor's cache
OnDraws = dict[tuple[str, str], np.ndarray]  # (kind of UQ, or "" for all of them; score) -> [repetitions]


class _Ranked(NamedTuple):
    """AQs and UQs by falling confidence.

    Attributes:
        aqs, uqs: the number of each one's picture, [a] and [u]. right: what each AQ's answer is worth, [a].
        of_kind: is each UQ of a kind? [kinds, u]
        above, to: AQs above each UQ, and down to the end of its tie, [u].
        ties: of each AQ's tie, AQs and UQs above it, AQs and UQs down to its end, [4, a].
    """

    aqs: np.ndarray
    uqs: np.ndarray
    right: np.ndarray
    of_kind: np.ndarray
    above: np.ndarray
    to: np.ndarray
    ties: np.ndarray


def on_draws(
    at: Answered, picture: np.ndarray, drawn: np.ndarray, kinds: Mapping[str, np.ndarray]
) -> OnDraws:
    """AUAF, FF95, FACC and AUROC, and AUAF of each kind's UQs against all AQs; NaN where a draw leaves one undefined.

    Args:
        picture: [n], the number of each item's picture. drawn: [repetitions, pictures], how often each is drawn.
        kinds: of each, which items are of it, [n]; AQs in it do not matter.
    """
    ranked = _rank(at, picture, kinds)
    parts = np.array_split(drawn, max(1, len(drawn) * len(picture) // TOGETHER))
    found = [_scores(ranked, np.ascontiguousarray(part.T, float)) for part in parts]
    names = [("", "auaf"), *((kind, "auaf") for kind in kinds), ("", "auroc"), ("", "facc"), ("", "ff95")]
    return dict(zip(names, np.concatenate(found, axis=1), strict=True))


def _rank(at: Answered, picture: np.ndarray, kinds: Mapping[str, np.ndarray]) -> _Ranked:
    by = ranking(*at.columns)
    is_aq = by.aqs.astype(bool)
    ends = np.arange(len(by.rows) + 1) if by.ends is None else by.ends
    aqs_before = np.append(0, np.cumsum(is_aq))[ends]
    uqs_before = ends - aqs_before
    tie = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    of_aq, of_uq = tie[is_aq], tie[~is_aq]
    uqs = by.rows[~is_aq]
    return _Ranked(
        picture[by.rows[is_aq]],
        picture[uqs],
        by.right[is_aq].astype(float),
        np.array([np.ones(len(uqs)), *(which[uqs] for which in kinds.values())], float),
        aqs_before[of_uq],
        aqs_before[of_uq + 1],
        np.array([aqs_before[of_aq], uqs_before[of_aq], aqs_before[of_aq + 1], uqs_before[of_aq + 1]]),
    )


def _scores(ranked: _Ranked, counts: np.ndarray) -> np.ndarray:
    """AUAF of all UQs and of each kind, AUROC, FACC and FF95, [kinds + 4, r]. `counts` is how often each picture is drawn in
    each of r draws, [pictures, r]."""
    of_aqs, of_uqs = counts[ranked.aqs], counts[ranked.uqs]
    aqs, right, uqs = map(_running, (of_aqs, of_aqs * ranked.right[:, None], of_uqs))
    pairs = aqs[-1] * (ranked.of_kind @ of_uqs)
    # An area is the mean over pairs of an AQ and a UQ: the AQ (if it is right) stands above the UQ, half in a tie.
    area_right = ranked.of_kind @ (of_uqs * (right[ranked.above] + right[ranked.to])) / 2
    area = (of_uqs * (aqs[ranked.above] + aqs[ranked.to])).sum(axis=0) / 2
    facc, auroc = share(right[-1], aqs[-1]), share(area, pairs[0])
    return np.array([*share(area_right, pairs), auroc, facc, _ff95(ranked.ties, right, uqs)])


def _running(each: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, ... rows."""
    sums = np.zeros((len(each) + 1, each.shape[1]))
    np.cumsum(each, axis=0, out=sums[1:])
    return sums


def _ff95(ties: np.ndarray, right: np.ndarray, uqs: np.ndarray) -> np.ndarray:
    """As `sweep.lowest_fpr`: straight between the point above the tie in which 95 % is reached and its end."""
    target, draw = 0.95 * right[-1], np.arange(right.shape[1])
    one = np.maximum((right < target * (1 - SLACK)).sum(axis=0) - 1, 0)
    aqs_above, uqs_above, aqs_to, uqs_to = ties[:, one]
    low, high = right[aqs_above, draw], right[aqs_to, draw]
    start, end = uqs[uqs_above, draw], uqs[uqs_to, draw]
    way = np.clip((target - low) / np.maximum(high - low, SLACK), 0, 1)
    return np.where(right[-1] > 0, share(start + way * (end - start), uqs[-1]), np.nan)
