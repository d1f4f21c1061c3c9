"""Types of scenes: objects with a box, an appearance, and an order of painting.

`scenes` makes scenes, `rendering` draws scenes, and `scene_graphs` converts scenes to scene graphs.
Coordinates are pixels of an image of WIDTH x HEIGHT; y increases downwards. Objects are listed back to front:
a later object covers an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.records import Split

WIDTH, HEIGHT = 448, 336
# y coordinate at which the floor (indoors) or the ground (outdoors) begins.
HORIZON = 190

# Pose -> parts of a person, as fractions (x, y, w, h) of the box of the person. Clothes are separate objects
# that are drawn over these parts. A hand is a point (x, y), at which a held object is centered.
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


# Kind -> surfaces of the supporter: (left, right, y) as fractions of the box of the supporter. A shelf has
# several boards (the first one is the top). The top of the "legs" anchor of a person who sits on a seat is at
# the surface of the seat.
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

# Kind -> rim of the container: (left, right, y) as fractions of the box of the container. An object in a
# bowl, basket or box stands in the opening, on the rim, and is painted after the container. Flowers are
# painted before their vase, which hides the lower part of the stems.
RIMS: dict[str, tuple[float, float, float]] = {
    "bowl": (0.12, 0.88, 0.16),
    "vase": (0.30, 0.70, 0.06),
    "basket": (0.10, 0.90, 0.30),
    "box": (0.14, 0.86, 0.26),
}

# (kind, pose or state) -> natural width and height relative to ObjectKind.size, for poses and states whose
# size differs from that of the first one. `rendering` stretches drawings to fill a box; with these factors,
# no drawing is distorted.
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
    """One object of a scene.

    Attributes:
        box: (x, y, w, h).
        placement: Relation to the host: "floor", "top", "inside", "hand", "head", "body", "legs", "wall" or
            "sky".
        color, material, pattern, state, pose, age: None if the kind does not have them.
        size: None for the middle size.
        host: Id of the object that supports, contains, holds or wears this object; None for no host. An
            object on the floor has a host only if it is under this host (a ball under a table).
        is_mirrored: Whether the drawing is mirrored left to right.
    """

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
    """A whole scene: location (see `ontology.LOCATIONS`), weather ("" indoors) and objects, back to front."""

    image_id: str
    split: Split
    location: str
    weather: str
    objects: tuple[PlacedObject, ...]
