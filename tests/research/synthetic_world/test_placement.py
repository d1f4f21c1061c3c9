"""Placement of objects and the layout of scenes."""

import numpy as np
import pytest

from research.synthetic_world import placement
from research.synthetic_world.layout import get_ancestors, is_valid_layout, sort_back_to_front
from research.synthetic_world.scene_statistics import SampledAppearance
from research.synthetic_world.scene_types import ANCHORS, HEIGHT, HORIZON, RIMS, SURFACES, WIDTH, PlacedObject

# Boxes: where an object may stand, rest, lie, sit, be held or worn. Comments explain the numbers.


SEEDS = range(40)


def look(width, height):
    return SampledAppearance(None, None, None, None, None, None, None, width, height)


def rng(seed=0):
    return np.random.default_rng(seed)


TABLE = PlacedObject("t", "table", (100, 200, 130, 74), "floor", color="brown")
BOWL = PlacedObject("b", "bowl", (150, 190, 46, 28), "top", color="white")
VASE = PlacedObject("v", "vase", (150, 190, 30, 48), "top", color="white")
MAN = PlacedObject("m", "man", (200, 100, 54, 128), "floor", pose="standing")


def test_perspective_grows_towards_the_viewer():
    assert placement.compute_perspective(HORIZON) == pytest.approx(0.84) and placement.compute_perspective(
        HEIGHT
    ) == pytest.approx(1.06)


def test_overlap_is_the_common_area_and_covering_its_fraction_of_the_box_behind():
    assert placement.compute_overlap((0, 0, 10, 10), (5, 5, 10, 10)) == 25
    assert placement.compute_overlap((0, 0, 10, 10), (10, 0, 10, 10)) == 0
    assert placement.compute_covered_fraction((0, 0, 10, 10), (5, 5, 100, 100)) == 0.25
    assert placement.compute_covered_fraction((5, 5, 100, 100), (0, 0, 10, 10)) == pytest.approx(0.0025)


@pytest.mark.parametrize(
    ("box", "inside"),
    [
        ((4, 4, 10, 10), True),
        ((3, 4, 10, 10), False),
        ((4, 4, WIDTH - 8, 10), True),
        ((4, 4, WIDTH - 7, 10), False),
    ],
)
def test_a_margin_stays_free_along_the_border(box, inside):
    assert placement.is_inside_image(box) is inside


@pytest.mark.parametrize("seed", SEEDS)
def test_objects_on_the_floor_are_larger_the_nearer_they_are(seed):
    x, y, w, h = placement.place_on_floor(rng(seed), look(50, 60), (220, 320))
    assert 220 <= y + h <= 320 and placement.is_inside_image((x, y, w, h))
    assert w == pytest.approx(50 * placement.compute_perspective(y + h)) and w / h == pytest.approx(50 / 60)


def test_what_is_too_large_for_the_image_finds_no_place():
    assert placement.place_on_floor(rng(), look(500, 60), (220, 320)) is None
    assert placement.place_on_floor(rng(), look(60, 400), (220, 320)) is None
    assert placement.place_on_wall(rng(), look(60, 200), 118) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_what_hangs_has_its_lower_edge_above_the_line(seed):
    _, y, _, h = placement.place_on_wall(rng(seed), look(70, 52), 176)
    assert y >= 12 and y + h <= 176


@pytest.mark.parametrize("seed", SEEDS)
def test_what_stands_on_a_table_has_its_lower_edge_on_the_surface(seed):
    x, y, w, h = placement.place_on_top(rng(seed), look(24, 26), TABLE, 1.0, 0)
    left, right, surface = SURFACES["table"][0]
    assert y + h == pytest.approx(200 + surface * 74)
    assert 100 + left * 130 <= x and x + w <= 100 + right * 130


