"""Statistics of the synthetic world: common colors, common locations, and which objects stand on which.

As in photographs, the answers are skewed: most apples are red, most tables brown. `sample_appearance` samples
the appearance of one object. `scene_plan` uses the other statistics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from research.synthetic_world.ontology import PATTERNS, STATES, ObjectKind
from research.synthetic_world.random_choice import choose_by_odds, choose_skewed
from research.synthetic_world.scene_types import APPEARANCE_SCALE, PlacedObject

# Kind -> its usual colors, the most common first. The other colors of the kind follow in the order of the
# ontology, with decreasing odds.
_USUAL_COLORS: dict[str, tuple[str, ...]] = {
    "chair": ("brown", "black", "red", "blue"),
    "couch": ("gray", "brown", "blue", "red"),
    "bed": ("white", "blue", "pink"),
    "lamp": ("yellow", "white", "black"),
    "clock": ("black", "white", "red"),
    "cup": ("white", "blue", "red"),
    "plate": ("white", "blue", "green"),
    "bowl": ("white", "blue", "brown"),
    "vase": ("blue", "white", "green"),
    "box": ("brown", "white", "red"),
    "backpack": ("blue", "black", "red"),
    "hat": ("black", "red", "blue"),
    "shirt": ("white", "blue", "red", "black", "green"),
    "car": ("red", "white", "black", "blue"),
    "bicycle": ("red", "blue", "black"),
    "boat": ("white", "red", "blue"),
    "ball": ("red", "blue", "orange", "white"),
    "kite": ("red", "yellow", "purple"),
    "umbrella": ("black", "red", "blue", "yellow"),
    "book": ("blue", "red", "green"),
    "curtain": ("red", "white", "green"),
    "cat": ("orange", "gray", "black"),
}
# Odds of each color relative to the previous color.
_COLOR_SKEW = 0.72
_STRONG_SKEW = {
    "apple": 0.35,
    "banana": 0.2,
    "pear": 0.4,
    "stove": 0.5,
    "refrigerator": 0.5,
    "television": 0.4,
    "sheep": 0.4,
    "table": 0.55,
    "jeans": 0.45,
    "fire hydrant": 0.5,
    "basket": 0.5,
}
# State type -> probability of the first state in STATES.
_STATE_ODDS = {
    "laptop": 0.75,
    "umbrella": 0.85,
    "refrigerator": 0.35,
    "cabinet": 0.3,
    "trash can": 0.3,
    "box": 0.5,
    "window": 0.4,
    "lamp": 0.6,
    "television": 0.6,
    "stove": 0.5,
}
# Odds of the sizes small, middle and large.
_SIZE_ODDS = (0.22, 0.56, 0.22)
_SIZE_FACTOR = {"small": 0.70, None: 1.0, "large": 1.32}
# Sizes of kinds with a larger area (in square pixels) vary less, so that a large sheep is still smaller than
# a horse.
_LARGE_AREA = 3000
_BIG_SIZE_FACTOR = {"small": 0.78, None: 1.0, "large": 1.24}
# Minimum area of a small object in square pixels. An object that would be smaller does not get the size
# "small".
MIN_OBJECT_AREA = 420
_PATTERN_ODDS = 0.4
# Materials that never have a pattern.
_PLAIN_MATERIALS = ("glass", "leather", "metal", "stone")

# Pairs of similar colors. Two objects of the same kind in an image have different colors, and not the colors
# of such a pair.
_SIMILAR_COLORS = {
    frozenset(pair)
    for pair in (
        ("red", "orange"),
        ("orange", "yellow"),
        ("orange", "brown"),
        ("red", "pink"),
        ("pink", "purple"),
        ("white", "gray"),
        ("gray", "black"),
        ("blue", "purple"),
        ("brown", "red"),
        ("brown", "black"),
    )
}

# Kind -> range of the y coordinate of its lower edge on the floor: (nearest to the wall, nearest to the
# viewer).
_DEPTHS: dict[str, tuple[int, int]] = {
    "couch": (222, 262),
    "bed": (232, 285),
    "shelf": (208, 232),
    "cabinet": (208, 236),
    "refrigerator": (208, 230),
    "stove": (208, 232),
    "table": (240, 308),
    "chair": (240, 318),
    "bench": (228, 290),
    "tree": (202, 226),
    "bush": (206, 250),
    "traffic light": (204, 232),
    "fire hydrant": (240, 312),
    "trash can": (222, 306),
    "car": (240, 306),
    "bus": (236, 290),
    "bicycle": (236, 316),
    "boat": (206, 234),
    "tractor": (226, 296),
    "horse": (232, 312),
    "cow": (226, 308),
    "sheep": (226, 316),
    "duck": (256, 326),
    "dog": (246, 326),
    "cat": (256, 328),
    "ball": (256, 328),
    "umbrella": (262, 328),
    "flower": (236, 328),
    "bottle": (280, 328),
    "man": (238, 328),
    "woman": (238, 328),
    "boy": (246, 328),
    "girl": (246, 328),
}
_USUAL_DEPTH = (250, 326)
# Range of the y coordinate of lower edges on the sidewalk of a street.
_SIDEWALK = (200, 226)
_ON_SIDEWALK = ("bench", "fire hydrant", "trash can", "flower", "tree", "bush", "traffic light")
# Kinds that stand on the ground only in some locations, such as an umbrella in the sand, or flowers.
_STANDS_IN = {
    "umbrella": ("beach",),
    "flower": ("park", "farm", "street"),
    "bottle": ("park", "beach", "farm"),
}
# How common a kind is, relative to other kinds in its locations.
_POPULARITY = {
    "chair": 2.0,
    "shelf": 0.5,
    "cabinet": 0.6,
    "bottle": 0.6,
    "bird": 0.7,
    "cup": 1.5,
    "plate": 1.5,
    "pizza": 1.3,
    "cake": 1.3,
    "laptop": 1.4,
    "lamp": 1.4,
    "car": 1.5,
}

# Kind -> kinds of supporters, the most common first. Kinds without an entry that may be on top of an object
# stand on tables.
SUPPORTERS: dict[str, tuple[str, ...]] = {
    "cup": ("table", "bench", "shelf", "cabinet"),
    "plate": ("table", "stove"),
    "bowl": ("table", "cabinet", "stove", "shelf"),
    "bottle": ("table", "bench", "box", "cabinet", "shelf"),
    "vase": ("table", "cabinet", "shelf"),
    "basket": ("table", "bench", "box", "bed"),
    "box": ("table", "bench", "cabinet", "bed"),
    "backpack": ("bed", "couch", "bench", "chair"),
    "apple": ("table", "plate", "box", "bench", "cabinet"),
    "banana": ("table", "plate", "box", "bench", "shelf"),
    "pear": ("table", "plate", "box", "bench", "cabinet"),
    "pizza": ("table", "plate", "stove", "bench"),
    "cake": ("table", "plate", "bench"),
    "sandwich": ("table", "plate", "bench", "cabinet"),
    "hat": ("chair", "bed", "bench", "box", "couch", "cabinet"),
    "ball": ("box", "bed", "couch", "chair"),
    "teddy bear": ("bed", "couch", "chair", "bench"),
    "book": ("table", "shelf", "bed", "couch", "bench", "chair"),
    "lamp": ("table", "cabinet", "shelf"),
    "television": ("cabinet", "shelf", "table"),
    "laptop": ("table", "bed", "couch", "cabinet"),
    "clock": ("cabinet", "shelf", "table"),
    "telephone": ("table", "cabinet", "shelf"),
    "cat": ("couch", "bed", "chair", "bench", "table"),
    "bird": ("bench", "box", "table"),
}
CONTAINERS: dict[str, tuple[str, ...]] = {
    "apple": ("bowl", "basket", "box"),
    "banana": ("bowl", "basket", "box"),
    "pear": ("bowl", "basket", "box"),
    "flower": ("vase",),
}
# Kinds that occur at most once in a scene.
UNIQUE_KINDS = ("stove", "refrigerator", "television", "traffic light")
UNDER_TABLES = ("ball", "cat", "box", "basket", "backpack", "dog")
# Kinds of seats that are large enough not to be hidden by a sitting person.
SEATS = ("couch", "bench", "bed")


@dataclass(frozen=True, slots=True)
class SampledAppearance:
    """The appearance of one object, and its natural width and height in pixels before perspective."""

    color: str | None
    material: str | None
    pattern: str | None
    size: str | None
    state: str | None
    pose: str | None
    age: str | None
    width: float
    height: float


def sample_appearance(
    rng: np.random.Generator, kind: ObjectKind, rests: str, pose: str | None = None
) -> SampledAppearance:
    """Sample the appearance of an object of this kind. The pose can be given.

    Held objects are never large.
    """
    color = (
        choose_skewed(rng, _colors(kind), _STRONG_SKEW.get(kind.name, _COLOR_SKEW)) if kind.colors else None
    )
    material = None
    if len(kind.materials) > 1:
        material = choose_skewed(rng, kind.materials, 0.7)
    elif kind.materials and rng.random() < 0.35:
        material = kind.materials[0]
    pattern = None
    if kind.is_patternable and material not in _PLAIN_MATERIALS and rng.random() < _PATTERN_ODDS:
        pattern = choose_by_odds(rng, PATTERNS, (0.5, 0.3, 0.2))
    state = None
    if kind.state:
        state = STATES[kind.state][int(rng.random() >= _STATE_ODDS.get(kind.name, 0.5))]
    if kind.poses and pose is None:
        pose = choose_skewed(rng, kind.poses, 0.5)
    age = choose_skewed(rng, kind.ages, 0.7) if kind.ages else None
    wide, tall = APPEARANCE_SCALE.get((kind.name, pose or state or ""), (1.0, 1.0))
    width, height = kind.size[0] * wide, kind.size[1] * tall
    sizes = ["small", None, "large"] if kind.has_size else [None]
    odds = list(_SIZE_ODDS) if kind.has_size else [1.0]
    factor = _BIG_SIZE_FACTOR if kind.size[0] * kind.size[1] > _LARGE_AREA else _SIZE_FACTOR
    if kind.has_size and width * height * factor["small"] ** 2 < MIN_OBJECT_AREA:
        sizes, odds = [None, "large"], [0.7, 0.3]
    if rests == "hand":
        sizes, odds = [None], [1.0]
    size = choose_by_odds(rng, sizes, odds)
    return SampledAppearance(
        color, material, pattern, size, state, pose, age, width * factor[size], height * factor[size]
    )


def get_depth_range(kind: ObjectKind, place: str) -> tuple[int, int] | None:
    """Return the range of lower edges of a kind on the floor of a location; None if the kind does not stand
    there.
    """
    if "floor" not in kind.placements or place not in _STANDS_IN.get(kind.name, (place,)):
        return None
    if place == "street" and kind.name in _ON_SIDEWALK:
        return _SIDEWALK
    return _DEPTHS.get(kind.name, _USUAL_DEPTH)


def get_popularity(kind: ObjectKind) -> float:
    """Return how common a kind is. Kinds that have few locations are more common in these locations."""
    return _POPULARITY.get(kind.name, 1.0) * len(kind.locations) ** -0.7


def is_distinguishable(kind: ObjectKind, look: SampledAppearance, others: Iterable[PlacedObject]) -> bool:
    """Return whether an object differs from existing objects of its kind in a way that can be described in
    words.

    The objects must differ in color if the kind has colors, else in size, pose or age.
    """
    for other in others:
        if other.kind != kind.name:
            continue
        if kind.colors:
            if look.color == other.color or frozenset((look.color, other.color)) in _SIMILAR_COLORS:
                return False
        elif kind.category == "person":
            if (look.pose, look.age) == (other.pose, other.age):
                return False
        elif {look.size, other.size} != {"small", "large"}:
            return False
    return True


@cache
def _colors(kind: ObjectKind) -> tuple[str, ...]:
    usual = _USUAL_COLORS.get(kind.name, ())
    return tuple(dict.fromkeys([*usual, *(kind.colors or ())]))
