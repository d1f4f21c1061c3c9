"""Estimate what incomplete scene graphs leave out.

The recall of the annotation is the proportion of the facts visible in the images that the scene graphs list.
The recall is estimated from answered questions: it is the proportion of the facts that the questions state
that the graphs of the same images list. If the recall is r and the graphs of a proportion p of all images
list an object, then by Bayes' rule the object is present in a proportion

    p (1 - r) / (r (1 - p))

of the images whose graphs do not list the object.
"""

# ruff: noqa: B019 - the estimators live as long as the process, and so do their caches.

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import UNSET

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

# Recall is estimated from about this many questions. Its error is then below half a percentage point.
MAX_QUESTIONS = 20_000
# A rate is computed as (count + 1) / (total + PSEUDOCOUNT), because a rate of few cases is unreliable.
PSEUDOCOUNT = 4.0
_LEFT_RIGHT_RELATIONS = ("to the left of", "to the right of")


def estimate_annotation_recall(
    scenes: Iterable[SceneGraph],
    questions: Mapping[str, Sequence[Question]],
    lexicon: Lexicon,
    max_annotation_recall: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Estimate the proportion of the facts visible in the images that their scene graphs list.

    Args:
        scenes: The scene graphs.
        questions: The questions by image id. Questions without a program or an answer are ignored, as are the graphs and
            questions that a model drafted: it writes questions about what it listed, so they say nothing about what it left out.
        lexicon: The categories and attribute types of the data set.
        max_annotation_recall: Upper bounds of the recall (0 to 1) by kind, or {} for no bounds.

    Returns:
        The recall of "object", "attribute" (of listed objects) and "relation" (between listed objects), as in
        `Vocabulary.annotation_recall`. One unlisted fact is added to each kind, so that no recall is 1. Kinds
        without a stated fact are omitted.

    Raises:
        UserError: A program is malformed.
    """
    num_listed, num_stated = Counter[str](), Counter[str]()
    num_questions = 0
    for scene in scenes:
        if scene.drafted_by is not UNSET:
            continue
        answered = [
            question
            for question in questions.get(scene.image_id, ())
            if question.program and question.answer and question.drafted_by is UNSET
        ]
        if not answered or num_questions >= MAX_QUESTIONS:
            continue
        evidence = build_scene_evidence(scene, lexicon)
        objects = {obj.object_id: obj for obj in evidence.objects}
        num_questions += len(answered)
        statements = {
            statement
            for question in answered
            for statement in extract_program_statements(
                parse_program(question.program, question.question_id), question.answer
            )
        }
        for statement in sorted(statement for statement in statements if statement.holds):
            subject, value, other = statement.subject, statement.value, statement.other
            if statement.kind == "name" and value:
                kind, is_listed = "object", subject in objects
            elif (
                statement.kind == "attribute" and subject in objects and statement.type not in POSITION_TYPES
            ):
                kind, is_listed = "attribute", value in objects[subject].attributes
            elif statement.kind == "relation" and {subject, other} <= objects.keys():
                triple = (subject, canonicalize_relation(value), other)
                kind, is_listed = "relation", triple in evidence.relations
            else:
                continue
            num_stated[kind] += 1
            num_listed[kind] += is_listed
    return {
        kind: min(num_listed[kind] / (num_stated[kind] + 1), max_annotation_recall.get(kind, 1.0))
        for kind in sorted(num_stated)
    }


class EstimatedGraphCompleteness:
    """Estimate what the scene graphs of a data set leave out, from its vocabulary.

    The class implements the protocol `pipeline.verifier.evidence.GraphCompleteness`.
    """

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
        for relation, subject, other, count in vocabulary.relation_counts:
            self._relation_counts[canonicalize_relation(relation)].append((subject, other, count))

    def estimate_unlisted_objects(self, name: str, listed_names: Collection[str], num_listed: int) -> float:
        """Return the expected number of objects of a name that the graph leaves out (`GraphCompleteness`)."""
        recall = self._annotation_recall["object"]
        # Listed objects are a proportion `recall` of all objects of the name. So the graph lists n objects of
        # the name and leaves out n * (1 / recall - 1).
        if num_listed:
            return num_listed * (1 / max(recall, 1e-3) - 1)
        lemmas = PRONOUN_REFERENTS.get(name, (lemmatize(name),))
        image_counts = self._vocabulary.cooccurrence.image_counts
        # No estimate is possible for a word of the question's frame ("place" in "What place is it?"), for a
        # name that was never counted, or for an object that the graph may list under another name.
        if any(
            lemma in FRAME_WORDS or lemma not in image_counts or _has_similar_name(lemma, listed_names)
            for lemma in lemmas
        ):
            return MAX_PROBABILITY
        expected = sum(
            _compute_unlisted_probability(
                self._presence_model.estimate_probability(lemma, listed_names), recall
            )
            for lemma in lemmas
        )
        return min(expected, MAX_PROBABILITY)

    def estimate_attribute_probability(self, attribute: str, name: str, is_listed: bool) -> float:
        """Return the probability that an object has an attribute that is not listed (`GraphCompleteness`)."""
        rate, recall = self._get_attribute_rate(attribute, name), self._annotation_recall["attribute"]
        # The graph lists no attribute of an object that it leaves out. So nothing is known of the attribute
        # except how many objects have it, which is rate / recall.
        return _compute_unlisted_probability(rate, recall) if is_listed else _divide_capped(rate, recall)

    def estimate_relation_probability(
        self, subject: str, relation: str, other: str, are_listed: bool
    ) -> float:
        """Return the probability that a relation holds that is not listed (`GraphCompleteness`)."""
        rate = self._get_relation_rate(subject, canonicalize_relation(relation), other)
        recall = self._annotation_recall["relation"]
        return _compute_unlisted_probability(rate, recall) if are_listed else _divide_capped(rate, recall)

    @cache
    def _get_attribute_rate(self, attribute: str, name: str) -> float:
        """Return the proportion of objects of a name that are listed with an attribute."""
        entries = self._get_entries(name)
        count = sum(entry.attributes.get(attribute, 0) for entry in entries)
        return (count + 1) / (sum(entry.count for entry in entries) + PSEUDOCOUNT)

    @cache
    def _get_relation_rate(self, subject: str, relation: str, other: str) -> float:
        """Return how often a relation is listed between objects of two names.

        The rate is the number of listed relations per image that shows both names. If a name is "" or matches
        any object ("thing"), the rate is the number of listed relations per pair of objects.
        """
        others_per_object = self._num_objects / self._num_images - 1
        # Left and right fit any two objects, so the rate does not depend on their names.
        if relation in _LEFT_RIGHT_RELATIONS:
            return (self._left_right_counts[relation] + 1) / (
                self._num_objects * others_per_object + PSEUDOCOUNT
            )
        specific_names = [name for name in (subject, other) if name and name not in WILDCARD_NAMES]
        # An empty set allows every name.
        allowed_names = [{entry.name for entry in self._get_entries(name)} for name in (subject, other)]
        count = sum(
            pair_count
            for first, second, pair_count in self._relation_counts[relation]
            if all(
                not allowed or name in allowed
                for name, allowed in zip((first, second), allowed_names, strict=True)
            )
        )
        if len(specific_names) == 2:
            first, second = sorted(map(lemmatize, specific_names))
            num_pairs = self._vocabulary.cooccurrence.pair_counts.get(first, {}).get(second, 0)
        else:
            num_named = sum(entry.count for name in specific_names for entry in self._get_entries(name))
            num_pairs = others_per_object * (num_named or self._num_objects)
        return min((count + 1) / (num_pairs + PSEUDOCOUNT), MAX_PROBABILITY)

    @cache
    def _get_entries(self, name: str) -> list[ObjectEntry]:
        """Return the vocabulary entries of a name and its members, or [] if the name matches any object."""
        if not name or name in WILDCARD_NAMES:
            return []
        names = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())}
        return [self._vocabulary.objects[n] for n in sorted(names) if n in self._vocabulary.objects]


def _has_similar_name(name: str, listed_names: Iterable[str]) -> bool:
    """Return whether a name may denote an object that is listed under another name.

    An armchair may be called a couch, for example.
    """
    return any(get_similarity_keys(name) & get_similarity_keys(other) for other in listed_names)


def _compute_unlisted_probability(rate: float, recall: float) -> float:
    """Return the probability that a fact holds given that it is not listed, by Bayes' rule.

    Args:
        rate: The proportion of cases in which the fact is listed.
        recall: The proportion of true facts that are listed.
    """
    return _divide_capped(rate * (1 - recall), recall * (1 - rate))


def _divide_capped(numerator: float, denominator: float) -> float:
    return min(numerator / denominator, MAX_PROBABILITY) if denominator > 0 else MAX_PROBABILITY