def test_between_two_boards_of_a_shelf_only_low_objects_stand():
    shelf = PlacedObject("s", "shelf", (100, 120, 96, 130), "floor", color="brown")
    # boards 1 and 2 are 0.34 and 0.64 down: 0.30 x 130 = 39 pixels apart, 4 of them kept free
    assert placement.place_on_top(rng(), look(20, 34), shelf, 1.0, 2) is not None
    assert placement.place_on_top(rng(), look(20, 36), shelf, 1.0, 2) is None
    assert (
        placement.place_on_top(rng(), look(20, 60), shelf, 1.0, 0) is not None
    )  # on the top nothing is above it
    assert placement.place_on_top(rng(), look(90, 20), shelf, 1.0, 0) is None  # wider than the board


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_in_a_bowl_stands_on_its_rim_and_flowers_go_down_into_a_vase(seed):
    left, right, rim = RIMS["bowl"]
    x, y, w, h = placement.place_inside(rng(seed), look(22, 24), BOWL, 1.0)
    assert y + h == pytest.approx(190 + rim * 28) and 150 + left * 46 <= x and x + w <= 150 + right * 46
    x, y, w, h = placement.place_inside(rng(seed), look(24, 44), VASE, 1.0)
    assert y + h == pytest.approx(190 + RIMS["vase"][2] * 48 + 0.4 * 44)
    assert x + w / 2 == pytest.approx(150 + 0.5 * 30)  # wider than the neck: in its middle


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_under_a_table_is_between_its_legs(seed):
    x, y, w, h = placement.place_under(rng(seed), look(34, 34), TABLE, 1.0)
    assert x >= 100 + 0.16 * 130 and x + w <= 100 + 0.84 * 130
    assert 274 - 6 <= y + h <= 274 - 2
    assert placement.place_under(rng(), look(34, 60), TABLE, 1.0) is None  # too tall


@pytest.mark.parametrize("seed", SEEDS)
def test_who_sits_has_the_top_of_the_legs_on_the_seat(seed):
    couch = PlacedObject("c", "couch", (100, 180, 150, 78), "floor", color="gray")
    x, y, w, h = placement.place_on_seat(rng(seed), look(54, 98), couch, 1.0)
    assert y + ANCHORS["sitting"]["legs"][1] * h == pytest.approx(180 + SURFACES["couch"][0][2] * 78)
    assert x > 100 and x + w < 250


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_held_object_lies_in_the_hand_and_an_umbrella_by_its_handle(side):
    hand_x, hand_y = ANCHORS["standing"][f"{side} hand"]
    hand = (200 + 54 * hand_x, 100 + 128 * hand_y)
    x, y, w, h = placement.place_in_hand(look(24, 26), "cup", MAN, side, 1.0)
    assert (x + w / 2, y + h / 2) == pytest.approx(hand)
    x, y, w, h = placement.place_in_hand(look(70, 74), "umbrella", MAN, side, 1.0)
    assert (x + w / 2, y + 0.93 * h) == pytest.approx(hand)


@pytest.mark.parametrize("part", ["hat", "body", "legs"])
def test_clothes_fill_the_part_that_they_cover(part):
    left, top, wide, tall = ANCHORS["standing"][part]
    assert placement.place_on_body(part, MAN) == pytest.approx(
        (200 + 54 * left, 100 + 128 * top, 54 * wide, 128 * tall)
    )


# Valid layouts of objects, and the order in which they are painted.


def ball(key, *box, rests="floor", host=None):
    return PlacedObject(key, "ball", box, rests, color="red", host=host)


LAYOUT_TABLE = PlacedObject("table", "table", (100, 200, 130, 74), "floor", color="brown")
PLATE = PlacedObject("plate", "plate", (120, 191, 48, 18), "top", color="white", host="table")
APPLE = PlacedObject("apple", "apple", (130, 176, 22, 24), "top", color="green", host="plate")
LAYOUT_MAN = PlacedObject("man", "man", (300, 180, 54, 128), "floor", pose="standing")
SHIRT = PlacedObject("shirt", "shirt", (307, 209, 39, 46), "body", color="red", host="man")


def order(*things):
    return [thing.object_id for thing in sort_back_to_front(list(things))]


def test_ancestors_go_up_to_the_object_on_the_floor():
    by_id = {thing.object_id: thing for thing in (LAYOUT_TABLE, PLATE, APPLE)}
    assert get_ancestors(APPLE, by_id) == ["apple", "plate", "table"] and get_ancestors(
        LAYOUT_TABLE, by_id
    ) == ["table"]


