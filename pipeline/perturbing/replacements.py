"""Draw what a thing or a look is replaced by: from the vocabulary, by frequency, so that the question stays plausible.

A replacement that no picture could show ("the wall holding the sky") would tell the answer without a look at the
picture. So a new thing must be known, in the scene graphs, with the attributes and relations that the question
ascribes to it, and is drawn as often as questions ask for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.judge.facts import Facts
from pipeline.judge.names import relation as plain_relation
from pipeline.judge.names import singular as judged
from pipeline.language.frames import FRAME_NOUNS, PRONOUNS
from pipeline.language.likeness import alike, similar
from pipeline.language.nouns import Number, number_of
from pipeline.language.relations import antonym, spatial

_NUMBERS: tuple[Number, ...] = ("singular", "plural", "mass")
# Anything may stand so to anything else: these say nothing about what fits.
_LOOSE = frozenset(("to the left of", "to the right of", "near", "in front of", "behind", "above", "below"))
_NO_ENTRY = ObjectEntry(name="", count=0, number="singular", attributes={})
_ZERO = np.zeros(1)
_NOT_ASKED = frozenset(("person", "place"))  # one asks "who", "where"
_UNLIKELY = 0.25  # seen so much more rarely than of other things, a fact is an error of annotation ("the fence wears")
_RARE = 0.02  # weight of being in pictures beside being asked for, so that what was never asked for is rare, not impossible
# Whoever is the one may be called the other, unless both words tell who it is.
_GENDERS = {name: "m" for name in ("man", "boy", "guy", "gentleman", "father", "men", "boys")} | {
    name: "f" for name in ("woman", "girl", "lady", "mother", "daughter", "women", "girls")}


class ObjectTable:
    """The vocabulary's objects and categories as arrays; one row a name."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.names = names = sorted({*vocabulary.objects, *vocabulary.categories} - PRONOUNS - FRAME_NOUNS)
        self.row = {name: i for i, name in enumerate(names)}
        self.number = np.array([_NUMBERS.index(number_of(name)) for name in names])
        self.category = np.array([name in vocabulary.categories for name in names])
        self.askable = np.array([name not in _NOT_ASKED for name in names])
        self.groups: dict[str, set[str]] = defaultdict(set)  # name -> categories it belongs to
        self.members = np.zeros((len(names), len(names)), dtype=bool)  # [category, member]
        for category, members in vocabulary.categories.items():
            for member in members:
                self.groups[member].add(category)
                if member in self.row and category in self.row:
                    self.members[self.row[category], self.row[member]] = True
        self.weight = self._weights(vocabulary)
        self._shares = self._count_facts(vocabulary)
        self._cache: dict[str, np.ndarray] = {}

    def _weights(self, vocabulary: Vocabulary) -> np.ndarray:
        """How often each name is drawn: as often as questions take it for granted, a little by how often it is shown."""
        entries = [vocabulary.objects.get(name, _NO_ENTRY) for name in self.names]
        asked = np.array([vocabulary.asked.get(name, 0) for name in self.names], dtype=float)
        shown = np.array([entry.count for entry in entries], dtype=float)
        shown /= max(shown.sum(), 1)
        return asked / asked.sum() + _RARE * shown if asked.sum() else shown

    def _count_facts(self, vocabulary: Vocabulary) -> dict[tuple[str, ...], np.ndarray]:
        """(kind of fact, ...) -> the share of each row's things of which it was seen."""
        shares: dict[tuple[str, ...], np.ndarray] = defaultdict(lambda: np.zeros(len(self.names)))
        totals = np.ones(len(self.names))
        for name, row in self.row.items():
            entries = [vocabulary.objects[n] for n in (name, *vocabulary.categories.get(name, ())) if n in vocabulary.objects]
            totals[row] = max(sum(entry.count for entry in entries), 1)
            for entry in entries:
                for attribute, count in entry.attributes.items():
                    shares["attribute", attribute][row] += count
                    shares["type", vocabulary.attribute_types.get(attribute, "")][row] += count
                for role, counts in (("s", entry.subject_of), ("o", entry.object_of)):
                    for relation, count in counts.items():
                        shares["relation", plain_relation(relation), role][row] += count
        overall = {fact: counts.sum() / totals.sum() for fact, counts in shares.items()}
        found = {fact: np.minimum(counts / totals, 1) for fact, counts in shares.items()}
        return {fact: np.where(share < _UNLIKELY * overall[fact], 0, share) for fact, share in found.items()}

    def share(self, *fact: str) -> np.ndarray:
        """Of each row, the share of things of which this was seen: ("attribute", "red"), ("relation", "on", "s"), ("type", "color")."""
        return self._shares.get(fact, _ZERO)

    def confusable(self, name: str) -> np.ndarray:
        """Rows that may be said of a thing of this name: itself, like names, its categories, their and its members."""
        if name not in self._cache:
            rows = np.array([alike(name, other) for other in self.names])
            for other in {name, judged(name)} & self.row.keys():
                rows |= self.members[self.row[other]] | self.members[:, self.row[other]]
            mine = _GENDERS.get(name)
            if mine or "person" in self.groups.get(name, ()) or name == "person":
                opposite = {other for other, gender in _GENDERS.items() if mine and gender != mine}
                rows |= np.array([other not in opposite and (other == "person" or "person" in self.groups.get(other, ())) for other in self.names])
            self._cache[name] = rows
        return self._cache[name]

    def siblings(self, name: str) -> np.ndarray:
        """Rows that share a category with the name."""
        key = f"siblings of {name}"
        if key not in self._cache:
            rows = np.zeros(len(self.names), dtype=bool)
            for group in self.groups.get(name, ()):
                if group in self.row:
                    rows |= self.members[self.row[group]]
            self._cache[key] = rows
        return self._cache[key]


