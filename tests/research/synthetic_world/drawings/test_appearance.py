"""How a part is drawn in its thing's colour and surface."""

import pytest

from research.synthetic_world.drawings.svg_shapes import make_tones, rect
from research.synthetic_world.ontology import COLORS
from tests.research.synthetic_world.shown import look_of

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
