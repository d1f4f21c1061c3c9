"""What must hold for drawings however they look: their boxes, colors and parts are those that scenes and questions state."""

from __future__ import annotations

import re

import numpy as np
import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, farm_animals, food, heads, outdoors, people
from research.synthetic_world.ontology import COLORS, KIND_BY_NAME, KINDS
from research.synthetic_world.scene_types import ANCHORS, SURFACES
from tests.research.synthetic_world import shown
from tests.research.synthetic_world.shown import (
    GROUND,
    SEEN,
    away,
    covers,
    image,
    kinds_of,
    large,
    look_of,
    plain,
    seen_through,
    shows,
    variants,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_look_is_well_formed_and_fills_its_box(kind):
    shown.check_that_it_is_well_formed(kind)
    shown.check_that_every_look_fills_its_box(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_two_looks_are_the_same_and_the_color_said_is_the_color_seen(kind):
    shown.check_that_looks_can_be_told_apart(kind)
    shown.check_that_the_color_said_is_the_color_seen(kind)


@pytest.mark.parametrize(
    "name", [kind.name for module in (food, outdoors) for kind in kinds_of(module) if kind.colors is None]
)
def test_kinds_with_one_natural_color_ignore_tones(name):
    assert DRAWINGS[name](look_of("red")) == DRAWINGS[name](look_of("blue"))


@pytest.mark.parametrize("pose", ["standing", "sitting", "lying"])
def test_a_dog_is_no_cat_in_any_color(pose):
    shared = sorted(set(KIND_BY_NAME["dog"].colors) & set(KIND_BY_NAME["cat"].colors))
    assert len(shared) >= 4
    for color in shared:
        dog, cat = (image(plain(KIND_BY_NAME[name], color=color, pose=pose)) for name in ("dog", "cat"))
        drawn = min((away(pixels, GROUND) > 8).sum() for pixels in (dog, cat))
        assert (np.abs(dog - cat).max(axis=2) > SEEN).sum() > 0.15 * drawn, color


@pytest.mark.parametrize(
    ("name", "table"),
    [("horse", farm_animals.MANES), ("cow", farm_animals.SPOTS), ("sheep", farm_animals.SHEEP_FACES)],
)
def test_mane_spots_and_face_stand_out_from_every_coat(name, table):
    assert set(KIND_BY_NAME[name].colors) == set(table)
    for coat, other in table.items():
        rgb = [np.array(list(bytes.fromhex(color[1:]))) for color in (COLORS[coat], other)]
        assert np.abs(rgb[0].astype(int) - rgb[1]).max() > 2 * SEEN
        assert shows(name, other, color=coat), coat


@pytest.mark.parametrize(
    ("name", "lower", "higher"),
    [
        *((name, "lying", "standing") for name in ("dog", "cat", "horse", "cow", "sheep")),
        *((name, "standing", "sitting") for name in ("dog", "cat")),
        ("laptop", "closed", "open"),
    ],
)
def test_natural_sizes_depend_on_poses_and_states(name, lower, higher):
    heights = [rendering.compute_natural_size(name, look)[1] for look in (lower, higher)]
    assert heights[0] < heights[1]


def test_a_closed_umbrella_is_a_third_as_wide_as_an_open_one():
    opened, closed = (rendering.compute_natural_size("umbrella", state) for state in ("open", "closed"))
    assert closed[0] == pytest.approx(0.32 * opened[0]) and closed[1] == opened[1]


@pytest.mark.parametrize("name", ["cup", "vase", "bowl", "plate"])
def test_glass_is_seen_through_and_nothing_else_is(name):
    through = {
        material: seen_through(name, material=material, color="blue")
        for material in (*KIND_BY_NAME[name].materials, None)
    }
    inside = 0.2  # of the box, which the thing does not fill to its corners
    for material, share in through.items():
        if "glass" in through:
            assert (share > through[None] + inside) == (material == "glass"), through


def test_the_legs_of_a_glass_table_are_seen_through_its_top():
    assert seen_through("table", material="glass") > seen_through("table", material="wood")
    top = np.s_[50:65, 40:160]
    white, black = (large("table", ground, material="glass")[top] for ground in ("#ffffff", "#000000"))
    assert (np.abs(white - black).max(axis=2) > SEEN / 2).mean() > 0.5


def test_only_a_basket_of_wire_is_seen_through():
    through = {
        material: seen_through("basket", material=material, state="empty")
        for material in KIND_BY_NAME["basket"].materials
    }
    assert through["metal"] > 0.15 + max(share for material, share in through.items() if material != "metal")


def test_what_is_in_a_full_bottle_hides_what_is_behind_it():
    for material in KIND_BY_NAME["bottle"].materials:
        full, empty = (seen_through("bottle", material=material, state=state) for state in ("full", "empty"))
        assert full < empty - 0.2


STANDING = [name for name in SURFACES if DRAWINGS[name].__module__.endswith(".furniture")]


@pytest.mark.parametrize("name", STANDING)
def test_every_surface_is_part_of_what_is_drawn(name):
    for thing in variants(KIND_BY_NAME[name]):
        drawn = away(rendering.render_object(thing, 200, GROUND).astype(int), GROUND) > 8
        _, _, w, h = thing.box
        pixel = 200 / (1.08 * max(w, h))
        for left, right, y in SURFACES[name]:
            row = int(100 + pixel * h * (y - 0.5)) + 1
            columns = slice(int(100 + pixel * w * (left - 0.5)) + 2, int(100 + pixel * w * (right - 0.5)) - 2)
            assert drawn[row : row + 3, columns].any(axis=0).mean() > 0.9, (thing, y)  # corners are round


def test_a_shelf_has_as_many_boards_as_objects_can_stand_on():
    assert len(SURFACES["shelf"]) == 4


def test_chairs_of_other_materials_are_built_in_other_ways():
    shapes = {
        material: re.sub(r'fill="[^"]*"', "", DRAWINGS["chair"](look_of(material=material)))
        for material in KIND_BY_NAME["chair"].materials
    }
    assert len(set(shapes.values())) == len(shapes)


PEOPLE = [(kind.name, pose) for kind in kinds_of(people) for pose in kind.poses]


def points(name, pose):
    """Return pixels of a person alone, and a function from a point of the person's box (0 to 1) to a pixel."""
    thing = plain(KIND_BY_NAME[name], pose=pose)
    pixels = rendering.render_object(thing, 200, GROUND).astype(int)
    _, _, w, h = thing.box
    scale = 200 / (1.08 * max(w, h))
    return pixels, lambda x, y: (int(100 + scale * h * (y - 0.5)), int(100 + scale * w * (x - 0.5)))


@pytest.mark.parametrize(("name", "pose"), PEOPLE)
def test_a_hand_is_where_a_held_object_is_centred(name, pose):
    pixels, at = points(name, pose)
    skins = {skin for skin, _ in people.COMPLEXIONS}
    for side, inwards in (("left hand", 0.04), ("right hand", -0.04)):
        x, y = ANCHORS[pose][side]
        row, column = at(x + inwards, y)
        around = pixels[row - 2 : row + 3, column - 2 : column + 3]
        assert any(covers(around, skin).any() for skin in skins), side


@pytest.mark.parametrize(("name", "pose"), PEOPLE)
def test_the_head_is_where_its_anchor_says(name, pose):
    pixels, at = points(name, pose)
    x, y, w, h = ANCHORS[pose]["head"]
    (top, left), (bottom, right) = at(x, y), at(x + w, y + h)
    assert (away(pixels, GROUND)[top:bottom, left:right] > 8).mean() > 0.5


def test_clothes_go_where_people_have_these_parts():
    for anchors in ANCHORS.values():
        heights = [anchors[part][1] for part in ("hat", "head", "body", "legs")]
        assert heights == sorted(set(heights))


def test_complexions_are_as_many_as_there_are_varieties():
    looks = {
        DRAWINGS["man"](look_of(pose="standing", variety=number)) for number in range(len(people.COMPLEXIONS))
    }
    assert len(looks) == len(people.COMPLEXIONS) == len(set(people.COMPLEXIONS))


def test_the_old_have_gray_hair_whatever_it_was():
    for number in range(len(people.COMPLEXIONS)):
        old, young = (
            DRAWINGS["woman"](look_of(pose="standing", age=age, variety=number)) for age in ("old", "young")
        )
        assert people.GRAY_HAIR in old and people.GRAY_HAIR not in young


HUES = heads.Hues("#f6cfae", "#6f5d4e", "#6b4426", "#301e11")
WHO = [(age, female) for age in ("child", "young", "old") for female in (False, True)]


def test_no_two_ages_and_sexes_look_the_same():
    pictures = []
    for who in WHO:
        behind, before = heads.draw_head(*who, HUES)
        svg = rendering._document(
            f'<path d="M-30 -30H30V30H-30Z" fill="{GROUND}"/>' + behind + before, -25, -25, 50, 50
        )
        pictures.append(rendering._rasterize(svg, 100, 100)[:, :, :3].astype(int))
    for first in range(6):
        for second in range(first):
            differs = np.abs(pictures[first] - pictures[second]).max(axis=2) > SEEN
            assert differs.sum() > 300, (WHO[first], WHO[second])


@pytest.mark.parametrize(("age", "female"), WHO)
def test_only_long_hair_is_behind_the_body(age, female):
    assert bool(heads.draw_head(age, female, HUES)[0]) == female