class Replacements:
    """Draws replacements. `uniform` is the paper's rule: any object of the vocabulary, all equally likely."""

    def __init__(self, vocabulary: Vocabulary, same_category: float = 0.5, uniform: bool = False) -> None:
        self.table = ObjectTable(vocabulary)
        self.vocabulary = vocabulary
        self.same_category = same_category
        self.uniform = uniform
        self._looks: dict[str, dict[str, int]] = {}

    def present(self, facts: Facts | None) -> np.ndarray:
        """Rows that the evidence says are, or may well be, in the picture."""
        rows = np.zeros(len(self.table.names), dtype=bool)
        for thing in facts.things if facts else ():
            for name in (thing.label, *thing.names[:1]) if thing.label else thing.names:
                if name:
                    rows |= self.table.confusable(name)
        return rows

    def thing(
        self, name: str, numbers: Sequence[Number], category: bool | None, attributes: Iterable[Sequence[str]],
        relations: Iterable[tuple[str, str]], types: Iterable[str], excluded: np.ndarray, random: Sequence[float],
    ) -> str | None:
        """Draw another thing than `name`, or None if there is none that fits.

        Args:
            numbers: which the sentence can take. category: whether it must (not) be a category; None: either.
            attributes, relations, types: what the sentence ascribes to it (`slots.constraints`).
            excluded: rows not to be drawn. random: two numbers in [0, 1).
        """
        table = self.table
        fits = ~(excluded | table.confusable(name)) & np.isin(table.number, [_NUMBERS.index(number) for number in numbers])
        if category is not None:
            fits &= table.category & table.askable if category else ~table.category
        weight = fits * (1.0 if self.uniform else table.weight)
        for group in attributes:
            weight = weight * sum(table.share("attribute", attribute) for attribute in group)
        for relation, role in relations:
            if plain_relation(relation) not in _LOOSE:
                weight = weight * table.share("relation", plain_relation(relation), role)
        for type_ in types:
            weight = weight * table.share("type", type_)
        near = weight * table.siblings(name)
        total = np.cumsum(near if random[0] < self.same_category and near.any() else weight)
        return table.names[int(np.searchsorted(total, random[1] * total[-1], side="right"))] if total[-1] > 0 else None

    def look(
        self, name: str, value: str, type_: str, others: Iterable[str], present: Iterable[str], random: float,
    ) -> str | None:
        """Draw another attribute of the same type that things of this name have, by its frequency; None if none is known.

        Args:
            type_: the attribute's type, "" for one that only has alternatives (open, closed).
            others: the other options of the choice. present: attributes that such things have in the picture.
        """
        held = (*others, *present)
        allowed = self.vocabulary.alternatives.get(value, ()) if not type_ else None
        options = [
            (other, count) for other, count in self._attributes(name).items()
            if not similar(other, value) and not any(similar(other, one) for one in held)
            and (other in allowed if allowed is not None else self.vocabulary.attribute_types.get(other) == type_)
        ]
        total = sum(count for _, count in options)
        drawn = random * total
        for other, count in options:
            drawn -= count
            if drawn < 0:
                return other
        return None

    def any_look(self, name: str, value: str, random: float) -> str | None:
        """The paper's rule: any other attribute that the vocabulary knows of the object."""
        options = [other for other in self._attributes(name) if other != value]
        return options[int(random * len(options))] if options else None

    def commonness_of_opposite(self, relation: str) -> float:
        """How often, relative to a relation, its opposite is said; at most 1. "Under" put for every "on" would itself
        tell that the question was changed, so it is put as much more rarely as it is rarer."""
        opposite = antonym(relation)
        if opposite is None or relation in ("left", "right", "top", "bottom"):
            return float(opposite is not None)
        said, counter = (self._said(name) for name in (relation, opposite))
        return min(1.0, counter / said) if said else 1.0

    def _said(self, relation: str) -> int:
        plain = plain_relation(spatial(relation))
        return sum(count for name, count in self.vocabulary.relations.items() if plain_relation(spatial(name)) == plain)

    def _attributes(self, name: str) -> dict[str, int]:
        """Attributes of the things that a name selects, counted over a category's members."""
        if name not in self._looks:
            counts: dict[str, int] = defaultdict(int)
            for member in (name, judged(name), *self.vocabulary.categories.get(name, ())):
                entry = self.vocabulary.objects.get(member)
                for attribute, count in entry.attributes.items() if entry else ():
                    counts[attribute] += count
            self._looks[name] = dict(sorted(counts.items()))
        return self._looks[name]
