"""Shapes as SVG text: geometry, outlines, tones. Numbers are worked out in comments."""

import re

import pytest

from research.synthetic_world.drawings import svg_shapes
from research.synthetic_world.ontology import COLORS


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
