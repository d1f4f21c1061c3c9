"""Make SVG text: shapes, lines, and the tones of a color.

A drawing is a string of SVG elements in its own coordinates, in pixels of an image that is 448 pixels wide.
Outlines of rectangles and ovals are drawn as a darker shape below a smaller shape, because rendering a fill
takes less than half the time of a stroke.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from research.synthetic_world.ontology import COLORS
from research.synthetic_world.scene_types import WIDTH

# Width of an outline in pixels.
LINE = 1.1
WHITE = "#ffffff"
# The color of rubber, screens and hoofs.
DARK = "#33343a"
METAL = "#aeb4ba"
GOLD = "#e3b341"
# The color of window panes of vehicles.
SKY = "#cfe6f5"


class Shape(NamedTuple):
    """An element's geometry without its fill.

    Attributes:
        inner: The shape.
        outer: The shape enlarged by an outline, for rectangles and ovals; else None.
        tall: Whether the grain of wood runs upwards.
    """

    inner: str
    outer: str | None = None
    tall: bool = False


def format_number(value: float) -> str:
    """Format a coordinate to a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def rect(x: float, y: float, w: float, h: float, r: float = 0) -> Shape:
    """Return a rectangle with corners rounded by `r`."""

    def geometry(by: float) -> str:
        rounded = f' rx="{format_number(max(r + by, 0))}"' if r else ""
        return (
            f'rect x="{format_number(x - by)}" y="{format_number(y - by)}" width="{format_number(w + 2 * by)}" '
            f'height="{format_number(h + 2 * by)}"{rounded}'
        )

    inset = 0.2 if min(w, h) > 1 else 0
    return Shape(geometry(-inset), geometry(LINE - inset), h > 1.6 * w)


def oval(cx: float, cy: float, rx: float, ry: float | None = None) -> Shape:
    """Return an ellipse, or a circle if only one radius is given."""

    def geometry(by: float) -> str:
        return (
            f'ellipse cx="{format_number(cx)}" cy="{format_number(cy)}" rx="{format_number(rx + by)}" '
            f'ry="{format_number((rx if ry is None else ry) + by)}"'
        )

    inset = 0.2 if min(rx, ry or rx) > 0.6 else 0
    return Shape(geometry(-inset), geometry(LINE - inset))


def path(*d: str) -> Shape:
    """Return a shape from SVG path data."""
    return Shape(f'path d="{"".join(d)}"')


def poly(*points: float) -> Shape:
    """Return a closed polygon, given x and y of its corners: x1, y1, x2, y2, ..."""
    return path("M" + " ".join(format_number(value) for value in points) + "Z")


def band(top: float, bottom: float, color: str) -> str:
    """Draw a strip across the whole image."""
    return f'<path d="M0 {format_number(top)}H{WIDTH}V{format_number(bottom)}H0Z" fill="{color}"/>'


def fill(shape: Shape, color: str, line: str | None = None, opacity: float = 1) -> str:
    """Draw a shape filled with a color, with an outline if `line` is a color."""
    seen = f' fill-opacity="{format_number(opacity)}"' if opacity < 1 else ""
    if line is None:
        return f'<{shape.inner} fill="{color}"{seen}/>'
    if shape.outer and opacity == 1:
        return f'<{shape.outer} fill="{line}"/><{shape.inner} fill="{color}"/>'
    return (
        f'<{shape.inner} fill="{color}"{seen} stroke="{line}" stroke-width="{LINE}" stroke-linejoin="round"/>'
    )


def dots(points: tuple[tuple[float, float], ...], r: float, color: str, line: str | None = None) -> str:
    """Draw circles of one size and color."""
    return "".join(fill(oval(x, y, r), color, line) for x, y in points)


def stroke(d: str, color: str, width: float = LINE, opacity: float = 1) -> str:
    """Draw an open line with round ends."""
    seen = f' stroke-opacity="{format_number(opacity)}"' if opacity < 1 else ""
    return (
        f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{format_number(width)}" '
        f'stroke-linecap="round" stroke-linejoin="round"{seen}/>'
    )


def limb(d: str, color: str, line: str, width: float) -> str:
    """Draw a thick line with an outline: an arm, a tail, a handle."""
    return stroke(d, line, width + 2 * LINE) + stroke(d, color, width)


def transform(
    body: str, x: float, y: float, across: float = 1, upward: float | None = None, turn: float = 0
) -> str:
    """Move a drawing's origin to (x, y), scale it (across -1 mirrors it), and rotate it clockwise by degrees."""
    scale = (
        ""
        if across == 1 and upward is None
        else f" scale({format_number(across)} {format_number(upward or abs(across))})"
    )
    turned = f" rotate({format_number(turn)})" if turn else ""
    return f'<g transform="translate({format_number(x)} {format_number(y)}){turned}{scale}">{body}</g>'


def mix_colors(color: str, other: str, share: float) -> str:
    """Mix `color` with a fraction (0 to 1) of `other`."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


class Tones(NamedTuple):
    """A color, a lighter and a darker tone of it for shading, and the tone of its outlines."""

    base: str
    light: str
    dark: str
    line: str


@cache
def make_tones(color: str) -> Tones:
    """Return the tones of a color given as #rrggbb. White is shaded, and black is lit, with cool grays."""
    if color == COLORS["white"]:
        return Tones(color, WHITE, "#d8dade", "#8b8f98")
    if color == COLORS["black"]:
        return Tones(color, "#55575e", "#17171a", "#0c0c0e")
    return Tones(
        color,
        mix_colors(color, WHITE, 0.35),
        mix_colors(color, "#000000", 0.22),
        mix_colors(color, "#000000", 0.5),
    )
