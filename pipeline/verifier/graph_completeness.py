"""What scene graphs leave out: how much of what is there they list, and so how probably a thing, a look or a relation that
is not listed is there all the same.

Of what questions about an image take for granted, the share that its graph lists tells how complete it is. If a
share `listed` of all there is is listed, and a thing is listed in a share `rate` of such images, then of images that do
not list it a share rate (1 - listed) / (listed (1 - rate)) shows it all the same: Bayes' rule.
"""

# ruff: noqa: B019 - it lives as long as the process, and so does what it has worked out

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from pipeline.core.records import ObjectEntry, Question, SceneGraph, Vocabulary
from pipeline.language.functional_programs import POSITION_TYPES, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize
from pipeline.language.relations import canonicalize_relation
from pipeline.language.similarity import get_similarity_keys
from pipeline.language.word_lists import FRAME_WORDS, PRONOUN_REFERENTS, WILDCARD_NAMES
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.presence_model import MAX_PROBABILITY, PresenceModel
from pipeline.verifier.statements import extract_program_statements

# Questions from which it is told how complete graphs are: the error of a share of so many is below half a percent.
MAX_QUESTIONS = 20_000
# Of what was counted a few times little is known: one sighting is added to those counted, and so many cases to theirs.
PSEUDOCOUNT = 4.0
_LEFT_RIGHT_RELATIONS = ("to the left of", "to the right of")


