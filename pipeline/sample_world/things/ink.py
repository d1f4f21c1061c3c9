"""How anything is drawn: shapes, the tones of a colour, and the looks of materials and patterns, as SVG text.

A drawing is a string of SVG elements in a frame of its own, in pixels of a picture 448 wide. Outlines of
rectangles and ovals are drawn as a darker shape below a smaller one, because a fill costs the renderer a fifth of
a stroke. Materials and patterns are overlays of white and black, so that they need no colour of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from pipeline.sample_world.ontology import COLORS

LINE = 1.1  # width of an outline in pixels
SKY = "#cfe6f5"
DARK = "#33343a"
METAL = "#aeb4ba"
GOLD = "#e3b341"
INKS = {"white": "deep", "yellow": "gold"}  # what patterns are drawn in; white on all other colours


class Shape(NamedTuple):
    """The geometry of an element without its fill; `outer` is the same, larger by an outline, where that is simple."""

    inner: str
    outer: str | None = None
    tall: bool = False  # the grain of wood runs upwards


def number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def rect(x: float, y: float, w: float, h: float, r: float = 0) -> Shape:
    """A rectangle with corners rounded by `r`."""
    def geometry(by: float) -> str:
        rounded = f' rx="{number(max(r + by, 0))}"' if r else ""
        return (f'rect x="{number(x - by)}" y="{number(y - by)}" width="{number(w + 2 * by)}" '
                f'height="{number(h + 2 * by)}"{rounded}')
    inset = 0.2 if min(w, h) > 1 else 0
    return Shape(geometry(-inset), geometry(LINE - inset), h > 1.6 * w)


def oval(cx: float, cy: float, rx: float, ry: float | None = None) -> Shape:
    """An ellipse, a circle if only one radius is given."""
    ry = rx if ry is None else ry
    def geometry(by: float) -> str:
        return f'ellipse cx="{number(cx)}" cy="{number(cy)}" rx="{number(rx + by)}" ry="{number(ry + by)}"'
    return Shape(geometry(-0.2), geometry(LINE - 0.2)) if min(rx, ry) > 0.6 else Shape(geometry(0), geometry(LINE))


def path(d: str) -> Shape:
    return Shape(f'path d="{d}"')


def poly(*points: float) -> Shape:
    """A closed polygon: x and y of its corners in turn."""
    return path("M" + " ".join(number(value) for value in points) + "Z")


def fill(shape: Shape, color: str, line: str | None = None, opacity: float = 1) -> str:
    """A shape filled with a colour, with an outline if `line` names one."""
    seen = f' fill-opacity="{number(opacity)}"' if opacity < 1 else ""
    if line is None:
        return f'<{shape.inner} fill="{color}"{seen}/>'
    if shape.outer and opacity == 1:
        return f'<{shape.outer} fill="{line}"/><{shape.inner} fill="{color}"/>'
    return f'<{shape.inner} fill="{color}"{seen} stroke="{line}" stroke-width="{LINE}" stroke-linejoin="round"/>'


def stroke(d: str, color: str, width: float = LINE, opacity: float = 1) -> str:
    """An open line with round ends."""
    seen = f' stroke-opacity="{number(opacity)}"' if opacity < 1 else ""
    return (f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{number(width)}" stroke-linecap="round" '
            f'stroke-linejoin="round"{seen}/>')


def limb(d: str, color: str, line: str, width: float) -> str:
    """A thick line with an outline: an arm, a tail, a handle."""
    return stroke(d, line, width + 2 * LINE) + stroke(d, color, width)


def mix(color: str, other: str, share: float) -> str:
    """`color` with a share (0 to 1) of `other`."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


class Tones(NamedTuple):
    """A colour, a lighter and a darker tone of it for shading, and the tone of its outlines."""

    base: str
    light: str
    dark: str
    line: str


