"""AUAF against each kind of UQ on a thousand draws at once: all kinds share the AQs, so one pass over these serves them all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pipeline.scorers.answered import Answered
from pipeline.scorers.sweep import ranking, share

TOGETHER = 1 << 22  # numbers held at once


def areas(
    at: Answered, picture: np.ndarray, drawn: np.ndarray, kinds: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """AUAF of each kind's UQs against all AQs, on each draw, [repetitions]; NaN where a draw has no item of either sort.
    It is the mean, over pairs of an AQ and a UQ, of: the AQ is right and stands above the UQ, half in a tie.

    Args:
        picture: [n], the number of each item's picture. drawn: [repetitions, pictures], how often each is drawn.
        kinds: of each, which items are of it, [n]; AQs in it do not matter.
    """
    if not kinds:
        return {}
    by = ranking(*at.columns)
    is_aq, ends = by.aqs.astype(bool), np.arange(len(by.rows) + 1) if by.ends is None else by.ends
    aqs, uqs = by.rows[is_aq], by.rows[~is_aq]
    before = np.append(0, np.cumsum(is_aq))[ends]  # AQs above each tie
    tie = np.repeat(np.arange(len(ends) - 1), np.diff(ends))[~is_aq]  # of each UQ
    above, to = before[tie], before[tie + 1]  # AQs above it, and down to the end of its tie
    of_kind = np.array([which[uqs] for which in kinds.values()], float).T  # [uqs, kinds]
    found = []
    for part in np.array_split(drawn, max(1, len(drawn) * len(by.rows) // TOGETHER)):
        right = np.zeros((len(part), len(aqs) + 1))
        np.cumsum(part[:, picture[aqs]] * by.right[is_aq], axis=1, out=right[:, 1:])
        each = part[:, picture[uqs]].astype(float)
        pairs = part[:, picture[aqs]].sum(axis=1, keepdims=True) * (each @ of_kind)
        found.append(share((each * (right[:, above] + right[:, to])) @ of_kind / 2, pairs))
    return dict(zip(kinds, np.concatenate(found).T, strict=True))
