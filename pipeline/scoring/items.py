"""Items of a benchmark as a table of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import repeat
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

UNANSWERABLE_LABEL = "UQ"


class Fault(NamedTuple):
    """Something that an unanswerable question presupposes wrongly.

    Attributes:
        kind: What is wrong.
        wrong: The words of the question: "dog", "red", "under".
        actual: The words of the source question in their place: "cat", "blue", "on"; "" if not known.
    """

    kind: Literal["object", "attribute", "relation"]
    wrong: str
    actual: str = ""


class BenchmarkItem(NamedTuple):
    """One item of a benchmark. Fields that the benchmark's file does not have are empty.

    Attributes:
        answers: Correct answer -> its score in [0, 1] (RGQA: 1.0). Empty for an unanswerable question.
        human_answers: The answers of the human annotators, one for each annotator (VQA only).
        question_text: The text of the question (RGQA only).
        split: `validation` or `test`.
        gqa_question: The question's record in GQA's file (GQA only).
        faults: What an unanswerable question presupposes wrongly. At least one of them is wrong. Empty if this is not
            known.
    """

    id: str
    image: str
    answers: Mapping[str, float]
    human_answers: tuple[str, ...] = ()
    question_text: str = ""
    category: str = ""
    difficulty: str = ""
    edits: tuple[str, ...] = ()
    structural: str = ""
    semantic: str = ""
    detailed: str = ""
    split: str = ""
    pair_id: str = ""
    gqa_question: Mapping[str, Any] = MappingProxyType({})
    faults: tuple[Fault, ...] = ()


class Items:
    """Items as a table: `items["image"]` is the column of a field of `BenchmarkItem`, [n] objects.

    >>> items = Items.from_rows([BenchmarkItem("a", "n1", {"red": 1.0}), BenchmarkItem("b", "n1", {})])
    >>> len(items), items["id"].tolist(), items["split"].tolist()
    (2, ['a', 'b'], ['', ''])
    >>> [*items.select(np.array([False, True]))] == [BenchmarkItem("b", "n1", {})]
    True
    """

    def __init__(self, columns: Mapping[str, Iterable[Any]], count: int) -> None:
        """Create a table from columns.

        Args:
            columns: Values by field of `BenchmarkItem`. A field without a column has its default value.
            count: Number of items.
        """
        self._count = count
        self._columns = {
            name: values if isinstance(values, np.ndarray) else np.fromiter(values, object, count)
            for name, values in columns.items()
        }

    @classmethod
    def from_rows(cls, rows: Iterable[BenchmarkItem]) -> Items:
        """Create a table from rows."""
        rows = list(rows)
        return cls(dict(zip(BenchmarkItem._fields, zip(*rows, strict=True), strict=bool(rows))), len(rows))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[BenchmarkItem]:
        return map(BenchmarkItem, *map(self.__getitem__, BenchmarkItem._fields))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            default = BenchmarkItem._field_defaults.get(name)
            self._columns[name] = np.fromiter(repeat(default, self._count), object, self._count)
        return self._columns[name]

    def select(self, rows: np.ndarray) -> Items:
        """Select items by boolean mask or by index."""
        count = int(rows.sum()) if rows.dtype == bool else len(rows)
        return Items({name: values[rows] for name, values in self._columns.items()}, count)

    def isin(self, ids: Collection[str]) -> np.ndarray:
        """Return for each item whether its id is in `ids`, [n] booleans."""
        return np.fromiter(map(ids.__contains__, self["id"]), bool, self._count)

    def is_in_complete_pair(self, ids: Collection[str]) -> np.ndarray:
        """Return for each item whether `ids` contains it and all other items of its pair.

        Args:
            ids: Item ids, for example the ids of the items that a model was asked.

        Returns:
            [n] booleans. An item without a pair only has to be in `ids` itself.

        >>> rows = [BenchmarkItem(name, "", {}, pair_id=pair) for name, pair in (("a", "p"), ("b", "p"), ("c", ""))]
        >>> items = Items.from_rows(rows)
        >>> items.is_in_complete_pair({"a", "c"}).tolist(), items.is_in_complete_pair({"a", "b"}).tolist()
        ([False, False, True], [True, True, False])
        """
        there = self.isin(ids)
        broken = {pair for pair in self["pair_id"][~there].tolist() if pair}
        return there & ~np.fromiter(map(broken.__contains__, self["pair_id"]), bool, self._count)

    def with_columns(self, **columns: Iterable[Any]) -> Items:
        """Return the same items with some columns replaced."""
        return Items(self._columns | columns, self._count)

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(self["id"])

    @cached_property
    def answer_words(self) -> frozenset[str]:
        """Return all words of the correct answers, in lower case."""
        return frozenset(
            word for answers in self["answers"] for text in answers for word in text.lower().split()
        )

    @property
    def answerable(self) -> np.ndarray:
        """Return for each item whether it has a correct answer, [n] booleans."""
        return self["answers"].astype(bool)

    @property
    def clusters(self) -> np.ndarray:
        """Return the bootstrap cluster of each item, [n]: the image of the item, or the item id if the item
        has no image.
        """
        return np.where(self["image"] == "", self["id"], self["image"])


def full_name(name: str, version: str) -> str:
    """Join a benchmark's name and version, unless the name already ends with the version.

    >>> full_name("RGQA sample", "1.0.0"), full_name("1.0.0", "1.0.0"), full_name("pt-hard", "")
    ('RGQA sample 1.0.0', '1.0.0', 'pt-hard')
    """
    return name if not version or name.split()[-1:] == [version] else f"{name} {version}"


class Benchmark(NamedTuple):
    """A benchmark and its subsets.

    Attributes:
        name: Title of a release, or name of a single file.
        version: Version of a release, "" if its files do not state one.
        sha256: File -> SHA-256, for every file that was read.
        subsets: Subset -> its items, in alphabetical order.
        ids: Ids of all items, including the items of subsets that were not selected.
        errata: Ids of the items that were excluded by errata, with their paired items. None if no errata list
            was applied.
    """

    kind: Literal["rgqa", "vqa", "gqa"]
    name: str
    version: str
    sha256: dict[str, str]
    subsets: dict[str, Items]
    ids: frozenset[str]
    errata: tuple[str, ...] | None = None

    @property
    def splits(self) -> list[str]:
        """Return the splits of the items; empty if the files do not name splits."""
        return sorted({split for items in self.subsets.values() for split in items["split"] if split})

    @property
    def full_name(self) -> str:
        return full_name(self.name, self.version)

    def human_answer_words(self) -> set[str]:
        """Return all words of the human answers, in lower case."""
        texts = {
            text for items in self.subsets.values() for people in items["human_answers"] for text in people
        }
        return {word for text in texts for word in text.lower().split()}