@cache
def tones(color: str) -> Tones:
    """Tones of a colour given as #rrggbb. White is shaded with cool grays, black is lit with them."""
    if color == COLORS["white"]:
        return Tones(color, "#ffffff", "#d8dade", "#8b8f98")
    if color == COLORS["black"]:
        return Tones(color, "#55575e", "#17171a", "#0c0c0e")
    return Tones(color, mix(color, "#ffffff", 0.35), mix(color, "#000000", 0.22), mix(color, "#000000", 0.5))


@dataclass(frozen=True, slots=True)
class Look:
    """What a drawing is told of its thing: its tones, its other looks, and a number for harmless variety.

    `frame` is the width and height to draw in; `fine` asks for narrow patterns and grain, for small things; `wide`
    says that the box is wider than tall, `flying` that nothing is under it.
    """

    name: str | None
    tones: Tones
    material: str | None = None
    pattern: str | None = None
    state: str | None = None
    pose: str | None = None
    age: str | None = None
    variety: int = 0
    frame: tuple[float, float] = (1, 1)
    fine: bool = False
    wide: bool = False
    flying: bool = False

    def part(self, shape: Shape, tone: str = "base", cover: bool = True) -> str:
        """A part in the thing's colour; `cover` lays its pattern and the look of its material over it."""
        color = getattr(self.tones, tone)
        if self.material == "glass":
            drawn = fill(shape, color, self.tones.line, 0.5)
        elif cover and not self.pattern and self.material in (None, "metal", "plastic"):
            return fill(shape, f"url(#{self._gloss}.{color[1:]})", self.tones.line)
        else:
            drawn = fill(shape, color, self.tones.line)
        if not cover:
            return drawn
        grain = "fine" if self.fine else "wide"
        if self.pattern:
            drawn += f'<{shape.inner} fill="url(#{self.pattern}-{grain}-{INKS.get(self.name, "pale")})"/>'
        overlay = f"{self.material}-{grain}" if self.material in ("wood", "leather", "stone") else self._gloss
        if self.material == "wood" and shape.tall:
            overlay += "-up"
        return drawn + f'<{shape.inner} fill="url(#{overlay})"/>'

    @property
    def _gloss(self) -> str:
        """The gradient that lights this thing."""
        light = self.material or "soft"
        return f"{light}-white" if self.name == "white" and light in ("soft", "metal", "plastic") else light

    def plain(self, shape: Shape, tone: str = "base") -> str:
        """A part in the thing's colour without pattern or material."""
        return self.part(shape, tone, cover=False)


# How light falls on a surface: stops "offset white|black opacity". As an overlay, or mixed into a colour beforehand.
LIGHTS = {
    "soft": "0 w .22, .4 w 0, .6 k 0, 1 k .16",
    "soft-white": "0 w .5, .5 k 0, 1 k .08",
    "metal": "0 k .18, .14 w .15, .26 w .75, .36 w .1, .55 k .3, .72 k .05, .84 w .5, 1 k .25",
    "metal-white": "0 k .1, .12 k .02, .24 w 1, .36 k .04, .46 k .3, .54 k .06, .66 w 1, .8 k .02, .9 k .2, 1 k .06",
    "plastic": "0 w .06, .15 w .06, .155 w .85, .27 w .85, .275 w .1, .32 w .1, .325 w .55, .35 w .55, .355 w 0, .8 k 0, 1 k .12",
    "plastic-white": "0 k .1, .15 k .1, .155 w 1, .27 w 1, .275 k .2, .32 k .2, .325 w 1, .35 w 1, .355 k .04, .8 k .03, 1 k .14",
    "glass": "0 w .25, .2 w .25, .201 w .9, .34 w .9, .341 w .15, .42 w .15, .421 w .7, .47 w .7, .471 w .1, 1 k .05",
}


@cache
def _gradient(name: str) -> str:
    """The gradient `light` (an overlay) or `light.rrggbb` (that light on that colour)."""
    light, _, color = name.partition(".")
    body = ""
    for stop in LIGHTS[light].split(","):
        offset, kind, opacity = stop.split()
        source = "#ffffff" if kind == "w" else "#000000"
        if color:
            body += f'<stop offset="{offset}" stop-color="{mix("#" + color, source, float(opacity))}"/>'
        else:
            body += f'<stop offset="{offset}" stop-color="{source}" stop-opacity="{opacity}"/>'
    return f'<linearGradient id="{name}" x1="0" y1="0" x2="1" y2="{0.6 if light == "glass" else 0.35}">{body}</linearGradient>'


