"""Index what is known of one image, so that many questions can be verified on it.

Whether an object has an attribute is a truth value: True, False or None (not known). Complete evidence lists
everything, so only a position near the border of two zones is not known. Incomplete evidence leaves out
facts. A fact that it does not list is not known, and it is false only if it contradicts a listed fact: a
second value of a type of which an object has one (color), or an opposite relation. If the completeness of a
graph can be estimated (`GraphCompleteness`), a fact that is not listed has a probability, and a very
improbable fact counts as false.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Protocol

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

# A fact whose probability is at most this counts as false, so that at least 97 of 100 verdicts are right.
MAX_FALSE_PROBABILITY = 0.03
# The probability of a fact that nothing is known of. It is nearly 1, so that no verdict rests on a guess.
UNKNOWN_PROBABILITY = 0.99
# Proportions of the image's width or height. An object whose centre lies in the outer two fifths is on the
# left or right (at the top or bottom), any other one is in the middle.
ZONE_BORDERS = (0.4, 0.6)
# Proportion of the image's width or height. Nearer than this to a border, an object may be said to be in both
# zones.
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
            name: the name of the objects.
            listed_names: the names of all objects that the graph lists.
            num_listed: how many of the listed objects have the name.
        """
        ...

    def estimate_attribute_probability(self, attribute: str, name: str, is_listed: bool) -> float:
        """Return the probability that an object has an attribute that the graph does not list for it.

        Args:
            attribute: the attribute.
            name: the object's name.
            is_listed: whether the graph lists the object.
        """
        ...

    def estimate_relation_probability(
        self, subject: str, relation: str, other: str, are_listed: bool
    ) -> float:
        """Return the probability that two objects are in a relation that the graph does not list.

        Args:
            subject: the name of the relation's subject.
            relation: the relation.
            other: the name of the relation's object.
            are_listed: whether the graph lists both objects.
        """
        ...


@dataclass(slots=True, eq=False)
class ObjectEvidence:
    """What is known of one object.

    Attributes:
        object_id: its id in the graph.
        names: its singular names, the most specific one first.
        label: its name as the source writes it, or "" if only a category is known.
        attributes: the attributes that it has, with the type of each ("" if not known).
        negated_attributes: the attributes that it does not have.
        possible_positions: for each position type the values that are still possible.
    """

    object_id: str
    names: tuple[str, ...]
    label: str
    attributes: dict[str, str] = field(default_factory=dict)
    negated_attributes: set[str] = field(default_factory=set)
    possible_positions: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a description selects. It is false if it probably selects none.

    Attributes:
        certain: the objects that it selects for certain.
        possible: the objects that it may select, each with the probability that it does.
        expected_unlisted: the expected number of selected objects that the evidence does not list
            (`UNKNOWN_PROBABILITY` if it cannot be estimated).
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
        """Whether the description may well select objects besides the certain ones."""
        return self.expected_others > MAX_FALSE_PROBABILITY

    def __bool__(self) -> bool:
        return bool(self.certain) or self.has_possible_others


