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
from pipeline.language.commonsense import get_attribute_rules, get_relation_rules
from pipeline.language.object_taxonomy import NameFilter, get_main_kind, is_selected
from pipeline.language.relations import canonicalize_relation
from pipeline.language.word_lists import PRONOUN_REFERENTS, UNINFORMATIVE_NAMES

# Expected sightings from which on what was counted says more than what was thought before.
PRIOR_STRENGTH = 10.0
# Lift below which a fact does not fit: three sightings against common sense are errors of annotation, four are not; and a
# category of which fewer members would fit is not asked for.
MIN_LIFT = 0.3

FactKey = tuple[
    str, ...
]  # ("attribute", "red"), ("type", "color"), ("relation", "on", "s", "table" or "" for anything)


@dataclass(frozen=True, slots=True)
class ObjectConstraints:
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
    same_category: bool = False

    def iter_fact_groups(self, types: Mapping[str, str]) -> Iterator[list[FactKey]]:
        """Groups of facts of each of which one should hold. `types`: attribute -> its type."""
        for group in self.attributes:
            yield [("attribute", word, types.get(word, "")) for word in group]
        for relation, role, other in self.relations:
            other = "" if other in UNINFORMATIVE_NAMES - PRONOUN_REFERENTS.keys() else other
            yield [("relation", canonicalize_relation(relation), role, other)]
        for type_ in self.types:
            yield [("type", type_)]


