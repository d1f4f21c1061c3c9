"""How well a thing, a look or a relation fits the rest of a question: one model, counted where it can be.

A fact is "cups are red", "men are on horses", "one asks for the colour of cups". How well it fits is its lift: how many times
more often it was seen than it would be by chance, the gamma-Poisson shrinkage of DuMouchel (1999),

    lift = (seen + PRIOR * before) / (expected + PRIOR)

where `before` is the lift of the same fact for things of its kind, whose own `before` is 1 where common sense allows it
(`pipeline/language/commonsense.py`) and 0 elsewhere. So a vocabulary of a thousand questions goes by common sense, one of a
hundred thousand graphs by its counts. Of two things that are related both must fit: the pair, and each of them alone.
"""

# ruff: noqa: B019 - models live as long as the process, and so does what they have worked out

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from pipeline.core.records import Vocabulary
from pipeline.language.commonsense import looking, related
from pipeline.language.object_taxonomy import Listed, is_among, main_kind
from pipeline.language.relations import plain_relation
from pipeline.language.word_lists import PERSONS, PRONOUNS

# Expected sightings from which on what was counted says more than what was thought before.
PRIOR = 10.0
# Lift below which a fact does not fit: three sightings against common sense are errors of annotation, four are not; and a
# category of which fewer members would fit is not asked for.
FLOOR = 0.3

Fact = tuple[
    str, ...
]  # ("attribute", "red"), ("type", "color"), ("relation", "on", "s", "table" or "" for anything)


