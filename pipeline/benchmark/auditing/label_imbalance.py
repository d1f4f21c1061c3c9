"""Measure whether a text or an image alone predicts the label by occurring more often with one label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from pipeline.core.records import Item, Record


class LabelImbalance(Record):
    """The imbalance of the two labels within each key (a text or an image).

    Attributes:
        max_difference: Largest difference of any key between its number of unanswerable questions (UQs) and
            its number of answerable questions (AQs).
        unbalanced_keys: Number of keys whose numbers of UQs and AQs differ.
        keys: Number of keys.
        distinct_per_uq: Number of distinct keys of UQs divided by the number of UQs (1 = no key is repeated).
    """

    max_difference: int
    unbalanced_keys: int
    keys: int
    distinct_per_uq: float


def measure_imbalance(items: Sequence[Item], key: Callable[[Item], str]) -> LabelImbalance:
    """Measure the imbalance of items by a key, such as their text or their image."""
    return measure_imbalance_of_labels((key(item), item.unanswerable) for item in items)


def measure_imbalance_of_labels(rows: Iterable[tuple[Hashable, bool]]) -> LabelImbalance:
    """Measure the imbalance of pairs of a key and a label (True = UQ).

    >>> found = measure_imbalance_of_labels([("Is it red?", True), ("Is it red?", False), ("Why?", True)])
    >>> found.max_difference, found.unbalanced_keys, found.keys
    (1, 1, 2)
    """
    counts = Counter((key, bool(label)) for key, label in rows)
    uqs = Counter({key: count for (key, label), count in counts.items() if label})
    difference = uqs.copy()
    difference.subtract({key: count for (key, label), count in counts.items() if not label})
    return LabelImbalance(
        max_difference=max(map(abs, difference.values()), default=0),
        unbalanced_keys=sum(map(bool, difference.values())),
        keys=len(difference),
        distinct_per_uq=round(len(uqs) / uqs.total(), 4) if uqs else 0.0,
    )
