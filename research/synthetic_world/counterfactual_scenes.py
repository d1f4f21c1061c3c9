"""Generate counterfactual scenes: pairs of scenes that differ in one object's kind, attribute or position.

Everything else is identical, to the last pixel. The new kind, attribute or position is sampled from the same
statistics as in scenes. If it equals the old one, another change is tried. Therefore the changed scene is as
likely as the original scene. A random choice decides which of the two scenes is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from pipeline.core.randomness import make_generator
from pipeline.core.records import Category
from research.synthetic_world import layout, placement, scene_statistics
from research.synthetic_world.ontology import INDOORS, KIND_BY_NAME, KINDS, STATES, ObjectKind
from research.synthetic_world.placement import Box
from research.synthetic_world.random_choice import choose_by_odds, choose_uniform
from research.synthetic_world.scene_statistics import SampledAppearance
from research.synthetic_world.scene_types import (
    APPEARANCE_SCALE,
    HORIZON,
    SURFACES,
    PlacedObject,
    SyntheticScene,
)
from research.synthetic_world.scenes import generate_scene

ALTERATION_CATEGORIES: tuple[Category, ...] = ("missing object", "wrong attribute", "wrong relation")
ATTRIBUTE_TYPES = ("color", "material", "pattern", "size", "state", "pose", "age")
_BODY_PARTS = ("head", "body", "legs")
# Maximum number of attempts to find attributes and a box for an object.
_MAX_TRIES = 12
# Probability that an object may cover another object or be covered, as in scene_plan.
_CROWDED_RATE = 0.25


@dataclass(frozen=True, slots=True)
class ScenePair:
    """Two scenes that differ only in one object.

    Attributes:
        category: What is missing in the other scene for a question about the object.
        original_index: Index, 0 or 1, of the scene from which the other scene was made.
    """

    scenes: tuple[SyntheticScene, SyntheticScene]
    altered_object_id: str
    category: Category
    original_index: int


def generate_scene_pairs(seed: int, index: int) -> Iterator[ScenePair]:
    """Yield possible pairs of scenes for pair number `index`, without end.

    The pairs depend only on the seed and the index. The index also determines the category of the change.
    """
    number = f"n{2 * index:06d}"
    category = ALTERATION_CATEGORIES[index % len(ALTERATION_CATEGORIES)]
    alter = {
        "missing object": _change_kind,
        "wrong attribute": _change_attribute,
        "wrong relation": _change_position,
    }
    for attempt in count():
        rng = make_generator(seed, "twins", number, str(attempt))
        world = generate_scene(seed, f"{number} {attempt}", "testdev", int(rng.integers(len(KINDS))))
        for place in rng.permutation(len(world.objects)):
            thing = world.objects[place]
            if (other := alter[category](rng, world, thing)) is None:
                continue
            changed = layout.sort_back_to_front([other if row is thing else row for row in world.objects])
            sides = [world, replace(world, objects=tuple(changed))]
            laid_out = int(rng.integers(2))
            first, second = (
                replace(side, image_id=f"n{2 * index + at:06d}")
                for at, side in enumerate(reversed(sides) if laid_out else sides)
            )
            yield ScenePair((first, second), thing.object_id, category, laid_out)


def _change_kind(rng: np.random.Generator, world: SyntheticScene, thing: PlacedObject) -> PlacedObject | None:
    """Replace the only object of its kind by an object of a kind that the scene does not have."""
    if thing.placement in _BODY_PARTS or not _carries_nothing(world, thing) or _number(world, thing.kind) > 1:
        return None
    others = [
        kind for kind in KINDS if not _number(world, kind.name) and _is_kind_possible(kind, world, thing)
    ]
    kinds = [KIND_BY_NAME[thing.kind], *others]
    kind = choose_by_odds(rng, kinds, [scene_statistics.get_popularity(kind) for kind in kinds])
    if kind is kinds[0]:
        return None
    return _try_change(
        rng, world, thing, lambda: scene_statistics.sample_appearance(rng, kind, thing.placement), kind
    )


def _is_kind_possible(kind: ObjectKind, world: SyntheticScene, thing: PlacedObject) -> bool:
    """Return whether an object of the kind may be at the place of `thing`."""
    host = next((row for row in world.objects if row.object_id == thing.host), None)
    if kind.category == "person" or world.location not in kind.locations:
        return False
    if thing.placement == "floor" and host:
        return kind.name in scene_statistics.UNDER_TABLES
    if thing.placement == "floor":
        return scene_statistics.get_depth_range(kind, world.location) is not None
    carriers = {"top": scene_statistics.SUPPORTERS, "inside": scene_statistics.CONTAINERS}.get(
        thing.placement
    )
    if carriers:
        return host is not None and host.kind in carriers.get(kind.name, ())
    return thing.placement in kind.placements


def _change_attribute(
    rng: np.random.Generator, world: SyntheticScene, thing: PlacedObject
) -> PlacedObject | None:
    """Change the color, material, pattern, state or age of an object in the same position."""
    kind = KIND_BY_NAME[thing.kind]
    look = scene_statistics.sample_appearance(rng, kind, thing.placement, thing.pose)
    fixed = {
        "material": bool(thing.pattern),
        "state": bool(kind.state) and not _can_change_state(world, thing),
    }
    names = [
        name
        for name in ("color", "material", "pattern", "state", "age")
        if not fixed.get(name)
        and None not in (values := (getattr(thing, name), getattr(look, name)))
        and values[0] != values[1]
    ]
    if not names:
        return None
    name = choose_uniform(rng, names)
    other = replace(thing, **{name: getattr(look, name)})
    rest = [row for row in world.objects if row is not thing]
    is_distinct = thing.placement in _BODY_PARTS or scene_statistics.is_distinguishable(
        kind, _get_attributes(other), rest
    )
    return other if is_distinct else None


def _can_change_state(world: SyntheticScene, thing: PlacedObject) -> bool:
    """Return whether the state of an object can be changed.

    Objects that have content, or whose height would change when they are opened or closed, keep their state.
    """
    states = STATES[KIND_BY_NAME[thing.kind].state]
    return _carries_nothing(world, thing) and not any(
        (thing.kind, state) in APPEARANCE_SCALE for state in states
    )


def _change_position(
    rng: np.random.Generator, world: SyntheticScene, thing: PlacedObject
) -> PlacedObject | None:
    """Move an object: on the floor, on the wall, on another side of its host, or to another host."""
    if (
        thing.placement in _BODY_PARTS
        or not _carries_nothing(world, thing)
        or KIND_BY_NAME[thing.kind].category == "person"
    ):
        return None
    host = next((row for row in world.objects if row.object_id == thing.host), None)
    carriers = {"top": scene_statistics.SUPPORTERS, "inside": scene_statistics.CONTAINERS}.get(
        thing.placement
    )
    if carriers and host:
        free = [
            row
            for row in world.objects
            if row.kind in carriers.get(thing.kind, ())
            and (
                row is host or (_carries_nothing(world, row) and row.state not in ("closed", "empty", "open"))
            )
        ]
        host = choose_uniform(rng, free) if free else host
    moved = replace(thing, host=host.object_id if host else None)
    factor = _factor(world, thing)
    looks = replace(_get_attributes(thing), width=thing.box[2] / factor, height=thing.box[3] / factor)
    return _try_change(rng, world, moved, lambda: looks, KIND_BY_NAME[thing.kind])


def _try_change(
    rng: np.random.Generator,
    world: SyntheticScene,
    thing: PlacedObject,
    looks: Callable[[], SampledAppearance],
    kind: ObjectKind,
) -> PlacedObject | None:
    """Try a few attributes and boxes for an object of this kind in the same placement.

    Return None if nothing fits.
    """
    rest = [row for row in world.objects if row.object_id != thing.object_id]
    for _ in range(_MAX_TRIES):
        look = looks()
        box = _box(rng, world, replace(thing, kind=kind.name), look)
        if box is None or not scene_statistics.is_distinguishable(kind, look, rest):
            continue
        if (
            thing.placement == "sky"
            and world.weather == "sunny"
            and placement.compute_overlap(box, placement.SUN_BOX)
        ):
            continue
        crowded = any(placement.compute_overlap(box, other.box) for other in rest)
        if thing.host is None and crowded and rng.random() > _CROWDED_RATE:
            continue
        other = replace(
            thing, kind=kind.name, box=box, **{name: getattr(look, name) for name in ATTRIBUTE_TYPES}
        )
        if other.box != thing.box and layout.is_valid_layout([*rest, other]):
            return other
    return None


def _box(
    rng: np.random.Generator, world: SyntheticScene, thing: PlacedObject, look: SampledAppearance
) -> Box | None:
    """Sample a box for the object in its placement, in the same way as in scenes.

    Return None if there is no space.
    """
    by_id = {row.object_id: row for row in world.objects}
    if thing.placement in ("wall", "sky"):
        return placement.place_on_wall(rng, look, HORIZON - 14 if world.location in INDOORS else 118)
    host = by_id.get(thing.host or "")
    if host is None:
        depths = scene_statistics.get_depth_range(KIND_BY_NAME[thing.kind], world.location)
        return placement.place_on_floor(rng, look, depths) if depths else None
    factor = layout.get_scale(by_id, host)
    if thing.placement == "hand":
        factor *= 1.15 if thing.kind == "umbrella" else 1.0
        return placement.place_in_hand(look, thing.kind, host, choose_uniform(rng, ["left", "right"]), factor)
    if thing.placement == "inside":
        return placement.place_inside(rng, look, host, factor)
    if thing.placement == "floor":
        return placement.place_under(rng, look, host, factor)
    return placement.place_on_top(rng, look, host, factor, int(rng.integers(len(SURFACES[host.kind]))))


def _factor(world: SyntheticScene, thing: PlacedObject) -> float:
    """Return the size factor by which the object was drawn."""
    by_id = {row.object_id: row for row in world.objects}
    if thing.host:
        return layout.get_scale(by_id, by_id[thing.host]) * (
            1.15 if (thing.placement, thing.kind) == ("hand", "umbrella") else 1.0
        )
    return placement.compute_perspective(thing.box[1] + thing.box[3]) if thing.placement == "floor" else 0.9


def _get_attributes(thing: PlacedObject) -> SampledAppearance:
    return SampledAppearance(
        **{name: getattr(thing, name) for name in ATTRIBUTE_TYPES}, width=thing.box[2], height=thing.box[3]
    )


def _carries_nothing(world: SyntheticScene, thing: PlacedObject) -> bool:
    """Return whether the object carries no other object, so that it can be changed alone."""
    return not any(other.host == thing.object_id for other in world.objects)


def _number(world: SyntheticScene, kind: str) -> int:
    return sum(thing.kind == kind for thing in world.objects)
