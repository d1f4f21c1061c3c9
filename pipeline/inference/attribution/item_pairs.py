"""Find pairs of a benchmark: an unanswerable question (UQ) and its answerable question (AQ)."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash
from pipeline.scoring.items import Benchmark, BenchmarkItem


class UqAqPair(NamedTuple):
    """The UQ and the AQ of a pair. Either is None if it is not in the benchmark."""

    subset: str
    uq: BenchmarkItem | None
    aq: BenchmarkItem | None

    @property
    def present_items(self) -> list[BenchmarkItem]:
        """The items that are in the benchmark, the UQ first."""
        return [item for item in (self.uq, self.aq) if item is not None]


def get_question_text(item: BenchmarkItem) -> str:
    """Return the question of an item of a release or of a GQA file."""
    return item.question_text or str(item.gqa_question.get("question", ""))


def find_pair(benchmark: Benchmark, item_id: str) -> UqAqPair:
    """Return the pair of an item, in the first subset that has the item.

    Raises:
        UserError: There is no such item, or the item has no image or no question text.
    """
    for subset, items in benchmark.subsets.items():
        if item_id in items.ids:
            found = next(item for item in items if item.id == item_id)
            if not found.image or not get_question_text(found):
                lacks = "image" if not found.image else "text"
                raise UserError(
                    f"item {item_id} of {benchmark.name} has no {lacks}; choose an item of a release"
                )
            both = [item for item in items if item.pair_id and item.pair_id == found.pair_id] or [found]
            return UqAqPair(
                subset,
                next((item for item in both if not item.answers), None),
                next((item for item in both if item.answers), None),
            )
    raise UserError(
        f"no item {item_id} in {benchmark.name}; ids are question_id in its rgqa/<subset>.json"
        f" ({', '.join(benchmark.subsets)})"
    )


def sample_pairs(benchmark: Benchmark, count: int) -> list[UqAqPair]:
    """Sample pairs at random, if possible the same number from each subset.

    The pairs are from split test, or from the whole benchmark if it has no splits. The same benchmark always
    gives the same pairs, so different models can be compared.
    """
    per_subset, remainder = divmod(count, max(len(benchmark.subsets), 1))
    sampled = []
    for i, (subset, items) in enumerate(benchmark.subsets.items()):
        pairs: dict[str, list[BenchmarkItem]] = {}
        for item in items:
            if item.pair_id and item.split in ("test", ""):
                pairs.setdefault(item.pair_id, []).append(item)
        shuffled = sorted(pairs, key=lambda pair: content_hash("look", pair))
        for pair in shuffled[: per_subset + (i < remainder)]:
            uq = next((item for item in pairs[pair] if not item.answers), None)
            aq = next((item for item in pairs[pair] if item.answers), None)
            sampled.append(UqAqPair(subset, uq, aq))
    return sampled
