"""What is known of one picture, indexed once so that many questions can be asked of it.

A fact holds (True), does not hold (False) or is not known (None). In a complete scene nothing is unknown but
a position too near a border to tell. In incomplete evidence what is not listed is unknown, and only what
contradicts something listed is false: another value of a type of which a thing has one (colour ...), or an
opposite relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.core.records import EvidenceSource, Scene
from pipeline.words.lexicon import (
    ANTONYMS,
    ANYTHING,
    INVERSES,
    OVERLAPPING,
    Lexicon,
    implied,
    location,
    relation,
    singular,
)

POSITIONS = {"hposition": ("left", "middle", "right"), "vposition": ("top", "middle", "bottom")}
BORDERS = (0.4, 0.6)  # a centre in the outer two fifths is left or right (top or bottom), else middle
MARGIN = 0.04  # of the picture: nearer than this to a border, either side may be meant

# Words of one type that people use for the same sight: one does not speak against another.
_VAGUE = frozenset(("dark", "light", "bright", "colorful", "multi colored", "multicolored"))
_NEAR = tuple(
    map(
        frozenset,
        (
            ("beige", "blond", "brown", "cream", "cream colored", "gold", "khaki", "tan", "yellow"),
            ("gray", "silver", "white"),
            ("blue", "teal", "turquoise"),
            ("orange", "red", "maroon", "pink"),
            (
                "aluminum",
                "brass",
                "chrome",
                "iron",
                "metal",
                "metallic",
                "stainless steel",
                "steel",
                "wrought iron",
            ),
            ("brick", "cement", "cobblestone", "concrete", "granite", "marble", "rock", "stone"),
            ("ceramic", "porcelain", "tile"),
            ("cloth", "cotton", "denim", "fabric", "wool"),
            ("hardwood", "wood", "wooden"),
        ),
    )
)

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
class Found:
    """Things that a description picks out: for certain, perhaps, and whether one not listed may be meant."""

    sure: tuple[Thing, ...]
    maybe: tuple[Thing, ...] = ()
    open: bool = False

    def __bool__(self) -> bool:
        """False when there certainly is none."""
        return bool(self.sure or self.maybe or self.open)


class Facts:
    """The evidence about one picture.

    Args:
        related, denied: relations that hold, and relations that do not.
        absent: singular names of which the picture has none.
        closed: singular names of which every instance is listed; None: every name that is listed at all.
        scene: place, weather and location (indoors, outdoors), as far as known.
    """

    def __init__(
        self,
        *,
        source: EvidenceSource,
        complete: bool,
        lexicon: Lexicon,
        things: Iterable[Thing],
        related: set[Triple],
        denied: set[Triple],
        scene: Mapping[str, str],
        absent: Iterable[str] = (),
        closed: frozenset[str] | None = None,
    ) -> None:
        self.source, self.complete, self.lexicon = source, complete, lexicon
        self.things = tuple(things)
        self.related, self.denied = related, denied
        self.scene = {"location": location(scene), **scene}
        self.absent, self.closed = frozenset(absent), closed
        self._found: dict[str, Found] = {}

    @property
    def partial(self) -> bool:
        """Whether a thing may be meant that was never asked about (a published graph lists what it speaks of)."""
        return self.source == "other questions" and not self.complete

    def named(self, name: str) -> Found:
        """The things that a name selects."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> Found:
        if name in ANYTHING:
            return Found(self.things, (), not self.complete)
        sure = tuple(
            thing for thing in self.things if self.lexicon.is_one(thing.names, name, own=self.complete)
        )
        if self.complete:
            return Found(sure)
        words = self.lexicon.above(singular(name))
        maybe = tuple(  # known as a person, asked for a man
            thing for thing in self.things if thing.names and self.lexicon.may_be(thing.names, name) is None
        )
        if self.closed is None:
            closed = bool(sure or maybe)
        else:
            closed = not words.isdisjoint(self.closed)
        absent = not words.isdisjoint(self.absent)
        return Found(sure, maybe, not (closed or absent))

    def holds(self, subject: Thing, name: str, other: Thing) -> bool | None:
        """Whether `subject` is in this relation to `other`; `same color` and the like compare attributes."""
        if name.startswith("same "):
            mine, theirs = self.values(subject, name[5:]), self.values(other, name[5:])
            return not mine.isdisjoint(theirs) if (mine and theirs) or self.complete else None
        triple = (subject.object_id, relation(name), other.object_id)
        if triple in self.related:
            return True
        return False if self.complete or triple in self.denied else None

    def has(self, thing: Thing, attribute: str, type_: str = "") -> bool | None:
        """Whether a thing has an attribute, of the type that the program tells ("" for none)."""
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, POSITIONS[type_])
            return None if attribute in possible and len(possible) > 1 else attribute in possible
        if attribute in thing.attributes:
            return True
        if self.complete or attribute in thing.denied:
            return False
        type_ = type_ or self.lexicon.type_of(attribute)
        if type_ not in OVERLAPPING:
            for other, other_type in thing.attributes.items():
                if other_type == type_ and not _akin(attribute, other):
                    return False
        return None

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
    things, related, denied = [], set(), set()
    for thing in scene.objects:
        attributes = {attribute: lexicon.type_of(attribute) for attribute in thing.attributes}
        x, y = (thing.x + thing.w / 2) / scene.width, (thing.y + thing.h / 2) / scene.height
        positions = {"hposition": _zones("hposition", x), "vposition": _zones("vposition", y)}
        names = (singular(thing.name),)
        things.append(Thing(thing.object_id, names, thing.name, attributes, positions=positions))
        for edge in thing.relations:
            if scene.complete:
                related.add((thing.object_id, relation(edge.name), edge.object_id))
            else:
                relate(related, denied, thing.object_id, edge.name, edge.object_id)
    return Facts(
        source="truth" if scene.complete else "scene graph",
        complete=scene.complete,
        lexicon=lexicon,
        things=things,
        related=related,
        denied=denied,
        scene={"place": scene.location, "weather": scene.weather},
    )


def relate(related: set[Triple], denied: set[Triple], subject: str, name: str, other: str) -> None:
    """Note that a relation holds and what follows: its inverse, and that its opposite does not hold."""
    name = relation(name)
    related.add((subject, name, other))
    if general := implied(name):
        related.add((subject, general, other))
    if inverse := INVERSES.get(name):
        related.add((other, inverse, subject))
    if opposite := ANTONYMS.get(name):
        deny(denied, subject, opposite, other)
        deny(denied, other, name, subject)


def deny(denied: set[Triple], subject: str, name: str, other: str) -> None:
    """Note that a relation does not hold, nor its inverse."""
    name = relation(name)
    denied.add((subject, name, other))
    if inverse := INVERSES.get(name):
        denied.add((other, inverse, subject))


def _zones(type_: str, share: float) -> frozenset[str]:
    """The zones in which a centre may be said to be; `share` of the picture's width (height)."""
    low, high = (0.0, *BORDERS), (*BORDERS, 1.0)
    return frozenset(
        zone
        for zone, start, end in zip(POSITIONS[type_], low, high, strict=True)
        if start - MARGIN < share < end + MARGIN
    )


def _akin(a: str, b: str) -> bool:
    """`light blue` and `blue` may be said of one thing, as may `gold` and `tan`; `dark` may of anything."""
    if a in _VAGUE or b in _VAGUE or not set(a.split()).isdisjoint(b.split()):
        return True
    return any(a in group and b in group for group in _NEAR)
