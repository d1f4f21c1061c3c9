"""Draws things and scenes of the sample world: as SVG, and as pixels.

    thing_svg     one thing, filling its box
    scene_svg     a whole scene: the background, then the things back to front
    render        a scene as pixels
    render_thing  one thing alone as pixels, on a neutral ground

The same input gives the same bytes; no text is drawn, so no fonts are needed.
"""

from __future__ import annotations

import io
import math
import zlib
from functools import lru_cache

import numpy as np
import resvg_py
from PIL import Image

from research.synthetic_world import ontology
from research.synthetic_world.drawings import DRAWINGS
from research.synthetic_world.drawings.appearance import Look
from research.synthetic_world.drawings.people import COMPLEXIONS
from research.synthetic_world.drawings.svg_shapes import number, tones
from research.synthetic_world.drawings.textures import definitions
from research.synthetic_world.indoor_backgrounds import room
from research.synthetic_world.outdoor_backgrounds import landscape
from research.synthetic_world.scene_types import HEIGHT, LOOK_SCALE, WIDTH, PlacedThing, World

NATURAL = "#8a8f96"  # tones given to kinds that have no colour of their own to choose
FINE = 62  # things at most this wide or tall at middle size get narrow stripes, small dots, fine grain


def thing_svg(thing: PlacedThing) -> str:
    """One thing as an SVG group that fills `thing.box`, mirrored left to right if it says so.

    Raises:
        ValueError: its kind does not exist or has no such look; all that is wrong is listed.
    """
    _check(thing)
    x, y, w, h = thing.box
    wide, tall = _frame(thing)
    left, scale = (x + w, -w / wide) if thing.mirrored else (x, w / wide)
    return (
        f'<g transform="translate({number(left)} {number(y)}) scale({scale:.4f} {h / tall:.4f})">'
        f"{_drawn(thing.kind, _look(thing))}</g>"
    )


def scene_svg(world: World) -> str:
    """A whole scene as an SVG document of WIDTH x HEIGHT.

    Raises:
        ValueError: the place, the weather or a thing is not of the ontology.
    """
    _check_place(world)
    return _document(
        _background(world.place, world.weather) + "".join(map(thing_svg, world.things)), 0, 0, WIDTH, HEIGHT
    )


def render(world: World, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """A scene as pixels: uint8 [height, width, 3], red green blue.

    The same picture as `scene_svg` shows to within rounding, but each background is drawn only once.
    """
    _check_place(world)
    behind = _backdrop(world.place, world.weather, width, height)
    svg = _document("".join(map(thing_svg, world.things)), 0, 0, WIDTH, HEIGHT)
    things = _pixels(svg, width, height).astype(np.uint16)
    opacity = things[:, :, 3:]
    return ((things[:, :, :3] * opacity + behind * (255 - opacity) + 127) // 255).astype(np.uint8)


def render_thing(thing: PlacedThing, size: int, ground: str = "#e9edf0") -> np.ndarray:
    """One thing alone in a square picture on a plain ground: uint8 [size, size, 3]."""
    x, y, w, h = thing.box
    side = 1.08 * max(w, h)
    svg = _document(
        f'<path d="M-9999 -9999H9999V9999H-9999Z" fill="{ground}"/>' + thing_svg(thing),
        x - (side - w) / 2,
        y - (side - h) / 2,
        side,
        side,
    )
    return _pixels(svg, size, size)[:, :, :3]


def natural_size(kind: str, look: str | None = None) -> tuple[float, float]:
    """Width and height of a middle-sized thing in the pose or state `look`, in pixels."""
    w, h = ontology.BY_NAME[kind].size
    across, upward = LOOK_SCALE.get((kind, look or ""), (1.0, 1.0))
    return w * across, h * upward


@lru_cache(maxsize=8192)  # more than the different looks there are, people's hair and skin included
def _drawn(kind: str, look: Look) -> str:
    body = DRAWINGS[kind](look)
    return definitions(body) + body


def _background(place: str, weather: str) -> str:
    return landscape(place, weather) if weather else room(place)


@lru_cache(maxsize=64)
def _backdrop(place: str, weather: str, width: int, height: int) -> np.ndarray:
    pixels = _pixels(_document(_background(place, weather), 0, 0, WIDTH, HEIGHT), width, height)[:, :, :3]
    pixels.setflags(write=False)
    return pixels


def _frame(thing: PlacedThing) -> tuple[float, float]:
    """Width and height of what its drawing fills, before it is scaled to the thing's box."""
    if ontology.BY_NAME[thing.kind].category == "person":  # all are drawn in a grown man's frame
        return natural_size("man", thing.pose)
    return (46.0, 30.0) if _seated(thing) else natural_size(thing.kind, thing.pose or thing.state)


def _seated(thing: PlacedThing) -> bool:
    """Jeans in a box wider than tall are on a person who sits."""
    return thing.kind == "jeans" and thing.box[2] > thing.box[3]


def _look(thing: PlacedThing) -> Look:
    person = ontology.BY_NAME[thing.kind].category == "person"
    return Look(
        name=thing.color or "",
        tones=tones(ontology.COLORS[thing.color] if thing.color else NATURAL),
        material=thing.material,
        pattern=thing.pattern,
        state=thing.state,
        pose=thing.pose,
        age=thing.age,
        variety=zlib.crc32(thing.object_id.encode()) % len(COMPLEXIONS) if person else 0,
        fine=min(_frame(thing)) <= FINE,
        seated=_seated(thing),
        flying=thing.rests == "sky",
    )


def _check_place(world: World) -> None:
    if world.place not in ontology.PLACES:
        raise ValueError(f"{world.picture_id}: place {world.place!r} is none of {', '.join(ontology.PLACES)}")
    allowed = ("",) if world.place in ontology.INDOORS else ontology.WEATHERS
    if world.weather not in allowed:
        raise ValueError(
            f"{world.picture_id}: weather {world.weather!r} in the {world.place}; "
            f"allowed: {', '.join(map(repr, allowed))}"
        )


def _check(thing: PlacedThing) -> None:
    """Refuse what the kind does not have: an unseen look would make a false truth."""
    kind = ontology.BY_NAME.get(thing.kind)
    if kind is None:
        raise ValueError(f"thing {thing.object_id}: no kind {thing.kind!r}")
    wrong = []
    for name, value, known in (
        ("color", thing.color, kind.colors or (None,)),
        ("material", thing.material, (None, *kind.materials)),
        ("pattern", thing.pattern, (None, *(ontology.PATTERNS if kind.patterned else ()))),
        ("state", thing.state, ontology.STATES.get(kind.state, (None,))),
        ("pose", thing.pose, kind.poses or (None,)),
        ("age", thing.age, (None, *kind.ages)),
    ):
        if value not in known:
            wrong.append(f"{name} {value!r} is none of {known}")
    if len(thing.box) != 4 or not all(math.isfinite(value) for value in thing.box) or min(thing.box[2:]) <= 0:
        wrong.append(f"box {thing.box} is not x, y, width, height with a positive size")
    if wrong:
        raise ValueError(f"thing {thing.object_id}, {thing.kind}: {'; '.join(wrong)}")


def _document(body: str, x: float, y: float, w: float, h: float) -> str:
    view = " ".join(map(number, (x, y, w, h)))
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}">{body}</svg>'


def _pixels(svg: str, width: int, height: int) -> np.ndarray:
    if width < 1 or height < 1:
        raise ValueError(f"a picture of {width} x {height} pixels; both must be at least 1")
    data = resvg_py.svg_to_bytes(svg_string=svg, width=width, height=height, skip_system_fonts=True)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))
