"""What is known of one image, indexed once so that many questions can be asked of it.

A fact holds (True), does not hold (False) or is not known (None). In a complete scene nothing is unknown but
a position too near a border to tell. In incomplete evidence what is not listed is unknown, and only what
contradicts something listed is false: another value of a type of which a thing has one (colour ...), or an
opposite relation. Where it is known how much a graph leaves out, what is not known has a chance to hold all the
same (`known_things.Unlisted`), and what very probably does not is taken for false.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
from pipeline.verifier.known_objects import (
    MAX_FALSE_PROBABILITY,
    UNKNOWN_PROBABILITY,
    GraphCompleteness,
    ObjectEvidence,
    Selection,
    TruthValue,
)

ZONE_BORDERS = (0.4, 0.6)  # a centre in the outer two fifths is left or right (top or bottom), else middle
ZONE_MARGIN = 0.04  # of the image: nearer than this to a border, either side may be meant

Triple = tuple[str, str, str]  # subject's id, relation, object's id


@dataclass(slots=True, kw_only=True)
class Evidence:
    """The evidence about one image.

    Attributes:
        related, denied: relations that hold, and relations that do not.
        scene: place, weather and location (indoors, outdoors), as far as known.
        absent: singular names of which the image has none.
        closed: singular names of which every instance is listed.
        unlisted: what is probably left out; None where nothing tells how complete the evidence is.
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
        """Whether a thing may be meant that was never asked about (a published graph lists what it speaks of)."""
        return self.source == "other questions" and not self.is_complete

    def select_objects(self, name: str) -> Selection:
        """The things that a name selects."""
        if name not in self._selections:
            self._selections[name] = self._compute_selection(name)
        return self._selections[name]

    def _compute_selection(self, name: str) -> Selection:
        if name in WILDCARD_NAMES:
            return Selection(self.objects, (), self._estimate_unlisted("", len(self.objects)))
        called = [(thing, self.evaluate_name(thing, name)) for thing in self.objects]
        sure = tuple(thing for thing, truth in called if truth)
        if self.is_complete:
            return Selection(sure)
        maybe = tuple(
            (thing, UNKNOWN_PROBABILITY) for thing, truth in called if truth is None and thing.names
        )
        word = lemmatize(name)
        # "The furniture" tells that one thing is called so, not that there is no chair.
        if (
            get_synonyms(word) & self.fully_listed_names
            or self.lexicon.get_hypernym_closure(word) & self.absent_names
        ):
            return Selection(sure, maybe)
        return Selection(sure, maybe, self._estimate_unlisted(name, len(sure)))

    def _estimate_unlisted(self, name: str, listed: int) -> float:
        if self.is_complete or self.completeness is None:
            return 0.0 if self.is_complete else UNKNOWN_PROBABILITY
        return self.completeness.estimate_unlisted_objects(
            name, [thing.label for thing in self.objects if thing.label], listed
        )

    def evaluate_name(self, obj: ObjectEvidence, name: str) -> TruthValue:
        """Whether a thing goes by a name. If only its category is known (a person, asked for a man), it may."""
        if self.is_complete:
            return self.lexicon.is_a(obj.names, name, own=True)
        return self.lexicon.evaluate_is_a(obj.names, name)

    def evaluate_relation(self, subject: ObjectEvidence, relation: str, other: ObjectEvidence) -> TruthValue:
        """Whether `subject` is in this relation to `other`; `same color` and the like compare attributes."""
        return _to_truth_value(self.get_relation_probability(subject, relation, other))

    def get_relation_probability(
        self, subject: ObjectEvidence, relation: str, other: ObjectEvidence
    ) -> float:
        """The chance that it is: 1 if so, 0 if not."""
        if subject is other:  # "the man beside the other man" with one man listed: another may be unlisted
            return 0.0 if self.is_complete else UNKNOWN_PROBABILITY
        if relation.startswith("same "):
            mine, theirs = self.get_values(subject, relation[5:]), self.get_values(other, relation[5:])
            told = (mine and theirs) or self.is_complete
            return float(not mine.isdisjoint(theirs)) if told else UNKNOWN_PROBABILITY
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
        """Whether a thing has an attribute, of the type that the program tells ("" for none)."""
        return _to_truth_value(self.get_attribute_probability(obj, attribute, type_))

    def get_attribute_probability(self, obj: ObjectEvidence, attribute: str, type_: str = "") -> float:
        """The chance that it has: 1 if so, 0 if not."""
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
        """The values of a type (an attribute's, "name" or a position) that a thing is known to have."""
        if type_ in POSITION_TYPES:
            possible = obj.possible_positions.get(type_, frozenset())
            return possible if len(possible) == 1 else frozenset()
        if type_ in ("name", "type"):
            return frozenset((obj.label,)) if obj.label else frozenset()
        return frozenset(attribute for attribute, kind in obj.attributes.items() if kind == type_)

    def get_scene_value(self, type_: str) -> str:
        """The scene's place (GQA also asks for its room), weather or location; "" when not known."""
        value = self.scene.get("place" if type_ in ("", "room") else type_, "")
        return "" if type_ != "location" and value in ("indoors", "outdoors") else value


