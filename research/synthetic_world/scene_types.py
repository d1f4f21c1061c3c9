"""What a scene consists of: things with a place, a look, and an order of painting.

`scenes` makes these, `drawing` shows them, `graphs` turns them into scene graphs. Coordinates are pixels of a
image WIDTH x HEIGHT, y downwards. Things are listed back to front: a later thing covers an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.records import Split

WIDTH, HEIGHT = 448, 336
HORIZON = 190  # y where the floor (indoors) or the ground (outdoors) begins

# Where a person's parts are, as fractions (x, y, w, h) of the person's box, by pose. Clothes are things of
# their own that are drawn over these parts; a hand is the point (x, y) where a held thing is centred.
ANCHORS: dict[str, dict[str, tuple[float, ...]]] = {
    "standing": {
        "head": (0.27, 0.03, 0.46, 0.20),
        "hat": (0.17, -0.04, 0.66, 0.14),
        "body": (0.14, 0.23, 0.72, 0.36),
        "legs": (0.20, 0.56, 0.60, 0.40),
        "left hand": (0.04, 0.56),
        "right hand": (0.96, 0.56),
    },
    "sitting": {
        "head": (0.28, 0.03, 0.44, 0.26),
        "hat": (0.18, -0.05, 0.64, 0.18),
        "body": (0.16, 0.29, 0.68, 0.40),
        "legs": (0.08, 0.66, 0.84, 0.30),
        "left hand": (0.04, 0.62),
        "right hand": (0.96, 0.62),
    },
}


# Where things stand on what supports them: (left, right, y) as fractions of the supporter's box. A shelf has several
# boards (the first is its top). A person who sits on a seat has the seat's surface at the top of the "legs" anchor.
SURFACES: dict[str, tuple[tuple[float, float, float], ...]] = {
    "table": ((0.08, 0.92, 0.12),),
    "chair": ((0.18, 0.82, 0.56),),
    "couch": ((0.16, 0.84, 0.60),),
    "bed": ((0.16, 0.92, 0.46),),
    "cabinet": ((0.06, 0.94, 0.06),),
    "bench": ((0.06, 0.94, 0.54),),
    "stove": ((0.10, 0.90, 0.14),),
    "plate": ((0.20, 0.80, 0.50),),
    "box": ((0.10, 0.90, 0.12),),
    "shelf": ((0.06, 0.94, 0.03), (0.08, 0.92, 0.34), (0.08, 0.92, 0.64), (0.08, 0.92, 0.94)),
}

# The rim of what contains things: (left, right, y) as fractions of the container's box. What is in a bowl, basket or
# box stands in its opening, on the rim, and is painted after it; flowers are painted before their vase, which hides
# the lower part of their stems.
RIMS: dict[str, tuple[float, float, float]] = {
    "bowl": (0.12, 0.88, 0.16),
    "vase": (0.30, 0.70, 0.06),
    "basket": (0.10, 0.90, 0.30),
    "box": (0.14, 0.86, 0.26),
}

# Natural width and height, relative to Kind.size, of looks that are not as tall or wide as the kind's first look.
# `drawing` fills whatever box it is given; with these no look is stretched.
APPEARANCE_SCALE: dict[tuple[str, str], tuple[float, float]] = {
    ("man", "sitting"): (1.0, 0.77),
    ("woman", "sitting"): (1.0, 0.77),
    ("boy", "sitting"): (1.0, 0.77),
    ("girl", "sitting"): (1.0, 0.77),
    ("dog", "sitting"): (0.62, 1.08),
    ("dog", "lying"): (1.08, 0.66),
    ("cat", "sitting"): (0.66, 1.10),
    ("cat", "lying"): (1.08, 0.64),
    ("horse", "lying"): (1.0, 0.70),
    ("cow", "lying"): (1.0, 0.72),
    ("sheep", "lying"): (1.0, 0.76),
    ("umbrella", "closed"): (0.32, 1.0),
    ("laptop", "closed"): (1.0, 0.58),
}


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """One thing as drawn. `box` is (x, y, w, h). Looks that its kind does not have are None; `size` is None for
    the middle size. `host` is the id of the thing that supports, contains, holds or wears it; `rests` says which:
    "floor", "top", "inside", "hand", "head", "body", "legs", "wall" or "sky". A thing on the floor has a host only
    when it lies or stands under it (a ball under a table)."""

    object_id: str
    kind: str
    box: tuple[float, float, float, float]
    placement: str
    color: str | None = None
    material: str | None = None
    pattern: str | None = None
    size: str | None = None
    state: str | None = None
    pose: str | None = None
    age: str | None = None
    host: str | None = None
    is_mirrored: bool = False


@dataclass(frozen=True, slots=True)
class SyntheticScene:
    """A whole scene: a place (ontology.PLACES), the weather ("" indoors) and its things, back to front."""

    image_id: str
    split: Split
    location: str
    weather: str
    objects: tuple[PlacedObject, ...]
