"""Index what is known of one image, so that many questions can be verified on it.

Whether an object has an attribute is a truth value: True, False or None (not known). Complete evidence lists
everything, so only a position near the border between left, middle and right (or top, middle and bottom) is
not known. Incomplete evidence leaves out facts. A fact that incomplete evidence does not list is not known.
Such a fact is false only if it contradicts a listed fact. Two facts contradict each other if they are
opposite relations, or different values of a type that can have only one value per object (two colors). If
the completeness of a graph can be estimated (`GraphCompleteness`), a fact that is not listed has a
probability, and a very improbable fact counts as false.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Protocol

from msgspec import UNSET

from pipeline.core.records import EvidenceSource, SceneGraph
from pipeline.language.functional_programs import MULTI_VALUED_TYPES, POSITION_TYPES, POSITION_VALUES
from pipeline.language.lexicon import Lexicon, get_synonyms
from pipeline.language.nouns import lemmatize
from pipeline.language.relations import (
    ANTONYMS,
    INVERSES,
    canonicalize_relation,
    get_implied_relation,
    infer_location,
)
from pipeline.language.similarity import is_same_visual_concept
from pipeline.language.word_lists import WILDCARD_NAMES

# A fact whose probability is at most this counts as false, so that at least 97 of 100 results are right.
MAX_FALSE_PROBABILITY = 0.03
# The probability given to a fact about which nothing is known. It is nearly 1, so that such a fact is never
# counted as false and no result of the verifier rests on a guess.
UNKNOWN_PROBABILITY = 0.99
# Proportions of the image's width or height. An object whose center lies within two fifths of the width from
# the left edge is on the left, and within two fifths from the right edge on the right. Otherwise the object
# is in the middle. Top and bottom are defined in the same way by the height.
ZONE_BORDERS = (0.4, 0.6)
# Proportion of the image's width or height. An object that is nearer than this to the border between two
# zones may be said to be in either zone.
ZONE_MARGIN = 0.04

# None stands for "not known".
TruthValue = bool | None
# The subject's id, the relation, the object's id.
Triple = tuple[str, str, str]


class GraphCompleteness(Protocol):
    """An estimate of what an incomplete scene graph leaves out.

    Names are written as in the graph. The empty name stands for an object of any name.
    """

    def estimate_unlisted_objects(self, name: str, listed_names: Collection[str], num_listed: int) -> float:
        """Return the expected number of objects of a name that the graph leaves out.

        Args:
            name: The name of the objects.
            listed_names: The names of all objects that the graph lists.
            num_listed: The number of listed objects that have the name.
        """
        ...

    def estimate_attribute_probability(self, attribute: str, name: str, is_listed: bool) -> float:
        """Return the probability that an object has an attribute that the graph does not list for it.

        Args:
            attribute: The attribute.
            name: The object's name.
            is_listed: Whether the graph lists the object.
        """
        ...

    def estimate_relation_probability(
        self, subject: str, relation: str, other: str, are_listed: bool
    ) -> float:
        """Return the probability that two objects are in a relation that the graph does not list for them.

        Args:
            subject: The name of the first object, which is the subject of the relation.
            relation: The relation.
            other: The name of the second object, to which the relation refers.
            are_listed: Whether the graph lists both objects.
        """
        ...


@dataclass(slots=True, eq=False)
class ObjectEvidence:
    """What is known of one object.

    Attributes:
        object_id: The id of the object in the graph.
        names: The singular names of the object, the most specific name first.
        label: The name of the object as the source writes it, or "" if only a category is known.
        attributes: The attributes that the object has, each with its type ("" if the type is not known).
        negated_attributes: The attributes that the object does not have.
        possible_positions: Position type ("hposition", "vposition") -> the positions that are still possible.
    """

    object_id: str
    names: tuple[str, ...]
    label: str
    attributes: dict[str, str] = field(default_factory=dict)
    negated_attributes: set[str] = field(default_factory=set)
    possible_positions: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a description selects. A selection is falsy if it almost certainly selects no object.

    Attributes:
        certain: The objects that the description selects for certain.
        possible: The objects that the description may select, each with the probability that it is selected.
        expected_unlisted: The expected number of selected objects that the evidence does not list. If this
            number cannot be estimated, it is 0.99 (`UNKNOWN_PROBABILITY`).
    """

    certain: tuple[ObjectEvidence, ...]
    possible: tuple[tuple[ObjectEvidence, float], ...] = ()
    expected_unlisted: float = 0.0

    @property
    def expected_others(self) -> float:
        """The expected number of selected objects besides the certain ones."""
        return sum(probability for _, probability in self.possible) + self.expected_unlisted

    @property
    def has_possible_others(self) -> bool:
        """Whether it is not nearly certain that the description selects only the certain objects."""
        return self.expected_others > MAX_FALSE_PROBABILITY

    def __bool__(self) -> bool:
        return bool(self.certain) or self.has_possible_others