def _to_truth_value(chance: float) -> TruthValue:
    return True if chance == 1 else False if chance <= MAX_FALSE_PROBABILITY else None


def build_scene_evidence(
    scene: SceneGraph, lexicon: Lexicon, completeness: GraphCompleteness | None = None
) -> Evidence:
    """Index a scene graph, of which it may be known what it probably leaves out."""
    things: list[ObjectEvidence] = []
    related: set[Triple] = set()
    denied: set[Triple] = set()
    for thing in scene.objects:
        x, y = (thing.x + thing.w / 2) / scene.width, (thing.y + thing.h / 2) / scene.height
        looks = {attribute: lexicon.get_attribute_type(attribute) for attribute in thing.attributes}
        positions = {"hposition": _find_zones("hposition", x), "vposition": _find_zones("vposition", y)}
        names = (lemmatize(thing.name),)
        things.append(ObjectEvidence(thing.object_id, names, thing.name, looks, possible_positions=positions))
        for edge in thing.relations:
            if scene.is_complete:
                related.add((thing.object_id, canonicalize_relation(edge.name), edge.object_id))
            else:
                related |= get_entailed_triples(thing.object_id, edge.name, edge.object_id)
                denied |= get_contradicted_triples(thing.object_id, edge.name, edge.object_id)
    return Evidence(
        source="truth" if scene.is_complete else "scene graph",
        is_complete=scene.is_complete,
        lexicon=lexicon,
        objects=tuple(things),
        relations=related,
        negated_relations=denied,
        scene={"place": scene.location, "weather": scene.weather},
        completeness=None if scene.is_complete else completeness,
    )


def join_evidence(graph_evidence: Evidence, question_evidence: Evidence) -> Evidence:
    """What a scene graph lists with what the image's questions tell besides, of the same ids. That something was asked
    as if it were the only one is no proof that it is: the graph's gaps are theirs."""
    things = {thing.object_id: thing for thing in graph_evidence.objects}
    for thing in question_evidence.objects:
        if thing.object_id not in things:
            things[thing.object_id] = thing
            continue
        known = things[thing.object_id]
        names = tuple(dict.fromkeys((*known.names, *thing.names)))
        attributes, denied = (
            thing.attributes | known.attributes,
            known.negated_attributes | thing.negated_attributes,
        )
        things[thing.object_id] = replace(
            known, names=names, attributes=attributes, negated_attributes=denied
        )
    return replace(
        graph_evidence,
        objects=tuple(things.values()),
        relations=graph_evidence.relations | question_evidence.relations,
        negated_relations=graph_evidence.negated_relations | question_evidence.negated_relations,
        scene={
            **question_evidence.scene,
            **{type_: value for type_, value in graph_evidence.scene.items() if value},
        },
        absent_names=question_evidence.absent_names,
    )


def get_entailed_triples(subject: str, relation: str, other: str) -> set[Triple]:
    """A relation that holds and what it says besides: its general form, its inverse."""
    general = get_implied_relation(canonicalize_relation(relation))
    return get_triple_and_inverse(subject, relation, other) | (
        {(subject, general, other)} if general else set()
    )


def get_contradicted_triples(subject: str, relation: str, other: str) -> set[Triple]:
    """What does not hold where a relation does: its opposite, and itself the other way round."""
    name = canonicalize_relation(relation)
    if name not in ANTONYMS:
        return set()
    return get_triple_and_inverse(subject, ANTONYMS[name], other) | get_triple_and_inverse(
        other, name, subject
    )


def get_triple_and_inverse(subject: str, relation: str, other: str) -> set[Triple]:
    """A relation and its inverse, which holds, or does not, with it."""
    name = canonicalize_relation(relation)
    inverse = {(other, INVERSES[name], subject)} if name in INVERSES else set()
    return {(subject, name, other), *inverse}


def _find_zones(type_: str, share: float) -> frozenset[str]:
    """The zones in which a centre may be said to be; `share` of the image's width (height)."""
    zones = zip(POSITION_VALUES[type_], (0.0, *ZONE_BORDERS), (*ZONE_BORDERS, 1.0), strict=True)
    return frozenset(zone for zone, start, end in zones if start - ZONE_MARGIN < share < end + ZONE_MARGIN)
