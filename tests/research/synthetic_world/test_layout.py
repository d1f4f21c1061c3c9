"""Valid layouts of objects, and the order in which they are painted."""

import pytest

from research.synthetic_world.layout import get_ancestors, is_valid_layout, sort_back_to_front
from research.synthetic_world.scene_types import PlacedObject


def ball(key, *box, rests="floor", host=None):
    return PlacedObject(key, "ball", box, rests, color="red", host=host)


TABLE = PlacedObject("table", "table", (100, 200, 130, 74), "floor", color="brown")
PLATE = PlacedObject("plate", "plate", (120, 191, 48, 18), "top", color="white", host="table")
APPLE = PlacedObject("apple", "apple", (130, 176, 22, 24), "top", color="green", host="plate")
MAN = PlacedObject("man", "man", (300, 180, 54, 128), "floor", pose="standing")
SHIRT = PlacedObject("shirt", "shirt", (307, 209, 39, 46), "body", color="red", host="man")


def order(*things):
    return [thing.object_id for thing in sort_back_to_front(list(things))]


def test_ancestors_go_up_to_the_object_on_the_floor():
    by_id = {thing.object_id: thing for thing in (TABLE, PLATE, APPLE)}
    assert get_ancestors(APPLE, by_id) == ["apple", "plate", "table"] and get_ancestors(TABLE, by_id) == [
        "table"
    ]


def test_the_sky_is_painted_first_then_the_wall_then_what_is_farther_away():
    far, near = ball("far", 10, 200, 30, 30), ball("near", 10, 280, 30, 30)
    sky, wall = ball("sky", 300, 20, 30, 30, rests="sky"), ball("wall", 300, 60, 30, 30, rests="wall")
    assert order(near, wall, far, sky) == ["sky", "wall", "far", "near"]


def test_what_belongs_together_is_painted_together():
    between = ball("between", 10, 230, 30, 40)  # its lower edge, 270, is behind the table's, 274
    behind = ball("behind", 60, 240, 30, 31)
    assert order(APPLE, TABLE, behind, PLATE, between) == ["between", "behind", "table", "plate", "apple"]


def test_what_is_under_a_table_or_in_a_vase_is_painted_before_it_and_clothes_after_their_wearer():
    under = ball("under", 150, 240, 30, 30, host="table")
    assert order(TABLE, under) == ["under", "table"]
    vase = PlacedObject("vase", "vase", (150, 190, 30, 48), "floor", color="blue")
    flower = PlacedObject("flower", "flower", (153, 165, 24, 44), "inside", color="red", host="vase")
    assert order(vase, flower) == ["flower", "vase"]
    hat = PlacedObject("hat", "hat", (310, 175, 36, 18), "head", color="red", host="man")
    umbrella = PlacedObject("umbrella", "umbrella", (280, 180, 70, 74), "hand", color="red", host="man")
    assert order(hat, SHIRT, MAN, umbrella) == ["umbrella", "man", "shirt", "hat"]


def test_objects_apart_fit_and_what_leaves_the_image_does_not():
    assert is_valid_layout([TABLE, PLATE, APPLE, MAN, SHIRT])
    assert not is_valid_layout([TABLE, ball("out", 430, 280, 30, 30)])


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
    assert not is_valid_layout([TABLE, PLATE, cup])  # the plate ends at 168
    assert is_valid_layout(
        [TABLE, PLATE, PlacedObject("cup", "cup", (170, 183, 24, 26), "top", color="red", host="table")]
    )


def test_nothing_ends_where_it_seems_to_stand_on_another():
    # the surface of the table is 0.12 x 74 = 8.9 below its top, at y = 208.9
    assert not is_valid_layout(
        [TABLE, ball("seems", 150, 170, 30, 36)]
    )  # ends at 206, 3 pixels from the surface
    assert is_valid_layout([TABLE, ball("behind", 20, 170, 30, 36)])  # the same, but beside it


def test_two_objects_on_the_wall_or_in_the_sky_do_not_meet():
    for rests in ("wall", "sky"):
        first, second = ball("a", 20, 20, 60, 60, rests=rests), ball("b", 60, 40, 60, 60, rests=rests)
        assert not is_valid_layout([first, second])
        assert is_valid_layout([first, ball("b", 90, 40, 60, 60, rests=rests)])
