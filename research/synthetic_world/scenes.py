"""Makes the scenes of the sample world from a seed: a place, the weather, and about nine things laid out plausibly.

Every 62nd scene of a split features the same kind, so that all kinds occur in each split. Two things of one kind
in an image always differ in a way that can be said ("the red chair", "the blue chair").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count as attempts

from pipeline.core.randomness import make_generator
from pipeline.core.records import Split
from research.synthetic_world.layout import sort_back_to_front
from research.synthetic_world.ontology import KINDS
from research.synthetic_world.scene_plan import ScenePlanner
from research.synthetic_world.scene_types import PlacedObject, SyntheticScene

SPLIT_SIZES: dict[Split, int] = {"testdev": 160, "train": 640, "val": 160}  # images that are published
_SPLIT_START = {"train": 0, "testdev": 300_000, "val": 400_000}  # so that no number is used twice
_SPLIT_DIGIT = {"train": 1, "testdev": 2, "val": 3}  # that the ids of its objects begin with
_IDS_PER_IMAGE = 20  # object ids kept for each image
_MIN_OBJECTS = 6  # a scene with fewer is made again


def make_image_id(split: Split, index: int) -> str:
    """The id of image `index` of a split, as in GQA: "n" and six digits in testdev, digits elsewhere. Neighbours
    get ids far apart (7919 and 10**6 have no common factor, so no id occurs twice)."""
    number = ((_SPLIT_START[split] + index) * 7919 + 31) % 1_000_000
    return f"n{number:06d}" if split == "testdev" else f"{number:07d}"


def generate_scenes(seed: int, split: Split, count: int) -> Iterator[SyntheticScene]:
    """The first `count` scenes of a split."""
    for index in range(count):
        yield generate_scene(seed, make_image_id(split, index), split, index)


def generate_scene(seed: int, image_id: str, split: Split, index: int) -> SyntheticScene:
    """The scene of one image. It depends on the seed, the image's id and the index alone.

    Args:
        index: place of the image in its split; it decides which kind the scene features.
    """
    featured = KINDS[index % len(KINDS)]
    for attempt in attempts():
        rng = make_generator(seed, "scene", split, image_id, str(attempt))
        plan = ScenePlanner(rng, featured)
        plan.fill()
        if _MIN_OBJECTS <= len(plan.objects) <= _IDS_PER_IMAGE and any(
            thing.kind == featured.name for thing in plan.objects
        ):
            return SyntheticScene(
                image_id,
                split,
                plan.location,
                plan.weather,
                tuple(_assign_object_ids(plan.objects, split, index)),
            )
    raise AssertionError("attempts do not end")


def _assign_object_ids(things: list[PlacedObject], split: Split, index: int) -> list[PlacedObject]:
    """The things in painting order, with ids that no other image uses."""
    order = sort_back_to_front(things)
    ids = {
        thing.object_id: f"{_SPLIT_DIGIT[split]}{index * _IDS_PER_IMAGE + place}"
        for place, thing in enumerate(order)
    }
    return [replace(thing, object_id=ids[thing.object_id], host=ids.get(thing.host or "")) for thing in order]
