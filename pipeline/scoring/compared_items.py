"""Count the items that several models are compared on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ..core.errors import EXAMPLES_PER_KIND, format_count


class ComparedItems(NamedTuple):
    """Numbers of items that several models have.

    Attributes:
        num_compared: Number of items that all models have. The models are compared on these items.
        num_total: Number of items of the benchmark in the scored split.
        num_predicted: Model name -> number of items of the scored split that the model has.
    """

    num_compared: int
    num_total: int
    num_predicted: dict[str, int]

    @property
    def summary(self) -> str:
        """Describe the numbers in one sentence; "" if all models have all items.

        >>> ComparedItems(300, 7150, {"full": 7150, "small": 300}).summary
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
    """Count the items of each model, and the items that all models have.

    Args:
        item_ids: Ids of the benchmark's items in the split that is scored.
        predicted_ids: Model name -> ids of the items that the model has: the items with a prediction, or the
            items that the model was asked in a run.

    >>> count_compared_items(["a", "b", "c"], {"m": {"a", "b", "c"}, "n": {"b", "other"}})
    ComparedItems(num_compared=1, num_total=3, num_predicted={'m': 3, 'n': 1})
    """
    item_ids = frozenset(item_ids)
    there = {name: item_ids.intersection(ids) for name, ids in predicted_ids.items()}
    common = item_ids.intersection(*there.values())
    return ComparedItems(len(common), len(item_ids), {name: len(ids) for name, ids in there.items()})