def _tile(name: str, width: float, height: float, body: str, scale: float, turn: float = 0) -> str:
    return (f'<pattern id="{name}" width="{width}" height="{height}" patternUnits="userSpaceOnUse" '
            f'patternTransform="scale({scale}) rotate({turn})">{body}</pattern>')


def _tiles() -> dict[str, str]:
    made = {}
    for grain, scale in (("fine", 0.5), ("wide", 1.0)):
        for ink, color, opacity in (("pale", "#fff", ".88"), ("deep", "#565d6b", ".66"), ("gold", "#8a6400", ".55")):
            paint = f'fill="{color}" fill-opacity="{opacity}"'
            made |= {f"{pattern}-{grain}-{ink}": _tile(f"{pattern}-{grain}-{ink}", 800 if pattern == "banded" else size, 800 if pattern == "striped" else size, body, scale)
                     for pattern, size, body in (
                         ("striped", 16, f'<path d="M5 0h6v800h-6z" {paint}/>'),
                         ("banded", 16, f'<path d="M0 5v6h800v-6z" {paint}/>'),
                         ("dotted", 18, f'<path d="M5 0a4 4 0 0 0 0 9a4 4 0 0 0 0-9zm9 9a4 4 0 0 0 0 9a4 4 0 0 0 0-9z" '
                                        f'{paint}/>'),
                         ("checkered", 18, f'<path d="M0 0h9v18h9v-9h-18z" {paint}/>'))}
        grained = 0.75 if grain == "fine" else 1.0
        made |= {f"wood-{grain}{way}": _tile(f"wood-{grain}{way}", 64, 20, WOOD, grained, turn) for way, turn in (("", 0), ("-up", 90))}
        made |= {f"{material}-{grain}": _tile(f"{material}-{grain}", width, height, body, scale)
                 for material, width, height, body in (
                     ("leather", 22, 22,
                      '<path d="M0 0L22 22M22 0L0 22" stroke="#000" stroke-opacity=".35" stroke-width="1.4" fill="none"/>'
                      '<path d="M0 2L20 22M24 0L2 22" stroke="#fff" stroke-opacity=".3" stroke-width="1.2" fill="none"/>'
                      '<path d="M9 11a2 2 0 0 0 4 0a2 2 0 0 0-4 0" fill="#000" fill-opacity=".55"/>'),
                     ("stone", 24, 24,
                      '<path d="M2 3h3v2h-3zM10 8h2v3h-2zM18 3h3v3h-3zM5 14h4v2h-4zM15 15h3v2h-3zM21 20h2v3h-2zM9 20h3v2h-3z" '
                      'fill="#000" fill-opacity=".42"/>'
                      '<path d="M6 8h3v2h-3zM14 2h2v2h-2zM20 10h3v2h-3zM1 19h3v2h-3zM12 12h2v2h-2zM16 21h3v2h-3z" '
                      'fill="#fff" fill-opacity=".6"/>'))}
    return made


WOOD = ('<path d="M0 3q16 3 32 0t32 0M0 9.5q12-1 18-3.5q12-4 22 1q10 4 24 2.5M0 16q16-3 32 0t32 0M20 10q8-5 16 0q-8 4-16 0" '
        'fill="none" stroke="#2a1400" stroke-opacity=".45" stroke-width="1.2"/>'
        '<path d="M4 6q14 2 24-1M38 13q12 1 24-1" fill="none" stroke="#ffe0b0" stroke-opacity=".4" stroke-width="1.2"/>')
TILES = _tiles()


def definitions(svg: str) -> str:
    """The gradients and patterns that a piece of SVG refers to, as a `defs` element."""
    used = sorted(set(re.findall(r"url\(#([\w.-]+)\)", svg)))
    return f"<defs>{''.join(TILES.get(name) or _gradient(name) for name in used)}</defs>" if used else ""
