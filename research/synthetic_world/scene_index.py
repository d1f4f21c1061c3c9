"""A complete scene, indexed for asking: who has which name, look, place and relation."""

from __future__ import annotations

from collections import defaultdict

from pipeline.core.records import SceneGraph
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES

ANTONYMS = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
ANTONYMS |= {right: left for left, right in ANTONYMS.items()}
# How near is near? Such a relation adds to a clear reference, it does not make one.
VAGUE_RELATIONS = ("near", "next to")
BORDER_MARGIN = 0.04  # of the image's side: no place is told of a centre so near the border between two
# What people may also call by the category.
_WIDER_CATEGORIES = {
    "food": ("fruit",),
    "fruit": ("food",),
    "device": ("appliance",),
    "appliance": ("device",),
    "dishes": ("container",),
    "container": ("dishes", "bag"),
}


class SceneIndex:
    """A scene's objects by id, their attributes by type, and its relations from either end.

    Attributes:
        values: object id -> attribute type -> value.
        relations: (subject id, name, object id). subjects, targets: the same by (name, object) and by
            (subject, name).
        around: object id -> (name, other id, role); role "s" if the object is the subject, else "o".
    """

    def __init__(self, scene: SceneGraph) -> None:
        self.scene = scene
        self.objects = {item.object_id: item for item in scene.objects}
        self.attributes = {
            i: {ATTRIBUTE_TYPES[value]: value for value in item.attributes}
            for i, item in self.objects.items()
        }
        self.relations = {
            (item.object_id, relation.name, relation.object_id)
            for item in scene.objects
            for relation in item.relations
        }
        self.subjects: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.targets: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.relations_by_object: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for a, relation, b in sorted(self.relations):
            self.subjects[relation, b].append(a)
            self.targets[a, relation].append(b)
            self.relations_by_object[a].append((relation, b, "s"))
            self.relations_by_object[b].append((relation, a, "o"))
        self._owner = {b: a for a, relation, b in self.relations if relation in ("wearing", "holding")}

    def get_name(self, object_id: str) -> str:
        return self.objects[object_id].name

    def find_by_name(self, noun: str, strict: bool = True) -> list[str]:
        """Ids of what a kind or category names ("_": all); not strict: also of what people might call so."""
        categories = (noun,) if strict else (noun, *_WIDER_CATEGORIES.get(noun, ()))
        members = {noun}.union(*(CATEGORIES.get(category, ()) for category in categories))
        return [i for i, item in self.objects.items() if noun == "_" or item.name in members]

    def get_position(self, object_id: str, axis: str) -> str | None:
        """ "left", "middle" or "right" ("top" or "bottom"); None near a border, or between top and bottom."""
        item = self.objects[object_id]
        if axis == "hposition":
            centre, names = (item.x + item.w / 2) / self.scene.width, ("left", "middle", "right")
        else:
            centre, names = (item.y + item.h / 2) / self.scene.height, ("top", None, "bottom")
        if min(abs(centre - 0.4), abs(centre - 0.6)) < BORDER_MARGIN:
            return None
        return names[0] if centre < 0.4 else names[1] if centre < 0.6 else names[2]

    def find_related(
        self, noun: str, relation: str, landmark: str, role: str, strict: bool = True
    ) -> list[str]:
        """Ids of what is called `noun` and stands in the relation to the landmark, as its subject (role "s")
        or object ("o"). Not strict: also what people might call so, or might say to lie that way."""

        def holds(i: str) -> bool:
            triple = (i, relation, landmark) if role == "s" else (landmark, relation, i)
            return triple in self.relations or (not strict and self._is_in_direction(*triple))

        return [i for i in self.find_by_name(noun, strict) if i != landmark and holds(i)]

    def is_held_together(self, a: str, b: str) -> bool:
        """Whether one holds or wears the other, or a third both: how they lie to each other says nothing."""
        return self._owner.get(a, a) == self._owner.get(b, b)

    def _is_in_direction(self, a: str, relation: str, b: str) -> bool:
        """Whether the centre of a lies that way of the centre of b."""
        first, second = self.objects[a], self.objects[b]
        dx = first.x + first.w / 2 - second.x - second.w / 2
        dy = first.y + first.h / 2 - second.y - second.h / 2
        ways = {"to the left of": dx < 0, "to the right of": dx > 0, "above": dy < 0, "below": dy > 0}
        return ways.get(relation, False)
