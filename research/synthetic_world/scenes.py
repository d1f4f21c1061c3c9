"""Makes the scenes of the sample world from a seed: a place, the weather, and about nine things laid out plausibly.

Every 62nd scene of a split features the same kind, so that all kinds occur in each split. Two things of one kind
in a picture always differ in a way that can be said ("the red chair", "the blue chair").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count as attempts

from pipeline.core.randomness import generator
from pipeline.core.records import Split
from research.synthetic_world.layout import painted
from research.synthetic_world.ontology import KINDS
from research.synthetic_world.scene_plan import ScenePlan
from research.synthetic_world.scene_types import PlacedThing, World

SPLIT_SIZES: dict[Split, int] = {"testdev": 160, "train": 640, "val": 160}  # pictures that are published
_SPLIT_START = {"train": 0, "testdev": 300_000, "val": 400_000}  # so that no number is used twice
_SPLIT_DIGIT = {"train": 1, "testdev": 2, "val": 3}  # that the ids of its objects begin with
_ROOM = 20  # object ids kept for each picture
_FEWEST = 6  # a scene with fewer is made again


def picture_id(split: Split, index: int) -> str:
    """The id of picture `index` of a split, as in GQA: "n" and six digits in testdev, digits elsewhere. Neighbours
    get ids far apart (7919 and 10**6 have no common factor, so no id occurs twice)."""
    number = ((_SPLIT_START[split] + index) * 7919 + 31) % 1_000_000
    return f"n{number:06d}" if split == "testdev" else f"{number:07d}"


def worlds(seed: int, split: Split, count: int) -> Iterator[World]:
    """The first `count` scenes of a split."""
    for index in range(count):
        yield scene(seed, picture_id(split, index), split, index)


def scene(seed: int, picture_id: str, split: Split, index: int) -> World:
    """The scene of one picture. It depends on the seed, the picture's id and the index alone.

    Args:
        index: place of the picture in its split; it decides which kind the scene features.
    """
    featured = KINDS[index % len(KINDS)]
    for attempt in attempts():
        rng = generator(seed, "scene", split, picture_id, str(attempt))
        plan = ScenePlan(rng, featured)
        plan.fill()
        if _FEWEST <= len(plan.things) <= _ROOM and any(thing.kind == featured.name for thing in plan.things):
            return World(
                picture_id, split, plan.place, plan.weather, tuple(_numbered(plan.things, split, index))
            )
    raise AssertionError("attempts do not end")


def _numbered(things: list[PlacedThing], split: Split, index: int) -> list[PlacedThing]:
    """The things in painting order, with ids that no other picture uses."""
    order = painted(things)
    ids = {
        thing.object_id: f"{_SPLIT_DIGIT[split]}{index * _ROOM + place}" for place, thing in enumerate(order)
    }
    return [replace(thing, object_id=ids[thing.object_id], host=ids.get(thing.host or "")) for thing in order]
