"""What a question takes for granted, claim by claim, and how probably each holds at a picture of which a little is known."""

# ruff: noqa: B019 - it lives as long as the process, and so does what it has worked out

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from pipeline.core.records import EditKind, Vocabulary
from pipeline.language.functional_programs import POSITIONS, SCENE, ZONES, Program, root
from pipeline.language.nouns import lemma
from pipeline.language.relations import INVERSES, plain_relation
from pipeline.language.word_lists import ANYTHING
from pipeline.verifier.evidence import Facts
from pipeline.verifier.presence_model import BORROWED, SUREST, Presence
from pipeline.verifier.step_answers import any_of, unless

# One in so many relations is told of two things of which little was counted.
RELATIONS = 20


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
    other: str = ""
    subject: bool = True


def claims(program: Program) -> list[Claim]:
    """What a program takes for granted: what it looks for and does not just ask for; of a choice, that one option holds."""
    found = []
    for step, operation in enumerate(program):
        if operation.asserted or operation.name == SCENE:
            continue
        verb, type_, words = operation.verb, operation.type, operation.values
        of = program[root(program, operation.inputs[0])].name if operation.inputs else ""
        if operation.name and operation.name not in ANYTHING:
            found.append(Claim("object", step, operation.name))
        if verb == "relate" or (verb, type_) == ("choose", "rel"):
            one, other = operation.name, of
            found.append(Claim("relation", step, one, words, other=other, subject=operation.subject))
        elif of != SCENE and (verb == "filter" or (verb == "choose" and type_ != "name")):
            found.append(Claim("attribute", step, of, words, type_, operation.negated))
    return found


class Beliefs:
    """Probabilities of claims, by a vocabulary's counts and what is known of a picture."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.presence = Presence(vocabulary)
        self._vocabulary, self._shown = vocabulary, vocabulary.shown

    def probability(self, claim: Claim, facts: Facts | None, known: frozenset[str]) -> float:
        """How probably a claim holds; of an attribute or a relation, if the things are there.

        Args:
            known: the names of things that the picture is known to show (`names_known`).
        """
        things = facts.named(claim.name).sure if facts and claim.name else ()
        if claim.kind == "object":
            if things or not facts:
                return SUREST if things else self.presence.of(claim.name, known)
            return self.presence.of(claim.name, known) if facts.named(claim.name) else 1 - SUREST
        share, many = self.share(claim), self.presence.several(claim.name) if claim.name else 0.0
        if claim.kind == "attribute":
            truths = [any_of(facts.has(one, w, claim.type) for w in claim.words) for one in things if facts]
            told = [unless(claim.negated, truth) for truth in truths]
        else:
            others = facts.named(claim.other).sure if facts else ()
            many *= self.presence.several(claim.other)
            told = [
                any_of([facts.holds(one, word, other) for word in claim.words])
                for thing in things
                for one, other in (product([thing], others) if claim.subject else product(others, [thing]))
                if facts and one is not other
            ]
        return _any(told, share, many)

    @lru_cache(maxsize=1 << 16)
    def share(self, claim: Claim) -> float:
        """Of the things (the pairs of things) of a claim's names, the share of which it holds."""
        if claim.kind == "relation":
            share = sum(self._related(claim, plain_relation(word)) for word in claim.words)
        elif claim.type in POSITIONS:
            share = len(claim.words) / len(ZONES[claim.type])
        else:
            share = sum(self.presence.share(word, claim.name) for word in claim.words)
        share = min(share, SUREST)
        return 1 - share if claim.negated else share

    def _related(self, claim: Claim, word: str) -> float:
        """How probably one thing of a name is in a relation to one of another: by how often such things are on either side
        of it, among all such pairs. Questions tell few relations: then among the relations that they tell."""
        one, other = (claim.name, claim.other) if claim.subject else (claim.other, claim.name)

        def expected(relation: str) -> float:
            as_subject, as_object = self._times(one, True)[relation], self._times(other, False)[relation]
            return as_subject * as_object / self._times("_", True)[relation] if as_subject else 0.0

        if self.presence.partial:
            told, overall = self._times(one, True), self._times("_", True)
            usual = (overall[word] + 1 / RELATIONS) / (overall.total() + 1)
            return (expected(word) + BORROWED * usual) / (math.fsum(map(expected, sorted(told))) + BORROWED)
        pairs = self._pictures(one, other) * self.presence.several(one) * self.presence.several(other)
        return (expected(word) + 1 / RELATIONS) / (pairs + 1)

    def _pictures(self, one: str, other: str) -> float:
        """How many pictures show both."""
        first, second = sorted((lemma(one), lemma(other)))
        alone = [self._shown.names.get(name, 0) for name in (first, second) if name not in ANYTHING]
        if len(alone) < 2 or first == second:
            return min(alone, default=self._shown.pictures)
        by_chance = min(math.prod(alone) / max(self._shown.pictures, 1), self._shown.least - 1)
        return self._shown.together.get(first, {}).get(second, by_chance)

    @cache
    def _times(self, name: str, subject: bool) -> Counter[str]:
        """How often things of a name (of any) are on one side of each relation, told from either end."""
        objects = self._vocabulary.objects
        called = {name, lemma(name), *self._vocabulary.categories.get(name, ())} & objects.keys()
        times: Counter[str] = Counter()
        for entry in objects.values() if name in ANYTHING else [objects[one] for one in sorted(called)]:
            ends = (entry.subject_of, entry.object_of)
            for relation, count in ends[not subject].items():
                times[plain_relation(relation)] += count
            for relation, count in ends[subject].items():
                if inverse := INVERSES.get(plain_relation(relation)):
                    times[inverse] += count
        return times


def _any(told: Sequence[bool | None], share: float, many: float) -> float:
    """How probably something holds of any of so many things (pairs), of some of which it is told.

    At least half a thing is taken to be there besides those that are known.
    """
    if True in told:
        return SUREST
    open_ = told.count(None) + max(many - len(told), 0.5)
    return min(1 - (1 - share) ** open_, SUREST)
