"""Baskets, boxes, bags and trash cans."""

from __future__ import annotations

import pytest

from research.synthetic_world.drawings import DRAWINGS, containers
from research.synthetic_world.drawings.svg_shapes import make_tones
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME
from tests.research.synthetic_world.shown import check, covers, kinds_of, large, look_of, seen_through, shows


@pytest.mark.parametrize("kind", kinds_of(containers), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


def test_a_full_basket_shows_what_is_in_it():
    assert shows("basket", "#d9a866", state="full", color="red")
    assert not shows("basket", "#d9a866", state="empty", color="red")


def test_only_a_basket_of_wire_is_seen_through():
    through = {
        material: seen_through("basket", material=material, state="empty")
        for material in KIND_BY_NAME["basket"].materials
    }
    assert through["metal"] > 0.15 + max(share for material, share in through.items() if material != "metal")


def test_an_open_box_is_dark_inside():
    # the line tone is half black; above the front edge of an open box there is a strip of it
    line = make_tones(COLORS["red"]).line
    opened, closed = (
        covers(large("box", color="red", state=state), line)[:70].sum() for state in ("open", "closed")
    )
    assert opened > 2 * closed


def test_paper_looks_out_of_an_open_trash_can():
    assert shows("trash can", "#fbfaf5", color="green", state="open")
    assert not shows("trash can", "#fbfaf5", color="green", state="closed")


def test_a_box_of_boards_is_nailed_and_one_of_paper_has_tape():
    nails = DRAWINGS["box"](look_of(material="wood")).count("<ellipse")
    assert nails >= 6 and DRAWINGS["box"](look_of(state="closed")).count("<ellipse") == 0
