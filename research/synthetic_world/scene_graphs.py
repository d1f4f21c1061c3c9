"""Build scene graphs of the synthetic world: complete graphs (the truth), and the incomplete graphs that are
published.

Relations follow from the boxes and the order of painting, by the rules below. The complete graph lists every
relation that holds, and also its inverse if the inverse has a name.

    to the left of / to the right of   the boxes overlap by at most a fifth of the narrower one's width, and the gap
                                       between them in height is at most half the image
    above / below                      the same with width and height exchanged, and the boxes overlap in width
    in front of / behind               A is painted over B and covers at least a tenth of B's box
    near, next to                      on the floor or on one supporter, less than 40 pixels apart in width and in
                                       the height of their lower edges
    on, sitting on                     A rests on B; a person or an animal sits on B
    under                              A is on the floor under B
    in, inside / holding / wearing     from the host of A or B

Between an object and its host (a cup on a table, a man and his hat), only the last three rows are listed.
"""

from __future__ import annotations

from pipeline.core.randomness import make_generator
from pipeline.core.records import Relation, SceneGraph, SceneObject
from research.synthetic_world.layout import get_ancestors
from research.synthetic_world.placement import Box, compute_covered_fraction
from research.synthetic_world.scene_types import HEIGHT, WIDTH, PlacedObject, SyntheticScene

# Maximum overlap of two objects of which one is left of (above) the other, as a fraction of the smaller width
# (height).
MAX_OVERLAP = 0.2
# Maximum distance in height (width) for left/right (above/below), as a fraction of the height (width) of the
# image.
MAX_CROSS_AXIS_DISTANCE = 0.5
# Maximum distance of near objects in pixels.
MAX_NEAR_DISTANCE = 40
# Minimum fraction of the box behind that must be covered for "in front of" and "behind".
MIN_COVERED = 0.1
# Proportion of the facts of a scene that published graphs omit.
OMITTED_FACT_RATE = 0.2
# Proportion of the objects that published graphs omit. The facts that are lost with an object count as
# omitted facts.
OMITTED_OBJECT_RATE = 0.05
_PRESENT = ("color", "material", "pattern", "size", "state", "pose", "age")
_INVERSE = {
    "to the left of": "to the right of",
    "above": "below",
    "in front of": "behind",
    "near": "near",
    "next to": "next to",
}


def build_complete_graph(world: SyntheticScene) -> SceneGraph:
    """Build the complete scene graph with every attribute and relation that holds."""
    relations = find_relations(world)
    objects = [_scene_object(thing, tuple(relations[thing.object_id])) for thing in world.objects]
    return SceneGraph(
        image_id=world.image_id,
        split=world.split,
        width=WIDTH,
        height=HEIGHT,
        objects=tuple(sorted(objects, key=lambda item: item.object_id)),
        location=world.location,
        weather=world.weather,
        is_complete=True,
    )


def find_relations(world: SyntheticScene) -> dict[str, list[Relation]]:
    """Return object id -> relations of the object, sorted by the id of the other object and the name of the
    relation.
    """
    by_id = {thing.object_id: thing for thing in world.objects}
    families = {thing.object_id: get_ancestors(thing, by_id) for thing in world.objects}
    relations: dict[str, set[tuple[str, str]]] = {thing.object_id: set() for thing in world.objects}

    def add(name: str, subject: PlacedObject, other: PlacedObject) -> None:
        relations[subject.object_id].add((other.object_id, name))
        if name in _INVERSE:
            relations[other.object_id].add((subject.object_id, _INVERSE[name]))

    for place, back in enumerate(world.objects):
        if back.host:
            for name, subject, other in _with_host(back, by_id[back.host]):
                add(name, subject, other)
        for front in world.objects[place + 1 :]:
            if back.object_id in families[front.object_id] or front.object_id in families[back.object_id]:
                continue
            for first, second in ((back, front), (front, back)):
                if is_left_of(first.box, second.box):
                    add("to the left of", first, second)
                if is_above(first.box, second.box):
                    add("above", first, second)
            if is_near(back, front):
                add("near", back, front)
                add("next to", back, front)
            apart = not set(families[back.object_id]) & set(families[front.object_id])
            if apart and compute_covered_fraction(back.box, front.box) >= MIN_COVERED:
                add("in front of", front, back)
    return {
        subject: [Relation(name=name, object_id=other) for other, name in sorted(pairs)]
        for subject, pairs in relations.items()
    }


def is_left_of(first: Box, second: Box) -> bool:
    """Return whether the first box is left of the second."""
    gap = max(first[1], second[1]) - min(first[1] + first[3], second[1] + second[3])
    return _is_before(first[0], first[2], second[0], second[2]) and gap <= MAX_CROSS_AXIS_DISTANCE * HEIGHT


def is_above(first: Box, second: Box) -> bool:
    """Return whether the first box is above the second. The boxes must overlap in width."""
    shared = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    gap = second[1] - (first[1] + first[3])
    return (
        _is_before(first[1], first[3], second[1], second[3])
        and shared > 0
        and gap <= MAX_CROSS_AXIS_DISTANCE * HEIGHT
    )


