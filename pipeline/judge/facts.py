"""What is known of one picture, indexed once so that many questions can be asked of it.

A fact holds (True), does not hold (False) or is not known (None). In a complete scene nothing is unknown but
a position too near a border to tell. In incomplete evidence what is not listed is unknown, and only what
contradicts something listed is false: another value of a type of which a thing has one (colour ...), or an
opposite relation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.core.records import EvidenceSource, Scene
from pipeline.programs.operations import OVERLAPPING, POSITIONS, ZONES
from pipeline.words.lexicon import Lexicon
from pipeline.words.likeness import one_sight
from pipeline.words.nouns import lemma
from pipeline.words.relations import ANTONYMS, INVERSES, implied, location, plain_relation
from pipeline.words.word_tables import ANYTHING

BORDERS = (0.4, 0.6)  # a centre in the outer two fifths is left or right (top or bottom), else middle
MARGIN = 0.04  # of the picture: nearer than this to a border, either side may be meant

Triple = tuple[str, str, str]  # subject's id, relation, object's id


@dataclass(slots=True, eq=False)
class Thing:
    """An object as known.

    Attributes:
        names: singular, the most particular first.
        label: the name as recorded; "" when only a category is known.
        attributes, denied: attribute -> type of those it has; those it has not.
        positions: the values still possible, by type.
    """

    object_id: str
    names: tuple[str, ...]
    label: str
    attributes: dict[str, str] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    positions: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """Things that a description picks out: for certain, perhaps, and whether one not listed may be meant."""

    sure: tuple[Thing, ...]
    maybe: tuple[Thing, ...] = ()
    open: bool = False

    def __bool__(self) -> bool:
        """False when there certainly is none."""
        return bool(self.sure or self.maybe or self.open)


@dataclass(slots=True, kw_only=True)
class Facts:
    """The evidence about one picture.

    Attributes:
        related, denied: relations that hold, and relations that do not.
        scene: place, weather and location (indoors, outdoors), as far as known.
        absent: singular names of which the picture has none.
        closed: singular names of which every instance is listed; None: every name that is listed at all.
    """

    source: EvidenceSource
    complete: bool
    lexicon: Lexicon
    things: tuple[Thing, ...]
    related: set[Triple]
    denied: set[Triple]
    scene: dict[str, str]
    absent: frozenset[str] = frozenset()
    closed: frozenset[str] | None = None
    _named: dict[str, Selection] = field(default_factory=dict)

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
            return Selection(self.things, (), not self.complete)
        called = [(thing, self.called(thing, name)) for thing in self.things]
        sure = tuple(thing for thing, truth in called if truth)
        if self.complete:
            return Selection(sure)
        maybe = tuple(thing for thing, truth in called if truth is None and thing.names)
        names = self.lexicon.above(lemma(name))
        closed = bool(sure or maybe) if self.closed is None else not names.isdisjoint(self.closed)
        return Selection(sure, maybe, not closed and names.isdisjoint(self.absent))

    def called(self, thing: Thing, name: str) -> bool | None:
        """Whether a thing goes by a name. If only its category is known (a person, asked for a man), it may."""
        if self.complete:
            return self.lexicon.is_one(thing.names, name, own=True)
        return self.lexicon.may_be(thing.names, name)

    def holds(self, subject: Thing, name: str, other: Thing) -> bool | None:
        """Whether `subject` is in this relation to `other`; `same color` and the like compare attributes."""
        if subject is other:  # "the man beside the other man" with one man listed: another may be unlisted
            return False if self.complete else None
        if name.startswith("same "):
            mine, theirs = self.values(subject, name[5:]), self.values(other, name[5:])
            return not mine.isdisjoint(theirs) if (mine and theirs) or self.complete else None
        triple = (subject.object_id, plain_relation(name), other.object_id)
        if triple in self.related:
            return True
        return False if self.complete or triple in self.denied else None

    def has(self, thing: Thing, attribute: str, type_: str = "") -> bool | None:
        """Whether a thing has an attribute, of the type that the program tells ("" for none)."""
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, ZONES[type_])
            return None if attribute in possible and len(possible) > 1 else attribute in possible
        if attribute in thing.attributes:
            return True
        if self.complete or attribute in thing.denied:
            return False
        type_ = type_ or self.lexicon.type_of(attribute)
        others = (other for other, other_type in thing.attributes.items() if other_type == type_)
        excluded = type_ not in OVERLAPPING and not all(one_sight(attribute, other) for other in others)
        return False if excluded else None

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


def facts_of(scene: Scene, lexicon: Lexicon) -> Facts:
    """Index a scene graph."""
    things: list[Thing] = []
    related: set[Triple] = set()
    denied: set[Triple] = set()
    for thing in scene.objects:
        x, y = (thing.x + thing.w / 2) / scene.width, (thing.y + thing.h / 2) / scene.height
        things.append(
            Thing(
                thing.object_id,
                (lemma(thing.name),),
                thing.name,
                {attribute: lexicon.type_of(attribute) for attribute in thing.attributes},
                positions={"hposition": _zones("hposition", x), "vposition": _zones("vposition", y)},
            )
        )
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
    low, high = (0.0, *BORDERS), (*BORDERS, 1.0)
    return frozenset(
        zone
        for zone, start, end in zip(ZONES[type_], low, high, strict=True)
        if start - MARGIN < share < end + MARGIN
    )
