"""People: the parts of their bodies are where clothes and things in hands will be."""

from __future__ import annotations

import pytest

from research.synthetic_world import rendering
from research.synthetic_world.drawings import DRAWINGS, people
from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.scene_types import ANCHORS
from tests.research.synthetic_world.shown import GROUND, away, check, covers, kinds_of, look_of, plain


@pytest.mark.parametrize("kind", kinds_of(people), ids=lambda kind: kind.name)
def test_every_appearance_is_drawn_and_no_two_look_the_same(kind):
    check(kind)


PEOPLE = [(kind.name, pose) for kind in kinds_of(people) for pose in kind.poses]


def points(name, pose):
    """Pixels of a person alone, and a function from a point of the person's box (0 to 1) to a pixel."""
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


def test_children_have_larger_heads_for_their_bodies():
    # the same frame of 54 x 128: a child's head is scaled by 1.23 and 1.16, a grown-up's by 1
    child, grown = (DRAWINGS[name](look_of(pose="standing")) for name in ("boy", "man"))
    assert "scale(1.23 1.16)" in child and "scale(1.23" not in grown


def test_complexions_are_as_many_as_there_are_varieties():
    looks = {
        DRAWINGS["man"](look_of(pose="standing", variety=number)) for number in range(len(people.COMPLEXIONS))
    }
    assert len(looks) == len(people.COMPLEXIONS) == len(set(people.COMPLEXIONS))


def test_the_old_have_gray_hair_whatever_it_was():
    for number in range(len(people.COMPLEXIONS)):
        assert people.GRAY_HAIR in DRAWINGS["woman"](look_of(pose="standing", age="old", variety=number))
        assert people.GRAY_HAIR not in DRAWINGS["woman"](
            look_of(pose="standing", age="young", variety=number)
        )


def test_women_and_girls_wear_skirts_and_men_and_boys_shorts():
    shoes = {
        name: DRAWINGS[name](look_of(pose="standing")).count("#8d3b4a")
        for name in ("man", "boy", "woman", "girl")
    }
    assert (shoes["man"], shoes["boy"]) == (0, 0) and shoes["woman"] == shoes["girl"] == 2
