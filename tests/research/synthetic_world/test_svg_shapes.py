"""Parts of drawings as SVG: shapes, appearances, and textures."""

import re
from xml.etree import ElementTree

import pytest

from research.synthetic_world.drawings import svg_shapes, textures
from research.synthetic_world.drawings.svg_shapes import make_tones, rect
from research.synthetic_world.drawings.textures import build_definitions
from research.synthetic_world.ontology import COLORS
from tests.research.synthetic_world.shown import look_of

# Shapes as SVG text: geometry, outlines, tones. Numbers are worked out in comments.


def numbers(svg):
    return {name: float(value) for name, value in re.findall(r'([a-z]+)="(-?[\d.]+)"', svg)}


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (1.5, "1.5"), (1.004, "1"), (-0.125, "-0.12"), (100, "100")]
)
def test_coordinates_are_to_a_hundredth_without_zeros_at_the_end(value, text):
    assert svg_shapes.format_number(value) == text


def test_the_outline_of_a_rectangle_is_a_darker_rectangle_that_is_larger_all_round():
    outer, inner = svg_shapes.fill(svg_shapes.rect(10, 20, 30, 40), "#ffffff", "#000000").split("/><")
    # inset by 0.2; the outline is 1.1 wide, so the outer one begins 0.9 before and is 1.8 wider
    assert numbers(outer) == {"x": 9.1, "y": 19.1, "width": 31.8, "height": 41.8}
    assert numbers(inner) == {"x": 10.2, "y": 20.2, "width": 29.6, "height": 39.6}
    assert "#000000" in outer and "#ffffff" in inner


def test_a_shape_with_an_opacity_is_outlined_by_a_stroke():
    svg = svg_shapes.fill(svg_shapes.rect(0, 0, 9, 9), "#ffffff", "#000000", 0.5)
    assert svg.count("<rect") == 1 and 'fill-opacity="0.5"' in svg and 'stroke="#000000"' in svg


def test_an_oval_with_one_radius_is_a_circle():
    assert numbers(svg_shapes.oval(5, 6, 3).inner) == {"cx": 5, "cy": 6, "rx": 2.8, "ry": 2.8}
    assert numbers(svg_shapes.oval(5, 6, 3, 2).inner) == {"cx": 5, "cy": 6, "rx": 2.8, "ry": 1.8}


def test_only_what_is_much_taller_than_wide_has_its_grain_upwards():
    assert svg_shapes.rect(0, 0, 10, 17).tall and not svg_shapes.rect(0, 0, 10, 16).tall


def test_a_polygon_is_closed():
    assert svg_shapes.poly(0, 0, 10, 0, 5, 8.5).inner == 'path d="M0 0 10 0 5 8.5Z"'


def test_a_limb_is_a_line_on_a_wider_one():
    below, above = re.findall(r'stroke-width="([\d.]+)"', svg_shapes.limb("M0 0V9", "#ffffff", "#000000", 4))
    assert (float(below), float(above)) == (6.2, 4)  # 4 + 2 x 1.1


def test_a_drawing_is_placed_mirrored_and_turned():
    assert svg_shapes.transform("x", 3, 4) == '<g transform="translate(3 4)">x</g>'
    assert svg_shapes.transform("x", 3, 4, -1) == '<g transform="translate(3 4) scale(-1 1)">x</g>'
    assert (
        svg_shapes.transform("x", 3, 4, 2, 0.5, turn=90)
        == '<g transform="translate(3 4) rotate(90) scale(2 0.5)">x</g>'
    )


def test_colors_are_mixed_by_fractions():
    assert (
        svg_shapes.mix_colors("#000000", "#ffffff", 0) == "#000000"
        and svg_shapes.mix_colors("#000000", "#ffffff", 1) == "#ffffff"
    )
    assert svg_shapes.mix_colors("#204060", "#406080", 0.5) == "#305070"


def brightness(color):
    return sum(bytes.fromhex(color[1:]))


@pytest.mark.parametrize("name", COLORS)
def test_light_is_lighter_dark_is_darker_and_the_line_is_darkest(name):
    tones = svg_shapes.make_tones(COLORS[name])
    assert brightness(tones.light) > brightness(tones.base) > brightness(tones.dark) > brightness(tones.line)


# How a part is drawn in its thing's colour and surface.


PART = rect(0, 0, 20, 20)


def test_a_plain_part_has_its_tone_alone():
    svg = look_of("red").draw_plain_part(PART, "dark")
    assert make_tones(COLORS["red"]).dark in svg and "url(" not in svg


def test_light_falls_on_a_part_without_pattern_and_grain():
    assert "url(#soft.d7322f)" in look_of("red").draw_part(PART)
    assert "url(#soft-white.f6f5f0)" in look_of("white").draw_part(PART)  # on white it is shaded otherwise
    assert "url(#metal.d7322f)" in look_of("red", material="metal").draw_part(PART)


@pytest.mark.parametrize(("color", "ink"), [("red", "pale"), ("white", "deep"), ("yellow", "gold")])
def test_a_pattern_has_a_color_that_is_visible_on_the_object(color, ink):
    assert f"url(#striped-wide-{ink})" in look_of(color, pattern="striped").draw_part(PART)


def test_small_objects_have_fine_patterns_and_grain():
    assert "dotted-fine-pale" in look_of("red", pattern="dotted", has_fine_detail=True).draw_part(PART)
    assert "leather-fine" in look_of("brown", material="leather", has_fine_detail=True).draw_part(PART)


def test_upright_boards_have_vertical_grain():
    look = look_of("brown", material="wood")
    assert "wood-wide-up" in look.draw_part(rect(0, 0, 5, 40)) and "wood-wide-up" not in look.draw_part(
        rect(0, 0, 40, 5)
    )
    assert "-up" not in look_of("gray", material="stone").draw_part(rect(0, 0, 5, 40))


def test_glass_lets_through_what_is_behind_it_and_black_glass_less():
    assert 'fill-opacity="0.76"' in look_of("red", material="glass").draw_plain_part(PART)
    assert 'fill-opacity="0.9"' in look_of("black", material="glass").draw_plain_part(PART)
    assert "fill-opacity" not in look_of("red", material="metal").draw_plain_part(PART)


# Light, grain and patterns: every one that is referred to is defined, and is what its name says.


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