@dataclass(slots=True, kw_only=True)
class Evidence:
    """The evidence about one image.

    Attributes:
        source: Where the evidence comes from.
        is_complete: Whether every fact that the evidence does not list is false.
        lexicon: The categories and attribute types of the data set.
        objects: The objects that the evidence lists.
        relations: The relations that hold.
        negated_relations: The relations that do not hold.
        scene: The scene's place, weather and location (indoors or outdoors), as far as known.
        absent_names: Singular names that apply to no object in the image.
        fully_listed_names: Singular names for which every object of the name is listed.
        completeness: An estimate of what the scene graph leaves out, or None if there is no estimate.
        is_drafted: Whether a model drafted the facts (`rgqa draft`). Such facts may be false, so they make no
            question unanswerable.
    """

    source: EvidenceSource
    is_complete: bool
    lexicon: Lexicon
    objects: tuple[ObjectEvidence, ...]
    relations: set[Triple]
    negated_relations: set[Triple]
    scene: dict[str, str]
    absent_names: frozenset[str] = frozenset()
    fully_listed_names: frozenset[str] = frozenset()
    completeness: GraphCompleteness | None = None
    is_drafted: bool = False
    _selections: dict[str, Selection] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.scene = {"location": infer_location(self.scene), **self.scene}

    @property
    def is_partial(self) -> bool:
        """Whether only objects that questions mention are listed, so that a name may mean another object."""
        return self.source == "other questions" and not self.is_complete

    def select_objects(self, name: str) -> Selection:
        """Return the objects to which a name applies. The name may be singular or plural."""
        if name not in self._selections:
            self._selections[name] = self._compute_selection(name)
        return self._selections[name]

    def _compute_selection(self, name: str) -> Selection:
        if name in WILDCARD_NAMES:
            return Selection(self.objects, (), self._estimate_unlisted("", len(self.objects)))
        truths = [(obj, self.evaluate_name(obj, name)) for obj in self.objects]
        certain = tuple(obj for obj, truth in truths if truth)
        if self.is_complete:
            return Selection(certain)
        possible = tuple((obj, UNKNOWN_PROBABILITY) for obj, truth in truths if truth is None and obj.names)
        lemma = lemmatize(name)
        # No object is left out if every object of the name is listed, or if the name or one of its categories
        # is absent. For the first condition only synonyms of the name count: "the furniture" may be a
        # cupboard, so the question that says it does not exclude an unlisted chair.
        if (
            get_synonyms(lemma) & self.fully_listed_names
            or self.lexicon.get_hypernym_closure(lemma) & self.absent_names
        ):
            return Selection(certain, possible)
        return Selection(certain, possible, self._estimate_unlisted(name, len(certain)))

    def _estimate_unlisted(self, name: str, num_listed: int) -> float:
        if self.is_complete or self.completeness is None:
            return 0.0 if self.is_complete else UNKNOWN_PROBABILITY
        return self.completeness.estimate_unlisted_objects(
            name, [obj.label for obj in self.objects if obj.label], num_listed
        )

    def evaluate_name(self, obj: ObjectEvidence, name: str) -> TruthValue:
        """Return whether a name applies to an object.

        The result is None (not known) if only the object's category is known and the name is more specific:
        a person may be a man.
        """
        if self.is_complete:
            return self.lexicon.is_a(obj.names, name, dataset_only=True)
        return self.lexicon.evaluate_is_a(obj.names, name)

    def evaluate_relation(self, subject: ObjectEvidence, relation: str, other: ObjectEvidence) -> TruthValue:
        """Return whether `subject` is in a relation to `other`.

        A relation "same TYPE", such as "same color", compares the values of that type of the two objects.
        """
        return _to_truth_value(self.get_relation_probability(subject, relation, other))

    def get_relation_probability(
        self, subject: ObjectEvidence, relation: str, other: ObjectEvidence
    ) -> float:
        """Return the probability that `subject` is in a relation to `other`.

        The probability is 1 if the relation is known to hold, and 0 if it is known not to hold.
        """
        # An object has no relation to itself. But if the evidence is incomplete, one of the two names may
        # mean an object that is not listed ("the man beside the other man").
        if subject is other:
            return 0.0 if self.is_complete else UNKNOWN_PROBABILITY
        if relation.startswith("same "):
            mine, theirs = self.get_values(subject, relation[5:]), self.get_values(other, relation[5:])
            is_known = (mine and theirs) or self.is_complete
            return float(not mine.isdisjoint(theirs)) if is_known else UNKNOWN_PROBABILITY
        triple = (subject.object_id, canonicalize_relation(relation), other.object_id)
        if triple in self.relations:
            return 1.0
        if self.is_complete or triple in self.negated_relations:
            return 0.0
        return (
            self.completeness.estimate_relation_probability(subject.label, relation, other.label, True)
            if self.completeness
            else UNKNOWN_PROBABILITY
        )

    def evaluate_attribute(self, obj: ObjectEvidence, attribute: str, type_: str = "") -> TruthValue:
        """Return whether an object has an attribute or a position.

        Args:
            obj: The object.
            attribute: The attribute or the position.
            type_: The type of the attribute as the program gives it, or "" if the program gives none.
        """
        return _to_truth_value(self.get_attribute_probability(obj, attribute, type_))

    def get_attribute_probability(self, obj: ObjectEvidence, attribute: str, type_: str = "") -> float:
        """Return the probability that an object has an attribute or a position.

        The probability is 1 if the object is known to have the attribute, and 0 if it is known not to have
        the attribute.
        """
        if type_ in POSITION_TYPES:
            possible = obj.possible_positions.get(type_, POSITION_VALUES[type_])
            return (
                UNKNOWN_PROBABILITY
                if attribute in possible and len(possible) > 1
                else float(attribute in possible)
            )
        if attribute in obj.attributes:
            return 1.0
        if self.is_complete or attribute in obj.negated_attributes:
            return 0.0
        type_ = type_ or self.lexicon.get_attribute_type(attribute)
        others = [other for other, other_type in obj.attributes.items() if other_type == type_]
        # Another value of the same type contradicts the attribute, unless the two look alike (tan and beige).
        if others and type_ not in MULTI_VALUED_TYPES:
            return (
                UNKNOWN_PROBABILITY
                if all(is_same_visual_concept(attribute, other) for other in others)
                else 0.0
            )
        return (
            self.completeness.estimate_attribute_probability(attribute, obj.label, True)
            if self.completeness
            else UNKNOWN_PROBABILITY
        )

    def get_values(self, obj: ObjectEvidence, type_: str) -> frozenset[str]:
        """Return the known values of an object for a type.

        Args:
            obj: The object.
            type_: An attribute type, a position type, or "name" (or "type", which means the same).
        """
        if type_ in POSITION_TYPES:
            possible = obj.possible_positions.get(type_, frozenset())
            return possible if len(possible) == 1 else frozenset()
        if type_ in ("name", "type"):
            return frozenset((obj.label,)) if obj.label else frozenset()
        return frozenset(
            attribute for attribute, attribute_type in obj.attributes.items() if attribute_type == type_
        )

    def get_scene_value(self, type_: str) -> str:
        """Return the scene's place, weather or location, or "" if the value is not known.

        A place or weather of "indoors" or "outdoors" counts as not known.

        Args:
            type_: "place" (or "room" or "", which mean the same), "weather" or "location".
        """
        value = self.scene.get("place" if type_ in ("", "room") else type_, "")
        return "" if type_ != "location" and value in ("indoors", "outdoors") else value


