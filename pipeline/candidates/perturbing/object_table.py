"""The vocabulary's objects as arrays: how often each is asked for, in what number it is said, what it may be taken for."""

# ruff: noqa: B019 - tables live as long as the process, and so does what they have worked out

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from functools import cache

import numpy as np

from pipeline.core.records import Vocabulary
from pipeline.language.lexicon import UNKNOWN, wordnet
from pipeline.language.nouns import Number, lemma, number_of, singular
from pipeline.language.object_taxonomy import main_kind
from pipeline.language.similarity import likeness
from pipeline.language.word_lists import FRAME_NOUNS, PRONOUNS

# Weight of a name's share of the things in pictures beside its share of those asked for: what was never asked for is
# rare, not impossible.
SHOWN = 0.02

_NOT_ASKED = frozenset(("person", "place"))  # one asks "who", "where"
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
        self._like: dict[str | int, list[int]] = defaultdict(list)
        for name, row in self.row.items():
            for common in likeness(name):
                self._like[common].append(row)
        # "trees" can be said "tree", "jeans" in the plural only.
        self._number = np.array([number_of(singular(name)) for name in self.names], dtype=str)
        self.category = self._rows(vocabulary.categories)
        # The members of each category: by the vocabulary, and by WordNet what a small one does not tell.
        members = defaultdict(set, {kind: set(names) for kind, names in vocabulary.categories.items()})
        for name in self.names:
            for kind in _wordnet_kinds(name):
                members[kind].add(name)
        self._members = {kind: self._rows(names) for kind, names in sorted(members.items())}
        # A category is shown as often as its members are.
        known = vocabulary.objects
        called = [(name, *vocabulary.categories.get(name, ())) for name in self.names]
        counts = np.array([sum(known[one].count for one in each if one in known) for each in called], float)
        asked = np.array([vocabulary.asked.get(name, 0) for name in self.names], dtype=float)
        shown = counts / max(counts.sum(), 1)
        self.weight = asked / asked.sum() + SHOWN * shown if asked.sum() else shown

    @cache
    def said_as(self, numbers: frozenset[Number], category: bool | None) -> np.ndarray:
        """Rows that can be said in one of the numbers and are categories one asks for (True), things (False),
        any (None)."""
        sayable = np.isin(self._number, [*numbers])
        if category is None:
            return sayable
        things = ~self.category | self._rows({"person"})
        return sayable & (self.category & ~self._rows(_NOT_ASKED) if category else things)

    @cache
    def confusable(self, name: str) -> np.ndarray:
        """Rows that may be said of a thing of this name: like names, its categories, its members, other
        people."""
        kinds = self._kinds_of(name)
        like = self._rows(kinds) | self._of({name, lemma(name)})
        for common in likeness(name):
            like[self._like.get(common, [])] = True
        if "person" in {name, *kinds}:
            other_sex = _FEMALE if name in _MALE else _MALE if name in _FEMALE else frozenset()
            like |= (self._rows({"person"}) | self._of({"person"})) & ~self._rows(other_sex)
        return like

    @cache
    def siblings(self, name: str) -> np.ndarray:
        """Rows that share a category with the name."""
        return self._of(self._kinds_of(name))

    def _kinds_of(self, name: str) -> frozenset[str]:
        """The categories of a name; of one that is not in the vocabulary itself, by WordNet."""
        kinds = _wordnet_kinds(name)
        if name in self.row:
            kinds = (kind for kind, members in self._members.items() if members[self.row[name]])
        return frozenset(kinds) - {name}

    def _of(self, kinds: Iterable[str]) -> np.ndarray:
        """The rows of the members of some categories."""
        members = [self._members[kind] for kind in sorted(kinds) if kind in self._members]
        return np.logical_or.reduce([np.zeros(len(self.names), bool), *members])

    def _rows(self, names: Container[str]) -> np.ndarray:
        return np.array([name in names for name in self.names], dtype=bool)


def _wordnet_kinds(name: str) -> frozenset[str]:
    kinds = wordnet().get(lemma(name), UNKNOWN).kinds
    return kinds | {"person"} if main_kind(name) == "person" else kinds
