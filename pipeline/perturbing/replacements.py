"""Draw what a thing or a look is replaced by: by frequency, and so that the question stays plausible.

A replacement that no picture could show ("the wall holding the sky") would tell the answer without a look at
the picture. So a new thing must have been seen with the attributes and relations that the question ascribes
to it, and is drawn as often as questions ask for it; a new look as often as things of that name have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from pipeline.core.records import Vocabulary
from pipeline.judge.facts import Facts
from pipeline.judge.names import relation as plain_relation
from pipeline.judge.names import singular as judged
from pipeline.language.likeness import similar
from pipeline.language.nouns import Number
from pipeline.language.relations import antonym, spatial
from pipeline.perturbing.demands import Demands
from pipeline.perturbing.objects import ObjectTable

# Anything may stand so to anything else: these say nothing about what fits.
_MOST_ABSENT = 0.1  # a name present in more pictures than nine of ten is not weighed up further
_LOOSE = frozenset(("to the left of", "to the right of", "near", "in front of", "behind", "above", "below"))


class Replacements:
    """Draws replacements from a vocabulary.

    Args:
        same_category: how often a thing is replaced by one of its own category, where one fits.
        even_words: leave questions unedited so that each attribute and relation is put in as often as taken out.
        uniform: the paper's rule: any object, any of its attributes, all equally likely.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        same_category: float = 0.5,
        even_words: bool = True,
        uniform: bool = False,
    ) -> None:
        self.table = ObjectTable(vocabulary)
        self.vocabulary = vocabulary
        self.same_category = same_category
        self.even_words = even_words
        self.uniform = uniform
        self._weight = self.table.weight
        self._looks: dict[str, Counter[str]] = {}
        self._counts: Counter[str] = Counter()
        self._exclusive: dict[tuple[str, str, str], list[tuple[str, int]]] = {}

    def present(self, facts: Facts | None) -> np.ndarray:
        """Rows of what the evidence says is, or may well be, in the picture."""
        rows = self.table.nothing()
        for thing in facts.things if facts else ():
            for name in (thing.label,) if thing.label else thing.names:
                rows |= self.table.confusable(name)
        return rows

    def allow_for(self, present: Iterable[np.ndarray]) -> None:
        """Weigh every name by how seldom it may be drawn, so that over all pictures it is drawn as often as
        asked for.

        Args:
            present: for each picture, the rows that it shows and that are therefore not drawn for it.
        """
        shown = np.mean([self.table.nothing(), *present], axis=0)
        self._weight = self.table.weight / np.maximum(1 - shown, _MOST_ABSENT)

    def thing(
        self,
        name: str,
        numbers: frozenset[Number],
        category: bool | None,
        demanded: Demands,
        excluded: np.ndarray,
        random: tuple[float, float],
    ) -> str | None:
        """Draw another thing than `name`, or None if none fits.

        Args:
            numbers: which the sentence can take. category: whether it must (not) be a category; None: either.
            excluded: rows not to be drawn. random: two numbers in [0, 1).
        """
        table = self.table
        rows = table.said_as(numbers, category) & ~(excluded | table.confusable(name))
        weight = rows * (1.0 if self.uniform else self._weight)
        for group in demanded.attributes:
            weight = weight * sum(table.share("attribute", attribute) for attribute in group)
        for relation, role in demanded.relations:
            if plain_relation(relation) not in _LOOSE:
                weight = weight * table.share("relation", plain_relation(relation), role)
        for type_ in demanded.types:
            weight = weight * table.share("type", type_)
        near = weight * table.siblings(name) if random[0] < self.same_category else weight
        total = np.cumsum(near if near.any() else weight)
        if total[-1] == 0:
            return None
        return table.names[int(np.searchsorted(total, random[1] * total[-1], side="right"))]

    def look(
        self,
        name: str,
        value: str,
        type_: str,
        held: Iterable[str],
        before_noun: bool,
        random: tuple[float, float],
    ) -> str | None:
        """Draw another attribute of the same type that things of this name have; None if none is known or
        accepted.

        Draws are accepted as Metropolis and Hastings do: over all questions, each attribute is put in about as
        often as it is taken out, so that the words alone do not tell which question was edited.

        Args:
            type_: the attribute's type, "" for one that only has alternatives (open, closed).
            held: attributes that it must not be like: other options, what such things have in the picture.
            before_noun: it has to stand before the noun, as "taking a picture" cannot.
            random: two numbers in [0, 1).
        """
        held = tuple(held)
        options = [
            (other, count)
            for other, count in self._alternatives(name, value, type_)
            if not any(similar(other, one) for one in held) and not (before_noun and "ing " in other)
        ]
        total = sum(count for _, count in options)
        drawn = random[0] * total
        for other, count in options:
            drawn -= count
            if drawn < 0:
                back = self._attributes(name).get(value, 0)
                there, returning = count / total, back / (total - count + back) if back else 1.0
                accepted = self._described(other) * returning / (self._described(value) * there)
                return other if random[1] < accepted or not self.even_words else None
        return None

    def any_look(self, name: str, value: str, random: float) -> str | None:
        """Draw any other attribute that the vocabulary knows of such things: the paper's rule."""
        options = [other for other in self._attributes(name) if other != value]
        return options[int(random * len(options))] if options else None

    def opposite_share(self, relation: str) -> float:
        """How often, for each time a relation or position is taken for granted, its opposite is; at most 1.

        "Under" put for every "on" would itself tell that the question was changed.
        """
        opposite = antonym(relation)
        if opposite and not self.even_words:
            return 1.0
        return min(1.0, self._described(opposite) / self._described(relation)) if opposite else 0.0

    def _described(self, word: str) -> float:
        """How often questions take an attribute or relation for granted; without programs, how often it is
        seen."""
        if not self._counts:
            seen = self.vocabulary.described or self.vocabulary.attributes | self.vocabulary.relations
            for name, count in seen.items():
                self._counts[plain_relation(spatial(name))] += count
        return max(self._counts[plain_relation(spatial(word))], 0.5)

    def _alternatives(self, name: str, value: str, type_: str) -> list[tuple[str, int]]:
        """Attributes of things of this name that exclude `value`, with their counts."""
        key = name, value, type_
        if key not in self._exclusive:
            types, choices = self.vocabulary.attribute_types, self.vocabulary.alternatives.get(value, ())
            self._exclusive[key] = [
                (other, count)
                for other, count in self._attributes(name).items()
                if (types.get(other) == type_ if type_ else other in choices) and not similar(other, value)
            ]
        return self._exclusive[key]

    def _attributes(self, name: str) -> Counter[str]:
        """Attributes of the things that a name selects, counted over a category's members."""
        if name not in self._looks:
            counts: Counter[str] = Counter()
            for member in sorted({name, judged(name), *self.vocabulary.categories.get(name, ())}):
                if member in self.vocabulary.objects:
                    counts.update(self.vocabulary.objects[member].attributes)
            self._looks[name] = Counter(dict(sorted(counts.items())))
        return self._looks[name]
