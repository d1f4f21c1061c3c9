"""Render objects and scenes of the synthetic world, as SVG and as pixels.

    object_to_svg   one object, which fills its box
    scene_to_svg    a whole scene: the background, then the objects back to front
    render_scene    a scene as pixels
    render_object   one object as pixels, on a neutral background

The same input gives the same bytes. No text is drawn, so no fonts are needed.
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
from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.people import COMPLEXIONS
from research.synthetic_world.drawings.svg_shapes import format_number, make_tones
from research.synthetic_world.drawings.textures import build_definitions
from research.synthetic_world.indoor_backgrounds import draw_room
from research.synthetic_world.outdoor_backgrounds import draw_landscape
from research.synthetic_world.scene_types import APPEARANCE_SCALE, HEIGHT, WIDTH, PlacedObject, SyntheticScene

# Color of kinds that have no color attribute.
DEFAULT_COLOR = "#8a8f96"
# Maximum width or height (at middle size) of objects with narrow stripes, small dots and fine grain.
MAX_FINE_DETAIL_SIZE = 62


def object_to_svg(thing: PlacedObject) -> str:
    """Return an object as an SVG group that fills the box of the object.

    Raises:
        ValueError: The kind does not exist, or does not have these attributes. The message lists all faults.
    """
    _check_attributes(thing)
    x, y, w, h = thing.box
    wide, tall = _frame(thing)
    left, scale = (x + w, -w / wide) if thing.is_mirrored else (x, w / wide)
    return (
        f'<g transform="translate({format_number(left)} {format_number(y)}) scale({scale:.4f} {h / tall:.4f})">'
        f"{_draw_object(thing.kind, _get_appearance(thing))}</g>"
    )


def scene_to_svg(world: SyntheticScene) -> str:
    """Return a whole scene as an SVG document of WIDTH x HEIGHT.

    Raises:
        ValueError: The location, the weather or an object is not in the ontology.
    """
    _check_place(world)
    return _document(
        _background(world.location, world.weather) + "".join(map(object_to_svg, world.objects)),
        0,
        0,
        WIDTH,
        HEIGHT,
    )


def render_scene(world: SyntheticScene, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """Render a scene as pixels, uint8 [height, width, 3], in RGB.

    Except for rounding errors, the image equals `scene_to_svg`. It is faster, because each background is
    rendered only once.
    """
    _check_place(world)
    behind = _backdrop(world.location, world.weather, width, height)
    svg = _document("".join(map(object_to_svg, world.objects)), 0, 0, WIDTH, HEIGHT)
    things = _rasterize(svg, width, height).astype(np.uint16)
    opacity = things[:, :, 3:]
    return ((things[:, :, :3] * opacity + behind * (255 - opacity) + 127) // 255).astype(np.uint8)


def render_object(thing: PlacedObject, size: int, ground: str = "#e9edf0") -> np.ndarray:
    """Render one object alone in a square image on a plain background, uint8 [size, size, 3]."""
    x, y, w, h = thing.box
    side = 1.08 * max(w, h)
    svg = _document(
        f'<path d="M-9999 -9999H9999V9999H-9999Z" fill="{ground}"/>' + object_to_svg(thing),
        x - (side - w) / 2,
        y - (side - h) / 2,
        side,
        side,
    )
    return _rasterize(svg, size, size)[:, :, :3]


def compute_natural_size(kind: str, look: str | None = None) -> tuple[float, float]:
    """Return width and height in pixels of a middle-sized object in the pose or state `look`."""
    w, h = ontology.KIND_BY_NAME[kind].size
    across, upward = APPEARANCE_SCALE.get((kind, look or ""), (1.0, 1.0))
    return w * across, h * upward


# The cache size exceeds the number of different appearances, including hair and skin of people.
@lru_cache(maxsize=8192)
def _draw_object(kind: str, look: Appearance) -> str:
    body = DRAWINGS[kind](look)
    return build_definitions(body) + body


def _background(place: str, weather: str) -> str:
    return draw_landscape(place, weather) if weather else draw_room(place)


@lru_cache(maxsize=64)
def _backdrop(place: str, weather: str, width: int, height: int) -> np.ndarray:
    pixels = _rasterize(_document(_background(place, weather), 0, 0, WIDTH, HEIGHT), width, height)[:, :, :3]
    pixels.setflags(write=False)
    return pixels


def _frame(thing: PlacedObject) -> tuple[float, float]:
    """Return width and height of the drawing before it is scaled to the object's box."""
    # All people are drawn in the frame of an adult man.
    if ontology.KIND_BY_NAME[thing.kind].category == "person":
        return compute_natural_size("man", thing.pose)
    return (46.0, 30.0) if _is_seated(thing) else compute_natural_size(thing.kind, thing.pose or thing.state)