def _to_truth_value(probability: float) -> TruthValue:
    return True if probability == 1 else False if probability <= MAX_FALSE_PROBABILITY else None


def build_scene_evidence(
    scene: SceneGraph, lexicon: Lexicon, completeness: GraphCompleteness | None = None
) -> Evidence:
    """Index a scene graph.

    Args:
        scene: The scene graph.
        lexicon: The categories and attribute types of the data set.
        completeness: An estimate of what the graph leaves out, or None if there is no estimate. The estimate
            is ignored if the graph is complete, or if a model drafted it.
    """
    is_drafted = scene.drafted_by is not UNSET
    objects: list[ObjectEvidence] = []
    relations: set[Triple] = set()
    negated_relations: set[Triple] = set()
    for obj in scene.objects:
        x, y = (obj.x + obj.w / 2) / scene.width, (obj.y + obj.h / 2) / scene.height
        attributes = {attribute: lexicon.get_attribute_type(attribute) for attribute in obj.attributes}
        positions = {"hposition": _find_zones("hposition", x), "vposition": _find_zones("vposition", y)}
        names = (lemmatize(obj.name),)
        objects.append(
            ObjectEvidence(obj.object_id, names, obj.name, attributes, possible_positions=positions)
        )
        for relation in obj.relations:
            if scene.is_complete:
                relations.add((obj.object_id, canonicalize_relation(relation.name), relation.object_id))
            else:
                triple_parts = obj.object_id, relation.name, relation.object_id
                relations |= get_entailed_triples(*triple_parts)
                negated_relations |= get_contradicted_triples(*triple_parts)
    return Evidence(
        source="truth" if scene.is_complete else "drafted scene graph" if is_drafted else "scene graph",
        is_complete=scene.is_complete,
        lexicon=lexicon,
        objects=tuple(objects),
        relations=relations,
        negated_relations=negated_relations,
        scene={"place": scene.location, "weather": scene.weather},
        completeness=None if scene.is_complete or is_drafted else completeness,
        is_drafted=is_drafted,
    )


