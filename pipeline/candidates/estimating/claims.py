"""Split what a question presupposes into claims, and estimate how probably each holds for an image of which little is known."""

# ruff: noqa: B019 - the estimator lives as long as the process, and so do its cached results.

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

# Prior of a relation between two objects with few counts: one in this number.
NUM_PRIOR_RELATIONS = 20


class Claim(NamedTuple):
    """Something that must hold for the question to be answerable.

    Attributes:
        kind: Kind of claim: an object exists, has an attribute, or is in a relation.
        step: Step of the program; -1 if there is none.
        name: Name of the object; "" if it is not known, as for an edit without a step.
        words: The attributes or relations of which one must hold; () for an object, which must exist.
        type: Type of the attributes.
        negated: None of the attributes may hold.
        other_name: Name of the other object of a relation.
        is_subject: Whether the named object is the relation's subject.
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
    """Return what a program presupposes: what it selects and does not merely ask for. Of a choice, one option must hold."""
    found = []
    for step, operation in enumerate(program):
        if operation.is_asserted or operation.name == SCENE:
            continue
        verb, type_, words = operation.verb, operation.type, operation.values
        input_name = program[find_root_step(program, operation.inputs[0])].name if operation.inputs else ""
        if operation.name and operation.name not in WILDCARD_NAMES:
            found.append(Claim("object", step, operation.name))
        if verb == "relate" or (verb, type_) == ("choose", "rel"):
            found.append(
                Claim(
                    "relation",
                    step,
                    operation.name,
                    words,
                    other_name=input_name,
                    is_subject=operation.is_subject,
                )
            )
        elif input_name != SCENE and (verb == "filter" or (verb == "choose" and type_ != "name")):
            found.append(Claim("attribute", step, input_name, words, type_, operation.is_negated))
    return found


class ClaimEstimator:
    """Estimates probabilities of claims from a vocabulary's counts and what is known of an image."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.presence = PresenceModel(vocabulary)
        self._vocabulary, self._shown = vocabulary, vocabulary.cooccurrence

    def estimate_probability(
        self, claim: Claim, evidence: Evidence | None, known_names: frozenset[str]
    ) -> float:
        """Estimate how probably a claim holds. For an attribute or a relation, this assumes that the objects exist.

        Args:
            known_names: Names that the image is known to show (`get_known_names`).
        """
        objects = evidence.select_objects(claim.name).certain if evidence and claim.name else ()
        if claim.kind == "object":
            if objects or not evidence:
                return (
                    MAX_PROBABILITY
                    if objects
                    else self.presence.estimate_probability(claim.name, known_names)
                )
            return (
                self.presence.estimate_probability(claim.name, known_names)
                if evidence.select_objects(claim.name)
                else 1 - MAX_PROBABILITY
            )
        rate, expected_count = (
            self.base_rate(claim),
            self.presence.estimate_objects_per_image(claim.name) if claim.name else 0.0,
        )
        if claim.kind == "attribute":
            truths = [
                any_true(evidence.evaluate_attribute(one, w, claim.type) for w in claim.words)
                for one in objects
                if evidence
            ]
            truths = [negate_if(claim.negated, truth) for truth in truths]
        else:
            others = evidence.select_objects(claim.other_name).certain if evidence else ()
            expected_count *= self.presence.estimate_objects_per_image(claim.other_name)
            truths = [
                any_true([evidence.evaluate_relation(one, word, other) for word in claim.words])
                for known in objects
                for one, other in (product([known], others) if claim.is_subject else product(others, [known]))
                if evidence and one is not other
            ]
        return _probability_of_any(truths, rate, expected_count)

    @lru_cache(maxsize=1 << 16)
    def base_rate(self, claim: Claim) -> float:
        """Return the proportion of objects (or pairs of objects) with the claim's names for which it holds."""
        if claim.kind == "relation":
            rate = sum(self._relation_rate(claim, canonicalize_relation(word)) for word in claim.words)
        elif claim.type in POSITION_TYPES:
            rate = len(claim.words) / len(POSITION_VALUES[claim.type])
        else:
            rate = sum(self.presence.estimate_attribute_rate(word, claim.name) for word in claim.words)
        rate = min(rate, MAX_PROBABILITY)
        return 1 - rate if claim.negated else rate

    def _relation_rate(self, claim: Claim, word: str) -> float:
        """Estimate how probably an object of one name is in a relation to an object of another.

        The numerator is how often such objects are on either side of the relation. The denominator is the number of such pairs. Questions state few
        relations, so with partial graphs it is the number of relations that are stated.
        """
        one, other = (claim.name, claim.other_name) if claim.is_subject else (claim.other_name, claim.name)

        def expected(relation: str) -> float:
            as_subject, as_object = (
                self._count_relations(one, True)[relation],
                self._count_relations(other, False)[relation],
            )
            return as_subject * as_object / self._count_relations("_", True)[relation] if as_subject else 0.0

        if self.presence.is_partial:
            stated, overall = self._count_relations(one, True), self._count_relations("_", True)
            usual = (overall[word] + 1 / NUM_PRIOR_RELATIONS) / (overall.total() + 1)
            return (expected(word) + PSEUDOCOUNT * usual) / (
                math.fsum(map(expected, sorted(stated))) + PSEUDOCOUNT
            )
        pairs = (
            self._count_images_with_both(one, other)
            * self.presence.estimate_objects_per_image(one)
            * self.presence.estimate_objects_per_image(other)
        )
        return (expected(word) + 1 / NUM_PRIOR_RELATIONS) / (pairs + 1)

    def _count_images_with_both(self, one: str, other: str) -> float:
        """Return how many images show both."""
        first, second = sorted((lemmatize(one), lemmatize(other)))
        counts = [
            self._shown.image_counts.get(name, 0) for name in (first, second) if name not in WILDCARD_NAMES
        ]
        if len(counts) < 2 or first == second:
            return min(counts, default=self._shown.num_images)
        by_chance = min(math.prod(counts) / max(self._shown.num_images, 1), self._shown.min_pair_count - 1)
        return self._shown.pair_counts.get(first, {}).get(second, by_chance)

    @cache
    def _count_relations(self, name: str, subject: bool) -> Counter[str]:
        """Count how often objects of a name (of any for a wildcard) are on one side of each relation, including inverse relations."""
        objects = self._vocabulary.objects
        called = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        counts: Counter[str] = Counter()
        for entry in objects.values() if name in WILDCARD_NAMES else [objects[one] for one in sorted(called)]:
            sides = (entry.subject_of, entry.object_of)
            for relation, count in sides[not subject].items():
                counts[canonicalize_relation(relation)] += count
            for relation, count in sides[subject].items():
                if inverse := INVERSES.get(canonicalize_relation(relation)):
                    counts[inverse] += count
        return counts


def _probability_of_any(truths: Sequence[bool | None], rate: float, expected_count: float) -> float:
    """Return the probability that something holds for any of `expected_count` objects (or pairs), of which some truth values are known.

    At least half an object is assumed to be there beyond the known ones.
    """
    if True in truths:
        return MAX_PROBABILITY
    num_unknown = truths.count(None) + max(expected_count - len(truths), 0.5)
    return min(1 - (1 - rate) ** num_unknown, MAX_PROBABILITY)
