"""Score how well an object, an attribute or a relation fits the rest of a question.

A fact is "cups are red", "men are on horses", or "the colour of cups is asked for". Its score is its lift: how many times more often it
was observed than expected by chance, with the gamma-Poisson shrinkage of DuMouchel (1999),

    lift = (observed + PRIOR_STRENGTH * prior) / (expected + PRIOR_STRENGTH)

where `prior` is the lift of the same fact for objects of its kind. The prior of a kind is 1 where common sense allows the fact
(`pipeline/language/commonsense.py`) and 0 elsewhere. So a vocabulary of a thousand questions follows common sense, and one of a hundred
thousand graphs follows its counts. For two related objects, both the pair and each object alone must fit.
"""

# ruff: noqa: B019 - models live as long as the process, and so do their cached results.

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

# Number of expected observations at which counts weigh as much as the prior.
PRIOR_STRENGTH = 10.0
# A fact with a lower lift does not fit. So three observations against common sense count as annotation errors, and four do not. A category
# of which a smaller proportion of members fits is not used either.
MIN_LIFT = 0.3

# ("attribute", "red", "color"), ("type", "color"), or ("relation", "on", "s", "table"), where "" stands for any other object.
FactKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectConstraints:
    """What a question says of an object. A replacement should match all of it.

    Attributes:
        attributes: Groups of attributes; the object should have one of each group.
        relations: (relation, role, other): role is "s" if the object is the subject, "o" if it is the object; other is the name of the
            other object or "".
        types: Types of attributes of which it should have a value.
        same_category: Only an object of its own category makes sense: "the girl's hair", "the same species".
    """

    attributes: tuple[tuple[str, ...], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    types: tuple[str, ...] = ()
    same_category: bool = False

    def iter_fact_groups(self, types: Mapping[str, str]) -> Iterator[list[FactKey]]:
        """Yield groups of facts; one fact of each group should hold.

        Args:
            types: Attribute -> its type.
        """
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
        names: Objects and categories, one row each.
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
        # Pairs (row of a category, row of a member). Every name is a member of itself.
        pairs = [
            (r, self.row_by_name[m])
            for r, n in enumerate(names)
            for m in self.expand_name(n)
            if m in self.row_by_name
        ]
        self._category_rows, self._member_rows = np.array(pairs, int).reshape(-1, 2).T
        # Fact -> rows, and how often it was observed of them.
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
        """Score how well each row matches the constraints [rows]; 0 where one of them does not fit."""
        weights = np.ones(len(self.names))
        for group in constraints.iter_fact_groups(self._attribute_types):
            lift = np.max([self._compute_lift(fact) for fact in group], axis=0)
            weights *= np.where(lift >= MIN_LIFT, lift, 0)
        return weights

    def score_attribute(self, name: str, attribute: str, type_: str) -> float:
        """Score how well an attribute fits an object; 0 if it does not, 1 if nothing is known of the object.

        Args:
            type_: Type of the attribute, used if the vocabulary does not know it.
        """
        return self._score_fact(name, ("attribute", attribute, self._attribute_types.get(attribute, type_)))

    def score_relation(self, subject: str, relation: str, other: str) -> float:
        """Score how well a relation fits two objects, "" for any; 0 if it does not."""
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
        """Compute the lift of a fact for each row. A category has the frequency-weighted mean of its members."""
        lift = self._shrink_lift(fact, self._common_sense_prior(fact))
        if fact[0] == "relation" and fact[3]:
            lift = np.minimum(lift, self._compute_lift((*fact[:3], "")))
        weight = self._frequencies[self._member_rows] + 1e-6
        rows = len(self.names)
        total = np.bincount(self._category_rows, weight * lift[self._member_rows], rows)
        return total / np.bincount(self._category_rows, weight, rows)

    def _shrink_lift(self, fact: FactKey, prior: np.ndarray) -> np.ndarray:
        """Compute the lifts of the kinds, then those of the names."""
        kind, others = fact[:3], [fact]
        if fact[0] == "relation" and fact[3]:
            others = [(*fact[:3], name) for name in self.expand_name(fact[3])]
            of_kind = [(*kind, name) for name in self._names_of_kind(get_main_kind(fact[3]))] or others
        else:
            of_kind = others
        observed, frequencies = self._count_observations(others), self._frequencies
        # Observations of the other names of its kind with the same prior.
        groups, by_kind = 2 * self._kind_indices + prior.astype(int), self._count_observations(of_kind)
        siblings = np.bincount(groups, by_kind)[groups] - by_kind
        expected = by_kind.sum() * (np.bincount(groups, frequencies)[groups] - frequencies)
        lift = np.where(
            self._has_no_kind, prior, (siblings + PRIOR_STRENGTH * prior) / (expected + PRIOR_STRENGTH)
        )
        return (observed + PRIOR_STRENGTH * lift) / (observed.sum() * frequencies + PRIOR_STRENGTH)

    def _count_observations(self, facts: Sequence[FactKey]) -> np.ndarray:
        observed = np.zeros(len(self.names))
        for fact in facts:
            for row, count in self._counts_by_fact.get(fact, ()):
                observed[row] += count
        return observed

    @cache
    def _names_of_kind(self, kind: str) -> list[str]:
        return [name for name in self.names if kind and get_main_kind(name) == kind]

    def expand_name(self, name: str) -> tuple[str, ...]:
        """Return the names that a name selects: itself and its members."""
        return (name, *(member for member in self._members_by_category.get(name, ()) if member != name))

    @lru_cache(maxsize=1 << 10)
    def _common_sense_prior(self, fact: FactKey) -> np.ndarray:
        """Return 1 where common sense allows a fact, else 0 [rows]."""
        rules: list[np.ndarray] | None = None
        if fact[0] == "relation" and fact[3] in self._members_by_category:
            # Enough members of the category must allow it.
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
            filters = (
                get_attribute_rules("", fact[1])
                if fact[0] == "type"
                else get_attribute_rules(fact[1], fact[2])
            )
            if filters:
                rules = [np.any([self._match_listed(each) for each in filters], axis=0)]
        allowed = np.all(rules, axis=0) if rules else self._empty_mask()
        return allowed.astype(float)

    def _empty_mask(self) -> np.ndarray:
        return np.zeros(len(self.names), bool)

    @cache
    def _match_listed(self, name_filter: NameFilter) -> np.ndarray:
        """Return the rows on a list. Names that the tables do not know are matched by their categories."""
        return np.array([self._is_listed(name, name_filter) for name in self.names], bool)

    def _is_listed(self, name: str, name_filter: NameFilter) -> bool:
        above = self._categories_by_name.get(name, ())
        known = [name] if get_main_kind(name) else [name, *above]
        return any(is_selected(one, name_filter) for one in known) and name_filter[1].isdisjoint(above)
