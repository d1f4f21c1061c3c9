"""Hold the objects of a vocabulary as arrays: frequency, grammatical number, and which names may denote the same object."""

# ruff: noqa: B019 - tables live as long as the process, and so do their cached results.

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
from pipeline.language.word_lists import FRAME_WORDS, UNINFORMATIVE_NAMES, parse_words

# Weight of the frequency in images, relative to the frequency in questions. A name that no question mentions is rare, not impossible.
SHOWN_FREQUENCY_WEIGHT = 0.02

# Names that apply to much of what nearly every image shows. A question with one of them is hardly ever unanswerable.
_GENERIC_NAMES = parse_words(
    "clothes, outfit, attire, gear, equipment, stuff, group, crowd, family, front, side, area, body, shadow, light, air,"
    "line, lines, word, words, letter, letters, number, numbers, text, ground, background, color, skin, close-up, view"
)
# Questions use "who" and "where" instead.
_NEVER_ASKED_CATEGORIES = frozenset(("person", "place"))
# The same person may have several names, except for names of different sexes.
_MALE_NOUNS = frozenset(("man", "boy", "guy", "gentleman", "father", "men", "boys"))
_FEMALE_NOUNS = frozenset(("woman", "girl", "lady", "mother", "daughter", "women", "girls"))


class ObjectTable:
    """All objects and categories, one row per name, sorted by name.

    Attributes:
        names: Row -> name.
        row_by_name: Name -> row.
        is_category: bool [rows].
        sampling_weights: How often each name is to be sampled: as often as questions presuppose it.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - UNINFORMATIVE_NAMES - FRAME_WORDS)
        self.row_by_name = {name: index for index, name in enumerate(self.names)}
        self._rows_by_similarity: dict[str | int, list[int]] = defaultdict(list)
        for name, row in self.row_by_name.items():
            for common in get_similarity_keys(name):
                self._rows_by_similarity[common].append(row)
        # "Trees" has a singular, "jeans" only a plural.
        self._grammatical_numbers = np.array(
            [get_grammatical_number(singularize(name)) for name in self.names], dtype=str
        )
        self.is_category = self._match_names(vocabulary.categories)
        # The members of each category, by the vocabulary and, as a small one is incomplete, by WordNet.
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
        self.sampling_weights = np.where(
            self._match_names(_GENERIC_NAMES - vocabulary.categories.keys()), 0, self.sampling_weights
        )

    @cache
    def match_number(
        self, numbers: frozenset[GrammaticalNumber], must_be_category: bool | None
    ) -> np.ndarray:
        """Return the rows that can be used in one of the numbers: bool [rows].

        Args:
            must_be_category: True for categories that one can ask for, False for objects, None for both.
        """
        matches = np.isin(self._grammatical_numbers, [*numbers])
        if must_be_category is None:
            return matches
        objects = ~self.is_category | self._match_names({"person"})
        return matches & (
            self.is_category & ~self._match_names(_NEVER_ASKED_CATEGORIES) if must_be_category else objects
        )

    @cache
    def match_confusable(self, name: str) -> np.ndarray:
        """Return the rows that may denote an object of this name: similar names, its categories, its members, other people."""
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
        """Return the rows that share a category with the name: bool [rows]."""
        return self._match_members(self._categories_of(name))

    def _categories_of(self, name: str) -> frozenset[str]:
        """Return the categories of a name; by WordNet if the vocabulary lacks it."""
        kinds = _wordnet_categories(name)
        if name in self.row_by_name:
            kinds = (
                kind for kind, members in self._members_by_category.items() if members[self.row_by_name[name]]
            )
        return frozenset(kinds) - {name}

    def _match_members(self, kinds: Iterable[str]) -> np.ndarray:
        members = [
            self._members_by_category[kind] for kind in sorted(kinds) if kind in self._members_by_category
        ]
        return np.logical_or.reduce([np.zeros(len(self.names), bool), *members])

    def _match_names(self, names: Container[str]) -> np.ndarray:
        return np.array([name in names for name in self.names], dtype=bool)


def _wordnet_categories(name: str) -> frozenset[str]:
    kinds = load_wordnet().get(lemmatize(name), UNKNOWN_ENTRY).hypernyms
    return kinds | {"person"} if get_main_kind(name) == "person" else kinds
