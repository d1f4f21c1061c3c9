"""The vocabulary's objects as arrays: how often each is asked for, what was seen of it, what it may be taken
for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container

import numpy as np

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.judge.names import relation as plain_relation
from pipeline.judge.names import singular as judged
from pipeline.language.frames import FRAME_NOUNS, PRONOUNS
from pipeline.language.likeness import alike
from pipeline.language.nouns import Number, number_of, singular

Fact = tuple[str, ...]  # ("attribute", "red"), ("type", "color"), ("relation", "on", "s")

_NUMBERS: tuple[Number, ...] = ("singular", "plural", "mass")
_NEVER = np.zeros(1)
_NOT_ASKED = frozenset(("person", "place"))  # one asks "who", "where"
# Seen so much more rarely of one name than of all, a fact is an error of annotation ("the fence wears a
# hat").
_UNLIKELY = 0.25
# So is a relation seen a single time of one name and so often of others ("the jeans are wearing").
_COMMON = 20
# Weight of being in pictures beside being asked for: what was never asked for is rare, not impossible.
_SHOWN = 0.02
# One person may go by several names, but for those that tell man from woman.
_MALE = frozenset(("man", "boy", "guy", "gentleman", "father", "men", "boys"))
_FEMALE = frozenset(("woman", "girl", "lady", "mother", "daughter", "women", "girls"))


class ObjectTable:
    """All objects and categories; one row a name, in the order of the names.

    Attributes:
        names, row: row -> name and back. category: rows that are categories.
        weight: how often each is to be drawn: as often as questions take it for granted.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - PRONOUNS - FRAME_NOUNS)
        self.row = {name: index for index, name in enumerate(self.names)}
        # "trees" can be said "tree", "jeans" in the plural only.
        self._number = np.array([_NUMBERS.index(number_of(singular(name))) for name in self.names])
        self.category = self._rows(vocabulary.categories)
        self._asked_for = self.category & ~self._rows(_NOT_ASKED)
        self._people = self._rows({"person", *vocabulary.categories.get("person", ())})
        self._members = {name: self._rows(members) for name, members in vocabulary.categories.items()}
        self.weight = self._weights(vocabulary)
        self._shares = self._count_facts(vocabulary)
        self._said_as: dict[tuple[frozenset[Number], bool | None], np.ndarray] = {}
        self._confusable: dict[str, np.ndarray] = {}
        self._siblings: dict[str, np.ndarray] = {}

    def nothing(self) -> np.ndarray:
        return np.zeros(len(self.names), dtype=bool)

    def share(self, *fact: str) -> np.ndarray:
        """Of each row, the share of its things of which the fact was seen; 0 for what looks like an error."""
        return self._shares.get(fact, _NEVER)

    def said_as(self, numbers: frozenset[Number], category: bool | None) -> np.ndarray:
        """Rows that can be said in one of the numbers and are categories one asks for (True), things (False),
        any (None)."""
        key = numbers, category
        if key not in self._said_as:
            rows = np.isin(self._number, [_NUMBERS.index(number) for number in numbers])
            if category is not None:
                rows &= self._asked_for if category else ~self.category
            self._said_as[key] = rows
        return self._said_as[key]

    def confusable(self, name: str) -> np.ndarray:
        """Rows that may be said of a thing of this name: like names, its categories, its members, other
        people."""
        if name not in self._confusable:
            rows = np.array([alike(name, other) for other in self.names], dtype=bool)
            for own in {name, judged(name)}:
                if own in self._members:
                    rows |= self._members[own]
                if own in self.row:
                    for category, members in self._members.items():
                        if members[self.row[own]] and category in self.row:
                            rows[self.row[category]] = True
            if name in self.row and self._people[self.row[name]]:
                other_sex = _FEMALE if name in _MALE else _MALE if name in _FEMALE else frozenset()
                rows |= self._people & ~self._rows(other_sex)
            self._confusable[name] = rows
        return self._confusable[name]

    def siblings(self, name: str) -> np.ndarray:
        """Rows that share a category with the name."""
        if name not in self._siblings:
            rows = self.nothing()
            for members in self._members.values():
                if name in self.row and members[self.row[name]]:
                    rows |= members
            self._siblings[name] = rows
        return self._siblings[name]

    def _rows(self, names: Container[str]) -> np.ndarray:
        return np.array([name in names for name in self.names], dtype=bool)

    def _weights(self, vocabulary: Vocabulary) -> np.ndarray:
        asked = np.array([vocabulary.asked.get(name, 0) for name in self.names], dtype=float)
        shown = np.array(
            [sum(e.count for e in self._entries(name, vocabulary)) for name in self.names], dtype=float
        )
        shown /= max(shown.sum(), 1)
        return asked / asked.sum() + _SHOWN * shown if asked.sum() else shown

    def _entries(self, name: str, vocabulary: Vocabulary) -> list[ObjectEntry]:
        """What the vocabulary says of things of this name, for a category of its members too."""
        called = (name, *vocabulary.categories.get(name, ()))
        return [vocabulary.objects[one] for one in called if one in vocabulary.objects]

    def _count_facts(self, vocabulary: Vocabulary) -> dict[Fact, np.ndarray]:
        counts: dict[Fact, np.ndarray] = defaultdict(lambda: np.zeros(len(self.names)))
        totals = np.ones(len(self.names))
        for name, row in self.row.items():
            entries = self._entries(name, vocabulary)
            totals[row] = max(sum(entry.count for entry in entries), 1)
            for entry in entries:
                for attribute, count in entry.attributes.items():
                    counts["attribute", attribute][row] += count
                    counts["type", vocabulary.attribute_types.get(attribute, "")][row] += count
                for role, relations in (("s", entry.subject_of), ("o", entry.object_of)):
                    for relation, count in relations.items():
                        counts["relation", plain_relation(relation), role][row] += count
        shares = {}
        for fact, seen in counts.items():
            share, overall = np.minimum(seen / totals, 1), seen.sum() / totals.sum()
            error = share < _UNLIKELY * overall
            if fact[0] == "relation" and seen.sum() >= _COMMON:
                error |= seen == 1
            shares[fact] = np.where(error, 0, share)
        return shares
