"""The ontology, and types of scenes."""

import pytest

from research.synthetic_world import ontology
from research.synthetic_world.ontology import (
    ATTRIBUTE_TYPES,
    CATEGORIES,
    COLORS,
    KIND_BY_NAME,
    KINDS,
    LOCATIONS,
    MATERIALS,
    STATES,
)
from research.synthetic_world.scene_statistics import CONTAINERS, SEATS, SUPPORTERS
from research.synthetic_world.scene_types import (
    ANCHORS,
    APPEARANCE_SCALE,
    HEIGHT,
    HORIZON,
    RIMS,
    SURFACES,
    WIDTH,
)

# The kinds of the world: each can be drawn and placed, and has words.


PLACEMENTS = {"floor", "top", "wall", "sky", "hand", "head", "body", "legs", "inside"}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def test_names_are_unique_and_no_name_is_an_attribute_or_a_category_of_others():
    assert len(KIND_BY_NAME) == len(KINDS) == 62
    assert not set(KIND_BY_NAME) & set(ATTRIBUTE_TYPES)
    assert not [
        kind.name for kind in KINDS if kind.plural in KIND_BY_NAME.keys() - {kind.name}
    ]  # sheep are sheep


@each_kind
def test_attributes_are_those_of_the_world(kind):
    assert set(kind.colors or ()) <= set(COLORS) and set(kind.materials) <= set(MATERIALS)
    assert (
        kind.state in ("", *STATES)
        and set(kind.poses) <= set(ontology.POSES)
        and set(kind.ages) <= set(ontology.AGES)
    )
    assert len(set(kind.colors or ())) == len(kind.colors or ()), "a colour twice"


@each_kind
def test_every_kind_has_a_location_and_a_host(kind):
    assert kind.placements and set(kind.placements) <= PLACEMENTS
    assert kind.locations and set(kind.locations) <= set(LOCATIONS)
    assert min(kind.size) > 15 and kind.size[0] <= 200 and kind.size[1] <= 160
    if "top" in kind.placements:
        hosts = [KIND_BY_NAME[name] for name in SUPPORTERS[kind.name]]
        for place in kind.locations:
            assert any(place in host.locations for host in hosts) or set(kind.placements) != {"top"}, place
    if "inside" in kind.placements:
        assert any(set(KIND_BY_NAME[name].locations) & set(kind.locations) for name in CONTAINERS[kind.name])


@each_kind
def test_every_kind_has_an_attribute_or_is_unique(kind):
    # Two objects of a kind are distinguished by color, else by size, pose or age; otherwise there is only one per scene.
    assert kind.colors or kind.has_size or kind.poses or kind.ages or kind.name in ("traffic light",)


def test_every_attribute_has_one_type():
    values = [*COLORS, *MATERIALS, *ontology.PATTERNS, *ontology.SIZES, *ontology.POSES, *ontology.AGES]
    values += [state for pair in STATES.values() for state in pair]
    assert len(values) == len(set(values)) == len(ATTRIBUTE_TYPES)


def test_categories_hold_exactly_their_kinds():
    assert {name for members in CATEGORIES.values() for name in members} == {
        kind.name for kind in KINDS if kind.category
    }
    assert CATEGORIES["person"] == ("man", "woman", "boy", "girl") and "" not in CATEGORIES


def test_indoors_and_outdoors_share_no_place():
    assert not set(ontology.INDOORS) & set(ontology.OUTDOORS) and set(LOCATIONS) == {
        *ontology.INDOORS,
        *ontology.OUTDOORS,
    }


@pytest.mark.parametrize("color", COLORS)
def test_colors_are_far_apart(color):
    rgb = {name: bytes.fromhex(code[1:]) for name, code in COLORS.items()}
    for other in COLORS.keys() - {color}:
        assert max(abs(a - b) for a, b in zip(rgb[color], rgb[other], strict=True)) >= 40, other


# Where the parts of people and the surfaces of furniture are, as fractions of their boxes.


@pytest.mark.parametrize("pose", ANCHORS)
def test_a_body_is_head_over_trunk_over_legs_and_symmetrical(pose):
    anchors = ANCHORS[pose]
    tops = [anchors[part][1] for part in ("hat", "head", "body", "legs")]
    assert tops == sorted(tops)
    for part in ("head", "hat", "body", "legs"):
        x, _, w, _ = anchors[part]
        assert x + w / 2 == pytest.approx(0.5)
    assert anchors["left hand"][0] + anchors["right hand"][0] == pytest.approx(1)
    assert anchors["left hand"][1] == anchors["right hand"][1]


def test_every_pose_of_a_person_has_its_anchors():
    assert all(set(KIND_BY_NAME[name].poses) == set(ANCHORS) for name in ("man", "woman", "boy", "girl"))


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_lie_within_what_supports_and_boards_from_top_to_bottom(name):
    for left, right, y in SURFACES[name]:
        assert 0 <= left < right <= 1 and 0 <= y < 1
    heights = [y for _, _, y in SURFACES[name]]
    assert heights == sorted(heights)


def test_supporters_have_a_surface_and_containers_a_rim():
    carry = {host for hosts in SUPPORTERS.values() for host in hosts} | set(SEATS)
    assert carry == set(SURFACES)
    assert {host for hosts in CONTAINERS.values() for host in hosts} == set(RIMS)


@pytest.mark.parametrize("name", RIMS)
def test_a_rim_is_in_the_upper_third(name):
    left, right, y = RIMS[name]
    assert 0 < left < right < 1 and 0 < y < 0.34


def test_scales_are_for_poses_and_states_of_their_kinds():
    for (name, look), (wide, tall) in APPEARANCE_SCALE.items():
        kind = KIND_BY_NAME[name]
        assert look in (*kind.poses, "open", "closed") and 0.3 < wide < 1.2 and 0.5 < tall < 1.2


def test_the_floor_is_the_lower_part_of_an_image_of_four_to_three():
    assert WIDTH * 3 == HEIGHT * 4 and HEIGHT / 2 < HORIZON < 0.6 * HEIGHT
