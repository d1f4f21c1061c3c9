"""Index a complete scene by name, attribute, position and relation."""

from __future__ import annotations

from collections import defaultdict

from pipeline.core.records import SceneGraph
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES

ANTONYMS = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
ANTONYMS |= {right: left for left, right in ANTONYMS.items()}
# Whether objects are near is vague. Such a relation may be part of a reference but does not make it unambiguous.
VAGUE_RELATIONS = ("near", "next to")
# A center nearer than this to the border between two positions, as a fraction of the image's side, has no position.
BORDER_MARGIN = 0.04
# Categories that people may use for objects of another category.
_WIDER_CATEGORIES = {
    "food": ("fruit",),
    "fruit": ("food",),
    "device": ("appliance",),
    "appliance": ("device",),
    "dishes": ("container",),
    "container": ("dishes", "bag"),
}


class SceneIndex:
    """A scene's objects by id, their attributes by type, and its relations from both ends.

    Attributes:
        attributes: object id -> attribute type -> value.
        relations: (subject id, name, object id).
        subjects, targets: subject ids by (name, object id), and object ids by (subject id, name).
        relations_by_object: object id -> (name, other id, role). The role is "s" if the object is the subject, else "o".
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
        """Return the ids of objects of a kind or category ("_": all). If not strict, also of what people might call so."""
        categories = (noun,) if strict else (noun, *_WIDER_CATEGORIES.get(noun, ()))
        members = {noun}.union(*(CATEGORIES.get(category, ()) for category in categories))
        return [i for i, item in self.objects.items() if noun == "_" or item.name in members]

    def get_position(self, object_id: str, axis: str) -> str | None:
        """Return "left", "middle" or "right" ("top" or "bottom"). None near a border, or between top and bottom."""
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
        """Return the ids of objects called `noun` that are related to the landmark.

        They are the subject (role "s") or object ("o") of the relation. If not strict, objects that people might call so,
        or might see in that direction, are included.
        """

        def holds(i: str) -> bool:
            triple = (i, relation, landmark) if role == "s" else (landmark, relation, i)
            return triple in self.relations or (not strict and self._is_in_direction(*triple))

        return [i for i in self.find_by_name(noun, strict) if i != landmark and holds(i)]

    def is_held_together(self, a: str, b: str) -> bool:
        """Whether one holds or wears the other, or a third both. Relations of such objects are not informative."""
        return self._owner.get(a, a) == self._owner.get(b, b)

    def _is_in_direction(self, a: str, relation: str, b: str) -> bool:
        """Whether the center of a is in that direction from the center of b."""
        first, second = self.objects[a], self.objects[b]
        dx = first.x + first.w / 2 - second.x - second.w / 2
        dy = first.y + first.h / 2 - second.y - second.h / 2
        ways = {"to the left of": dx < 0, "to the right of": dx > 0, "above": dy < 0, "below": dy > 0}
        return ways.get(relation, False)