def identify_objects(graph_evidence: Evidence, question_evidence: Evidence) -> Evidence:
    """Return the evidence of questions with the object ids of a scene graph.

    Programs that are derived from texts know no ids of the graph. An object of such a question is that of the graph with a common
    name, if its attributes do not contradict it. If there are several, it is not known which one is meant, so the object is left out. If there
    is none, the graph does not list the object, and it stays.
    """
    new_ids: dict[str, str | None] = {}
    for obj in question_evidence.objects:
        same = [known.object_id for known in graph_evidence.objects if _can_be_same(known, obj)]
        new_ids[obj.object_id] = obj.object_id if not same else same[0] if len(same) == 1 else None
    merged: dict[str, ObjectEvidence] = {}
    for obj in question_evidence.objects:
        if (key := new_ids[obj.object_id]) is None:
            continue
        known = merged.get(key)
        merged[key] = replace(
            obj,
            object_id=key,
            names=tuple(dict.fromkeys((*(known.names if known else ()), *obj.names))),
            attributes=(known.attributes if known else {}) | obj.attributes,
            negated_attributes=(known.negated_attributes if known else set()) | obj.negated_attributes,
        )

    def rename(triples: Collection[Triple]) -> set[Triple]:
        renamed = (
            (new_ids.get(one, one), relation, new_ids.get(other, other)) for one, relation, other in triples
        )
        return {
            (one, relation, other)
            for one, relation, other in renamed
            if one is not None and other is not None
        }

    return replace(
        question_evidence,
        objects=tuple(merged.values()),
        relations=rename(question_evidence.relations),
        negated_relations=rename(question_evidence.negated_relations),
    )


