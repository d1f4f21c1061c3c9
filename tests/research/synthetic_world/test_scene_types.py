"""Where the parts of people and the surfaces of furniture are, as fractions of their boxes."""

import pytest

from research.synthetic_world.ontology import KIND_BY_NAME
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
