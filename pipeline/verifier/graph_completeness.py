"""What scene graphs leave out: how much of what is there they list, and so how probably a thing, a look or a relation that
is not listed is there all the same.

Of what questions about a picture take for granted, the share that its graph lists tells how complete it is. If a
share `listed` of all there is is listed, and a thing is listed in a share `rate` of such pictures, then of pictures that do
not list it a share rate (1 - listed) / (listed (1 - rate)) shows it all the same: Bayes' rule.
"""

# ruff: noqa: B019 - it lives as long as the process, and so does what it has worked out

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from pipeline.core.records import ObjectEntry, Question, Scene, Vocabulary
from pipeline.language.functional_programs import POSITIONS, parse
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemma
from pipeline.language.relations import plain_relation
from pipeline.language.similarity import likeness
from pipeline.language.word_lists import ANYTHING, FRAME_NOUNS, PERSONS
from pipeline.verifier.evidence import facts_of
from pipeline.verifier.presence_model import SUREST, Presence
from pipeline.verifier.statements import of_program

# Questions from which it is told how complete graphs are: the error of a share of so many is below half a percent.
QUESTIONS = 20_000
# Of what was counted a few times little is known: one sighting is added to those counted, and so many cases to theirs.
BORROWED = 4.0
_SIDES = ("to the left of", "to the right of")


def share_listed(
    scenes: Iterable[Scene],
    questions: Mapping[str, Sequence[Question]],
    lexicon: Lexicon,
    at_most: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Of what answered questions say of the pictures that have a graph, the share that it lists (`Vocabulary.listed`); one
    more is held to be left out than was seen to be. {} where nothing is said of such pictures."""
    listed, said = Counter[str](), Counter[str]()
    tried = 0
    for scene in scenes:
        asked = [row for row in questions.get(scene.picture_id, ()) if row.program and row.answer]
        if not asked or tried >= QUESTIONS:
            continue
        facts = facts_of(scene, lexicon)
        things = {thing.object_id: thing for thing in facts.things}
        tried += len(asked)
        statements = {s for row in asked for s in of_program(parse(row.program, row.question_id), row.answer)}
        for s in sorted(s for s in statements if s.holds):
            if s.kind == "name" and s.value:
                kind, known = "object", s.subject in things
            elif s.kind == "attribute" and s.subject in things and s.type not in POSITIONS:
                kind, known = "attribute", s.value in things[s.subject].attributes
            elif s.kind == "relation" and {s.subject, s.other} <= things.keys():
                kind, known = "relation", (s.subject, plain_relation(s.value), s.other) in facts.related
            else:
                continue
            said[kind] += 1
            listed[kind] += known
    return {kind: min(listed[kind] / (said[kind] + 1), at_most.get(kind, 1.0)) for kind in sorted(said)}


class LeftOut:
    """What the graphs of a data set probably leave out, by its vocabulary (`pipeline.verifier.known_objects.Unlisted`)."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._presence = vocabulary, Presence(vocabulary)
        self._listed = defaultdict(float, vocabulary.listed)
        objects = vocabulary.objects.values()
        self._things = max(sum(entry.count for entry in objects), 1)
        self._pictures = max(vocabulary.shown.pictures, 1)
        self._sides = {side: sum(entry.subject_of.get(side, 0) for entry in objects) for side in _SIDES}
        self._related: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for relation, one, two, count in vocabulary.related:
            self._related[plain_relation(relation)].append((one, two, count))

    def things(self, name: str, shown: Collection[str], listed: int) -> float:
        share = self._listed["object"]
        if listed:  # where some are listed, others are left out in the same proportion
            return listed * (1 / max(share, 1e-3) - 1)
        meant, counted = PERSONS.get(name, (lemma(name),)), self._vocabulary.shown.names
        # "Where is the man?" asks for a place; what was never counted nobody can tell; a thing may go by another name.
        if any(word in FRAME_NOUNS or word not in counted or _alike(word, shown) for word in meant):
            return SUREST
        return min(sum(_left(self._presence.of(word, shown), share) for word in meant), SUREST)

    def look(self, attribute: str, name: str, listed: bool) -> float:
        rate, share = self._look(attribute, name), self._listed["attribute"]
        return _left(rate, share) if listed else _of(rate, share)

    def relation(self, subject: str, relation: str, other: str, listed: bool) -> float:
        rate, share = self._relation(subject, plain_relation(relation), other), self._listed["relation"]
        return _left(rate, share) if listed else _of(rate, share)

    @cache
    def _look(self, attribute: str, name: str) -> float:
        """The share of things of a name that are listed with an attribute."""
        entries = self._entries(name)
        seen = sum(entry.attributes.get(attribute, 0) for entry in entries)
        return (seen + 1) / (sum(entry.count for entry in entries) + BORROWED)

    @cache
    def _relation(self, subject: str, relation: str, other: str) -> float:
        """The share of pairs of things of these names in one picture that are listed in a relation."""
        each = self._things / self._pictures - 1  # other things in the picture of a thing
        if relation in _SIDES:  # so may stand any two
            return (self._sides[relation] + 1) / (self._things * each + BORROWED)
        names = [name for name in (subject, other) if name and name not in ANYTHING]
        called = [{entry.name for entry in self._entries(name)} for name in (subject, other)]
        seen = sum(
            count
            for one, two, count in self._related[relation]
            if all(not of or name in of for name, of in zip((one, two), called, strict=True))
        )
        if len(names) == 2:
            first, second = sorted(map(lemma, names))
            pairs = self._vocabulary.shown.together.get(first, {}).get(second, 0)
        else:
            pairs = each * (
                sum(entry.count for name in names for entry in self._entries(name)) or self._things
            )
        return min((seen + 1) / (pairs + BORROWED), SUREST)

    @cache
    def _entries(self, name: str) -> list[ObjectEntry]:
        """What is counted of all names that a name selects; [] of any thing."""
        if not name or name in ANYTHING:
            return []
        called = {name, lemma(name), *self._vocabulary.categories.get(name, ())}
        return [self._vocabulary.objects[n] for n in sorted(called) if n in self._vocabulary.objects]


def _alike(name: str, shown: Iterable[str]) -> bool:
    """Whether something shown may go by a name, as people call things: a couch is an armchair."""
    return any(likeness(name) & likeness(other) for other in shown)


def _left(rate: float, listed: float) -> float:
    """Of what is not listed the share that is there all the same."""
    return _of(rate * (1 - listed), listed * (1 - rate))


def _of(part: float, whole: float) -> float:
    return min(part / whole, SUREST) if whole > 0 else SUREST
