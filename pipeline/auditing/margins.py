"""Does the text alone, or the picture alone, give the label away by its frequency?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pipeline.core.records import Item, Record


class Margin(Record):
    """How unequal the two labels are within one key (a text, a picture).

    `largest` is the greatest |UQs - AQs| of any key, `unequal` the number of keys where they differ;
    `distinct_per_uq` the number of different keys among UQs for each UQ (1 = none repeated)."""

    largest: int
    unequal: int
    keys: int
    distinct_per_uq: float


def margin(items: Sequence[Item], key: Callable[[Item], str]) -> Margin:
    """Count UQs against AQs of each key."""
    difference: Counter[str] = Counter()
    uq_keys = set()
    for item in items:
        difference[key(item)] += 1 if item.unanswerable else -1
        if item.unanswerable:
            uq_keys.add(key(item))
    uqs = sum(item.unanswerable for item in items)
    return Margin(
        largest=max((abs(d) for d in difference.values()), default=0),
        unequal=sum(d != 0 for d in difference.values()),
        keys=len(difference),
        distinct_per_uq=round(len(uq_keys) / uqs, 4) if uqs else 0.0,
    )


def overlap(
    aq_scores: Iterable[float], uq_scores: Iterable[float], bins: int = 50
) -> tuple[float, float] | None:
    """Overlap area of the two normalised histograms, in [0, 1], and mean(AQ) - mean(UQ) (RGQA, Fig. 3).
    None if either has no score."""
    aq, uq = np.array(list(aq_scores), float), np.array(list(uq_scores), float)
    if not len(aq) or not len(uq):
        return None
    edges = np.histogram_bin_edges(np.concatenate([aq, uq]), bins)
    shares = [np.histogram(part, edges)[0] / len(part) for part in (aq, uq)]
    return round(float(np.minimum(*shares).sum()), 4), round(float(aq.mean() - uq.mean()), 6)
