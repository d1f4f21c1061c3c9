"""The items of a benchmark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import repeat
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

UNANSWERABLE_LABEL = "UQ"


class BenchmarkItem(NamedTuple):
    """An item of a benchmark; what a plain file does not say of it is empty.

    Attributes:
        answers: each right answer and its worth (RGQA: 1.0); empty for an unanswerable question.
        people: the answers of people one by one (VQA only).
        asked: the question's text (RGQA only). question: GQA's question as it stands in the file (GQA only).
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


class Items:
    """Items of a benchmark as a table: `items["image"]` is the column of a field of `BenchmarkItem`, [n] objects.

    >>> items = Items.of([BenchmarkItem("a", "n1", {"red": 1.0}), BenchmarkItem("b", "n1", {})])
    >>> len(items), items["id"].tolist(), items["part"].tolist()
    (2, ['a', 'b'], ['', ''])
    >>> [*items.at(np.array([False, True]))] == [BenchmarkItem("b", "n1", {})]
    True
    """

    def __init__(self, columns: Mapping[str, Iterable[Any]], count: int) -> None:
        """`count` values of each field; those of fields that are not named are BenchmarkItem's."""
        self._count = count
        self._columns = {
            name: values if isinstance(values, np.ndarray) else np.fromiter(values, object, count)
            for name, values in columns.items()
        }

    @classmethod
    def from_rows(cls, rows: Iterable[BenchmarkItem]) -> Items:
        """The table of these rows."""
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
        """The items at `which` (booleans or places)."""
        count = int(rows.sum()) if rows.dtype == bool else len(rows)
        return Items({name: values[rows] for name, values in self._columns.items()}, count)

    def isin(self, ids: Collection[str]) -> np.ndarray:
        """Which items' ids are among these? [n] booleans."""
        return np.fromiter(map(ids.__contains__, self["id"]), bool, self._count)

    def is_in_complete_pair(self, ids: Collection[str]) -> np.ndarray:
        """Find the items that are among `ids` together with all others of their pair.

        Args:
            ids: For example the items that a model was asked.

        Returns:
            [n] booleans. An item that names no pair only has to be among `ids` itself.

        >>> items = Items.of([BenchmarkItem(name, "", {}, pair=pair) for name, pair in (("a", "p"), ("b", "p"), ("c", ""))])
        >>> items.in_whole_pairs({"a", "c"}).tolist(), items.in_whole_pairs({"a", "b"}).tolist()
        ([False, False, True], [True, True, False])
        """
        there = self.isin(ids)
        broken = {pair for pair in self["pair_id"][~there].tolist() if pair}
        return there & ~np.fromiter(map(broken.__contains__, self["pair_id"]), bool, self._count)

    def with_columns(self, **columns: Iterable[Any]) -> Items:
        """The same items with other values."""
        return Items(self._columns | columns, self._count)

    @cached_property
    def ids(self) -> frozenset[str]:
        """Of all items."""
        return frozenset(self["id"])

    @cached_property
    def answer_words(self) -> frozenset[str]:
        """All words of right answers, in lower case."""
        return frozenset(
            word for answers in self["answers"] for text in answers for word in text.lower().split()
        )

    @property
    def answerable(self) -> np.ndarray:
        """Is there a right answer? [n] booleans."""
        return self["answers"].astype(bool)

    @property
    def clusters(self) -> np.ndarray:
        """What is drawn by the bootstrap: each item's image, or its id where it names none, [n]."""
        return np.where(self["image"] == "", self["id"], self["image"])


def full_name(name: str, version: str) -> str:
    """Join the name of a benchmark and its version, where the name does not end with it.

    >>> full_name("RGQA sample", "1.0.0"), full_name("1.0.0", "1.0.0"), full_name("pt-hard", "")
    ('RGQA sample 1.0.0', '1.0.0', 'pt-hard')
    """
    return name if not version or name.split()[-1:] == [version] else f"{name} {version}"


class Benchmark(NamedTuple):
    """Attributes:
    name: the title of a release, or the name of a single file.
    subsets: in the order of their names. version: "" where the files do not say. sha256: of every file read.
    ids: of all items, those of subsets that were not chosen, too. errata: ids of items left out as faulty, with those
        paired with them; None where nobody asked for it.
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
        """The parts to which items belong; none where the files do not say."""
        return sorted({split for items in self.subsets.values() for split in items["split"] if split})

    @property
    def full_name(self) -> str:
        """The name with the version."""
        return full_name(self.name, self.version)

    def human_answer_words(self) -> set[str]:
        """All words of people's answers, lower-cased."""
        texts = {
            text for items in self.subsets.values() for people in items["human_answers"] for text in people
        }
        return {word for text in texts for word in text.lower().split()}
