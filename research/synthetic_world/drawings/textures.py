"""Define surfaces: light on a color, the grain of materials, and patterns, as gradients and tiles.

Tiles and overlays are white and black with some opacity, so that they fit every color. Their names are:

    soft, metal, plastic, glass         kinds of light; `soft.d7322f` is the light `soft` on the color #d7322f
    wood-fine, leather-wide, ...        grain of a material; -up for upright boards
    striped-fine-pale, ...              a pattern, narrow (fine) or wide, and its color
"""

from __future__ import annotations

import re
from functools import cache

from research.synthetic_world.drawings.svg_shapes import WHITE, mix_colors

# Name of a light -> its gradient stops. A stop is an offset, w (white) or k (black), and an opacity.
LIGHT_GRADIENTS = {
    "soft": "0 w .22, .4 w 0, .6 k 0, 1 k .16",
    "soft-white": "0 w .5, .5 k 0, 1 k .08",
    "metal": "0 k .18, .14 w .15, .26 w .75, .36 w .1, .55 k .3, .72 k .05, .84 w .5, 1 k .25",
    "metal-white": (
        "0 k .1, .12 k .02, .24 w 1, .36 k .04, .46 k .3, .54 k .06, .66 w 1, .8 k .02, .9 k .2, 1 k .06"
    ),
    "plastic": (
        "0 k .06, .14 w 0, .145 w .85, .24 w .85, .245 w .05, .29 w .05, .295 w .5, .32 w .5, .325 w 0, "
        ".8 k 0, 1 k .16"
    ),
    "plastic-white": (
        "0 k .1, .14 k .1, .145 w 1, .24 w 1, .245 k .16, .29 k .16, .295 w 1, .32 w 1, .325 k .04, "
        ".8 k .03, 1 k .14"
    ),
    "glass-white": (
        "0 k .1, .2 k .1, .201 w 1, .33 w 1, .331 k .15, .42 k .15, .421 w 1, .47 w 1, .471 k .06, 1 k .18"
    ),
    "glass": (
        "0 w .1, .2 w .1, .201 w .9, .33 w .9, .331 w .06, .42 w .06, .421 w .75, .47 w .75, .471 w 0, 1 k .1"
    ),
}
# Name of a light -> steepness of its gradient; 0.35 for all others.
GRADIENT_DIRECTIONS = {
    "glass": 0.9,
    "glass-white": 0.9,
    "plastic": 0,
    "plastic-white": 0,
}
# Colors of patterns, with their opacity: white on most colors, a darker tone on white and yellow.
PATTERN_COLORS = {"pale": (WHITE, 0.88), "deep": ("#565d6b", 0.66), "gold": ("#8a6400", 0.55)}
PATTERN_COLOR_OF = {"white": "deep", "yellow": "gold"}
# Tiles of stripes are longer than any object, so that no seam is visible.
TILE_LENGTH = 800
# Name -> width, height and path of a tile.
PATTERNS = {
    "striped": (16, TILE_LENGTH, f"M5 0h6v{TILE_LENGTH}h-6z"),
    # Horizontal stripes for objects with folds.
    "banded": (TILE_LENGTH, 16, f"M0 5v6h{TILE_LENGTH}v-6z"),
    "dotted": (18, 18, "M5 0a4 4 0 0 0 0 9a4 4 0 0 0 0-9zm9 9a4 4 0 0 0 0 9a4 4 0 0 0 0-9z"),
    "checkered": (18, 18, "M0 0h9v18h9v-9h-18z"),
}
WOOD = (
    '<path d="M0 3q16 3 32 0t32 0M0 9.5q12-1 18-3.5q12-4 22 1q10 4 24 2.5M0 16q16-3 32 0t32 0'
    'M20 10q8-5 16 0q-8 4-16 0" fill="none" stroke="#2a1400" stroke-opacity=".45" stroke-width="1.2"/>'
    '<path d="M4 6q14 2 24-1M38 13q12 1 24-1" fill="none" stroke="#ffe0b0" stroke-opacity=".4" '
    'stroke-width="1.2"/>'
)
# Leather is quilted, with buttons.
LEATHER = (
    '<path d="M0 0L22 22M22 0L0 22" stroke="#000" stroke-opacity=".35" stroke-width="1.4"/>'
    '<path d="M0 2L20 22M24 0L2 22" stroke="#fff" stroke-opacity=".3" stroke-width="1.2"/>'
    '<path d="M9 11a2 2 0 0 0 4 0a2 2 0 0 0-4 0" fill="#000" fill-opacity=".55"/>'
)
STONE = (
    '<path d="M2 3h3v2h-3zM10 8h2v3h-2zM18 3h3v3h-3zM5 14h4v2h-4zM15 15h3v2h-3zM21 20h2v3h-2zM9 20h3v2h-3z" '
    'fill="#000" fill-opacity=".42"/>'
    '<path d="M6 8h3v2h-3zM14 2h2v2h-2zM20 10h3v2h-3zM1 19h3v2h-3zM12 12h2v2h-2zM16 21h3v2h-3z" '
    'fill="#fff" fill-opacity=".6"/>'
)
GRAINS = {"wood": (64, 20, WOOD), "leather": (22, 22, LEATHER), "stone": (24, 24, STONE)}


def build_definitions(svg: str) -> str:
    """Return the gradients and tiles that a piece of SVG refers to, as a `defs` element."""
    used = sorted(set(re.findall(r"url\(#([\w.-]+)\)", svg)))
    return f"<defs>{''.join(map(_definition, used))}</defs>" if used else ""


@cache
def _definition(name: str) -> str:
    light, _, color = name.partition(".")
    if light in LIGHT_GRADIENTS:
        return _gradient(name, light, color)
    what, grain, *rest = name.split("-")
    if what in GRAINS:
        width, height, body = GRAINS[what]
        scale = 1 if grain == "wide" else 0.75 if what == "wood" else 0.5
        return _tile(name, width, height, body, scale, turn=90 if rest else 0)
    width, height, d = PATTERNS[what]
    color, opacity = PATTERN_COLORS[rest[0]]
    body = f'<path d="{d}" fill="{color}" fill-opacity="{opacity}"/>'
    return _tile(name, width, height, body, 1 if grain == "wide" else 0.5)


def _gradient(name: str, light: str, color: str) -> str:
    """Return a gradient of light from the upper left: an overlay, or mixed into `color` (rrggbb) if a color
    is given.
    """
    body = ""
    for stop in LIGHT_GRADIENTS[light].split(","):
        offset, kind, opacity = stop.split()
        shade = WHITE if kind == "w" else "#000000"
        seen = f'stop-color="{shade}" stop-opacity="{opacity}"'
        mixed = f'stop-color="{mix_colors("#" + color, shade, float(opacity))}"' if color else seen
        body += f'<stop offset="{offset}" {mixed}/>'
    fall = GRADIENT_DIRECTIONS.get(light, 0.35)
    return f'<linearGradient id="{name}" x1="0" y1="0" x2="1" y2="{fall}">{body}</linearGradient>'


def _tile(name: str, width: float, height: float, body: str, scale: float, turn: float = 0) -> str:
    return (
        f'<pattern id="{name}" width="{width}" height="{height}" patternUnits="userSpaceOnUse" '
        f'patternTransform="scale({scale}) rotate({turn})">{body}</pattern>'
    )
