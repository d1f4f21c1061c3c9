"""Does the text alone, or the image alone, give the label away by its frequency?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from pipeline.core.records import Item, Record


class LabelImbalance(Record):
    """How unequal the two labels are within one key (a text, an image).

    `largest` is the greatest |UQs - AQs| of any key, `unequal` the number of keys where they differ;
    `distinct_per_uq` the number of different keys among UQs for each UQ (1 = none repeated)."""

    max_difference: int
    unbalanced_keys: int
    keys: int
    distinct_per_uq: float


def measure_imbalance(items: Sequence[Item], key: Callable[[Item], str]) -> LabelImbalance:
    """Count UQs against AQs of each key."""
    return measure_imbalance_of_labels((key(item), item.unanswerable) for item in items)


def measure_imbalance_of_labels(rows: Iterable[tuple[Hashable, bool]]) -> LabelImbalance:
    """The same of keys with their label: True where UQs count."""
    counts = Counter((key, bool(label)) for key, label in rows)
    uqs = Counter({key: count for (key, label), count in counts.items() if label})
    more = uqs.copy()  # UQs than AQs
    more.subtract({key: count for (key, label), count in counts.items() if not label})
    return LabelImbalance(
        max_difference=max(map(abs, more.values()), default=0),
        unbalanced_keys=sum(map(bool, more.values())),
        keys=len(more),
        distinct_per_uq=round(len(uqs) / uqs.total(), 4) if uqs else 0.0,
    )
