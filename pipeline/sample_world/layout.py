"""Where things stand: boxes that are plausible, inside the picture, and not hidden by one another.

Perspective: what stands on the floor is the nearer the lower its lower edge is, and the nearer the larger.
Things that belong together (a table and what is on it, a person with clothes and what they hold) are painted
together, in the order of their depth.
"""

from __future__ import annotations

import numpy as np

from pipeline.sample_world.habits import Look
from pipeline.sample_world.world import ANCHORS, HEIGHT, HORIZON, RIMS, SURFACES, WIDTH, Thing

Box = tuple[float, float, float, float]

MARGIN = 4  # pixels that stay free along the picture's border
MOST_HIDDEN = 0.45  # of a thing's box, counted as the sum over all that covers it; the promise is 0.5
MOST_HIDDEN_CLOTHES = 0.25
NEVER_HIDDEN = 2000  # square pixels; smaller things are never covered
SUN = (325.0, 0.0, 123.0, 100.0)  # where the sun is drawn; nothing flies there
LEAST_STEP = 14  # pixels of depth between two things of which one covers the other
_HELD_AT = {"umbrella": (0.5, 0.93), "teddy bear": (0.5, 0.3)}  # the point of a held thing that lies in the hand


def perspective(base: float) -> float:
    """Size factor of a thing whose lower edge is at y = `base` on the floor: 0.84 at the wall, 1.06 in front."""
    return 0.84 + 0.22 * (base - HORIZON) / (HEIGHT - HORIZON)


def overlap(first: Box, second: Box) -> float:
    """Square pixels common to two boxes."""
    wide = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    tall = min(first[1] + first[3], second[1] + second[3]) - max(first[1], second[1])
    return max(wide, 0.0) * max(tall, 0.0)


def covered(back: Box, front: Box) -> float:
    """Fraction of box `back` that box `front` covers."""
    return overlap(back, front) / (back[2] * back[3])


def inside_picture(box: Box, margin: float = MARGIN) -> bool:
    x, y, w, h = box
    return x >= margin and y >= margin and x + w <= WIDTH - margin and y + h <= HEIGHT - margin


def floor_box(rng: np.random.Generator, look: Look, depths: tuple[int, int]) -> Box | None:
    """A box on the floor with its lower edge within `depths`; None when it would not fit into the picture."""
    base = float(rng.uniform(*depths))
    width, height = look.width * perspective(base), look.height * perspective(base)
    if width > WIDTH - 2 * MARGIN or base - height < MARGIN:
        return None
    return (float(rng.uniform(MARGIN, WIDTH - MARGIN - width)), base - height, width, height)


def wall_box(rng: np.random.Generator, look: Look, lowest: float) -> Box | None:
    """A box on the wall (or in the sky) with its lower edge above y = `lowest`."""
    width, height = look.width * 0.9, look.height * 0.9
    if height > lowest - 12:
        return None
    return (float(rng.uniform(MARGIN, WIDTH - MARGIN - width)), float(rng.uniform(12, lowest - height)), width, height)


def top_box(rng: np.random.Generator, look: Look, host: Thing, scale: float, board: int) -> Box | None:
    """A box that stands on surface `board` of `host`; None when the surface is too short or the board above too low."""
    left, right, y = SURFACES[host.kind][board]
    x0, x1 = host.box[0] + left * host.box[2], host.box[0] + right * host.box[2]
    width, height = look.width * scale, look.height * scale
    base = host.box[1] + y * host.box[3]
    if width > x1 - x0 or base - height < MARGIN:
        return None
    if board > 0 and height > (y - SURFACES[host.kind][board - 1][2]) * host.box[3] - 4:
        return None
    return (float(rng.uniform(x0, x1 - width)), base - height, width, height)