def test_the_sky_is_painted_first_then_the_wall_then_what_is_farther_away():
    far, near = ball("far", 10, 200, 30, 30), ball("near", 10, 280, 30, 30)
    sky, wall = ball("sky", 300, 20, 30, 30, rests="sky"), ball("wall", 300, 60, 30, 30, rests="wall")
    assert order(near, wall, far, sky) == ["sky", "wall", "far", "near"]


def test_what_belongs_together_is_painted_together():
    between = ball("between", 10, 230, 30, 40)  # its lower edge, 270, is behind the table's, 274
    behind = ball("behind", 60, 240, 30, 31)
    assert order(APPLE, LAYOUT_TABLE, behind, PLATE, between) == [
        "between",
        "behind",
        "table",
        "plate",
        "apple",
    ]


def test_what_is_under_a_table_or_in_a_vase_is_painted_before_it_and_clothes_after_their_wearer():
    under = ball("under", 150, 240, 30, 30, host="table")
    assert order(LAYOUT_TABLE, under) == ["under", "table"]
    vase = PlacedObject("vase", "vase", (150, 190, 30, 48), "floor", color="blue")
    flower = PlacedObject("flower", "flower", (153, 165, 24, 44), "inside", color="red", host="vase")
    assert order(vase, flower) == ["flower", "vase"]
    hat = PlacedObject("hat", "hat", (310, 175, 36, 18), "head", color="red", host="man")
    umbrella = PlacedObject("umbrella", "umbrella", (280, 180, 70, 74), "hand", color="red", host="man")
    assert order(hat, SHIRT, LAYOUT_MAN, umbrella) == ["umbrella", "man", "shirt", "hat"]


def test_objects_apart_fit_and_what_leaves_the_image_does_not():
    assert is_valid_layout([LAYOUT_TABLE, PLATE, APPLE, LAYOUT_MAN, SHIRT])
    assert not is_valid_layout([LAYOUT_TABLE, ball("out", 430, 280, 30, 30)])


@pytest.mark.parametrize(
    ("depth", "good"),
    [
        (13, False),
        (14, True),
    ],  # of one thing that covers another the lower edges are at least 14 pixels apart
)
def test_what_covers_another_is_clearly_nearer(depth, good):
    back = ball("back", 100, 200, 60, 60)
    front = ball("front", 140, 210 + depth, 60, 50)  # lower edges 260 and 260 + depth
    assert is_valid_layout([back, front]) is good


def test_nothing_is_hidden_by_almost_half_and_small_objects_not_at_all():
    big = PlacedObject("big", "bed", (100, 180, 170, 78), "floor", color="blue")
    # 170 x 78; covered over its full height below y = 190, by 90 of 170 pixels of width: 53 % x 68 / 78 = 46 %
    assert not is_valid_layout([big, PlacedObject("front", "bed", (180, 190, 170, 90), "floor", color="red")])
    small = ball("small", 150, 230, 30, 30)  # 900 square pixels
    assert not is_valid_layout([small, ball("front", 170, 250, 60, 60)])


def test_neighbours_on_one_table_do_not_touch():
    cup = PlacedObject("cup", "cup", (160, 183, 24, 26), "top", color="red", host="table")
    assert not is_valid_layout([LAYOUT_TABLE, PLATE, cup])  # the plate ends at 168
    assert is_valid_layout(
        [
            LAYOUT_TABLE,
            PLATE,
            PlacedObject("cup", "cup", (170, 183, 24, 26), "top", color="red", host="table"),
        ]
    )


def test_nothing_ends_where_it_seems_to_stand_on_another():
    # the surface of the table is 0.12 x 74 = 8.9 below its top, at y = 208.9
    assert not is_valid_layout(
        [LAYOUT_TABLE, ball("seems", 150, 170, 30, 36)]
    )  # ends at 206, 3 pixels from the surface
    assert is_valid_layout([LAYOUT_TABLE, ball("behind", 20, 170, 30, 36)])  # the same, but beside it


def test_two_objects_on_the_wall_or_in_the_sky_do_not_meet():
    for rests in ("wall", "sky"):
        first, second = ball("a", 20, 20, 60, 60, rests=rests), ball("b", 60, 40, 60, 60, rests=rests)
        assert not is_valid_layout([first, second])
        assert is_valid_layout([first, ball("b", 90, 40, 60, 60, rests=rests)])
