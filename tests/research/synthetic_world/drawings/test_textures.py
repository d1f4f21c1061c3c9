"""Light, grain and patterns: every one that is referred to is defined, and is what its name says."""

import re
from xml.etree import ElementTree

import pytest

from research.synthetic_world.drawings import textures
from research.synthetic_world.drawings.textures import build_definitions


def test_every_used_definition_occurs_once():
    svg = '<rect fill="url(#soft.d7322f)"/><rect fill="url(#soft.d7322f)"/><rect fill="url(#wood-wide)"/>'
    defined = [element.get("id") for element in ElementTree.fromstring(build_definitions(svg))]
    assert defined == ["soft.d7322f", "wood-wide"]
    assert build_definitions('<rect fill="#ffffff"/>') == ""


@pytest.mark.parametrize("name", textures.LIGHT_GRADIENTS)
def test_light_falls_from_one_side_to_the_other_in_order(name):
    stops = [stop.split() for stop in textures.LIGHT_GRADIENTS[name].split(",")]
    offsets = [float(offset) for offset, _, _ in stops]
    assert offsets == sorted(offsets) and (offsets[0], offsets[-1]) == (0, 1)
    assert all(shade in "wk" and 0 <= float(opacity) <= 1 for _, shade, opacity in stops)


def test_light_on_a_color_needs_no_opacity():
    on_red, overlay = (build_definitions(f'fill="url(#{name})"') for name in ("soft.d7322f", "soft"))
    assert "stop-opacity" not in on_red and "stop-opacity" in overlay
    # the first stop is white with 0.22: d7 + 0.22 x (ff - d7) = 215 + 8.8 = e0, 32 -> 5f, 2f -> 5d
    assert re.search(r'offset="0" stop-color="#(\w+)"', on_red)[1] == "e05f5d"


def test_fine_patterns_are_half_as_wide():
    scale = {
        grain: re.search(r"scale\(([\d.]+)\)", build_definitions(f'fill="url(#dotted-{grain}-pale)"'))[1]
        for grain in ("fine", "wide")
    }
    assert scale == {"fine": "0.5", "wide": "1"}


def test_upright_boards_are_the_rotated_ones():
    lying, standing = (build_definitions(f'fill="url(#wood-wide{end})"') for end in ("", "-up"))
    assert "rotate(0)" in lying and "rotate(90)" in standing


def test_stripes_stand_and_bands_lie():
    # tiles longer than any thing, so that no seam shows
    (striped_width, striped_height, _), (banded_width, banded_height, _) = (
        textures.PATTERNS[name] for name in ("striped", "banded")
    )
    assert (
        striped_width == banded_height == 16 and striped_height == banded_width == textures.TILE_LENGTH > 448
    )
