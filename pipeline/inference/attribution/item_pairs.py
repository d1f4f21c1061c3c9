"""Items of a benchmark by pairs: an unanswerable question and the answerable one beside it."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash
from pipeline.scoring.items import Benchmark, BenchmarkItem


class UqAqPair(NamedTuple):
    """The UQ and the AQ of a pair; None for one that the benchmark does not name."""

    subset: str
    uq: BenchmarkItem | None
    aq: BenchmarkItem | None

    @property
    def present_items(self) -> list[BenchmarkItem]:
        """Those that there are, the UQ first."""
        return [item for item in (self.uq, self.aq) if item is not None]


def get_question_text(item: BenchmarkItem) -> str:
    """An item's question, of a release or of GQA's own file."""
    return item.question_text or str(item.gqa_question.get("question", ""))


def find_pair(benchmark: Benchmark, item_id: str) -> UqAqPair:
    """The pair of an item; of an AQ that stands in several subsets that of the first.

    Raises:
        UserError: there is no such item, or it has no image or no text.
    """
    for subset, items in benchmark.subsets.items():
        if item_id in items.ids:
            found = next(item for item in items if item.id == item_id)
            if not found.image or not get_question_text(found):
                lacks = "image" if not found.image else "text"
                raise UserError(
                    f"item {item_id} of {benchmark.name} names no {lacks}, so nothing can look at it"
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
    """`count` pairs by lot, as many of each subset as goes: of part test (of all where none is named) those whose ids hash lowest,
    so that nobody chose them, and the same ones whatever the model."""
    share, more = divmod(count, max(len(benchmark.subsets), 1))
    drawn = []
    for place, (subset, items) in enumerate(benchmark.subsets.items()):
        pairs: dict[str, list[BenchmarkItem]] = {}
        for item in items:
            if item.pair_id and item.split in ("test", ""):
                pairs.setdefault(item.pair_id, []).append(item)
        lot = sorted(pairs, key=lambda pair: content_hash("look", pair))
        for pair in lot[: share + (place < more)]:
            uq = next((item for item in pairs[pair] if not item.answers), None)
            aq = next((item for item in pairs[pair] if item.answers), None)
            drawn.append(UqAqPair(subset, uq, aq))
    return drawn