def _is_seated(thing: PlacedObject) -> bool:
    """Return whether these are the jeans of a person who sits. Their box is wider than tall."""
    return thing.kind == "jeans" and thing.box[2] > thing.box[3]


def _get_appearance(thing: PlacedObject) -> Appearance:
    person = ontology.KIND_BY_NAME[thing.kind].category == "person"
    return Appearance(
        name=thing.color or "",
        tones=make_tones(ontology.COLORS[thing.color] if thing.color else DEFAULT_COLOR),
        material=thing.material,
        pattern=thing.pattern,
        state=thing.state,
        pose=thing.pose,
        age=thing.age,
        variety=zlib.crc32(thing.object_id.encode()) % len(COMPLEXIONS) if person else 0,
        has_fine_detail=min(_frame(thing)) <= MAX_FINE_DETAIL_SIZE,
        is_seated=_is_seated(thing),
        is_flying=thing.placement == "sky",
    )


def _check_place(world: SyntheticScene) -> None:
    if world.location not in ontology.LOCATIONS:
        raise ValueError(
            f"{world.image_id}: location {world.location!r} is none of {', '.join(ontology.LOCATIONS)}"
        )
    allowed = ("",) if world.location in ontology.INDOORS else ontology.WEATHERS
    if world.weather not in allowed:
        raise ValueError(
            f"{world.image_id}: weather {world.weather!r} in the {world.location}; "
            f"allowed: {', '.join(map(repr, allowed))}"
        )


def _check_attributes(thing: PlacedObject) -> None:
    """Raise ValueError for attributes that the kind does not have: they would be in the truth, but not
    visible.
    """
    kind = ontology.KIND_BY_NAME.get(thing.kind)
    if kind is None:
        raise ValueError(f"object {thing.object_id}: there is no kind {thing.kind!r}")
    wrong = []
    for name, value, known in (
        ("color", thing.color, kind.colors or (None,)),
        ("material", thing.material, (None, *kind.materials)),
        ("pattern", thing.pattern, (None, *(ontology.PATTERNS if kind.is_patternable else ()))),
        ("state", thing.state, ontology.STATES.get(kind.state, (None,))),
        ("pose", thing.pose, kind.poses or (None,)),
        ("age", thing.age, (None, *kind.ages)),
    ):
        if value not in known:
            wrong.append(f"{name} {value!r} is none of {known}")
    if len(thing.box) != 4 or not all(math.isfinite(value) for value in thing.box) or min(thing.box[2:]) <= 0:
        wrong.append(f"box {thing.box} must be x, y, width, height with a positive size")
    if wrong:
        raise ValueError(f"object {thing.object_id}, {thing.kind}: {'; '.join(wrong)}")


def _document(body: str, x: float, y: float, w: float, h: float) -> str:
    view = " ".join(map(format_number, (x, y, w, h)))
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}">{body}</svg>'


def _rasterize(svg: str, width: int, height: int) -> np.ndarray:
    if width < 1 or height < 1:
        raise ValueError(f"an image of {width} x {height} pixels; width and height must be at least 1")
    data = resvg_py.svg_to_bytes(svg_string=svg, width=width, height=height, skip_system_fonts=True)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))
