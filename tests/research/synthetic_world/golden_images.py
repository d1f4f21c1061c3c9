"""Contact sheets of all drawings, one for each family. `python -m tests.research.synthetic_world.golden_images` renews those in golden/.

A kind takes a band of its sheet: the plain object and its states, poses, materials, patterns and ages, then a strip of its other
colors. Sheets are stored with 32 levels of red, green and blue, which halves the files; a change by less than 8 of 255 is not
visible. The PNG says by which version of resvg and on which processor it was drawn.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, heads
from research.synthetic_world.drawings.appearance import Appearance
from research.synthetic_world.drawings.svg_shapes import band, make_tones, rect
from research.synthetic_world.drawings.textures import build_definitions
from research.synthetic_world.ontology import (
    COLORS,
    INDOORS,
    KIND_BY_NAME,
    KINDS,
    MATERIALS,
    OUTDOORS,
    PATTERNS,
    STATES,
    WEATHERS,
    ObjectKind,
)
from research.synthetic_world.scene_types import PlacedObject
from tests.research.synthetic_world.shown import GROUND, plain, variants, world

GOLDEN = Path(__file__).with_name("golden")
COMMAND = "python -m tests.research.synthetic_world.golden_images"
# Widths in pixels of an object, of an object in another color, and of a background.
LARGE, SMALL, WIDE = 56, 24, 112
# Distance between levels of red, green and blue.
STEP = 8
GROUND_COLOR = tuple(bytes.fromhex(GROUND[1:]))

# Families of the modules in `research.synthetic_world.drawings`.
MODULES = {
    "animals": ("animals", "farm_animals", "pets"),
    "appliances": ("appliances", "devices"),
    "containers": ("containers",),
    "dishes": ("dishes",),
    "food": ("food",),
    "furniture": ("furniture",),
    "outdoors": ("outdoors",),
    "people": ("people",),
    "toys": ("toys",),
    "vehicles": ("vehicles",),
    "walls": ("wall_objects",),
    "wearables": ("wearables",),
}


class Cell(NamedTuple):
    """One image of a sheet: what it shows, and its pixels, uint8 [height, width, 3]."""

    label: str
    pixels: np.ndarray


class Sheet(NamedTuple):
    """A sheet: pixels, uint8 [height, width, 3], and for each label its (top, bottom, left, right)."""

    pixels: np.ndarray
    places: dict[str, tuple[int, int, int, int]]


def draw_objects(things: list[PlacedObject], size: int) -> list[Cell]:
    return [Cell(describe(thing), rendering.render_object(thing, size, GROUND)) for thing in things]


def describe(thing: PlacedObject) -> str:
    looks = (thing.color, thing.material, thing.pattern, thing.state, thing.pose, thing.age, thing.placement)
    names = [thing.object_id] if thing.object_id != plain(KIND_BY_NAME[thing.kind]).object_id else []
    return " ".join([thing.kind, *(look for look in looks if look), *names])


def draw_kind(kind: ObjectKind) -> Iterator[list[Cell]]:
    """Draw a kind: a row of what it looks like, and a row of its other colors and of other people."""
    base, *others = variants(kind)
    colors = [thing for thing in others if thing.color != base.color]
    looks = [base, *(thing for thing in others if thing.color == base.color)]
    if kind.state:
        second = STATES[kind.state][1]
        looks += [plain(kind, state=second, material=material) for material in kind.materials[1:]]
        looks += [plain(kind, state=second, pattern="striped")] if kind.is_patternable else []
    if kind.name == "bird":
        looks.append(replace(base, placement="sky"))
    if kind.name == "jeans":
        looks.append(replace(base, box=(0, 0, 46, 30), object_id="seated"))
    if kind.category == "person":
        looks += [plain(kind, pose=pose, age=age) for pose in kind.poses[1:] for age in kind.ages[1:]]
        # The ids of objects choose hair and skin.
        colors = [replace(base, object_id=f"person {number}") for number in range(12)]
    yield draw_objects(looks, LARGE)
    if colors:
        yield draw_objects(colors, SMALL)


def draw_family(family: str) -> list[list[Cell]]:
    """Draw all objects of a family, as rows of cells."""
    modules = MODULES[family]
    kinds = [kind for kind in KINDS if DRAWINGS[kind.name].__module__.rsplit(".", 1)[1] in modules]
    rows = [row for kind in kinds for row in draw_kind(kind)]
    return rows + ([draw_heads()] if family == "people" else [])


def draw_heads() -> list[Cell]:
    hues = heads.Hues("#f6cfae", "#6f5d4e", "#6b4426", "#301e11")
    cells = []
    for age in ("child", "young", "old"):
        for is_female in (False, True):
            behind, before = heads.draw_head(age, is_female, hues)
            svg = f'<path d="M-30 -30H30V30H-30Z" fill="{GROUND}"/>' + behind + before
            pixels = rendering._rasterize(rendering._document(svg, -25, -25, 50, 50), LARGE, LARGE)
            cells.append(Cell(f"head {age} {'female' if is_female else 'male'}", pixels[:, :, :3]))
    return cells


def draw_surfaces() -> list[list[Cell]]:
    """Draw all materials and patterns, in fine and wide grain, on three colors that take different patterns."""
    looks = [{"material": material} for material in (None, *MATERIALS)]
    looks += [{"pattern": pattern} for pattern in PATTERNS]
    return [
        [
            Cell(f"{color} {' '.join(filter(None, look.values()))} {grain}", draw_surface(color, grain, look))
            for look in looks
        ]
        for color in ("red", "white", "yellow")
        for grain in ("fine", "wide", "upright")
    ]


def draw_surface(color: str, grain: str, look: dict[str, str | None]) -> np.ndarray:
    shape = rect(14, 2, 20, 44) if grain == "upright" else rect(2, 2, 44, 44)
    appearance = Appearance(color, make_tones(COLORS[color]), has_fine_detail=grain == "fine", **look)
    part = appearance.draw_part(shape)
    svg = rendering._document(band(0, 48, GROUND) + build_definitions(part) + part, 0, 0, 48, 48)
    return rendering._rasterize(svg, SMALL, SMALL)[:, :, :3]


def draw_places() -> list[list[Cell]]:
    """Draw the backgrounds: a row of interiors, then a row for each landscape in all weathers."""

    def draw(place: str, weather: str) -> Cell:
        pixels = rendering.render_scene(world(place=place, weather=weather), WIDE, WIDE * 3 // 4)
        return Cell(f"{place} {weather}", pixels)

    return [
        [draw(place, "") for place in INDOORS],
        *([draw(place, weather) for weather in WEATHERS] for place in OUTDOORS),
    ]


FAMILIES: dict[str, Callable[[], list[list[Cell]]]] = {
    **{family: lambda family=family: draw_family(family) for family in MODULES},
    "surfaces": draw_surfaces,
    "places": draw_places,
}


def make_sheet(family: str) -> Sheet:
    """Draw a family on a sheet, row below row, with rounded colors."""
    rows = FAMILIES[family]()
    edges = np.cumsum([0, *(max(len(cell.pixels) for cell in row) for row in rows)]).tolist()
    width = max(sum(cell.pixels.shape[1] for cell in row) for row in rows)
    pixels = np.full((edges[-1], width, 3), GROUND_COLOR, np.uint8)
    places = {}
    for row, (top, _) in zip(rows, pairwise(edges), strict=True):
        left = 0
        for label, drawn in row:
            height, across = drawn.shape[:2]
            if label in places:
                raise ValueError(f"{family}: {label!r} is drawn twice")
            places[label] = (top, top + height, left, left + across)
            pixels[top : top + height, left : left + across] = drawn
            left += across
    return Sheet(pixels // STEP * STEP, places)


def describe_renderer() -> str:
    """Return what the last bits of pixels depend on: the version of resvg, and the kind of processor."""
    return f"resvg_py {version('resvg_py')} on {platform.machine()}"


def read_golden(family: str) -> tuple[np.ndarray, str]:
    """Return the pixels of a stored sheet, int [height, width, 3], and by what it was drawn."""
    with Image.open(GOLDEN / f"{family}.png") as image:
        return np.asarray(image.convert("RGB")).astype(int), image.info["Software"]


def write_golden(family: str) -> None:
    info = PngInfo()
    info.add_text("Software", describe_renderer())
    path = GOLDEN / f"{family}.png"
    Image.fromarray(make_sheet(family).pixels).save(path, optimize=True, pnginfo=info)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.png"):
        path.unlink()
    for family in FAMILIES:
        write_golden(family)


if __name__ == "__main__":
    main()