def inside_box(rng: np.random.Generator, look: Look, host: Thing, scale: float) -> Box | None:
    """A box of what is in `host`: it stands in the opening, on the front rim; stems go down into a vase."""
    left, right, y = RIMS[host.kind]
    x0, x1 = host.box[0] + left * host.box[2], host.box[0] + right * host.box[2]
    width, height = look.width * scale, look.height * scale
    sunk = 0.4 * height if host.kind == "vase" else 0.0
    if (width > x1 - x0 and host.kind != "vase") or width > host.box[2] or sunk > (1 - y) * host.box[3]:
        return None
    x = float(rng.uniform(x0, x1 - width)) if width <= x1 - x0 else (x0 + x1 - width) / 2
    return (x, host.box[1] + y * host.box[3] - height + sunk, width, height)


def under_box(rng: np.random.Generator, look: Look, host: Thing, scale: float) -> Box | None:
    """A box on the floor under `host`'s top, between its legs."""
    x, y, w, h = host.box
    width, height = look.width * scale, look.height * scale
    if width > 0.6 * w or height > 0.62 * h:
        return None
    base = y + h - float(rng.uniform(2, 6))
    return (float(rng.uniform(x + 0.16 * w, x + 0.84 * w - width)), base - height, width, height)


def seat_box(rng: np.random.Generator, look: Look, host: Thing, scale: float) -> Box | None:
    """A box of a person who sits on `host`: the seat is at the top of the person's legs."""
    left, right, y = SURFACES[host.kind][0]
    x0, x1 = host.box[0] + left * host.box[2], host.box[0] + right * host.box[2]
    width, height = look.width * scale, look.height * scale
    if width > x1 - x0:
        return None
    top = host.box[1] + y * host.box[3] - ANCHORS["sitting"]["legs"][1] * height
    return (float(rng.uniform(x0, x1 - width)), top, width, height)


def held_box(look: Look, kind: str, person: Thing, side: str, scale: float) -> Box:
    """A box of a thing in the person's "left" or "right" hand (as seen)."""
    hand = ANCHORS[person.pose or "standing"][f"{side} hand"]
    at = _HELD_AT.get(kind, (0.5, 0.5))
    width, height = look.width * scale, look.height * scale
    return (person.box[0] + hand[0] * person.box[2] - at[0] * width,
            person.box[1] + hand[1] * person.box[3] - at[1] * height, width, height)


def worn_box(part: str, person: Thing) -> Box:
    """The box of clothes on `part` ("hat", "body", "legs") of a person."""
    x, y, w, h = ANCHORS[person.pose or "standing"][part]
    return (person.box[0] + x * person.box[2], person.box[1] + y * person.box[3], w * person.box[2], h * person.box[3])


def family(thing: Thing, by_id: dict[str, Thing]) -> list[str]:
    """Ids of the thing and of what carries it, directly or not: [apple, plate, table]."""
    chain = [thing.object_id]
    while by_id[chain[-1]].host:
        chain.append(by_id[chain[-1]].host)
    return chain


def painted(things: list[Thing]) -> list[Thing]:
    """The things in painting order, back to front: sky, wall, then by depth; what belongs together stays together."""
    carried: dict[str, list[Thing]] = {}
    for thing in things:
        if thing.host:
            carried.setdefault(thing.host, []).append(thing)

    def depth(thing: Thing) -> tuple[float, str]:
        layer = {"sky": -2000.0, "wall": -1000.0}.get(thing.rests, 0.0)
        return (layer + thing.box[1] + thing.box[3], thing.object_id)

    def group(thing: Thing) -> list[Thing]:
        behind, before = [], []
        for other in sorted(carried.get(thing.object_id, ()), key=_carried_order):
            hidden_by_host = other.rests == "floor" or (other.rests == "inside" and thing.kind == "vase") or (
                other.rests == "hand" and other.kind == "umbrella")
            (behind if hidden_by_host else before).extend(group(other))
        return [*behind, thing, *before]

    return [thing for root in sorted((t for t in things if not t.host), key=depth) for thing in group(root)]


