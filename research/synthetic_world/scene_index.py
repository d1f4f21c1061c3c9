"""Index a complete scene by name, attribute, position and relation."""

from __future__ import annotations

from collections import defaultdict

from pipeline.core.records import SceneGraph
from research.synthetic_world.ontology import ATTRIBUTE_TYPES, CATEGORIES

ANTONYMS = {"to the left of": "to the right of", "above": "below", "in front of": "behind"}
ANTONYMS |= {right: left for left, right in ANTONYMS.items()}
# Vague relations: it is not clear up to which distance objects are near. A reference may contain such a
# relation, but must be unambiguous without it.
VAGUE_RELATIONS = ("near", "next to")
# If the center of an object is closer than this to the border between two positions, the object has no
# position. As a fraction of the side of the image.
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
    """Index of the objects, attributes and relations of a scene.

    Attributes:
        attributes: Object id -> attribute type -> value.
        relations: All relations as (subject id, name, object id).
        subjects, targets: (name, object id) -> subject ids, and (subject id, name) -> object ids.
        relations_by_object: Object id -> all relations of the object as (name, other id, role). The role is
            "s" if the object is the subject, else "o".
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
        """Return the ids of the objects of a kind or category ("_": all objects).

        If not `strict`, objects that people might also call by this noun are included.
        """
        categories = (noun,) if strict else (noun, *_WIDER_CATEGORIES.get(noun, ()))
        members = {noun}.union(*(CATEGORIES.get(category, ()) for category in categories))
        return [i for i, item in self.objects.items() if noun == "_" or item.name in members]

    def get_position(self, object_id: str, axis: str) -> str | None:
        """Return "left", "middle" or "right" (or "top" or "bottom") for an axis; None near a border, or
        between top and bottom.
        """
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

        The objects are the subject (role "s") or the object (role "o") of the relation. If not `strict`,
        objects that people might also call by this noun, or might see in this direction, are included.
        """

        def holds(i: str) -> bool:
            triple = (i, relation, landmark) if role == "s" else (landmark, relation, i)
            return triple in self.relations or (not strict and self._is_in_direction(*triple))

        return [i for i in self.find_by_name(noun, strict) if i != landmark and holds(i)]

    def is_held_together(self, a: str, b: str) -> bool:
        """Return whether one object holds or wears the other, or a third object holds or wears both.

        Relations between such objects are not informative.
        """
        return self._owner.get(a, a) == self._owner.get(b, b)

    def _is_in_direction(self, a: str, relation: str, b: str) -> bool:
        """Return whether the center of `a` is in the direction `relation` from the center of `b`."""
        first, second = self.objects[a], self.objects[b]
        dx = first.x + first.w / 2 - second.x - second.w / 2
        dy = first.y + first.h / 2 - second.y - second.h / 2
        ways = {"to the left of": dx < 0, "to the right of": dx > 0, "above": dy < 0, "below": dy > 0}
        return ways.get(relation, False)