class PlausibilityModel:
    """The model of one vocabulary.

    Args:
        names: of things and categories, one row each.
    """

    def __init__(self, vocabulary: Vocabulary, names: Sequence[str]) -> None:
        self.names, self.row_by_name = names, {name: row for row, name in enumerate(names)}
        self._attribute_types, self._members_by_category = vocabulary.attribute_types, vocabulary.categories
        self._categories_by_name: dict[str, list[str]] = defaultdict(list)
        for category, members in self._members_by_category.items():
            for member in members:
                self._categories_by_name[member].append(category)
        known = [vocabulary.objects.get(name) for name in names]
        self._frequencies = np.array([entry.count if entry else 0 for entry in known], float)
        self._frequencies /= max(self._frequencies.sum(), 1)
        kinds = sorted({get_main_kind(name) for name in names})
        number = {kind: index for index, kind in enumerate(kinds)}
        self._kind_indices = np.array([number[get_main_kind(name)] for name in names], int)
        self._has_no_kind = self._kind_indices == number.get("", -1)
        # Pairs (category's row, member's row); every name is one of its own.
        pairs = [
            (r, self.row_by_name[m])
            for r, n in enumerate(names)
            for m in self.expand_name(n)
            if m in self.row_by_name
        ]
        self._category_rows, self._member_rows = np.array(pairs, int).reshape(-1, 2).T
        # fact -> rows and how often it was seen of them
        self._counts_by_fact: dict[FactKey, list[tuple[int, int]]] = defaultdict(list)
        for row, entry in enumerate(known):
            for attribute, count in entry.attributes.items() if entry else ():
                type_ = self._attribute_types.get(attribute, "")
                self._counts_by_fact["attribute", attribute, type_].append((row, count))
                self._counts_by_fact["type", type_].append((row, count))
            for role, relations in (("s", entry.subject_of), ("o", entry.object_of)) if entry else ():
                for relation, count in relations.items():
                    self._counts_by_fact["relation", canonicalize_relation(relation), role, ""].append(
                        (row, count)
                    )
        for relation, subject, other, count in vocabulary.relation_counts:
            if subject in self.row_by_name and other in self.row_by_name:
                relation = canonicalize_relation(relation)
                self._counts_by_fact["relation", relation, "s", other].append(
                    (self.row_by_name[subject], count)
                )
                self._counts_by_fact["relation", relation, "o", subject].append(
                    (self.row_by_name[other], count)
                )

    @lru_cache(maxsize=1 << 12)
    def score_objects(self, constraints: ObjectConstraints) -> np.ndarray:
        """How well each row fits all that is said of a thing [rows]; 0 where something of it does not fit."""
        weights = np.ones(len(self.names))
        for group in constraints.iter_fact_groups(self._attribute_types):
            lift = np.max([self._compute_lift(fact) for fact in group], axis=0)
            weights *= np.where(lift >= MIN_LIFT, lift, 0)
        return weights

    def score_attribute(self, name: str, attribute: str, type_: str) -> float:
        """How well a look fits a thing; 0 if it does not, 1 if nothing is known of the thing. The type is that of a look
        that the vocabulary does not know."""
        return self._score_fact(name, ("attribute", attribute, self._attribute_types.get(attribute, type_)))

    def score_relation(self, subject: str, relation: str, other: str) -> float:
        """How well a relation fits two things, "" for any; 0 if it does not."""
        relation = canonicalize_relation(relation)
        if subject in self.row_by_name:
            return self._score_fact(subject, ("relation", relation, "s", other))
        return self._score_fact(other, ("relation", relation, "o", subject))

    def _score_fact(self, name: str, fact: FactKey) -> float:
        if name not in self.row_by_name:
            return 1.0
        lift = float(self._compute_lift(fact)[self.row_by_name[name]])
        return lift if lift >= MIN_LIFT else 0.0

    @lru_cache(maxsize=1 << 12)
    def _compute_lift(self, fact: FactKey) -> np.ndarray:
        """The lift of a fact for each row; that of a category is the mean of its members', by how common they are."""
        lift = self._shrink_lift(fact, self._common_sense_prior(fact))
        if fact[0] == "relation" and fact[3]:
            lift = np.minimum(lift, self._compute_lift((*fact[:3], "")))
        weight = self._frequencies[self._member_rows] + 1e-6
        rows = len(self.names)
        total = np.bincount(self._category_rows, weight * lift[self._member_rows], rows)
        return total / np.bincount(self._category_rows, weight, rows)

    def _shrink_lift(self, fact: FactKey, thought: np.ndarray) -> np.ndarray:
        """The lifts of the kinds, then those of the names."""
        kind, others = fact[:3], [fact]
        if fact[0] == "relation" and fact[3]:
            others = [(*fact[:3], name) for name in self.expand_name(fact[3])]
            of_kind = [(*kind, name) for name in self._names_of_kind(get_main_kind(fact[3]))] or others
        else:
            of_kind = others
        seen, share = self._count_sightings(others), self._frequencies
        # What was seen of the others of its kind, of which common sense thinks alike.
        alike, by_kind = 2 * self._kind_indices + thought.astype(int), self._count_sightings(of_kind)
        kin = np.bincount(alike, by_kind)[alike] - by_kind
        expected = by_kind.sum() * (np.bincount(alike, share)[alike] - share)
        lift = np.where(
            self._has_no_kind, thought, (kin + PRIOR_STRENGTH * thought) / (expected + PRIOR_STRENGTH)
        )
        return (seen + PRIOR_STRENGTH * lift) / (seen.sum() * share + PRIOR_STRENGTH)

    def _count_sightings(self, facts: Sequence[FactKey]) -> np.ndarray:
        seen = np.zeros(len(self.names))
        for fact in facts:
            for row, count in self._counts_by_fact.get(fact, ()):
                seen[row] += count
        return seen

    @cache
    def _names_of_kind(self, kind: str) -> list[str]:
        return [name for name in self.names if kind and get_main_kind(name) == kind]

    def expand_name(self, name: str) -> tuple[str, ...]:
        """The names of what a name selects."""
        return (name, *(member for member in self._members_by_category.get(name, ()) if member != name))

    @lru_cache(maxsize=1 << 10)
    def _common_sense_prior(self, fact: FactKey) -> np.ndarray:
        """1 where common sense allows a fact, else 0 [rows]."""
        rules: list[np.ndarray] | None = None
        if fact[0] == "relation" and fact[3] in self._members_by_category:  # enough of a category
            each = [
                self._common_sense_prior((*fact[:3], name)) for name in self._members_by_category[fact[3]]
            ]
            rules = [np.mean(each, axis=0) >= MIN_LIFT]
        elif fact[0] == "relation":
            rules = []
            for rows in get_relation_rules(fact[1]):
                allowed = np.zeros(len(self.names), bool)
                for sides in rows:
                    own, other = sides if fact[2] == "s" else sides[::-1]
                    if not fact[3] or self._is_listed(fact[3], other):
                        allowed |= self._match_listed(own)
                rules.append(allowed)
        else:
            things = (
                get_attribute_rules("", fact[1])
                if fact[0] == "type"
                else get_attribute_rules(fact[1], fact[2])
            )
            if things:
                rules = [np.any([self._match_listed(each) for each in things], axis=0)]
        allowed = np.all(rules, axis=0) if rules else self._empty_mask()
        return allowed.astype(float)

    def _empty_mask(self) -> np.ndarray:
        return np.zeros(len(self.names), bool)

    @cache
    def _match_listed(self, things: NameFilter) -> np.ndarray:
        """Rows on a list; of a thing of which the tables know nothing, its categories tell, and none is what they are not."""
        return np.array([self._is_listed(name, things) for name in self.names], bool)

    def _is_listed(self, name: str, things: NameFilter) -> bool:
        above = self._categories_by_name.get(name, ())
        known = [name] if get_main_kind(name) else [name, *above]
        return any(is_selected(one, things) for one in known) and things[1].isdisjoint(above)
