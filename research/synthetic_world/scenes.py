"""Generate the scenes of the synthetic world from a seed: a location, the weather, and about nine objects.

Every 62nd scene of a split features the same kind, so that all kinds occur in each split. Two objects of one
kind in an image always differ in a way that can be described in words ("the red chair", "the blue chair").
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

# Split -> number of published images.
SPLIT_SIZES: dict[Split, int] = {"testdev": 160, "train": 640, "val": 160}
# Split -> first number of its images. The ranges of the splits do not overlap.
_SPLIT_START = {"train": 0, "testdev": 300_000, "val": 400_000}
# Split -> first digit of object ids.
_SPLIT_DIGIT = {"train": 1, "testdev": 2, "val": 3}
# Number of object ids reserved for each image.
_IDS_PER_IMAGE = 20
# Minimum number of objects. A scene with fewer objects is generated again.
_MIN_OBJECTS = 6


def make_image_id(split: Split, index: int) -> str:
    """Return the id of image `index` of a split, as in GQA: "n" and six digits in testdev, digits elsewhere.

    Successive images get ids that are far apart. No id occurs twice, because 7919 and 10**6 have no common
    factor.
    """
    number = ((_SPLIT_START[split] + index) * 7919 + 31) % 1_000_000
    return f"n{number:06d}" if split == "testdev" else f"{number:07d}"


def generate_scenes(seed: int, split: Split, count: int) -> Iterator[SyntheticScene]:
    """Yield the first `count` scenes of a split."""
    for index in range(count):
        yield generate_scene(seed, make_image_id(split, index), split, index)


def generate_scene(seed: int, image_id: str, split: Split, index: int) -> SyntheticScene:
    """Generate the scene of one image. It depends only on the seed, the image's id, the split and the index.

    Args:
        seed: Seed of the world.
        image_id: Id of the image.
        split: Split of the image.
        index: Index of the image in its split. It determines the kind that the scene features.
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
    """Return the objects in painting order, with ids that no other image uses."""
    order = sort_back_to_front(things)
    ids = {
        thing.object_id: f"{_SPLIT_DIGIT[split]}{index * _IDS_PER_IMAGE + place}"
        for place, thing in enumerate(order)
    }
    return [replace(thing, object_id=ids[thing.object_id], host=ids.get(thing.host or "")) for thing in order]
