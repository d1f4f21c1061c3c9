"""Estimate what incomplete scene graphs leave out.

The recall of the annotation is the proportion of what is in the images that the scene graphs list. It is
estimated as the proportion of the facts presupposed by answered questions that the graphs of the same images
list. If the recall is r and a proportion p of all images list an object, then by Bayes' rule the object is
present in a proportion

    p (1 - r) / (r (1 - p))

of the images that do not list it.
"""

# The caches live as long as the process, and so does the object.
# ruff: noqa: B019

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

# Number of questions from which recall is estimated. Its error is then below half a percentage point.
MAX_QUESTIONS = 20_000
# Number of cases added to each count, one of them positive, as a rate of a few cases is unreliable.
PSEUDOCOUNT = 4.0
_LEFT_RIGHT_RELATIONS = ("to the left of", "to the right of")


def estimate_annotation_recall(
    scenes: Iterable[SceneGraph],
    questions: Mapping[str, Sequence[Question]],
    lexicon: Lexicon,
    max_annotation_recall: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Estimate the proportion of what is in the images that their scene graphs list.

    Args:
        scenes: the scene graphs.
        questions: the questions by image id.
        lexicon: the categories and attribute types of the data set.
        max_annotation_recall: upper bounds by kind, from 0 to 1.

    Returns:
        The recall of "object", "attribute" (of listed objects) and "relation" (between listed objects), as in
        `Vocabulary.annotation_recall`. One more fact of each kind is counted as missing. A kind of which no
        fact is stated is left out.

    Raises:
        UserError: a program is malformed.
    """
    num_listed, num_stated = Counter[str](), Counter[str]()
    num_questions = 0
    for scene in scenes:
        answered = [row for row in questions.get(scene.image_id, ()) if row.program and row.answer]
        if not answered or num_questions >= MAX_QUESTIONS:
            continue
        evidence = build_scene_evidence(scene, lexicon)
        objects = {obj.object_id: obj for obj in evidence.objects}
        num_questions += len(answered)
        statements = {
            s
            for row in answered
            for s in extract_program_statements(parse_program(row.program, row.question_id), row.answer)
        }
        for s in sorted(s for s in statements if s.holds):
            if s.kind == "name" and s.value:
                kind, is_listed = "object", s.subject in objects
            elif s.kind == "attribute" and s.subject in objects and s.type not in POSITION_TYPES:
                kind, is_listed = "attribute", s.value in objects[s.subject].attributes
            elif s.kind == "relation" and {s.subject, s.other} <= objects.keys():
                triple = (s.subject, canonicalize_relation(s.value), s.other)
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

    It implements the protocol `pipeline.verifier.evidence.GraphCompleteness`.
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
        recall = self._annotation_recall["object"]
        # If the graph lists some objects of the name, it leaves out others in the same proportion.
        if num_listed:
            return num_listed * (1 / max(recall, 1e-3) - 1)
        lemmas = PRONOUN_REFERENTS.get(name, (lemmatize(name),))
        image_counts = self._vocabulary.cooccurrence.image_counts
        # No estimate is possible for a frame word ("What place is it?"), a name that was never counted, or an
        # object that the graph may list under another name.
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
        rate, recall = self._get_attribute_rate(attribute, name), self._annotation_recall["attribute"]
        return _compute_unlisted_probability(rate, recall) if is_listed else _divide_capped(rate, recall)

    def estimate_relation_probability(
        self, subject: str, relation: str, other: str, are_listed: bool
    ) -> float:
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
        """Return the proportion of pairs of objects of two names that are listed in a relation."""
        others_per_object = self._num_objects / self._num_images - 1
        # Any two objects may be to the left and to the right of each other.
        if relation in _LEFT_RIGHT_RELATIONS:
            return (self._left_right_counts[relation] + 1) / (
                self._num_objects * others_per_object + PSEUDOCOUNT
            )
        names = [name for name in (subject, other) if name and name not in WILDCARD_NAMES]
        entry_names = [{entry.name for entry in self._get_entries(name)} for name in (subject, other)]
        count = sum(
            pair_count
            for first, second, pair_count in self._relation_counts[relation]
            if all(
                not allowed or name in allowed
                for name, allowed in zip((first, second), entry_names, strict=True)
            )
        )
        if len(names) == 2:
            first, second = sorted(map(lemmatize, names))
            pairs = self._vocabulary.cooccurrence.pair_counts.get(first, {}).get(second, 0)
        else:
            pairs = others_per_object * (
                sum(entry.count for name in names for entry in self._get_entries(name)) or self._num_objects
            )
        return min((count + 1) / (pairs + PSEUDOCOUNT), MAX_PROBABILITY)

    @cache
    def _get_entries(self, name: str) -> list[ObjectEntry]:
        """Return the entries of all names that a name selects, or [] for a name that selects any object."""
        if not name or name in WILDCARD_NAMES:
            return []
        names = {name, lemmatize(name), *self._vocabulary.categories.get(name, ())}
        return [self._vocabulary.objects[n] for n in sorted(names) if n in self._vocabulary.objects]


def _has_similar_name(name: str, listed_names: Iterable[str]) -> bool:
    """Return whether people may use a name for a listed object: an armchair may be called a couch."""
    return any(get_similarity_keys(name) & get_similarity_keys(other) for other in listed_names)


def _compute_unlisted_probability(rate: float, recall: float) -> float:
    """Return the probability that something is present though it is not listed, by Bayes' rule."""
    return _divide_capped(rate * (1 - recall), recall * (1 - rate))


def _divide_capped(numerator: float, denominator: float) -> float:
    return min(numerator / denominator, MAX_PROBABILITY) if denominator > 0 else MAX_PROBABILITY
