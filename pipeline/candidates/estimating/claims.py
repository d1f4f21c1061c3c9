"""Split what a question presupposes into claims, and estimate the probability of each claim.

The probabilities are for an image of which little is known.
"""

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

# If there are few counts for two objects, the prior probability of a relation between them is 1 divided by
# this number.
NUM_PRIOR_RELATIONS = 20


class Claim(NamedTuple):
    """Something that must hold for the question to be answerable.

    Attributes:
        kind: Kind of claim. "object": an object exists. "attribute": an object has an attribute. "relation":
            an object is in a relation to another one.
        step: Index of the program step, or -1 if the claim has no step.
        name: Name of the object, or "" if the name is not known (for an edit without a step).
        words: The attributes or relations of which one must hold, or () for the kind object.
        type: Type of the attributes.
        negated: Whether none of the attributes may hold.
        other_name: Name of the other object of a relation.
        is_subject: Whether the object `name` is the subject of the relation.
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
    """Return the claims that a program presupposes.

    These are the objects, attributes and relations that the program selects without asking whether they
    exist. The options of a choice are one claim: one of the options must hold.
    """
    claims = []
    for step, operation in enumerate(program):
        if operation.is_asserted or operation.name == SCENE:
            continue
        verb, type_, words = operation.verb, operation.type, operation.values
        input_name = program[find_root_step(program, operation.inputs[0])].name if operation.inputs else ""
        if operation.name and operation.name not in WILDCARD_NAMES:
            claims.append(Claim("object", step, operation.name))
        if verb == "relate" or (verb, type_) == ("choose", "rel"):
            claims.append(
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
            claims.append(Claim("attribute", step, input_name, words, type_, operation.is_negated))
    return claims


class ClaimEstimator:
    """Estimates the probabilities of claims by the counts of a vocabulary and the evidence about an image."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.presence = PresenceModel(vocabulary)
        self._vocabulary, self._shown = vocabulary, vocabulary.cooccurrence

    def estimate_probability(
        self, claim: Claim, evidence: Evidence | None, known_names: frozenset[str]
    ) -> float:
        """Estimate the probability that a claim holds.

        The probability of an attribute or a relation assumes that the objects exist.

        Args:
            claim: The claim.
            evidence: The evidence about the image, or None if there is none.
            known_names: Names of objects that the image is known to show (`get_known_names`).
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
                any_true(evidence.evaluate_attribute(obj, word, claim.type) for word in claim.words)
                for obj in objects
                if evidence
            ]
            truths = [negate_if(claim.negated, truth) for truth in truths]
        else:
            others = evidence.select_objects(claim.other_name).certain if evidence else ()
            expected_count *= self.presence.estimate_objects_per_image(claim.other_name)
            truths = [
                any_true([evidence.evaluate_relation(subject, word, other) for word in claim.words])
                for obj in objects
                for subject, other in (product([obj], others) if claim.is_subject else product(others, [obj]))
                if evidence and subject is not other
            ]
        return _probability_of_any(truths, rate, expected_count)

    @lru_cache(maxsize=1 << 16)
    def base_rate(self, claim: Claim) -> float:
        """Return the proportion of objects (or pairs) with the claim's names that fulfill the claim."""
        if claim.kind == "relation":
            rate = sum(self._relation_rate(claim, canonicalize_relation(word)) for word in claim.words)
        elif claim.type in POSITION_TYPES:
            rate = len(claim.words) / len(POSITION_VALUES[claim.type])
        else:
            rate = sum(self.presence.estimate_attribute_rate(word, claim.name) for word in claim.words)
        rate = min(rate, MAX_PROBABILITY)
        return 1 - rate if claim.negated else rate

    def _relation_rate(self, claim: Claim, word: str) -> float:
        """Estimate the probability that an object of one name is in a relation to an object of another name.

        The numerator is the expected number of pairs of such objects that are in the relation. It is
        estimated from how often each name occurs as subject and as object of the relation. The denominator is
        the number of pairs of such objects. With partial graphs, the denominator is the number of stated
        relations instead, because questions state few relations.
        """
        subject, other = (
            (claim.name, claim.other_name) if claim.is_subject else (claim.other_name, claim.name)
        )

        def expect_count(relation: str) -> float:
            as_subject, as_object = (
                self._count_relations(subject, True)[relation],
                self._count_relations(other, False)[relation],
            )
            return as_subject * as_object / self._count_relations("_", True)[relation] if as_subject else 0.0

        if self.presence.is_partial:
            stated, overall = self._count_relations(subject, True), self._count_relations("_", True)
            usual = (overall[word] + 1 / NUM_PRIOR_RELATIONS) / (overall.total() + 1)
            return (expect_count(word) + PSEUDOCOUNT * usual) / (
                math.fsum(map(expect_count, sorted(stated))) + PSEUDOCOUNT
            )
        num_pairs = (
            self._count_images_with_both(subject, other)
            * self.presence.estimate_objects_per_image(subject)
            * self.presence.estimate_objects_per_image(other)
        )
        return (expect_count(word) + 1 / NUM_PRIOR_RELATIONS) / (num_pairs + 1)

    def _count_images_with_both(self, name: str, other: str) -> float:
        """Return the number of images that show objects of both names. It is estimated for rare pairs."""
        first, second = sorted((lemmatize(name), lemmatize(other)))
        counts = [
            self._shown.image_counts.get(name, 0) for name in (first, second) if name not in WILDCARD_NAMES
        ]
        if len(counts) < 2 or first == second:
            return min(counts, default=self._shown.num_images)
        by_chance = min(math.prod(counts) / max(self._shown.num_images, 1), self._shown.min_pair_count - 1)
        return self._shown.pair_counts.get(first, {}).get(second, by_chance)

    @cache
    def _count_relations(self, name: str, subject: bool) -> Counter[str]:
        """Count how often objects of a name are the subject (or the object) of each relation.

        A name that matches any object ("thing") counts all objects. Inverse relations are counted, too.
        """
        objects = self._vocabulary.objects
        names = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        if name in WILDCARD_NAMES:
            entries = list(objects.values())
        else:
            entries = [objects[object_name] for object_name in sorted(names)]
        counts: Counter[str] = Counter()
        for entry in entries:
            sides = (entry.subject_of, entry.object_of)
            for relation, count in sides[not subject].items():
                counts[canonicalize_relation(relation)] += count
            for relation, count in sides[subject].items():
                if inverse := INVERSES.get(canonicalize_relation(relation)):
                    counts[inverse] += count
        return counts


def _probability_of_any(truths: Sequence[bool | None], rate: float, expected_count: float) -> float:
    """Return the probability that a claim holds for at least one of several objects (or pairs of objects).

    The expected number of further, unknown objects is assumed to be at least 0.5.

    Args:
        truths: The truth of the claim for each known object, None if it is not known.
        rate: The probability that the claim holds for one object.
        expected_count: The expected number of objects, including the known ones.
    """
    if True in truths:
        return MAX_PROBABILITY
    num_unknown = truths.count(None) + max(expected_count - len(truths), 0.5)
    return min(1 - (1 - rate) ** num_unknown, MAX_PROBABILITY)
