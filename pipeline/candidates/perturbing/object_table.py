"""Hold the objects of a vocabulary as arrays.

The arrays have the frequency and the grammatical number of each name, and which names may denote the same
object.
"""

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

# Weight of the frequency in images, relative to the frequency in questions. Because of this weight, names
# that no question mentions are rare but not impossible.
SHOWN_FREQUENCY_WEIGHT = 0.02

# Names for much of what nearly every image shows. A question with one of them is hardly ever unanswerable.
GENERIC_NAMES = parse_words(
    "clothes, outfit, attire, gear, equipment, stuff, group, crowd, family, front, side, area, body, shadow,"
    "light, air, line, lines, word, words, letter, letters, number, numbers, text, ground, background, color,"
    "skin, figure, tabletop, close-up, view, marking, symbol, spot, surface, base, label, square, persons"
)
# Categories that questions do not name, because they use "who" and "where" instead.
_NEVER_ASKED_CATEGORIES = frozenset(("person", "place"))
# A person may have any name of a person, except names of the other sex.
MALE_NOUNS = frozenset(("man", "boy", "guy", "gentleman", "father", "men", "boys"))
FEMALE_NOUNS = frozenset(("woman", "girl", "lady", "mother", "daughter", "women", "girls"))


class ObjectTable:
    """All objects and categories, one row per name, sorted by name.

    Attributes:
        names: Row -> name.
        row_by_name: Name -> row.
        is_category: Whether each name is a category, bool [rows].
        sampling_weights: How often each name should be sampled, float [rows]. The weights are the frequencies
            in the presuppositions of questions, plus a small weight for the frequencies in images.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = sorted({*vocabulary.objects, *vocabulary.categories} - UNINFORMATIVE_NAMES - FRAME_WORDS)
        self.row_by_name = {name: index for index, name in enumerate(self.names)}
        self._rows_by_similarity: dict[str | int, list[int]] = defaultdict(list)
        for name, row in self.row_by_name.items():
            for common in get_similarity_keys(name):
                self._rows_by_similarity[common].append(row)
        # The number of "trees" is singular, because it has a singular form. "jeans" has only a plural.
        self._grammatical_numbers = np.array(
            [get_grammatical_number(singularize(name)) for name in self.names], dtype=str
        )
        self.is_category = self._match_names(vocabulary.categories)
        # The members of each category come from the vocabulary and, because a small vocabulary is incomplete,
        # from WordNet.
        members = defaultdict(set, {kind: set(names) for kind, names in vocabulary.categories.items()})
        for name in self.names:
            for kind in _wordnet_categories(name):
                members[kind].add(name)
        self._members_by_category = {
            kind: self._match_names(names) for kind, names in sorted(members.items())
        }
        # An object of a member counts as an object of the category.
        entries = vocabulary.objects
        names_with_members = [(name, *vocabulary.categories.get(name, ())) for name in self.names]
        counts = np.array(
            [sum(entries[name].count for name in names if name in entries) for names in names_with_members],
            float,
        )
        asked = np.array([vocabulary.presupposed_objects.get(name, 0) for name in self.names], dtype=float)
        shown = counts / max(counts.sum(), 1)
        self.sampling_weights = asked / asked.sum() + SHOWN_FREQUENCY_WEIGHT * shown if asked.sum() else shown
        self.sampling_weights = np.where(
            self._match_names(GENERIC_NAMES - vocabulary.categories.keys()), 0, self.sampling_weights
        )

    @cache
    def match_number(
        self, numbers: frozenset[GrammaticalNumber], must_be_category: bool | None
    ) -> np.ndarray:
        """Return for each row whether its name can be used in one of the grammatical numbers, bool [rows].

        Args:
            numbers: The allowed grammatical numbers.
            must_be_category: True for categories that questions can name, False for objects, None for both.
        """
        matches = np.isin(self._grammatical_numbers, [*numbers])
        if must_be_category is None:
            return matches
        objects = ~self.is_category | self._match_names({"person"})
        return matches & (
            self.is_category & ~self._match_names(_NEVER_ASKED_CATEGORIES) if must_be_category else objects
        )

    @cache
    def match_similar(self, name: str) -> np.ndarray:
        """Return for each row whether its name is similar to `name` or a category of it, bool [rows]."""
        is_similar = self._match_names(self._categories_of(name))
        for common in get_similarity_keys(name):
            is_similar[self._rows_by_similarity.get(common, [])] = True
        return is_similar

    @cache
    def match_confusable(self, name: str) -> np.ndarray:
        """Return for each row whether its name may denote an object that is called `name`, bool [rows].

        These are similar names, the categories of the name, its members and, for a person, other names of
        people.
        """
        kinds = self._categories_of(name)
        is_confusable = self.match_similar(name) | self._match_members({name, lemmatize(name)})
        if "person" in {name, *kinds}:
            is_person = self._match_names({"person"}) | self._match_members({"person"})
            is_confusable |= is_person & ~self.match_other_sex(name)
        return is_confusable

    @cache
    def match_other_sex(self, name: str) -> np.ndarray:
        """Return for each row whether its name is one of the other sex ("woman" for "man"), bool [rows]."""
        if name in MALE_NOUNS:
            return self._match_names(FEMALE_NOUNS)
        return self._match_names(MALE_NOUNS if name in FEMALE_NOUNS else ())

    @cache
    def match_listed(self, names: frozenset[str]) -> np.ndarray:
        """Return for each row whether its name, or the singular of its name, is one of some names, bool [rows]."""
        return np.array([name in names or lemmatize(name) in names for name in self.names], dtype=bool)

    @cache
    def match_siblings(self, name: str) -> np.ndarray:
        """Return for each row whether its name shares a category with `name`, bool [rows]."""
        return self._match_members(self._categories_of(name))

    def _categories_of(self, name: str) -> frozenset[str]:
        """Return the categories of a name, by WordNet if the vocabulary does not have the name."""
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
