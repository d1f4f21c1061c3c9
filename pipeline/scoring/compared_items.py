"""Say which items several models are compared on, and how many each of them has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ..core.errors import EXAMPLES_PER_KIND, format_count


class ComparedItems(NamedTuple):
    """How many items several models have, and how many all of them have.

    Attributes:
        items: on which the models are compared.
        of: items of the benchmark, of the part that is scored.
        predicted: of each model by name, how many of these it has.
    """

    num_compared: int
    num_total: int
    num_predicted: dict[str, int]

    @property
    def summary(self) -> str:
        """One sentence for a table that compares the models on fewer items than the benchmark has; "" for all items.

        >>> ComparedItems(300, 7150, {"full": 7150, "small": 300}).sentence
        'compared on the 300 of 7,150 items that all have: full has all, small has 300'
        """
        if self.num_compared == self.num_total:
            return ""
        fewest = sorted(self.num_predicted, key=self.num_predicted.__getitem__)[:EXAMPLES_PER_KIND]
        parts = [
            f"{name} has {'all' if count == self.num_total else f'{count:,}'}"
            for name, count in self.num_predicted.items()
            if name in fewest
        ]
        if more := len(self.num_predicted) - len(fewest):
            parts.append(f"{format_count(more, 'other has', 'others have')} as many or more")
        return f"compared on the {self.num_compared:,} of {format_count(self.num_total, 'item')} that all have: {', '.join(parts)}"


def count_compared_items(
    item_ids: Collection[str], predicted_ids: Mapping[str, Collection[str]]
) -> ComparedItems:
    """Count the items that models have, and those that all of them have.

    Args:
        wanted: Ids of the items of the benchmark, of the part that is scored.
        predicted: Of each model by name, the ids that it has: of a file those with a prediction, of a run those that were
            asked.

    Example:
        >>> compared_items(["a", "b", "c"], {"m": {"a", "b", "c"}, "n": {"b", "other"}})
        ComparedItems(items=1, of=3, predicted={'m': 3, 'n': 1})
    """
    item_ids = frozenset(item_ids)
    there = {name: item_ids.intersection(ids) for name, ids in predicted_ids.items()}
    common = item_ids.intersection(*there.values())
    return ComparedItems(len(common), len(item_ids), {name: len(ids) for name, ids in there.items()})
