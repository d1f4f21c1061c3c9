"""Counterfactual twins: one scene drawn twice, of which one thing differs: what it is, how it looks, or where it is.

All else is the same to the last pixel. What comes in the place of a kind, a look or a place is drawn by the habits by which
scenes are laid out, and nothing is altered where that gives the same again: so the altered scene is as likely as the one
that it was made from, and a coin decides which of the two comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from pipeline.core.randomness import generator
from pipeline.core.records import Category
from research.synthetic_world import layout, placement, scene_statistics
from research.synthetic_world.ontology import BY_NAME, INDOORS, KINDS, STATES, Kind
from research.synthetic_world.placement import Box
from research.synthetic_world.random_choice import drawn, pick
from research.synthetic_world.scene_statistics import ChosenLook
from research.synthetic_world.scene_types import HORIZON, LOOK_SCALE, SURFACES, PlacedThing, World
from research.synthetic_world.scenes import scene

ALTERED: tuple[Category, ...] = ("missing object", "wrong attribute", "wrong relation")
LOOKS = ("color", "material", "pattern", "size", "state", "pose", "age")
_WORN = ("head", "body", "legs")
_TRIES = 12  # at one thing, of looks and boxes
_CROWDED = 0.25  # as in scene_plan: the chance that a thing may cover another or be covered


@dataclass(frozen=True, slots=True)
class TwinScenes:
    """Two scenes that differ in the thing `altered` alone; `category` is what a question about it lacks at the other
    scene. `laid_out` is the place, 0 or 1, of the scene from which the other was made."""

    worlds: tuple[World, World]
    altered: str
    category: Category
    laid_out: int


def twin_scenes(seed: int, index: int) -> Iterator[TwinScenes]:
    """Twins number `index`, one alteration of one scene after the other, without end; they depend on the seed and the index
    alone. What the altered thing lacks is the category that is due by the index."""
    number = f"n{2 * index:06d}"
    category = ALTERED[index % len(ALTERED)]
    alter = {"missing object": _other_kind, "wrong attribute": _other_look, "wrong relation": _other_place}
    for attempt in count():
        rng = generator(seed, "twins", number, str(attempt))
        world = scene(seed, f"{number} {attempt}", "testdev", int(rng.integers(len(KINDS))))
        for place in rng.permutation(len(world.things)):
            thing = world.things[place]
            if (other := alter[category](rng, world, thing)) is None:
                continue
            changed = layout.painted([other if row is thing else row for row in world.things])
            sides = [world, replace(world, things=tuple(changed))]
            laid_out = int(rng.integers(2))
            first, second = (
                replace(side, picture_id=f"n{2 * index + at:06d}")
                for at, side in enumerate(reversed(sides) if laid_out else sides)
            )
            yield TwinScenes((first, second), thing.object_id, category, laid_out)


def _other_kind(rng: np.random.Generator, world: World, thing: PlacedThing) -> PlacedThing | None:
    """A thing of a kind that the scene has not, in the place of the only one of its own kind."""
    if thing.rests in _WORN or not _bare(world, thing) or _number(world, thing.kind) > 1:
        return None
    others = [kind for kind in KINDS if not _number(world, kind.name) and _may_be(kind, world, thing)]
    kinds = [BY_NAME[thing.kind], *others]
    kind = drawn(rng, kinds, [scene_statistics.popularity(kind) for kind in kinds])
    if kind is kinds[0]:
        return None
    return _tried(rng, world, thing, lambda: scene_statistics.look(rng, kind, thing.rests), kind)


def _may_be(kind: Kind, world: World, thing: PlacedThing) -> bool:
    """Whether a thing of the kind may be where this one is."""
    host = next((row for row in world.things if row.object_id == thing.host), None)
    if kind.category == "person" or world.place not in kind.places:
        return False
    if thing.rests == "floor" and host:
        return kind.name in scene_statistics.UNDER_TABLES
    if thing.rests == "floor":
        return scene_statistics.depths(kind, world.place) is not None
    carriers = {"top": scene_statistics.SUPPORTERS, "inside": scene_statistics.CONTAINERS}.get(thing.rests)
    if carriers:
        return host is not None and host.kind in carriers.get(kind.name, ())
    return thing.rests in kind.rests


def _other_look(rng: np.random.Generator, world: World, thing: PlacedThing) -> PlacedThing | None:
    """The same thing with another colour, material, pattern, state or age, in the same place."""
    kind = BY_NAME[thing.kind]
    look = scene_statistics.look(rng, kind, thing.rests, thing.pose)
    fixed = {
        "material": bool(thing.pattern),
        "state": bool(kind.state) and not _may_change_state(world, thing),
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
    name = pick(rng, names)
    other = replace(thing, **{name: getattr(look, name)})
    rest = [row for row in world.things if row is not thing]
    told_apart = thing.rests in _WORN or scene_statistics.distinguishable(kind, _look_of(other), rest)
    return other if told_apart else None


def _may_change_state(world: World, thing: PlacedThing) -> bool:
    """What is open or closed is drawn at another height, or has something on or in it, and is left as it is."""
    states = STATES[BY_NAME[thing.kind].state]
    return _bare(world, thing) and not any((thing.kind, state) in LOOK_SCALE for state in states)


def _other_place(rng: np.random.Generator, world: World, thing: PlacedThing) -> PlacedThing | None:
    """The same thing in another place: on the floor, on the wall, on another side of what carries it, or on another thing
    that may carry it."""
    if thing.rests in _WORN or not _bare(world, thing) or BY_NAME[thing.kind].category == "person":
        return None
    host = next((row for row in world.things if row.object_id == thing.host), None)
    carriers = {"top": scene_statistics.SUPPORTERS, "inside": scene_statistics.CONTAINERS}.get(thing.rests)
    if carriers and host:
        free = [
            row
            for row in world.things
            if row.kind in carriers.get(thing.kind, ())
            and (row is host or (_bare(world, row) and row.state not in ("closed", "empty", "open")))
        ]
        host = pick(rng, free) if free else host
    moved = replace(thing, host=host.object_id if host else None)
    factor = _factor(world, thing)
    looks = replace(_look_of(thing), width=thing.box[2] / factor, height=thing.box[3] / factor)
    return _tried(rng, world, moved, lambda: looks, BY_NAME[thing.kind])


def _tried(
    rng: np.random.Generator, world: World, thing: PlacedThing, looks: Callable[[], ChosenLook], kind: Kind
) -> PlacedThing | None:
    """A thing of this kind where `thing` rests, in looks and a box that fit in with all others; None if a few do not."""
    rest = [row for row in world.things if row.object_id != thing.object_id]
    for _ in range(_TRIES):
        look = looks()
        box = _box(rng, world, replace(thing, kind=kind.name), look)
        if box is None or not scene_statistics.distinguishable(kind, look, rest):
            continue
        if thing.rests == "sky" and world.weather == "sunny" and placement.overlap(box, placement.SUN):
            continue
        crowded = any(placement.overlap(box, other.box) for other in rest)
        if thing.host is None and crowded and rng.random() > _CROWDED:
            continue
        other = replace(thing, kind=kind.name, box=box, **{name: getattr(look, name) for name in LOOKS})
        if other.box != thing.box and layout.fits([*rest, other]):
            return other
    return None


def _box(rng: np.random.Generator, world: World, thing: PlacedThing, look: ChosenLook) -> Box | None:
    """A box for the thing where it rests, as scenes are laid out; None where there is no room."""
    by_id = {row.object_id: row for row in world.things}
    if thing.rests in ("wall", "sky"):
        return placement.wall_box(rng, look, HORIZON - 14 if world.place in INDOORS else 118)
    host = by_id.get(thing.host or "")
    if host is None:
        depths = scene_statistics.depths(BY_NAME[thing.kind], world.place)
        return placement.floor_box(rng, look, depths) if depths else None
    factor = layout.scale(by_id, host)
    if thing.rests == "hand":
        factor *= 1.15 if thing.kind == "umbrella" else 1.0
        return placement.held_box(look, thing.kind, host, pick(rng, ["left", "right"]), factor)
    if thing.rests == "inside":
        return placement.inside_box(rng, look, host, factor)
    if thing.rests == "floor":
        return placement.under_box(rng, look, host, factor)
    return placement.top_box(rng, look, host, factor, int(rng.integers(len(SURFACES[host.kind]))))


def _factor(world: World, thing: PlacedThing) -> float:
    """The size factor by which the thing was drawn."""
    by_id = {row.object_id: row for row in world.things}
    if thing.host:
        return layout.scale(by_id, by_id[thing.host]) * (
            1.15 if (thing.rests, thing.kind) == ("hand", "umbrella") else 1.0
        )
    return placement.perspective(thing.box[1] + thing.box[3]) if thing.rests == "floor" else 0.9


def _look_of(thing: PlacedThing) -> ChosenLook:
    return ChosenLook(
        **{name: getattr(thing, name) for name in LOOKS}, width=thing.box[2], height=thing.box[3]
    )


def _bare(world: World, thing: PlacedThing) -> bool:
    """Whether the thing carries nothing, so that it can be changed alone."""
    return not any(other.host == thing.object_id for other in world.things)


def _number(world: World, kind: str) -> int:
    return sum(thing.kind == kind for thing in world.things)
