"""What a question takes for granted, claim by claim, and how probably each holds at an image of which a little is known."""

# ruff: noqa: B019 - it lives as long as the process, and so does what it has worked out

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from pipeline.core.records import EditKind, Vocabulary
from pipeline.language.functional_programs import (
    POSITION_TYPES,
    POSITION_VALUES,
    SCENE,
    Program,
    find_root_step,
)
from pipeline.language.nouns import lemmatize
from pipeline.language.relations import INVERSES, canonicalize_relation
from pipeline.language.word_lists import WILDCARD_NAMES
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.presence_model import MAX_PROBABILITY, PSEUDOCOUNT, PresenceModel
from pipeline.verifier.step_answers import any_true, negate_if

# One in so many relations is told of two things of which little was counted.
NUM_PRIOR_RELATIONS = 20


class Claim(NamedTuple):
    """Something that must hold, or the question has no answer.

    Attributes:
        step: of the program; -1 if there is none. name: of the thing of which it is said; "" if that is not known, but for
            that it is otherwise: of an edit that no step tells.
        words: the attributes or relations of which one must hold; () for an object: that there is one.
        type: of the attributes. negated: none of them holds. other: of a relation, the name of the other thing.
        subject: whether the named thing is the relation's subject.
    """

    kind: EditKind
    step: int
    name: str
    words: tuple[str, ...] = ()
    type: str = ""
    negated: bool = False
    other_name: str = ""
    is_subject: bool = True


def extract_program_claims(program: Program) -> list[Claim]:
    """What a program takes for granted: what it looks for and does not just ask for; of a choice, that one option holds."""
    found = []
    for step, operation in enumerate(program):
        if operation.is_asserted or operation.name == SCENE:
            continue
        verb, type_, words = operation.verb, operation.type, operation.values
        of = program[find_root_step(program, operation.inputs[0])].name if operation.inputs else ""
        if operation.name and operation.name not in WILDCARD_NAMES:
            found.append(Claim("object", step, operation.name))
        if verb == "relate" or (verb, type_) == ("choose", "rel"):
            one, other = operation.name, of
            found.append(
                Claim("relation", step, one, words, other_name=other, is_subject=operation.is_subject)
            )
        elif of != SCENE and (verb == "filter" or (verb == "choose" and type_ != "name")):
            found.append(Claim("attribute", step, of, words, type_, operation.is_negated))
    return found


class ClaimEstimator:
    """Probabilities of claims, by a vocabulary's counts and what is known of an image."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.presence = PresenceModel(vocabulary)
        self._vocabulary, self._shown = vocabulary, vocabulary.cooccurrence

    def estimate_probability(
        self, claim: Claim, facts: Evidence | None, known_names: frozenset[str]
    ) -> float:
        """How probably a claim holds; of an attribute or a relation, if the things are there.

        Args:
            known: the names of things that the image is known to show (`names_known`).
        """
        things = facts.select_objects(claim.name).certain if facts and claim.name else ()
        if claim.kind == "object":
            if things or not facts:
                return (
                    MAX_PROBABILITY if things else self.presence.estimate_probability(claim.name, known_names)
                )
            return (
                self.presence.estimate_probability(claim.name, known_names)
                if facts.select_objects(claim.name)
                else 1 - MAX_PROBABILITY
            )
        share, many = (
            self.base_rate(claim),
            self.presence.estimate_objects_per_image(claim.name) if claim.name else 0.0,
        )
        if claim.kind == "attribute":
            truths = [
                any_true(facts.evaluate_attribute(one, w, claim.type) for w in claim.words)
                for one in things
                if facts
            ]
            told = [negate_if(claim.negated, truth) for truth in truths]
        else:
            others = facts.select_objects(claim.other_name).certain if facts else ()
            many *= self.presence.estimate_objects_per_image(claim.other_name)
            told = [
                any_true([facts.evaluate_relation(one, word, other) for word in claim.words])
                for thing in things
                for one, other in (product([thing], others) if claim.is_subject else product(others, [thing]))
                if facts and one is not other
            ]
        return _probability_of_any(told, share, many)

    @lru_cache(maxsize=1 << 16)
    def base_rate(self, claim: Claim) -> float:
        """Of the things (the pairs of things) of a claim's names, the share of which it holds."""
        if claim.kind == "relation":
            share = sum(self._relation_rate(claim, canonicalize_relation(word)) for word in claim.words)
        elif claim.type in POSITION_TYPES:
            share = len(claim.words) / len(POSITION_VALUES[claim.type])
        else:
            share = sum(self.presence.estimate_attribute_rate(word, claim.name) for word in claim.words)
        share = min(share, MAX_PROBABILITY)
        return 1 - share if claim.negated else share

    def _relation_rate(self, claim: Claim, word: str) -> float:
        """How probably one thing of a name is in a relation to one of another: by how often such things are on either side
        of it, among all such pairs. Questions tell few relations: then among the relations that they tell."""
        one, other = (claim.name, claim.other_name) if claim.is_subject else (claim.other_name, claim.name)

        def expected(relation: str) -> float:
            as_subject, as_object = (
                self._count_relations(one, True)[relation],
                self._count_relations(other, False)[relation],
            )
            return as_subject * as_object / self._count_relations("_", True)[relation] if as_subject else 0.0

        if self.presence.is_partial:
            told, overall = self._count_relations(one, True), self._count_relations("_", True)
            usual = (overall[word] + 1 / NUM_PRIOR_RELATIONS) / (overall.total() + 1)
            return (expected(word) + PSEUDOCOUNT * usual) / (
                math.fsum(map(expected, sorted(told))) + PSEUDOCOUNT
            )
        pairs = (
            self._count_images_with_both(one, other)
            * self.presence.estimate_objects_per_image(one)
            * self.presence.estimate_objects_per_image(other)
        )
        return (expected(word) + 1 / NUM_PRIOR_RELATIONS) / (pairs + 1)

    def _count_images_with_both(self, one: str, other: str) -> float:
        """How many images show both."""
        first, second = sorted((lemmatize(one), lemmatize(other)))
        alone = [
            self._shown.image_counts.get(name, 0) for name in (first, second) if name not in WILDCARD_NAMES
        ]
        if len(alone) < 2 or first == second:
            return min(alone, default=self._shown.num_images)
        by_chance = min(math.prod(alone) / max(self._shown.num_images, 1), self._shown.min_pair_count - 1)
        return self._shown.pair_counts.get(first, {}).get(second, by_chance)

    @cache
    def _count_relations(self, name: str, subject: bool) -> Counter[str]:
        """How often things of a name (of any) are on one side of each relation, told from either end."""
        objects = self._vocabulary.objects
        called = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        times: Counter[str] = Counter()
        for entry in objects.values() if name in WILDCARD_NAMES else [objects[one] for one in sorted(called)]:
            ends = (entry.subject_of, entry.object_of)
            for relation, count in ends[not subject].items():
                times[canonicalize_relation(relation)] += count
            for relation, count in ends[subject].items():
                if inverse := INVERSES.get(canonicalize_relation(relation)):
                    times[inverse] += count
        return times


def _probability_of_any(told: Sequence[bool | None], share: float, many: float) -> float:
    """How probably something holds of any of so many things (pairs), of some of which it is told.

    At least half a thing is taken to be there besides those that are known.
    """
    if True in told:
        return MAX_PROBABILITY
    open_ = told.count(None) + max(many - len(told), 0.5)
    return min(1 - (1 - share) ** open_, MAX_PROBABILITY)