def _carried_order(thing: Thing) -> tuple[int, float, str]:
    order = ("floor", "inside", "legs", "body", "head", "top", "hand")
    return (order.index(thing.rests), thing.box[1] + thing.box[3], thing.object_id)


def fits(things: list[Thing]) -> bool:
    """Whether all things can stand in one picture: nothing leaves it, nothing is hidden too much or looks as if it
    belonged to another thing. Clothes do not hide their wearer, nor a container or table what belongs in or under it;
    what a small thing carries may cover it (an apple on a plate), other things may not."""
    if not all(inside_picture(thing.box, 0 if thing.rests == "head" else MARGIN) for thing in things):
        return False
    by_id = {thing.object_id: thing for thing in things}
    families = {thing.object_id: family(thing, by_id) for thing in things}
    order = painted(things)
    for place, back in enumerate(order):
        hidden = by_own = 0.0
        for front in order[place + 1:]:
            share = covered(back.box, front.box)
            if not share:
                continue
            if not _may_meet(back, front, families, by_id):
                return False
            if front.host == back.object_id:
                by_own += share * (front.rests not in ("head", "body", "legs"))
            elif back.host != front.object_id and not _of_one_person(back, front):
                hidden += share
        if hidden > _most_hidden(back) or hidden + by_own > MOST_HIDDEN:
            return False
    roots = [thing for thing in things if not thing.host]
    return not any(_seems_to_stand_on(thing, other, families) for thing in roots for other in things)


def _of_one_person(first: Thing, second: Thing) -> bool:
    """Whether two things are both worn or held by one person."""
    on_person = ("head", "body", "legs", "hand")
    return first.rests in on_person and second.rests in on_person and first.host == second.host


def _may_meet(back: Thing, front: Thing, families: dict[str, list[str]], by_id: dict[str, Thing]) -> bool:
    """Whether the boxes of two things may overlap at all."""
    if back.object_id in families[front.object_id] or front.object_id in families[back.object_id]:
        return True
    if _of_one_person(back, front):
        return True
    roots = by_id[families[back.object_id][-1]], by_id[families[front.object_id][-1]]
    if "sky" in (back.rests, front.rests) or (back.rests, front.rests) == ("wall", "wall"):
        return False
    if roots[0] is roots[1]:  # neighbours on one table, a sitter and the cat beside
        return False
    if "hand" in (back.rests, front.rests):  # else it is not clear who holds it
        other = front if back.rests == "hand" else back
        if any(by_id[member].pose and by_id[member].rests != "hand" and member in families[other.object_id]
               for member in families[other.object_id]):
            return False
    if roots[0].rests == "wall":
        return True
    base = [root.box[1] + root.box[3] for root in roots]
    return base[1] - base[0] >= LEAST_STEP


def _most_hidden(thing: Thing) -> float:
    if thing.rests in ("head", "body", "legs"):
        return MOST_HIDDEN_CLOTHES
    return 0.0 if thing.box[2] * thing.box[3] < NEVER_HIDDEN or thing.rests in ("hand", "inside") else MOST_HIDDEN


def _seems_to_stand_on(thing: Thing, other: Thing, families: dict[str, list[str]]) -> bool:
    """Whether a thing that stands on the floor farther back, or hangs on the wall, ends just where the surface of
    `other` begins, or (on the wall) has its lower edge hidden by it."""
    if other.kind not in SURFACES or thing.object_id in families[other.object_id]:
        return False
    if min(thing.box[0] + thing.box[2], other.box[0] + other.box[2]) <= max(thing.box[0], other.box[0]):
        return False
    base = thing.box[1] + thing.box[3]
    tops = [other.box[1] + y * other.box[3] for _, _, y in SURFACES[other.kind]]
    hangs_behind = thing.rests == "wall" and other.box[1] - 9 < base < other.box[1] + other.box[3]
    return hangs_behind or any(abs(base - top) < 9 for top in tops)