@dataclass(slots=True, kw_only=True)
class Evidence:
    """The evidence about one image.

    Attributes:
        source: where the evidence comes from.
        is_complete: whether everything that it does not list is false.
        lexicon: the categories and attribute types of the data set.
        objects: the objects that it lists.
        relations: the relations that hold.
        negated_relations: the relations that do not hold.
        scene: the scene's place, weather and location (indoors or outdoors), as far as known.
        absent_names: singular names of which the image has no object.
        fully_listed_names: singular names of which every object is listed.
        completeness: an estimate of what is left out, or None if there is none.
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
    _selections: dict[str, Selection] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.scene = {"location": infer_location(self.scene), **self.scene}

    @property
    def is_partial(self) -> bool:
        """Whether it lists only objects that questions mention, so that another one may be meant."""
        return self.source == "other questions" and not self.is_complete

    def select_objects(self, name: str) -> Selection:
        """Return the objects that a name in any number selects."""
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
        # "The furniture" says that one object is called so. It does not say that there is no chair.
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

        If only the object's category is known, a more specific name may apply: a person may be a man.
        """
        if self.is_complete:
            return self.lexicon.is_a(obj.names, name, dataset_only=True)
        return self.lexicon.evaluate_is_a(obj.names, name)

    def evaluate_relation(self, subject: ObjectEvidence, relation: str, other: ObjectEvidence) -> TruthValue:
        """Return whether `subject` is in a relation to `other`.

        The relation "same color", or another type, compares the attributes of the two objects.
        """
        return _to_truth_value(self.get_relation_probability(subject, relation, other))

    def get_relation_probability(
        self, subject: ObjectEvidence, relation: str, other: ObjectEvidence
    ) -> float:
        """Return the probability that `subject` is in a relation to `other`: 1 if it is, 0 if it is not."""
        # "The man beside the other man" may mean a man who is not listed.
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
            obj: the object.
            attribute: the attribute, or a value of a position type.
            type_: its type as the program gives it, or "".
        """
        return _to_truth_value(self.get_attribute_probability(obj, attribute, type_))

    def get_attribute_probability(self, obj: ObjectEvidence, attribute: str, type_: str = "") -> float:
        """Return the probability that an object has an attribute: 1 if it has, 0 if it has not."""
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
        """Return the known values of an object for an attribute type, a position type or "name"."""
        if type_ in POSITION_TYPES:
            possible = obj.possible_positions.get(type_, frozenset())
            return possible if len(possible) == 1 else frozenset()
        if type_ in ("name", "type"):
            return frozenset((obj.label,)) if obj.label else frozenset()
        return frozenset(attribute for attribute, kind in obj.attributes.items() if kind == type_)

    def get_scene_value(self, type_: str) -> str:
        """Return the scene's place ("room" is the same), weather or location, or "" if it is not known."""
        value = self.scene.get("place" if type_ in ("", "room") else type_, "")
        return "" if type_ != "location" and value in ("indoors", "outdoors") else value


def _to_truth_value(probability: float) -> TruthValue:
    return True if probability == 1 else False if probability <= MAX_FALSE_PROBABILITY else None


def build_scene_evidence(
    scene: SceneGraph, lexicon: Lexicon, completeness: GraphCompleteness | None = None
) -> Evidence:
    """Index a scene graph.

    Args:
        scene: the scene graph.
        lexicon: the categories and attribute types of the data set.
        completeness: an estimate of what the graph leaves out. It is ignored if the graph is complete.
    """
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
        for edge in obj.relations:
            if scene.is_complete:
                relations.add((obj.object_id, canonicalize_relation(edge.name), edge.object_id))
            else:
                relations |= get_entailed_triples(obj.object_id, edge.name, edge.object_id)
                negated_relations |= get_contradicted_triples(obj.object_id, edge.name, edge.object_id)
    return Evidence(
        source="truth" if scene.is_complete else "scene graph",
        is_complete=scene.is_complete,
        lexicon=lexicon,
        objects=tuple(objects),
        relations=relations,
        negated_relations=negated_relations,
        scene={"place": scene.location, "weather": scene.weather},
        completeness=None if scene.is_complete else completeness,
    )


def join_evidence(graph_evidence: Evidence, question_evidence: Evidence) -> Evidence:
    """Return the evidence of a scene graph, with the facts that the image's questions add.

    Both use the same object ids. Facts of the graph go before facts of questions. That a question speaks of
    "the cup" does not show that there is no other cup, so `fully_listed_names` of the questions are ignored.
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
    )


def get_entailed_triples(subject: str, relation: str, other: str) -> set[Triple]:
    """Return a relation that holds, with its inverse and its more general form.

    >>> sorted(get_entailed_triples("1", "sitting on", "2"))
    [('1', 'on', '2'), ('1', 'sitting on', '2')]
    """
    general = get_implied_relation(canonicalize_relation(relation))
    return get_triple_and_inverse(subject, relation, other) | (
        {(subject, general, other)} if general else set()
    )


def get_contradicted_triples(subject: str, relation: str, other: str) -> set[Triple]:
    """Return what does not hold if a relation holds: its opposite, and the relation in the other direction.

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
    """Return the zones in which a centre may be said to be.

    Args:
        type_: the position type.
        coordinate: the centre's coordinate as a proportion of the image's width or height.
    """
    zones = zip(POSITION_VALUES[type_], (0.0, *ZONE_BORDERS), (*ZONE_BORDERS, 1.0), strict=True)
    return frozenset(
        zone for zone, start, end in zones if start - ZONE_MARGIN < coordinate < end + ZONE_MARGIN
    )
