"""What is known of one picture, indexed once so that many questions can be asked of it.

A fact holds (True), does not hold (False) or is not known (None). In a complete scene nothing is unknown but a
position too near a border to tell. In incomplete evidence what is not listed is unknown, and only what contradicts
something listed is false: another value of a type of which a thing has one (colour ...), an opposite relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.core.records import EvidenceSource, Scene
from pipeline.judge.names import ANTONYMS, INVERSES, OVERLAPPING, Lexicon, implied, relation, singular

POSITIONS = {"hposition": ("left", "middle", "right"), "vposition": ("top", "middle", "bottom")}
BORDERS = (0.4, 0.6)  # a centre in the outer two fifths is left (top) or right (bottom), in the middle fifth middle
MARGIN = 0.04  # nearer than this share of the picture to a border, either side may be meant

INDOORS = frozenset((
    "indoors", "bathroom", "bedroom", "classroom", "dining room", "hospital", "hotel room", "kitchen", "library",
    "living room", "mall", "office", "restaurant", "shop", "store", "supermarket",
))
OUTDOORS = frozenset((
    "outdoors", "airport", "beach", "city", "farm", "field", "forest", "harbor", "highway", "lake", "mountain", "ocean",
    "park", "pasture", "river", "road", "sidewalk", "street", "town", "yard", "zoo",
))


@dataclass(slots=True, eq=False)
class Thing:
    """An object as known: `names` singular, the most particular first; `label` the name as recorded, "" when only
    a category is known; `positions` the values still possible."""

    object_id: str
    names: tuple[str, ...]
    label: str
    attributes: dict[str, str] = field(default_factory=dict)  # attribute -> type
    denied: set[str] = field(default_factory=set)
    positions: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """Things that a description picks out: for certain, perhaps, and whether something unlisted may be meant."""

    sure: tuple[Thing, ...]
    maybe: tuple[Thing, ...] = ()
    open: bool = False


class Facts:
    """The evidence about one picture.

    Args:
        related, denied: triples (subject id, relation, object id) that hold and that do not.
        absent: singular names of which the picture has none.
        closed: singular names of which every instance is listed; None: all names that are listed at all.
        scene: place, weather and location (indoors, outdoors), as far as known; what a complete scene lacks it has not.
    """

    def __init__(
        self, *, source: EvidenceSource, complete: bool, lexicon: Lexicon, things: Iterable[Thing],
        related: set[tuple[str, str, str]], denied: set[tuple[str, str, str]], absent: Iterable[str] = (),
        closed: frozenset[str] | None = None, scene: Mapping[str, str] | None = None,
    ) -> None:
        self.source, self.complete, self.lexicon = source, complete, lexicon
        self.things = tuple(things)
        self.related, self.denied = related, denied
        self.absent, self.closed = frozenset(absent), closed
        self.scene = {"location": _location(scene), **scene} if scene else {}
        self._found: dict[str, Found] = {}

    def named(self, name: str) -> Found:
        """The things that a name selects."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> Found:
        kinds = self.lexicon.kinds(name)
        if kinds is None:
            return Found(self.things, (), not self.complete)
        sure = tuple(thing for thing in self.things if not kinds.isdisjoint(thing.names))
        if self.complete:
            return Found(sure)
        groups = self.lexicon.groups(singular(name))
        maybe = tuple(t for t in self.things if not t.label and kinds.isdisjoint(t.names) and not groups.isdisjoint(t.names))
        if self.closed is None:
            closed = bool(sure or maybe)
        else:
            closed = singular(name) in self.closed or not self.closed.isdisjoint(groups)
        return Found(sure, maybe, not closed and not self.is_absent(name))

    def of_scene(self, type_: str) -> str:
        """The scene's place (GQA also asks for its room), weather or location; "" when not known."""
        value = self.scene.get("place" if type_ in ("", "room") else type_, "")
        return "" if type_ != "location" and value in ("indoors", "outdoors") else value

    def is_absent(self, name: str) -> bool:
        """Whether the evidence says that the picture has no such thing."""
        word = singular(name)
        return word in self.absent or not self.absent.isdisjoint(self.lexicon.groups(word))

    def holds(self, subject: Thing, name: str, other: Thing) -> bool | None:
        """Whether `subject` is in this relation to `other`; `same color` and the like compare attributes."""
        if name.startswith("same "):
            mine, theirs = self.values(subject, name[5:]), self.values(other, name[5:])
            return bool(mine & theirs) if mine and theirs or self.complete else None
        triple = (subject.object_id, relation(name), other.object_id)
        if triple in self.related:
            return True
        return False if self.complete or triple in self.denied else None

    def has(self, thing: Thing, attribute: str, type_: str = "") -> bool | None:
        """Whether a thing has an attribute; `type_` is the attribute's type where the program tells it."""
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, frozenset(POSITIONS[type_]))
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
        """The values of a type that a thing is known to have."""
        if type_ in POSITIONS:
            possible = thing.positions.get(type_, frozenset())
            return possible if len(possible) == 1 else frozenset()
        if type_ in ("name", "type"):
            return frozenset((thing.label,)) if thing.label else frozenset()
        return frozenset(attribute for attribute, kind in thing.attributes.items() if kind == type_)


def facts_of(scene: Scene, lexicon: Lexicon) -> Facts:
    """Index a scene graph."""
    things, related, denied = [], set(), set()
    for thing in scene.objects:
        things.append(Thing(
            thing.object_id, (singular(thing.name),), thing.name,
            {attribute: lexicon.type_of(attribute) for attribute in thing.attributes}, set(),
            _positions(thing.x + thing.w / 2, thing.y + thing.h / 2, scene.width, scene.height),
        ))
        for edge in thing.relations:
            relate(related, denied, thing.object_id, edge.name, edge.object_id, closure=not scene.complete)
    return Facts(
        source="truth" if scene.complete else "scene graph", complete=scene.complete, lexicon=lexicon, things=things,
        related=related, denied=denied, scene={"place": scene.location, "weather": scene.weather},
    )


def relate(related: set, denied: set, subject: str, name: str, other: str, *, closure: bool = True) -> None:
    """Note that a relation holds and, with `closure`, what follows: its inverse, and that its opposite does not hold."""
    name = relation(name)
    related.add((subject, name, other))
    if not closure:
        return
    if general := implied(name):
        related.add((subject, relation(general), other))
    if inverse := INVERSES.get(name):
        related.add((other, inverse, subject))
    if opposite := ANTONYMS.get(name):
        denied.add((subject, opposite, other))
        denied.add((other, name, subject))


def _positions(x: float, y: float, width: int, height: int) -> dict[str, frozenset[str]]:
    return {
        type_: frozenset(
            value for value, low, high in zip(names, (0.0, *BORDERS), (*BORDERS, 1.0), strict=True)
            if low - MARGIN < share < high + MARGIN
        )
        for (type_, names), share in zip(POSITIONS.items(), (x / width, y / height), strict=True)
    }


def _location(scene: Mapping[str, str]) -> str:
    if scene.get("place") in INDOORS:
        return "indoors"
    return "outdoors" if scene.get("place") in OUTDOORS or scene.get("weather") else ""


def _akin(a: str, b: str) -> bool:
    """`light blue` and `blue` may be said of one thing."""
    return bool(set(a.split()) & set(b.split()))
