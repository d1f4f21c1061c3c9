"""The vocabulary's objects as arrays: how often each is asked for, what was seen of it, what it may be taken
for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping

import numpy as np

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.words import kinds as wordnet
from pipeline.words.frames import FRAME_NOUNS, PRONOUNS
from pipeline.words.likeness import likeness
from pipeline.words.nouns import Number, lemma, number_of, singular
from pipeline.words.relations import plain_relation

Fact = tuple[str, ...]  # ("attribute", "red"), ("type", "color"), ("relation", "on", "s")

# Share of what was seen of all names below which a fact seen of one is an error of annotation ("the fence wears a hat").
UNLIKELY = 0.25
# Sightings from which on a relation that was seen a single time of one name is such an error, too ("the jeans are
# wearing"); one seen more seldom is rare everywhere.
COMMON = 20
# Weight of a name's share of the things in pictures beside its share of those asked for: what was never asked for is
# rare, not impossible.
SHOWN = 0.02

_NUMBERS: tuple[Number, ...] = ("singular", "plural", "mass")
_NEVER = np.zeros(1)
_NOT_ASKED = frozenset(("person", "place"))  # one asks "who", "where"
# Categories whose members do, wear or hold much the same.
_KINDRED = (
    ("person", "animal"),
    ("clothing", "accessory", "footwear"),
    ("furniture", "appliance", "container", "device"),
    ("vehicle", "watercraft", "aircraft"),
    ("food", "fruit", "vegetable", "dessert"),
    ("toy", "device", "tool"),
    ("plant", "tree", "flower", "building", "house", "road"),
    ("furniture", "appliance", "container", "device", "vehicle", "toy", "tool"),
)
# One person may go by several names, but for those that tell man from woman.
_MALE = frozenset(("man", "boy", "guy", "gentleman", "father", "men", "boys"))
_FEMALE = frozenset(("woman", "girl", "lady", "mother", "daughter", "women", "girls"))


class ObjectTable:
    """All objects and categories; one row a name, in the order of the names.

    Attributes:
        names, row: row -> name and back. category: rows that are categories.
        weight: how often each is to be drawn: as often as questions take it for granted.
        relations: all that were seen of anything.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - PRONOUNS - FRAME_NOUNS)
        self.row = {name: index for index, name in enumerate(self.names)}
        self._like: dict[str | int, list[int]] = defaultdict(list)
        for name, row in self.row.items():
            for common in likeness(name):
                self._like[common].append(row)
        # "trees" can be said "tree", "jeans" in the plural only.
        self._number = np.array([_NUMBERS.index(number_of(singular(name))) for name in self.names])
        self.category = self._rows(vocabulary.categories)
        self._asked_for = self.category & ~self._rows(_NOT_ASKED)
        self._members = self._kinds(vocabulary.categories)
        self._people = self._rows({"person"}) | self._members.get("person", self.nothing())
        self.weight = self._weights(vocabulary)
        self._seen, self._shares = self._count_facts(vocabulary)
        self.relations = frozenset(fact[1] for fact in self._seen if fact[0] == "relation")
        self._known: dict[tuple[object, ...], np.ndarray] = {}

    def once(self, key: tuple[object, ...], weigh: Callable[[], np.ndarray]) -> np.ndarray:
        """What is worked out of the rows the first time that it is asked for."""
        if key not in self._known:
            self._known[key] = weigh()
        return self._known[key]

    def nothing(self) -> np.ndarray:
        return np.zeros(len(self.names), dtype=bool)

    def share(self, *fact: str) -> np.ndarray:
        """Of each row, the share of its things of which the fact was seen; 0 for what looks like an error."""
        return self._shares.get(fact, _NEVER)

    def seen(self, *fact: str) -> np.ndarray:
        """The same with what looks like an error: all that a small vocabulary has."""
        return self._seen.get(fact, _NEVER)

    def seen_in(self, relations: Iterable[str], role: str) -> np.ndarray:
        """Of each row, the share of its things seen in one of the relations."""
        shares = (self.seen("relation", relation, role) for relation in sorted(relations))
        return np.minimum(sum(shares, np.zeros(len(self.names))), 1)

    def spread(self, share: np.ndarray) -> np.ndarray:
        """A share that what was not seen of a row itself borrows from the mean of its categories."""
        spread = np.zeros(len(self.names)) + share
        for members in self._members.values():
            mean = np.where(members, (members * share).sum() / max(members.sum(), 1), 0)
            spread = np.where(share > 0, spread, np.maximum(spread, mean))
        return spread

    def said_as(self, numbers: frozenset[Number], category: bool | None) -> np.ndarray:
        """Rows that can be said in one of the numbers and are categories one asks for (True), things (False),
        any (None)."""

        def rows() -> np.ndarray:
            sayable = np.isin(self._number, [_NUMBERS.index(number) for number in numbers])
            if category is None:
                return sayable
            return sayable & (self._asked_for if category else ~self.category | self._rows({"person"}))

        return self.once(("said as", numbers, category), rows)

    def confusable(self, name: str) -> np.ndarray:
        """Rows that may be said of a thing of this name: like names, its categories, its members, other
        people."""

        def rows() -> np.ndarray:
            like = self.nothing()
            for common in likeness(name):
                like[self._like.get(common, [])] = True
            for own in {name, lemma(name)}:
                like |= self._members.get(own, self.nothing())
            like |= self._rows(self._kinds_of(name))
            if "person" in {name, *self._kinds_of(name)}:
                other_sex = _FEMALE if name in _MALE else _MALE if name in _FEMALE else frozenset()
                like |= self._people & ~self._rows(other_sex)
            return like

        return self.once(("confusable", name), rows)

    def siblings(self, name: str) -> np.ndarray:
        """Rows that share a category with the name."""
        return self.once(("siblings", name), lambda: self._of(self._kinds_of(name)))

    def kindred(self, name: str) -> np.ndarray:
        """Rows of the categories that act much like the name's own: of animals for people."""

        def rows() -> np.ndarray:
            own = {name, *self._kinds_of(name)}
            kinds = {kind for group in _KINDRED if own.intersection(group) for kind in group}
            return self._of(kinds) | self._rows(kinds)

        return self.once(("kindred", name), rows)

    def _kinds_of(self, name: str) -> frozenset[str]:
        """The categories of a name, whether or not it is in the vocabulary itself."""
        row, known = self.row.get(name), wordnet.rows().get(lemma(name))
        listed = {kind for kind, members in self._members.items() if row is not None and members[row]}
        return frozenset(listed | (known.kinds if known else frozenset()) - {name})

    def _of(self, kinds: Iterable[str]) -> np.ndarray:
        """The rows of the members of some categories."""
        members = [self._members[kind] for kind in sorted(kinds) if kind in self._members]
        return np.logical_or.reduce([self.nothing(), *members])

    def _kinds(self, categories: Mapping[str, Iterable[str]]) -> dict[str, np.ndarray]:
        """The rows of each category's members: by the vocabulary, and by WordNet what a small one does not tell."""
        known, members = wordnet.rows(), {kind: set(names) for kind, names in categories.items()}
        for name in self.names:
            for kind in known[lemma(name)].kinds if lemma(name) in known else ():
                members.setdefault(kind, set()).add(name)
        return {kind: self._rows(names) for kind, names in sorted(members.items())}

    def _rows(self, names: Container[str]) -> np.ndarray:
        return np.array([name in names for name in self.names], dtype=bool)

    def _weights(self, vocabulary: Vocabulary) -> np.ndarray:
        asked = np.array([vocabulary.asked.get(name, 0) for name in self.names], dtype=float)
        counts = [sum(entry.count for entry in self._entries(name, vocabulary)) for name in self.names]
        shown = np.array(counts, dtype=float) / max(sum(counts), 1)
        return asked / asked.sum() + SHOWN * shown if asked.sum() else shown

    def _entries(self, name: str, vocabulary: Vocabulary) -> list[ObjectEntry]:
        """What the vocabulary says of things of this name, for a category of its members too."""
        called = (name, *vocabulary.categories.get(name, ()))
        return [vocabulary.objects[member] for member in called if member in vocabulary.objects]

    def _count_facts(self, vocabulary: Vocabulary) -> tuple[dict[Fact, np.ndarray], dict[Fact, np.ndarray]]:
        """Shares as seen, and without those that look like errors."""
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
        seen = {fact: np.minimum(count / totals, 1) for fact, count in counts.items()}
        shares = {}
        for fact, count in counts.items():
            error = seen[fact] < UNLIKELY * (count.sum() / totals.sum())
            if fact[0] == "relation" and count.sum() >= COMMON:
                error |= count == 1
            shares[fact] = np.where(error, 0, seen[fact])
        return seen, shares
