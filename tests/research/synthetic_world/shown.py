"""Images of single objects: what they cover, which colors they show, how they differ."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from xml.etree import ElementTree

import numpy as np

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS
from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import make_tones
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME, KINDS, PATTERNS, STATES, ObjectKind
from research.synthetic_world.scene_types import PlacedObject, SyntheticScene

# Pixels of the square images compared here. In scenes, objects are 20 to 190 pixels wide.
SIZE = 64
# A color difference (of 255) that is visible on a plain background.
SEEN = 24
GROUND = "#e3efe6"
SHAPES = {"svg", "g", "defs", "path", "rect", "ellipse", "linearGradient", "stop", "pattern"}


def plain(kind: ObjectKind, **looks) -> PlacedObject:
    """Return an object with the first value of each attribute that its kind must have."""
    must = {
        "color": kind.colors[0] if kind.colors else None,
        "material": kind.materials[0] if len(kind.materials) > 1 else None,
        "state": STATES[kind.state][0] if kind.state else None,
        "pose": kind.poses[0] if kind.poses else None,
    } | looks
    size = rendering.compute_natural_size(kind.name, must["pose"] or must["state"])
    return PlacedObject("t", kind.name, (0, 0, *size), "floor", **must)


def variants(kind: ObjectKind) -> list[PlacedObject]:
    """Return the plain object, then one object for each other attribute value that the kind can have."""
    base = plain(kind)
    looks = [{"color": color} for color in (kind.colors or ())[1:]]
    looks += [{"state": STATES[kind.state][1]}] if kind.state else []
    looks += [{"pose": pose} for pose in kind.poses[1:]]
    looks += [{"material": material} for material in kind.materials if material != base.material]
    looks += [{"pattern": pattern} for pattern in PATTERNS if kind.is_patternable]
    looks += [{"age": "old"}] if kind.ages else []
    return [base, *(plain(kind, **look) for look in looks)]


@cache
def image(thing: PlacedObject) -> np.ndarray:
    return rendering.render_object(thing, SIZE, GROUND).astype(int)


def world(*things: PlacedObject, place: str = "office", weather: str = "") -> SyntheticScene:
    return SyntheticScene("p1", "train", place, weather, things)


def away(pixels: np.ndarray, color: str) -> np.ndarray:
    """Return the largest difference of each pixel's red, green and blue from a color."""
    return np.abs(pixels - np.array(list(bytes.fromhex(color[1:])))).max(axis=2)


def kinds_of(module: ModuleType) -> list[ObjectKind]:
    """Return the kinds of the ontology that a module draws."""
    return [kind for kind in KINDS if DRAWINGS[kind.name].__module__ == module.__name__]


def large(name: str, ground: str = GROUND, **looks) -> np.ndarray:
    """Return an image of 200 x 200 of a kind's plain object, with some attributes changed."""
    return rendering.render_object(plain(KIND_BY_NAME[name], **looks), 200, ground).astype(int)


def covers(pixels: np.ndarray, color: str, tolerance: int = 10) -> np.ndarray:
    """Return where an image shows a color, bool [height, width]."""
    return away(pixels, color) <= tolerance


def shows(name: str, hue: str, /, **looks) -> bool:
    """Return whether an object shows a color on more than a few pixels."""
    return bool(covers(large(name, **looks), hue).sum() > 20)


def seen_through(name: str, **looks) -> float:
    """Return the proportion of an object's box where black and white backgrounds differ."""
    white, black = (large(name, ground, **looks) for ground in ("#ffffff", "#000000"))
    kind = plain(KIND_BY_NAME[name], **looks)
    wide, tall = (int(200 / 1.08 * side / max(kind.box[2:])) for side in kind.box[2:])
    box = np.s_[100 - tall // 2 : 100 + tall // 2, 100 - wide // 2 : 100 + wide // 2]
    return float((np.abs(white - black).max(axis=2)[box] > SEEN).mean())


def look_of(color: str = "red", **looks) -> Appearance:
    return Appearance(color, make_tones(COLORS[color]), **looks)


def check_that_it_is_well_formed(kind: ObjectKind) -> None:
    for thing in variants(kind):
        root = ElementTree.fromstring(
            f'<svg xmlns="http://www.w3.org/2000/svg">{rendering.object_to_svg(thing)}</svg>'
        )
        assert {element.tag.split("}")[1] for element in root.iter()} <= SHAPES
        text = ElementTree.tostring(root, encoding="unicode")
        used = {part.split(")")[0] for part in text.split("url(#")[1:]}
        assert used == {element.get("id") for element in root.iter() if element.get("id")}, thing


def check_that_every_look_fills_its_box(kind: ObjectKind):
    for thing in variants(kind):
        marked = away(image(thing), GROUND) > 8
        side = 1.08 * max(thing.box[2:])  # render_object leaves 4 % on each side of the longer edge
        pixel = SIZE / side
        width, height = thing.box[2] * pixel, thing.box[3] * pixel
        rows, columns = np.flatnonzero(marked.any(axis=1)), np.flatnonzero(marked.any(axis=0))
        # Tolerance: one pixel for antialiasing, and 2 % of the image for outlines on the edge of the box.
        slack = 1 + 0.02 * SIZE
        assert rows[0] >= (SIZE - height) / 2 - slack and rows[-1] <= (SIZE + height) / 2 + slack, thing
        assert columns[0] >= (SIZE - width) / 2 - slack and columns[-1] <= (SIZE + width) / 2 + slack, thing
        # Relations (on, next to, behind) are computed from boxes, so the drawing must reach the edges of its box.
        assert rows[-1] - rows[0] >= 0.9 * height - 2 and columns[-1] - columns[0] >= 0.9 * width - 2, thing
        assert marked.sum() >= 0.12 * width * height, thing


def check_that_looks_can_be_told_apart(kind: ObjectKind):
    shown = [image(thing) for thing in variants(kind)]
    things = variants(kind)
    area = [(away(pixels, GROUND) > 8).sum() for pixels in shown]
    for i in range(len(shown)):
        for j in range(i):
            # Grain and gloss of a material are least visible: they must change at least a 30th of the object.
            differs = (np.abs(shown[i] - shown[j]).max(axis=2) > SEEN).sum()
            assert differs >= min(area[i], area[j]) / 30, (things[i], things[j])


def check_that_the_color_said_is_the_color_seen(kind: ObjectKind):
    for color in kind.colors or ():
        thing = plain(kind, color=color, material=None)
        pixels = image(thing)
        drawn = away(pixels, GROUND) > 8
        # Light and shade move a color by up to 0.22 of the way to white or black.
        alike = {name: (drawn & (away(pixels, COLORS[name]) < 56)).sum() for name in COLORS}
        assert alike[color] >= 0.06 * drawn.sum(), (thing, alike)