def _can_be_same(known: ObjectEvidence, other: ObjectEvidence) -> bool:
    """Return whether an object of a graph can be one that a question names."""
    has_conflict = any(
        type_ == known_type and not is_same_visual_concept(value, known_value)
        for value, type_ in other.attributes.items()
        if type_ and type_ not in MULTI_VALUED_TYPES
        for known_value, known_type in known.attributes.items()
    )
    return bool({*known.names} & {*other.names}) and not has_conflict


def join_evidence(graph_evidence: Evidence, question_evidence: Evidence) -> Evidence:
    """Return the evidence of a scene graph, with the facts that the image's questions add.

    The graph and the questions use the same object ids. Facts of the graph take precedence over facts of
    questions. A graph states no absent names, so `absent_names` are those of the questions. A question that
    speaks of "the cup" does not exclude another cup, so `fully_listed_names` of the questions are
    ignored.
    """
    objects = {obj.object_id: obj for obj in graph_evidence.objects}
    for obj in question_evidence.objects:
        if obj.object_id not in objects:
            objects[obj.object_id] = obj
            continue
        known = objects[obj.object_id]
        objects[obj.object_id] = replace(
            known,
            names=tuple(dict.fromkeys((*known.names, *obj.names))),
            attributes=obj.attributes | known.attributes,
            negated_attributes=known.negated_attributes | obj.negated_attributes,
        )
    return replace(
        graph_evidence,
        objects=tuple(objects.values()),
        relations=graph_evidence.relations | question_evidence.relations,
        negated_relations=graph_evidence.negated_relations | question_evidence.negated_relations,
        scene={
            **question_evidence.scene,
            **{type_: value for type_, value in graph_evidence.scene.items() if value},
        },
        absent_names=question_evidence.absent_names,
        is_drafted=graph_evidence.is_drafted or question_evidence.is_drafted,
    )


def get_entailed_triples(subject: str, relation: str, other: str) -> set[Triple]:
    """Return a relation, and the relations that follow from it: its inverse and its more general form.

    >>> sorted(get_entailed_triples("1", "sitting on", "2"))
    [('1', 'on', '2'), ('1', 'sitting on', '2')]
    """
    general = get_implied_relation(canonicalize_relation(relation))
    return get_triple_and_inverse(subject, relation, other) | (
        {(subject, general, other)} if general else set()
    )


def get_contradicted_triples(subject: str, relation: str, other: str) -> set[Triple]:
    """Return the relations that cannot hold together with a relation.

    These are the opposite relation, the same relation in the other direction, and the inverses of both.

    >>> sorted(get_contradicted_triples("1", "behind", "2"))
    [('1', 'in front of', '2'), ('2', 'behind', '1')]
    """
    name = canonicalize_relation(relation)
    if name not in ANTONYMS:
        return set()
    return get_triple_and_inverse(subject, ANTONYMS[name], other) | get_triple_and_inverse(
        other, name, subject
    )


def get_triple_and_inverse(subject: str, relation: str, other: str) -> set[Triple]:
    """Return a relation and its inverse, which holds if and only if the relation holds.

    >>> sorted(get_triple_and_inverse("1", "behind", "2"))
    [('1', 'behind', '2'), ('2', 'in front of', '1')]
    """
    name = canonicalize_relation(relation)
    inverse = {(other, INVERSES[name], subject)} if name in INVERSES else set()
    return {(subject, name, other), *inverse}


def _find_zones(type_: str, coordinate: float) -> frozenset[str]:
    """Return the zones in which the center of an object may be said to lie.

    Args:
        type_: The position type.
        coordinate: The coordinate of the center, as a proportion of the image's width or height.
    """
    zones = zip(POSITION_VALUES[type_], (0.0, *ZONE_BORDERS), (*ZONE_BORDERS, 1.0), strict=True)
    return frozenset(
        zone for zone, start, end in zones if start - ZONE_MARGIN < coordinate < end + ZONE_MARGIN
    )