def estimate_annotation_recall(
    scenes: Iterable[SceneGraph],
    questions: Mapping[str, Sequence[Question]],
    lexicon: Lexicon,
    max_annotation_recall: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Of what answered questions say of the images that have a graph, the share that it lists (`Vocabulary.listed`); one
    more is held to be left out than was seen to be. {} where nothing is said of such images."""
    listed, said = Counter[str](), Counter[str]()
    tried = 0
    for scene in scenes:
        asked = [row for row in questions.get(scene.image_id, ()) if row.program and row.answer]
        if not asked or tried >= MAX_QUESTIONS:
            continue
        facts = build_scene_evidence(scene, lexicon)
        things = {thing.object_id: thing for thing in facts.objects}
        tried += len(asked)
        statements = {
            s
            for row in asked
            for s in extract_program_statements(parse_program(row.program, row.question_id), row.answer)
        }
        for s in sorted(s for s in statements if s.holds):
            if s.kind == "name" and s.value:
                kind, known = "object", s.subject in things
            elif s.kind == "attribute" and s.subject in things and s.type not in POSITION_TYPES:
                kind, known = "attribute", s.value in things[s.subject].attributes
            elif s.kind == "relation" and {s.subject, s.other} <= things.keys():
                kind, known = (
                    "relation",
                    (s.subject, canonicalize_relation(s.value), s.other) in facts.relations,
                )
            else:
                continue
            said[kind] += 1
            listed[kind] += known
    return {
        kind: min(listed[kind] / (said[kind] + 1), max_annotation_recall.get(kind, 1.0))
        for kind in sorted(said)
    }


class EstimatedGraphCompleteness:
    """What the graphs of a data set probably leave out, by its vocabulary (`pipeline.verifier.known_objects.Unlisted`)."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._presence_model = vocabulary, PresenceModel(vocabulary)
        self._annotation_recall = defaultdict(float, vocabulary.annotation_recall)
        objects = vocabulary.objects.values()
        self._num_objects = max(sum(entry.count for entry in objects), 1)
        self._num_images = max(vocabulary.cooccurrence.num_images, 1)
        self._left_right_counts = {
            side: sum(entry.subject_of.get(side, 0) for entry in objects) for side in _LEFT_RIGHT_RELATIONS
        }
        self._relation_counts: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for relation, one, two, count in vocabulary.relation_counts:
            self._relation_counts[canonicalize_relation(relation)].append((one, two, count))

    def estimate_unlisted_objects(self, name: str, listed_names: Collection[str], num_listed: int) -> float:
        share = self._annotation_recall["object"]
        if num_listed:  # where some are listed, others are left out in the same proportion
            return num_listed * (1 / max(share, 1e-3) - 1)
        meant, counted = (
            PRONOUN_REFERENTS.get(name, (lemmatize(name),)),
            self._vocabulary.cooccurrence.image_counts,
        )
        # "Where is the man?" asks for a place; what was never counted nobody can tell; a thing may go by another name.
        if any(
            word in FRAME_WORDS or word not in counted or _has_similar_name(word, listed_names)
            for word in meant
        ):
            return MAX_PROBABILITY
        return min(
            sum(
                _compute_unlisted_probability(
                    self._presence_model.estimate_probability(word, listed_names), share
                )
                for word in meant
            ),
            MAX_PROBABILITY,
        )

    def estimate_attribute_probability(self, attribute: str, name: str, is_listed: bool) -> float:
        rate, share = self._get_attribute_rate(attribute, name), self._annotation_recall["attribute"]
        return _compute_unlisted_probability(rate, share) if is_listed else _divide_capped(rate, share)

    def estimate_relation_probability(
        self, subject: str, relation: str, other: str, are_listed: bool
    ) -> float:
        rate, share = (
            self._get_relation_rate(subject, canonicalize_relation(relation), other),
            self._annotation_recall["relation"],
        )
        return _compute_unlisted_probability(rate, share) if are_listed else _divide_capped(rate, share)

    @cache
    def _get_attribute_rate(self, attribute: str, name: str) -> float:
        """The share of things of a name that are listed with an attribute."""
        entries = self._get_entries(name)
        seen = sum(entry.attributes.get(attribute, 0) for entry in entries)
        return (seen + 1) / (sum(entry.count for entry in entries) + PSEUDOCOUNT)

    @cache
    def _get_relation_rate(self, subject: str, relation: str, other: str) -> float:
        """The share of pairs of things of these names in one image that are listed in a relation."""
        each = self._num_objects / self._num_images - 1  # other things in the image of a thing
        if relation in _LEFT_RIGHT_RELATIONS:  # so may stand any two
            return (self._left_right_counts[relation] + 1) / (self._num_objects * each + PSEUDOCOUNT)
        names = [name for name in (subject, other) if name and name not in WILDCARD_NAMES]
        called = [{entry.name for entry in self._get_entries(name)} for name in (subject, other)]
        seen = sum(
            count
            for one, two, count in self._relation_counts[relation]
            if all(not of or name in of for name, of in zip((one, two), called, strict=True))
        )
        if len(names) == 2:
            first, second = sorted(map(lemmatize, names))
            pairs = self._vocabulary.cooccurrence.pair_counts.get(first, {}).get(second, 0)
        else:
            pairs = each * (
                sum(entry.count for name in names for entry in self._get_entries(name)) or self._num_objects
            )
        return min((seen + 1) / (pairs + PSEUDOCOUNT), MAX_PROBABILITY)

    @cache
    def _get_entries(self, name: str) -> list[ObjectEntry]:
        """What is counted of all names that a name selects; [] of any thing."""
        if not name or name in WILDCARD_NAMES:
            return []
        called = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())}
        return [self._vocabulary.objects[n] for n in sorted(called) if n in self._vocabulary.objects]


def _has_similar_name(name: str, shown: Iterable[str]) -> bool:
    """Whether something shown may go by a name, as people call things: a couch is an armchair."""
    return any(get_similarity_keys(name) & get_similarity_keys(other) for other in shown)


def _compute_unlisted_probability(rate: float, recall: float) -> float:
    """Of what is not listed the share that is there all the same."""
    return _divide_capped(rate * (1 - recall), recall * (1 - rate))


def _divide_capped(part: float, whole: float) -> float:
    return min(part / whole, MAX_PROBABILITY) if whole > 0 else MAX_PROBABILITY
