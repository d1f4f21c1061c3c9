"""Sample boxes for objects: on the floor, on the wall, in the sky, on or in another object, held or worn.

The scenes have perspective: the lower the lower edge of an object on the floor is, the nearer and larger the
object is. Functions return None if there is no space.
"""

from __future__ import annotations

import numpy as np

from research.synthetic_world.scene_statistics import SampledAppearance
from research.synthetic_world.scene_types import ANCHORS, HEIGHT, HORIZON, RIMS, SURFACES, WIDTH, PlacedObject

# x, y, width, height in pixels.
Box = tuple[float, float, float, float]

# Width of the margin along the border of the image that stays free, in pixels.
MARGIN = 4
# The area of the sun. No object is placed there.
SUN_BOX = (325.0, 0.0, 123.0, 100.0)
# Kind -> the point of a held object that is in the hand, as fractions of the box of the object.
_HELD_AT = {"umbrella": (0.5, 0.93), "teddy bear": (0.5, 0.3)}


def compute_perspective(base: float) -> float:
    """Return the size factor of an object on the floor whose lower edge is at y = `base`: 0.84 at the wall,
    1.06 in front.
    """
    return 0.84 + 0.22 * (base - HORIZON) / (HEIGHT - HORIZON)


def compute_overlap(first: Box, second: Box) -> float:
    """Return the common area of two boxes in square pixels."""
    wide = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    tall = min(first[1] + first[3], second[1] + second[3]) - max(first[1], second[1])
    return max(wide, 0.0) * max(tall, 0.0)


def compute_covered_fraction(back: Box, front: Box) -> float:
    """Return the fraction of box `back` that box `front` covers."""
    return compute_overlap(back, front) / (back[2] * back[3])


def is_inside_image(box: Box, margin: float = MARGIN) -> bool:
    x, y, w, h = box
    return x >= margin and y >= margin and x + w <= WIDTH - margin and y + h <= HEIGHT - margin


def place_on_floor(rng: np.random.Generator, look: SampledAppearance, depths: tuple[int, int]) -> Box | None:
    """Sample a box on the floor whose lower edge is within `depths`.

    Return None if it does not fit into the image.
    """
    base = float(rng.uniform(*depths))
    width, height = look.width * compute_perspective(base), look.height * compute_perspective(base)
    if width > WIDTH - 2 * MARGIN or base - height < MARGIN:
        return None
    return (float(rng.uniform(MARGIN, WIDTH - MARGIN - width)), base - height, width, height)


def place_on_wall(rng: np.random.Generator, look: SampledAppearance, lowest: float) -> Box | None:
    """Sample a box on the wall (or in the sky) with its lower edge above y = `lowest`."""
    width, height = look.width * 0.9, look.height * 0.9
    if height > lowest - 12:
        return None
    x, y = rng.uniform(MARGIN, WIDTH - MARGIN - width), rng.uniform(12, lowest - height)
    return (float(x), float(y), width, height)


def place_on_top(
    rng: np.random.Generator, look: SampledAppearance, host: PlacedObject, scale: float, board: int
) -> Box | None:
    """Sample a box on surface `board` of `host`, if the surface is wide enough and there is enough space
    above it.
    """
    left, right, y = SURFACES[host.kind][board]
    x0, x1 = host.box[0] + left * host.box[2], host.box[0] + right * host.box[2]
    width, height = look.width * scale, look.height * scale
    base = host.box[1] + y * host.box[3]
    if width > x1 - x0 or base - height < MARGIN:
        return None
    if board > 0 and height > (y - SURFACES[host.kind][board - 1][2]) * host.box[3] - 4:
        return None
    return (float(rng.uniform(x0, x1 - width)), base - height, width, height)


def place_inside(
    rng: np.random.Generator, look: SampledAppearance, host: PlacedObject, scale: float
) -> Box | None:
    """Sample a box inside `host`: on the front rim of its opening, or (in a vase) with the stems inside."""
    left, right, y = RIMS[host.kind]
    x0, x1 = host.box[0] + left * host.box[2], host.box[0] + right * host.box[2]
    width, height = look.width * scale, look.height * scale
    sunk = 0.4 * height if host.kind == "vase" else 0.0
    if (width > x1 - x0 and host.kind != "vase") or width > host.box[2] or sunk > (1 - y) * host.box[3]:
        return None
    x = float(rng.uniform(x0, x1 - width)) if width <= x1 - x0 else (x0 + x1 - width) / 2
    return (x, host.box[1] + y * host.box[3] - height + sunk, width, height)


def place_under(
    rng: np.random.Generator, look: SampledAppearance, host: PlacedObject, scale: float
) -> Box | None:
    """Sample a box on the floor under the top of `host`, between the legs of `host`."""
    x, y, w, h = host.box
    width, height = look.width * scale, look.height * scale
    if width > 0.6 * w or height > 0.62 * h:
        return None
    base = y + h - float(rng.uniform(2, 6))
    return (float(rng.uniform(x + 0.16 * w, x + 0.84 * w - width)), base - height, width, height)


def place_on_seat(
    rng: np.random.Generator, look: SampledAppearance, host: PlacedObject, scale: float
) -> Box | None:
    """Sample a box of a person who sits on `host`. The seat is at the top of the person's legs."""
    left, right, y = SURFACES[host.kind][0]
    x0, x1 = host.box[0] + left * host.box[2], host.box[0] + right * host.box[2]
    width, height = look.width * scale, look.height * scale
    if width > x1 - x0:
        return None
    top = host.box[1] + y * host.box[3] - ANCHORS["sitting"]["legs"][1] * height
    return (float(rng.uniform(x0, x1 - width)), top, width, height)


def place_in_hand(look: SampledAppearance, kind: str, person: PlacedObject, side: str, scale: float) -> Box:
    """Return the box of an object in the person's "left" or "right" hand, as seen in the image."""
    hand = ANCHORS[person.pose or "standing"][f"{side} hand"]
    at = _HELD_AT.get(kind, (0.5, 0.5))
    width, height = look.width * scale, look.height * scale
    return (
        person.box[0] + hand[0] * person.box[2] - at[0] * width,
        person.box[1] + hand[1] * person.box[3] - at[1] * height,
        width,
        height,
    )


def place_on_body(part: str, person: PlacedObject) -> Box:
    """Return the box of clothes on `part` ("hat", "body", "legs") of a person."""
    left, top, wide, tall = ANCHORS[person.pose or "standing"][part]
    x, y, w, h = person.box
    return (x + left * w, y + top * h, wide * w, tall * h)