@dataclass(frozen=True, slots=True)
class Demands:
    """What is said of a thing; whatever takes its place should be like that.

    Attributes:
        attributes: groups of attributes; of each group it should have one.
        relations: (relation, "s" or "o" for one in which it is the subject or the object, name of the other thing or "").
        types: types of attributes of which it should have a value.
        kin: only one of its own category makes sense: "the girl's hair", "the same species".
    """

    attributes: tuple[tuple[str, ...], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    types: tuple[str, ...] = ()
    kin: bool = False

    def facts(self, types: Mapping[str, str]) -> Iterator[list[Fact]]:
        """Groups of facts of each of which one should hold. `types`: attribute -> its type."""
        for group in self.attributes:
            yield [("attribute", word, types.get(word, "")) for word in group]
        for relation, role, other in self.relations:
            other = "" if other in PRONOUNS - PERSONS.keys() else other
            yield [("relation", plain_relation(relation), role, other)]
        for type_ in self.types:
            yield [("type", type_)]


class Plausible:
    """The model of one vocabulary.

    Args:
        names: of things and categories, one row each.
    """

    def __init__(self, vocabulary: Vocabulary, names: Sequence[str]) -> None:
        self.names, self.row = names, {name: row for row, name in enumerate(names)}
        self._types, self._members = vocabulary.attribute_types, vocabulary.categories
        self._above: dict[str, list[str]] = defaultdict(list)
        for category, members in self._members.items():
            for member in members:
                self._above[member].append(category)
        known = [vocabulary.objects.get(name) for name in names]
        self._share = np.array([entry.count if entry else 0 for entry in known], float)
        self._share /= max(self._share.sum(), 1)
        kinds = sorted({main_kind(name) for name in names})
        number = {kind: index for index, kind in enumerate(kinds)}
        self._kind = np.array([number[main_kind(name)] for name in names], int)
        self._unknown = self._kind == number.get("", -1)
        # Pairs (category's row, member's row); every name is one of its own.
        pairs = [(r, self.row[m]) for r, n in enumerate(names) for m in self.called(n) if m in self.row]
        self._category, self._member = np.array(pairs, int).reshape(-1, 2).T
        # fact -> rows and how often it was seen of them
        self._seen: dict[Fact, list[tuple[int, int]]] = defaultdict(list)
        for row, entry in enumerate(known):
            for attribute, count in entry.attributes.items() if entry else ():
                type_ = self._types.get(attribute, "")
                self._seen["attribute", attribute, type_].append((row, count))
                self._seen["type", type_].append((row, count))
            for role, relations in (("s", entry.subject_of), ("o", entry.object_of)) if entry else ():
                for relation, count in relations.items():
                    self._seen["relation", plain_relation(relation), role, ""].append((row, count))
        for relation, subject, other, count in vocabulary.related:
            if subject in self.row and other in self.row:
                relation = plain_relation(relation)
                self._seen["relation", relation, "s", other].append((self.row[subject], count))
                self._seen["relation", relation, "o", subject].append((self.row[other], count))

    @lru_cache(maxsize=1 << 12)
    def fits(self, demanded: Demands) -> np.ndarray:
        """How well each row fits all that is said of a thing [rows]; 0 where something of it does not fit."""
        weights = np.ones(len(self.names))
        for group in demanded.facts(self._types):
            lift = np.max([self._lift(fact) for fact in group], axis=0)
            weights *= np.where(lift >= FLOOR, lift, 0)
        return weights

    def look(self, name: str, look: str, type_: str) -> float:
        """How well a look fits a thing; 0 if it does not, 1 if nothing is known of the thing. The type is that of a look
        that the vocabulary does not know."""
        return self._of(name, ("attribute", look, self._types.get(look, type_)))

    def relation(self, subject: str, relation: str, other: str) -> float:
        """How well a relation fits two things, "" for any; 0 if it does not."""
        relation = plain_relation(relation)
        if subject in self.row:
            return self._of(subject, ("relation", relation, "s", other))
        return self._of(other, ("relation", relation, "o", subject))

    def _of(self, name: str, fact: Fact) -> float:
        if name not in self.row:
            return 1.0
        lift = float(self._lift(fact)[self.row[name]])
        return lift if lift >= FLOOR else 0.0

    @lru_cache(maxsize=1 << 12)
    def _lift(self, fact: Fact) -> np.ndarray:
        """The lift of a fact for each row; that of a category is the mean of its members', by how common they are."""
        lift = self._counted(fact, self._thought(fact))
        if fact[0] == "relation" and fact[3]:
            lift = np.minimum(lift, self._lift((*fact[:3], "")))
        weight = self._share[self._member] + 1e-6
        rows = len(self.names)
        total = np.bincount(self._category, weight * lift[self._member], rows)
        return total / np.bincount(self._category, weight, rows)

    def _counted(self, fact: Fact, thought: np.ndarray) -> np.ndarray:
        """The lifts of the kinds, then those of the names."""
        kind, others = fact[:3], [fact]
        if fact[0] == "relation" and fact[3]:
            others = [(*fact[:3], name) for name in self.called(fact[3])]
            of_kind = [(*kind, name) for name in self._of_kind(main_kind(fact[3]))] or others
        else:
            of_kind = others
        seen, share = self._sightings(others), self._share
        # What was seen of the others of its kind, of which common sense thinks alike.
        alike, by_kind = 2 * self._kind + thought.astype(int), self._sightings(of_kind)
        kin = np.bincount(alike, by_kind)[alike] - by_kind
        expected = by_kind.sum() * (np.bincount(alike, share)[alike] - share)
        lift = np.where(self._unknown, thought, (kin + PRIOR * thought) / (expected + PRIOR))
        return (seen + PRIOR * lift) / (seen.sum() * share + PRIOR)

    def _sightings(self, facts: Sequence[Fact]) -> np.ndarray:
        seen = np.zeros(len(self.names))
        for fact in facts:
            for row, count in self._seen.get(fact, ()):
                seen[row] += count
        return seen

    @cache
    def _of_kind(self, kind: str) -> list[str]:
        return [name for name in self.names if kind and main_kind(name) == kind]

    def called(self, name: str) -> tuple[str, ...]:
        """The names of what a name selects."""
        return (name, *(member for member in self._members.get(name, ()) if member != name))

    @lru_cache(maxsize=1 << 10)
    def _thought(self, fact: Fact) -> np.ndarray:
        """1 where common sense allows a fact, else 0 [rows]."""
        rules: list[np.ndarray] | None = None
        if fact[0] == "relation" and fact[3] in self._members:  # enough of a category
            each = [self._thought((*fact[:3], name)) for name in self._members[fact[3]]]
            rules = [np.mean(each, axis=0) >= FLOOR]
        elif fact[0] == "relation":
            rules = []
            for rows in related(fact[1]):
                allowed = np.zeros(len(self.names), bool)
                for sides in rows:
                    own, other = sides if fact[2] == "s" else sides[::-1]
                    if not fact[3] or self._is_among(fact[3], other):
                        allowed |= self._among(own)
                rules.append(allowed)
        else:
            things = looking("", fact[1]) if fact[0] == "type" else looking(fact[1], fact[2])
            if things:
                rules = [np.any([self._among(each) for each in things], axis=0)]
        allowed = np.all(rules, axis=0) if rules else self._nothing()
        return allowed.astype(float)

    def _nothing(self) -> np.ndarray:
        return np.zeros(len(self.names), bool)

    @cache
    def _among(self, things: Listed) -> np.ndarray:
        """Rows on a list; of a thing of which the tables know nothing, its categories tell, and none is what they are not."""
        return np.array([self._is_among(name, things) for name in self.names], bool)

    def _is_among(self, name: str, things: Listed) -> bool:
        above = self._above.get(name, ())
        known = [name] if main_kind(name) else [name, *above]
        return any(is_among(one, things) for one in known) and things[1].isdisjoint(above)
