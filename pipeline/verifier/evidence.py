"""What is known of one picture, indexed once so that many questions can be asked of it.

A fact holds (True), does not hold (False) or is not known (None). In a complete scene nothing is unknown but
a position too near a border to tell. In incomplete evidence what is not listed is unknown, and only what
contradicts something listed is false: another value of a type of which a thing has one (colour ...), or an
opposite relation. Where it is known how much a graph leaves out, what is not known has a chance to hold all the
same (`known_things.Unlisted`), and what very probably does not is taken for false.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pipeline.core.records import EvidenceSource, Scene
from pipeline.language.functional_programs import OVERLAPPING, POSITIONS, ZONES
from pipeline.language.lexicon import Lexicon, synonyms
from pipeline.language.nouns import lemma
from pipeline.language.relations import ANTONYMS, INVERSES, implied, location, plain_relation
from pipeline.language.similarity import one_sight
from pipeline.language.word_lists import ANYTHING
from pipeline.verifier.known_objects import RISK, UNKNOWN, Selection, Thing, Truth, Unlisted

BORDERS = (0.4, 0.6)  # a centre in the outer two fifths is left or right (top or bottom), else middle
MARGIN = 0.04  # of the picture: nearer than this to a border, either side may be meant

Triple = tuple[str, str, str]  # subject's id, relation, object's id


@dataclass(slots=True, kw_only=True)
class Facts:
    """The evidence about one picture.

    Attributes:
        related, denied: relations that hold, and relations that do not.
        scene: place, weather and location (indoors, outdoors), as far as known.
        absent: singular names of which the picture has none.
        closed: singular names of which every instance is listed.
        unlisted: what is probably left out; None where nothing tells how complete the evidence is.
    """

    source: EvidenceSource
    complete: bool
    lexicon: Lexicon
    things: tuple[Thing, ...]
    related: set[Triple]
    denied: set[Triple]
    scene: dict[str, str]
    absent: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    unlisted: Unlisted | None = None
    _named: dict[str, Selection] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.scene = {"location": location(self.scene), **self.scene}

    @property
    def partial(self) -> bool:
        """Whether a thing may be meant that was never asked about (a published graph lists what it speaks of)."""
        return self.source == "other questions" and not self.complete

    def named(self, name: str) -> Selection:
        """The things that a name selects."""
        if name not in self._named:
            self._named[name] = self._select(name)
        return self._named[name]

    def _select(self, name: str) -> Selection:
        if name in ANYTHING:
            return Selection(self.things, (), self._unlisted("", len(self.things)))
        called = [(thing, self.called(thing, name)) for thing in self.things]
        sure = tuple(thing for thing, truth in called if truth)
        if self.complete:
            return Selection(sure)
        maybe = tuple((thing, UNKNOWN) for thing, truth in called if truth is None and thing.names)
        word = lemma(name)
        # "The furniture" tells that one thing is called so, not that there is no chair.
        if synonyms(word) & self.closed or self.lexicon.above(word) & self.absent:
            return Selection(sure, maybe)
        return Selection(sure, maybe, self._unlisted(name, len(sure)))

    def _unlisted(self, name: str, listed: int) -> float:
        if self.complete or self.unlisted is None:
            return 0.0 if self.complete else UNKNOWN
        return self.unlisted.things(name, [thing.label for thing in self.things if thing.label], listed)

    def called(self, thing: Thing, name: str) -> Truth:
        """Whether a thing goes by a name. If only its category is known (a person, asked for a man), it may."""
        if self.complete:
            return self.lexicon.is_one(thing.names, name, own=True)
        return self.lexicon.may_be(thing.names, name)

    def holds(self, subject: Thing, name: str, other: Thing) -> Truth:
        """Whether `subject` is in this relation to `other`; `same color` and the like compare attributes."""
        return _truth(self.chance_related(subject, name, other))

    def chance_related(self, subject: Thing, name: str, other: Thing) -> float:
        """The chance that it is: 1 if so, 0 if not."""
        if subject is other:  # "the man beside the other man" with one man listed: another may be unlisted
            return 0.0 if self.complete else UNKNOWN
        if name.startswith("same "):
            mine, theirs = self.values(subject, name[5:]), self.values(other, name[5:])
            told = (mine and theirs) or self.complete
            return float(not mine.isdisjoint(theirs)) if told else UNKNOWN
        triple = (subject.object_id, plain_relation(name), other.object_id)
        if triple in self.related:
            return 1.0
        if self.complete or triple in self.denied:
            return 0.0
        return self.unlisted.relation(subject.label, name, other.label, True) if self.unlisted else UNKNOWN

    def has(self, thing: Thing, attribute: str, type_: str = "") -> Truth:
        """Whether a thing has an attribute, of the type that the program tells ("" for none)."""
        return _truth(self.chance_has(thing, attribute, type_))

    def chance_has(self, thing: Thing, attribute: str, type_: str = "") -> float:
        """The chance that it has: 1 if so, 0 if not."""
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, ZONES[type_])
            return UNKNOWN if attribute in possible and len(possible) > 1 else float(attribute in possible)
        if attribute in thing.attributes:
            return 1.0
        if self.complete or attribute in thing.denied:
            return 0.0
        type_ = type_ or self.lexicon.type_of(attribute)
        others = [other for other, other_type in thing.attributes.items() if other_type == type_]
        if others and type_ not in OVERLAPPING:
            return UNKNOWN if all(one_sight(attribute, other) for other in others) else 0.0
        return self.unlisted.look(attribute, thing.label, True) if self.unlisted else UNKNOWN

    def values(self, thing: Thing, type_: str) -> frozenset[str]:
        """The values of a type (an attribute's, "name" or a position) that a thing is known to have."""
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, frozenset())
            return possible if len(possible) == 1 else frozenset()
        if type_ in ("name", "type"):
            return frozenset((thing.label,)) if thing.label else frozenset()
        return frozenset(attribute for attribute, kind in thing.attributes.items() if kind == type_)

    def of_scene(self, type_: str) -> str:
        """The scene's place (GQA also asks for its room), weather or location; "" when not known."""
        value = self.scene.get("place" if type_ in ("", "room") else type_, "")
        return "" if type_ != "location" and value in ("indoors", "outdoors") else value