def is_near(first: PlacedObject, second: PlacedObject) -> bool:
    """Return whether two objects on the floor, or on the same supporter, are next to each other."""
    same_ground = first.placement == second.placement and (
        first.placement == "floor" or (first.placement == "top" and first.host == second.host)
    )
    gap = max(first.box[0], second.box[0]) - min(first.box[0] + first.box[2], second.box[0] + second.box[2])
    depth = abs(first.box[1] + first.box[3] - second.box[1] - second.box[3])
    return same_ground and gap < MAX_NEAR_DISTANCE and depth < MAX_NEAR_DISTANCE


def _is_before(start: float, length: float, other_start: float, other_length: float) -> bool:
    """Return whether an interval is before another, with an overlap of at most a fifth of the shorter one."""
    shared = start + length - other_start
    return start + length / 2 < other_start + other_length / 2 and shared <= MAX_OVERLAP * min(
        length, other_length
    )


def _with_host(thing: PlacedObject, host: PlacedObject) -> list[tuple[str, PlacedObject, PlacedObject]]:
    if thing.placement == "hand":
        return [("holding", host, thing)]
    if thing.placement in ("head", "body", "legs"):
        return [("wearing", host, thing)]
    if thing.placement == "inside":
        return [("in", thing, host), ("inside", thing, host)]
    if thing.placement == "floor":
        return [("under", thing, host)]
    return [("on", thing, host)] + ([("sitting on", thing, host)] if thing.pose == "sitting" else [])


def _scene_object(thing: PlacedObject, relations: tuple[Relation, ...]) -> SceneObject:
    x, y, w, h = thing.box
    left, top = max(round(x), 0), max(round(y), 0)
    looks = (getattr(thing, name) for name in _PRESENT)
    return SceneObject(
        object_id=thing.object_id,
        name=thing.kind,
        x=left,
        y=top,
        w=min(round(x + w), WIDTH) - left,
        h=min(round(y + h), HEIGHT) - top,
        attributes=tuple(value for value in looks if value),
        relations=relations,
    )


# A fact of a scene graph: ("object", id), ("attribute", id, value) or ("relation", id, name, id).
Fact = tuple[str, ...]


def get_facts(scene: SceneGraph) -> list[Fact]:
    """Return the facts of a scene graph, sorted.

    A relation and its inverse (A left of B, B right of A) are one fact.
    """
    listed: list[Fact] = []
    for item in scene.objects:
        listed.append(("object", item.object_id))
        listed += [("attribute", item.object_id, value) for value in item.attributes]
        listed += [_relation_fact(item.object_id, relation) for relation in item.relations]
    return sorted(set(listed))


def omit_facts(scene: SceneGraph, seed: int) -> SceneGraph:
    """Omit a random fifth of the facts of a complete scene graph, to make it as incomplete as published
    graphs.

    The fifth refers to the facts of the scene (`get_facts`). First, each object is omitted with probability
    0.05, if at least one object remains and the facts that are lost (the object, its attributes and
    relations) are within the fifth. Then attributes and relations are omitted at random until a fifth of all
    facts, rounded, is omitted. Location, weather, boxes and names are kept.
    """
    rng = make_generator(seed, "published", scene.image_id)
    every = get_facts(scene)
    wanted = round(OMITTED_FACT_RATE * len(every))
    gone: set[Fact] = set()
    objects = [fact for fact in every if fact[0] == "object"]
    for fact, draw in zip(objects, rng.random(len(objects)), strict=True):
        lost = {other for other in every if fact[1] in _get_object_ids(other)} - gone
        if draw < OMITTED_OBJECT_RATE and len(gone) + len(lost) <= wanted:
            gone |= lost
    rest = [fact for fact in every if fact not in gone and fact[0] != "object"]
    for place in rng.permutation(len(rest))[: wanted - len(gone)]:
        gone.add(rest[place])
    kept = tuple(
        _remove_facts(item, gone) for item in scene.objects if ("object", item.object_id) not in gone
    )
    return SceneGraph(
        image_id=scene.image_id,
        split=scene.split,
        width=scene.width,
        height=scene.height,
        objects=kept,
        location=scene.location,
        weather=scene.weather,
        is_complete=False,
    )


def _remove_facts(item: SceneObject, gone: set[Fact]) -> SceneObject:
    return SceneObject(
        object_id=item.object_id,
        name=item.name,
        x=item.x,
        y=item.y,
        w=item.w,
        h=item.h,
        attributes=tuple(
            value for value in item.attributes if ("attribute", item.object_id, value) not in gone
        ),
        relations=tuple(r for r in item.relations if _relation_fact(item.object_id, r) not in gone),
    )


def _relation_fact(subject: str, relation: Relation) -> Fact:
    forward = ("relation", subject, relation.name, relation.object_id)
    inverses = _INVERSE | {inverse: name for name, inverse in _INVERSE.items()}
    if relation.name not in inverses:
        return forward
    return min(forward, ("relation", relation.object_id, inverses[relation.name], subject))


def _get_object_ids(fact: Fact) -> tuple[str, ...]:
    """Return the ids of the objects in a fact."""
    return (fact[1], fact[3]) if fact[0] == "relation" else (fact[1],)
