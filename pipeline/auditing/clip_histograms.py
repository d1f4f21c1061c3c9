"""CLIP scores of AQ and UQ: histograms, their overlap area and the distance of their means (RGQA, Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.core.records import Record

BINS = 50


class Histograms(Record):
    """Two histograms over the same BINS bins of equal width, from the least to the greatest score of either kind.

    `aq[i]` is the share of the AQs with a score in bin i, so that each list sums to 1 (RGQA, Fig. 3: "normalized
    histograms (sum of overall area=1)"); `uq` likewise. A bin holds its lower edge and not its upper one, but for the
    last, which holds both. `area` is the overlap area, the sum over all bins of min(aq[i], uq[i]): 0 when no bin holds
    both kinds, 1 when the histograms are equal. `distance` is mean(AQ) - mean(UQ) of the scores themselves, in units of
    the cosine. Both depend on the data alone, but `area` also on the number of bins: finer bins overlap less.
    """

    edges: tuple[float, ...]
    aq: tuple[float, ...]
    uq: tuple[float, ...]
    aq_mean: float
    uq_mean: float
    area: float
    distance: float


def histograms(aq_scores: Sequence[float], uq_scores: Sequence[float]) -> Histograms | None:
    """Histograms of one subset's scores; None if either kind has none.

    >>> equal = histograms([0.1, 0.3], [0.1, 0.3])
    >>> equal.area, equal.distance
    (1.0, 0.0)
    """
    if not aq_scores or not uq_scores:
        return None
    edges = np.histogram_bin_edges([*aq_scores, *uq_scores], BINS)
    aq, uq = (np.histogram(scores, edges)[0] / len(scores) for scores in (aq_scores, uq_scores))
    aq_mean, uq_mean = float(np.mean(aq_scores)), float(np.mean(uq_scores))
    return Histograms(
        edges=tuple(edges.tolist()),
        aq=tuple(aq.tolist()),
        uq=tuple(uq.tolist()),
        aq_mean=aq_mean,
        uq_mean=uq_mean,
        area=round(float(np.minimum(aq, uq).sum()), 4),
        distance=round(aq_mean - uq_mean, 6),
    )