def _truth(chance: float) -> Truth:
    return True if chance == 1 else False if chance <= RISK else None


def facts_of(scene: Scene, lexicon: Lexicon, unlisted: Unlisted | None = None) -> Facts:
    """Index a scene graph, of which it may be known what it probably leaves out."""
    things: list[Thing] = []
    related: set[Triple] = set()
    denied: set[Triple] = set()
    for thing in scene.objects:
        x, y = (thing.x + thing.w / 2) / scene.width, (thing.y + thing.h / 2) / scene.height
        looks = {attribute: lexicon.type_of(attribute) for attribute in thing.attributes}
        positions = {"hposition": _zones("hposition", x), "vposition": _zones("vposition", y)}
        names = (lemma(thing.name),)
        things.append(Thing(thing.object_id, names, thing.name, looks, positions=positions))
        for edge in thing.relations:
            if scene.complete:
                related.add((thing.object_id, plain_relation(edge.name), edge.object_id))
            else:
                related |= holding(thing.object_id, edge.name, edge.object_id)
                denied |= excluded_by(thing.object_id, edge.name, edge.object_id)
    return Facts(
        source="truth" if scene.complete else "scene graph",
        complete=scene.complete,
        lexicon=lexicon,
        things=tuple(things),
        related=related,
        denied=denied,
        scene={"place": scene.location, "weather": scene.weather},
        unlisted=None if scene.complete else unlisted,
    )


def joined(listed: Facts, told: Facts) -> Facts:
    """What a scene graph lists with what the picture's questions tell besides, of the same ids. That something was asked
    as if it were the only one is no proof that it is: the graph's gaps are theirs."""
    things = {thing.object_id: thing for thing in listed.things}
    for thing in told.things:
        if thing.object_id not in things:
            things[thing.object_id] = thing
            continue
        known = things[thing.object_id]
        names = tuple(dict.fromkeys((*known.names, *thing.names)))
        attributes, denied = thing.attributes | known.attributes, known.denied | thing.denied
        things[thing.object_id] = replace(known, names=names, attributes=attributes, denied=denied)
    return replace(
        listed,
        things=tuple(things.values()),
        related=listed.related | told.related,
        denied=listed.denied | told.denied,
        scene={**told.scene, **{type_: value for type_, value in listed.scene.items() if value}},
        absent=told.absent,
    )


def holding(subject: str, relation: str, other: str) -> set[Triple]:
    """A relation that holds and what it says besides: its general form, its inverse."""
    general = implied(plain_relation(relation))
    return with_inverse(subject, relation, other) | ({(subject, general, other)} if general else set())


def excluded_by(subject: str, relation: str, other: str) -> set[Triple]:
    """What does not hold where a relation does: its opposite, and itself the other way round."""
    name = plain_relation(relation)
    if name not in ANTONYMS:
        return set()
    return with_inverse(subject, ANTONYMS[name], other) | with_inverse(other, name, subject)


def with_inverse(subject: str, relation: str, other: str) -> set[Triple]:
    """A relation and its inverse, which holds, or does not, with it."""
    name = plain_relation(relation)
    inverse = {(other, INVERSES[name], subject)} if name in INVERSES else set()
    return {(subject, name, other), *inverse}


def _zones(type_: str, share: float) -> frozenset[str]:
    """The zones in which a centre may be said to be; `share` of the picture's width (height)."""
    zones = zip(ZONES[type_], (0.0, *BORDERS), (*BORDERS, 1.0), strict=True)
    return frozenset(zone for zone, start, end in zones if start - MARGIN < share < end + MARGIN)
