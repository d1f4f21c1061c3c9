"""The vocabulary's objects as arrays: how often each is asked for, in what number it is said, what it may be taken for."""

# ruff: noqa: B019 - tables live as long as the process, and so does what they have worked out

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from functools import cache

import numpy as np

from pipeline.core.records import Vocabulary
from pipeline.language.lexicon import UNKNOWN_ENTRY, load_wordnet
from pipeline.language.nouns import GrammaticalNumber, get_grammatical_number, lemmatize, singularize
from pipeline.language.object_taxonomy import get_main_kind
from pipeline.language.similarity import get_similarity_keys
from pipeline.language.word_lists import FRAME_WORDS, UNINFORMATIVE_NAMES

# Weight of a name's share of the things in images beside its share of those asked for: what was never asked for is
# rare, not impossible.
SHOWN_FREQUENCY_WEIGHT = 0.02

_NEVER_ASKED_CATEGORIES = frozenset(("person", "place"))  # one asks "who", "where"
# One person may go by several names, but for those that tell man from woman.
_MALE_NOUNS = frozenset(("man", "boy", "guy", "gentleman", "father", "men", "boys"))
_FEMALE_NOUNS = frozenset(("woman", "girl", "lady", "mother", "daughter", "women", "girls"))


class ObjectTable:
    """All objects and categories; one row a name, in the order of the names.

    Attributes:
        names, row: row -> name and back. category: rows that are categories.
        weight: how often each is to be drawn: as often as questions take it for granted.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - UNINFORMATIVE_NAMES - FRAME_WORDS)
        self.row_by_name = {name: index for index, name in enumerate(self.names)}
        self._rows_by_similarity: dict[str | int, list[int]] = defaultdict(list)
        for name, row in self.row_by_name.items():
            for common in get_similarity_keys(name):
                self._rows_by_similarity[common].append(row)
        # "trees" can be said "tree", "jeans" in the plural only.
        self._grammatical_numbers = np.array(
            [get_grammatical_number(singularize(name)) for name in self.names], dtype=str
        )
        self.is_category = self._match_names(vocabulary.categories)
        # The members of each category: by the vocabulary, and by WordNet what a small one does not tell.
        members = defaultdict(set, {kind: set(names) for kind, names in vocabulary.categories.items()})
        for name in self.names:
            for kind in _wordnet_categories(name):
                members[kind].add(name)
        self._members_by_category = {
            kind: self._match_names(names) for kind, names in sorted(members.items())
        }
        # A category is shown as often as its members are.
        known = vocabulary.objects
        called = [(name, *vocabulary.categories.get(name, ())) for name in self.names]
        counts = np.array([sum(known[one].count for one in each if one in known) for each in called], float)
        asked = np.array([vocabulary.presupposed_objects.get(name, 0) for name in self.names], dtype=float)
        shown = counts / max(counts.sum(), 1)
        self.sampling_weights = asked / asked.sum() + SHOWN_FREQUENCY_WEIGHT * shown if asked.sum() else shown

    @cache
    def match_number(
        self, numbers: frozenset[GrammaticalNumber], must_be_category: bool | None
    ) -> np.ndarray:
        """Rows that can be said in one of the numbers and are categories one asks for (True), things (False),
        any (None)."""
        sayable = np.isin(self._grammatical_numbers, [*numbers])
        if must_be_category is None:
            return sayable
        things = ~self.is_category | self._match_names({"person"})
        return sayable & (
            self.is_category & ~self._match_names(_NEVER_ASKED_CATEGORIES) if must_be_category else things
        )

    @cache
    def match_confusable(self, name: str) -> np.ndarray:
        """Rows that may be said of a thing of this name: like names, its categories, its members, other
        people."""
        kinds = self._categories_of(name)
        like = self._match_names(kinds) | self._match_members({name, lemmatize(name)})
        for common in get_similarity_keys(name):
            like[self._rows_by_similarity.get(common, [])] = True
        if "person" in {name, *kinds}:
            other_sex = (
                _FEMALE_NOUNS
                if name in _MALE_NOUNS
                else _MALE_NOUNS
                if name in _FEMALE_NOUNS
                else frozenset()
            )
            like |= (self._match_names({"person"}) | self._match_members({"person"})) & ~self._match_names(
                other_sex
            )
        return like

    @cache
    def match_siblings(self, name: str) -> np.ndarray:
        """Rows that share a category with the name."""
        return self._match_members(self._categories_of(name))

    def _categories_of(self, name: str) -> frozenset[str]:
        """The categories of a name; of one that is not in the vocabulary itself, by WordNet."""
        kinds = _wordnet_categories(name)
        if name in self.row_by_name:
            kinds = (
                kind for kind, members in self._members_by_category.items() if members[self.row_by_name[name]]
            )
        return frozenset(kinds) - {name}

    def _match_members(self, kinds: Iterable[str]) -> np.ndarray:
        """The rows of the members of some categories."""
        members = [
            self._members_by_category[kind] for kind in sorted(kinds) if kind in self._members_by_category
        ]
        return np.logical_or.reduce([np.zeros(len(self.names), bool), *members])

    def _match_names(self, names: Container[str]) -> np.ndarray:
        return np.array([name in names for name in self.names], dtype=bool)


def _wordnet_categories(name: str) -> frozenset[str]:
    kinds = load_wordnet().get(lemmatize(name), UNKNOWN_ENTRY).hypernyms
    return kinds | {"person"} if get_main_kind(name) == "person" else kinds
