"""Decide which objects may be together in one image, and in which order they are painted.

Objects that belong together are painted together, in the order of their depth. Such groups are a table with
the objects on it, and a person with clothes and held objects.
"""

from __future__ import annotations

from research.synthetic_world.placement import (
    MARGIN,
    compute_covered_fraction,
    compute_perspective,
    is_inside_image,
)
from research.synthetic_world.scene_types import SURFACES, PlacedObject

# Maximum covered fraction of the box of an object, summed over all objects that cover it. The documented
# maximum is 0.5.
MAX_HIDDEN = 0.45
MAX_HIDDEN_CLOTHES = 0.25
# Objects with a smaller area (in square pixels) are never covered.
ALWAYS_VISIBLE_AREA = 2000
# Minimum depth difference in pixels of two objects of which one covers the other.
MIN_DEPTH_STEP = 14


def get_ancestors(thing: PlacedObject, by_id: dict[str, PlacedObject]) -> list[str]:
    """Return the id of an object, followed by the ids of the objects that carry it, directly or not: [apple,
    plate, table].
    """
    chain = [thing.object_id]
    while host := by_id[chain[-1]].host:
        chain.append(host)
    return chain


def get_scale(by_id: dict[str, PlacedObject], host: PlacedObject) -> float:
    """Return the size factor of objects that `host` carries.

    It follows from the perspective at the position of the group.
    """
    root = by_id[get_ancestors(host, by_id)[-1]]
    return compute_perspective(root.box[1] + root.box[3]) if root.placement == "floor" else 0.9


def sort_back_to_front(things: list[PlacedObject]) -> list[PlacedObject]:
    """Sort objects back to front: first sky, then wall, then by depth.

    Objects that belong together stay together.
    """
    carried: dict[str, list[PlacedObject]] = {}
    for thing in things:
        if thing.host:
            carried.setdefault(thing.host, []).append(thing)

    def depth(thing: PlacedObject) -> tuple[float, str]:
        layer = {"sky": -2000.0, "wall": -1000.0}.get(thing.placement, 0.0)
        return (layer + thing.box[1] + thing.box[3], thing.object_id)

    def group(thing: PlacedObject) -> list[PlacedObject]:
        behind, before = [], []
        for other in sorted(carried.get(thing.object_id, ()), key=_carried_order):
            hidden_by_host = (
                other.placement == "floor"
                or (other.placement == "inside" and thing.kind == "vase")
                or (other.placement == "hand" and other.kind == "umbrella")
            )
            (behind if hidden_by_host else before).extend(group(other))
        return [*behind, thing, *before]

    return [thing for root in sorted((t for t in things if not t.host), key=depth) for thing in group(root)]


def _carried_order(thing: PlacedObject) -> tuple[int, float, str]:
    order = ("floor", "inside", "legs", "body", "head", "top", "hand")
    return (order.index(thing.placement), thing.box[1] + thing.box[3], thing.object_id)


def is_valid_layout(things: list[PlacedObject]) -> bool:
    """Return whether all objects can be in one image.

    No object may leave the image, be hidden too much, or seem to belong to another object. Clothes do not
    hide their wearer, and a container or table does not hide its content. A small object may be covered only
    by objects that it carries (an apple on a plate).
    """
    if not all(is_inside_image(thing.box, 0 if thing.placement == "head" else MARGIN) for thing in things):
        return False
    by_id = {thing.object_id: thing for thing in things}
    families = {thing.object_id: get_ancestors(thing, by_id) for thing in things}
    order = sort_back_to_front(things)
    for place, back in enumerate(order):
        hidden = by_own = 0.0
        for front in order[place + 1 :]:
            share = compute_covered_fraction(back.box, front.box)
            if not share:
                continue
            if not _may_meet(back, front, families, by_id):
                return False
            if front.host == back.object_id:
                by_own += share * (front.placement not in ("head", "body", "legs"))
            elif back.host != front.object_id and not _has_same_person(back, front):
                hidden += share
        if hidden > _get_max_hidden(back) or hidden + by_own > MAX_HIDDEN:
            return False
    roots = [thing for thing in things if not thing.host]
    return not any(_seems_to_stand_on(thing, other, families) for thing in roots for other in things)


def _has_same_person(first: PlacedObject, second: PlacedObject) -> bool:
    """Return whether two objects are worn or held by the same person."""
    on_person = ("head", "body", "legs", "hand")
    return first.placement in on_person and second.placement in on_person and first.host == second.host


def _may_meet(
    back: PlacedObject, front: PlacedObject, families: dict[str, list[str]], by_id: dict[str, PlacedObject]
) -> bool:
    """Return whether the boxes of two objects may overlap at all."""
    if back.object_id in families[front.object_id] or front.object_id in families[back.object_id]:
        return True
    if _has_same_person(back, front):
        return True
    roots = by_id[families[back.object_id][-1]], by_id[families[front.object_id][-1]]
    if "sky" in (back.placement, front.placement) or (back.placement, front.placement) == ("wall", "wall"):
        return False
    # The objects are neighbors on the same table, or a person and a cat on the same seat.
    if roots[0] is roots[1]:
        return False
    # If they overlapped, it would not be clear who holds the object.
    if "hand" in (back.placement, front.placement):
        other = front if back.placement == "hand" else back
        if any(
            by_id[member].pose and by_id[member].placement != "hand" and member in families[other.object_id]
            for member in families[other.object_id]
        ):
            return False
    if roots[0].placement == "wall":
        return True
    base = [root.box[1] + root.box[3] for root in roots]
    return base[1] - base[0] >= MIN_DEPTH_STEP


def _get_max_hidden(thing: PlacedObject) -> float:
    if thing.placement in ("head", "body", "legs"):
        return MAX_HIDDEN_CLOTHES
    return (
        0.0
        if thing.box[2] * thing.box[3] < ALWAYS_VISIBLE_AREA or thing.placement in ("hand", "inside")
        else MAX_HIDDEN
    )


def _seems_to_stand_on(thing: PlacedObject, other: PlacedObject, families: dict[str, list[str]]) -> bool:
    """Return whether an object seems to stand on `other`.

    This is so if the object is farther back on the floor or on the wall, and ends where the surface of
    `other` begins. An object on the wall also seems to stand on `other` if `other` hides its lower edge.
    """
    if other.kind not in SURFACES or thing.object_id in families[other.object_id]:
        return False
    if min(thing.box[0] + thing.box[2], other.box[0] + other.box[2]) <= max(thing.box[0], other.box[0]):
        return False
    base = thing.box[1] + thing.box[3]
    tops = [other.box[1] + y * other.box[3] for _, _, y in SURFACES[other.kind]]
    hangs_behind = thing.placement == "wall" and other.box[1] - 9 < base < other.box[1] + other.box[3]
    return hangs_behind or any(abs(base - top) < 9 for top in tops)
