"""Score how well an object, an attribute or a relation fits the rest of a question.

Examples of facts are "cups are red", "men are on horses", and "cups have a color". The score of a fact is its
lift: how many times more often the fact was observed than expected by chance, with the gamma-Poisson
shrinkage of DuMouchel (1999),

    lift = (observed + PRIOR_STRENGTH * prior) / (expected + PRIOR_STRENGTH)

where `prior` is the lift of the same fact for all objects of the same kind (person, vehicle, ...). The prior
of a kind is 1 where common sense allows the fact (`pipeline/language/commonsense.py`), and 0 elsewhere. So
with a vocabulary of a thousand questions the scores follow common sense, and with a vocabulary of a hundred
thousand graphs they follow the counts. For two related objects, both the pair and each object alone must fit.
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
from pipeline.language.functional_programs import (
    NON_ATTRIBUTE_TYPES,
    OBJECT_SET_VERBS,
    POSITION_TYPES,
    Operation,
    find_root_step,
)
from pipeline.language.object_taxonomy import LIVING_KINDS, NameFilter, get_main_kind, is_selected
from pipeline.language.relations import canonicalize_relation
from pipeline.language.word_lists import PRONOUN_REFERENTS, UNINFORMATIVE_NAMES

# Number of expected observations at which the counts have the same weight as the prior.
PRIOR_STRENGTH = 10.0
# A fact with a lower lift does not fit. So three observations against common sense count as annotation
# errors, and four observations do not. A fact also does not fit a category if it fits a smaller proportion of
# the category's members.
MIN_LIFT = 0.3

# A fact about an object: ("attribute", "red", "color"), ("type", "color") or ("relation", "on", "s",
# "table"). The last fact says that the object is the subject ("s") of "on a table". "" in place of "table"
# stands for any other object.
FactKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectConstraints:
    """What a question says about an object. A replacement must match all constraints.

    Attributes:
        attributes: Groups of attributes. The object should have one attribute of each group.
        relations: Relations of the object as (relation, role, other). role is "s" if the object is the
            subject of the relation, and "o" otherwise. other is the name of the other object, or "" if it is
            not known.
        types: Types of attributes. The object should have a value of each type.
        same_category: Whether only an object of the same category makes sense ("the girl's hair", "the same
            species").
    """

    attributes: tuple[tuple[str, ...], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    types: tuple[str, ...] = ()
    same_category: bool = False

    def iter_fact_groups(self, types: Mapping[str, str]) -> Iterator[list[FactKey]]:
        """Yield groups of facts. One fact of each group should hold.

        Args:
            types: Attribute -> type of the attribute.
        """
        for group in self.attributes:
            yield [("attribute", word, types.get(word, "")) for word in group]
        for relation, role, other in self.relations:
            other = "" if other in UNINFORMATIVE_NAMES - PRONOUN_REFERENTS.keys() else other
            yield [("relation", canonicalize_relation(relation), role, other)]
        for type_ in self.types:
            yield [("type", type_)]


def extract_program_constraints(program: Sequence[Operation], step: int) -> ObjectConstraints:
    """Collect what a program says about the object that a step names. The result is empty for step -1."""
    attributes: list[tuple[str, ...]] = []
    relations: list[tuple[str, str, str]] = []
    types: list[str] = []
    own = program[step] if step >= 0 else None
    if own and own.verb in ("relate", "verify", "choose"):
        other = program[find_root_step(program, own.inputs[0])].name
        relations += [(value, "s" if own.is_subject else "o", other) for value in own.values]
    for operation in program:
        if not any(
            program[i].verb in OBJECT_SET_VERBS and find_root_step(program, i) == step
            for i in operation.inputs
        ):
            continue
        if operation.verb == "relate" or operation.type == "rel":
            role = "o" if operation.is_subject else "s"
            relations += [(value, role, operation.name) for value in operation.values]
        elif operation.type in NON_ATTRIBUTE_TYPES:
            continue
        elif operation.type in POSITION_TYPES:
            types.append(operation.type)
        elif operation.values and not (operation.is_negated and operation.type):
            # Options of a choice count, too: a fence can be wooden or metallic, but a shirt can be neither.
            # "not on" also counts, because only objects that can be on are said to be not on.
            attributes.append(operation.values)
        elif operation.type:
            # The type is asked for or negated. Only objects with a color are said to be "not red".
            types.append(operation.type)
    return ObjectConstraints(tuple(attributes), tuple(relations), tuple(types))


class PlausibilityModel:
    """The model of one vocabulary.

    Args:
        vocabulary: The vocabulary.
        names: The names of objects and categories, one row each.
    """

    def __init__(self, vocabulary: Vocabulary, names: Sequence[str]) -> None:
        self.names, self.row_by_name = names, {name: row for row, name in enumerate(names)}
        self._has_default = vocabulary.has_default
        self._attribute_types, self._members_by_category = vocabulary.attribute_types, vocabulary.categories
        self._categories_by_name: dict[str, list[str]] = defaultdict(list)
        for category, members in self._members_by_category.items():
            for member in members:
                self._categories_by_name[member].append(category)
        entries = [vocabulary.objects.get(name) for name in names]
        self._frequencies = np.array([entry.count if entry else 0 for entry in entries], float)
        self._frequencies /= max(self._frequencies.sum(), 1)
        kinds = sorted({get_main_kind(name) for name in names})
        self._index_by_kind = {kind: index for index, kind in enumerate(kinds)}
        self._kind_indices = np.array([self._index_by_kind[get_main_kind(name)] for name in names], int)
        self._has_no_kind = self._kind_indices == self._index_by_kind.get("", -1)
        # Pairs (row of a category, row of a member). Every name is a member of itself.
        pairs = [
            (r, self.row_by_name[m])
            for r, n in enumerate(names)
            for m in self.expand_name(n)
            if m in self.row_by_name
        ]
        self._category_rows, self._member_rows = np.array(pairs, int).reshape(-1, 2).T
        # Fact -> pairs of a row, and how often the fact was observed for objects of this row.
        self._counts_by_fact: dict[FactKey, list[tuple[int, int]]] = defaultdict(list)
        for row, entry in enumerate(entries):
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
        """Score how well each row matches the constraints, float [rows]. A score of 0 means: does not fit."""
        weights = np.ones(len(self.names))
        for group in constraints.iter_fact_groups(self._attribute_types):
            lift = np.max([self._compute_lift(fact) for fact in group], axis=0)
            if not self._has_default or (lift >= MIN_LIFT).any():
                weights *= np.where(lift >= MIN_LIFT, lift, 0)
        return weights

    @lru_cache(maxsize=1 << 12)
    def match_unknown_facts(self, name: str, constraints: ObjectConstraints) -> np.ndarray:
        """Return which rows may replace a name although nothing is known of a constraint, bool [rows].

        With the default vocabulary, which was derived from questions of other data sets, a constraint that fits no
        name ("three-wheeled") is ignored, and only objects of the same kind may replace the object. Whose part something
        is must be known, except for people and animals. Without the default vocabulary, no object fits.
        """
        unknown = [
            group
            for group in constraints.iter_fact_groups(self._attribute_types)
            if self._has_default and self._is_unknown(group)
        ]
        if not unknown:
            return ~self._empty_mask()
        is_part = any(
            fact[0] == "relation" and fact[1] in ("of", "with") for group in unknown for fact in group
        )
        if is_part and get_main_kind(name) not in LIVING_KINDS:
            return self._empty_mask()
        return self.match_main_kind(name)

    def _is_unknown(self, group: Sequence[FactKey]) -> bool:
        """Return whether no name fits any fact of a group."""
        return all((self._compute_lift(fact) < MIN_LIFT).all() for fact in group)

    def match_main_kind(self, name: str) -> np.ndarray:
        """Return which rows are of the main kind of a name, bool [rows].

        A name without a kind matches nothing, and neither does a part of the body: tails cannot do what hands do.
        """
        kind = get_main_kind(name)
        if kind in ("", "bodypart"):
            return self._empty_mask()
        return self._kind_indices == self._index_by_kind.get(kind, -1)

    def score_attribute(self, name: str, attribute: str, type_: str) -> float:
        """Score how well an attribute fits an object.

        The score is 0 if the attribute does not fit, and 1 if the name is not in the vocabulary.

        Args:
            name: The name of the object.
            attribute: The attribute.
            type_: Type of the attribute. It is used if the vocabulary has no type for the attribute.
        """
        return self._score_fact(name, ("attribute", attribute, self._attribute_types.get(attribute, type_)))

    def score_relation(self, subject: str, relation: str, other: str) -> float:
        """Score how well a relation fits two objects.

        The score is 0 if the relation does not fit, and 1 if neither name is in the vocabulary.

        Args:
            subject, other: The names of the objects, or "" for any object.
            relation: The relation of `subject` to `other`.
        """
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
        """Compute the lift of a fact for each row, float [rows].

        The lift of a category is the mean over its members, weighted by frequency.
        """
        lift = self._shrink_lift(fact, self._common_sense_prior(fact))
        if fact[0] == "relation" and fact[3]:
            lift = np.minimum(lift, self._compute_lift((*fact[:3], "")))
        weight = self._frequencies[self._member_rows] + 1e-6
        rows = len(self.names)
        total = np.bincount(self._category_rows, weight * lift[self._member_rows], rows)
        return total / np.bincount(self._category_rows, weight, rows)

    def _shrink_lift(self, fact: FactKey, prior: np.ndarray) -> np.ndarray:
        """Compute the lift of a fact for each kind of object, and then for each name.

        The lift of a kind shrinks towards `prior`, and the lift of a name shrinks towards the lift of its
        kind.
        """
        kind, others = fact[:3], [fact]
        if fact[0] == "relation" and fact[3]:
            others = [(*fact[:3], name) for name in self.expand_name(fact[3])]
            of_kind = [(*kind, name) for name in self._names_of_kind(get_main_kind(fact[3]))] or others
        else:
            of_kind = others
        observed, frequencies = self._count_observations(others), self._frequencies
        # `siblings` counts the observations of other names of the same kind and with the same prior.
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
        """Return a name and, if it is a category, its members."""
        return (name, *(member for member in self._members_by_category.get(name, ()) if member != name))

    @lru_cache(maxsize=1 << 10)
    def _common_sense_prior(self, fact: FactKey) -> np.ndarray:
        """Return 1 where common sense allows a fact and 0 elsewhere, float [rows]."""
        rules: list[np.ndarray] | None = None
        if fact[0] == "relation" and fact[3] in self._members_by_category:
            # The fact must be allowed for enough members of the category.
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
        """Return for each row whether a filter selects its name, bool [rows].

        Names that the tables of common sense do not have are matched by their categories.
        """
        return np.array([self._is_listed(name, name_filter) for name in self.names], bool)

    def _is_listed(self, name: str, name_filter: NameFilter) -> bool:
        above = self._categories_by_name.get(name, ())
        known = [name] if get_main_kind(name) else [name, *above]
        return any(is_selected(one, name_filter) for one in known) and name_filter[1].isdisjoint(above)
