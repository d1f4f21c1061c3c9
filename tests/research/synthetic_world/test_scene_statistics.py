"""Typical scenes: attributes of a kind, where it stands, and when two of a kind can be distinguished."""

from collections import Counter

import numpy as np
import pytest

from research.synthetic_world import rendering, scene_statistics
from research.synthetic_world.ontology import KIND_BY_NAME, KINDS, LOCATIONS, STATES
from research.synthetic_world.scene_statistics import (
    MIN_OBJECT_AREA,
    get_depth_range,
    get_popularity,
    is_distinguishable,
    sample_appearance,
)
from research.synthetic_world.scene_types import HEIGHT, HORIZON, PlacedObject

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def looks(kind, rests="floor", times=60, **more):
    rng = np.random.default_rng(3)
    return [sample_appearance(rng, kind, rests, **more) for _ in range(times)]


@each_kind
def test_attributes_are_those_that_the_kind_can_have(kind):
    for chosen in looks(kind):
        assert chosen.color in (kind.colors or (None,)) and chosen.material in (None, *kind.materials)
        assert chosen.state in STATES.get(kind.state, (None,)) and chosen.pose in (kind.poses or (None,))
        assert chosen.pattern is None or kind.is_patternable
        assert chosen.size is None or kind.has_size


@each_kind
def test_an_object_of_middle_size_has_its_natural_size(kind):
    for chosen in looks(kind):
        if chosen.size is None:
            assert (chosen.width, chosen.height) == rendering.compute_natural_size(
                kind.name, chosen.pose or chosen.state
            )


@each_kind
def test_small_is_smaller_large_is_larger_and_nothing_is_too_small_to_see(kind):
    for chosen in looks(kind):
        wide, tall = rendering.compute_natural_size(kind.name, chosen.pose or chosen.state)
        ratio = chosen.width / wide
        assert {"small": ratio < 0.8, None: ratio == 1, "large": ratio > 1.2}[chosen.size]
        assert chosen.size != "small" or chosen.width * chosen.height >= MIN_OBJECT_AREA
        assert ratio == pytest.approx(chosen.height / tall)


def test_what_is_held_is_of_middle_size():
    assert {chosen.size for chosen in looks(KIND_BY_NAME["ball"], rests="hand")} == {None}


def test_a_pose_may_be_given():
    assert {chosen.pose for chosen in looks(KIND_BY_NAME["man"], pose="sitting")} == {"sitting"}


def test_the_first_color_is_the_most_common_and_every_color_occurs():
    for name, usual in (("apple", "red"), ("couch", "gray"), ("cup", "white")):
        colors = Counter(chosen.color for chosen in looks(KIND_BY_NAME[name], times=600))
        assert colors.most_common(1)[0][0] == usual and set(colors) == set(KIND_BY_NAME[name].colors)


def test_glass_and_metal_show_their_surface_never_a_pattern():
    chosen = [c for kind in KINDS if kind.is_patternable for c in looks(kind, times=200)]
    assert any(c.pattern for c in chosen)
    assert not [c for c in chosen if c.pattern and c.material in ("glass", "leather", "metal", "stone")]


@each_kind
def test_what_stands_on_the_floor_does_so_below_the_horizon(kind):
    for place in LOCATIONS:
        found = get_depth_range(kind, place)
        assert found is None or HORIZON < found[0] < found[1] <= HEIGHT
        assert found is None or "floor" in kind.placements


def test_an_umbrella_stands_on_the_beach_alone_and_benches_on_the_sidewalk():
    assert [place for place in LOCATIONS if get_depth_range(KIND_BY_NAME["umbrella"], place)] == ["beach"]
    assert (
        get_depth_range(KIND_BY_NAME["bench"], "street")[1]
        < get_depth_range(KIND_BY_NAME["bench"], "park")[1]
    )
    assert get_depth_range(KIND_BY_NAME["clock"], "office") is None


def thing(name, **looks_):
    return PlacedObject("1", name, (0, 0, 10, 10), "floor", **looks_)


def chosen(**looks_):
    everything = dict.fromkeys(("color", "material", "pattern", "size", "state", "pose", "age")) | looks_
    return scene_statistics.SampledAppearance(**everything, width=10, height=10)


@pytest.mark.parametrize(
    ("name", "here", "there", "is_distinct"),
    [
        ("chair", {"color": "red"}, {"color": "blue"}, True),
        ("chair", {"color": "red"}, {"color": "red", "size": "large"}, False),
        ("chair", {"color": "red"}, {"color": "orange"}, False),  # who calls which orange?
        ("man", {"pose": "standing", "age": "old"}, {"pose": "standing", "age": "young"}, True),
        ("man", {"pose": "standing", "age": "old"}, {"pose": "standing", "age": "old"}, False),
        ("tree", {"size": "small"}, {"size": "large"}, True),
        ("tree", {"size": "small"}, {}, False),  # small or of middle size?
    ],
)
def test_two_objects_of_a_kind_must_be_distinguishable_by_their_attributes(name, here, there, is_distinct):
    assert is_distinguishable(KIND_BY_NAME[name], chosen(**here), [thing(name, **there)]) is is_distinct
    assert is_distinguishable(
        KIND_BY_NAME[name], chosen(**here), [thing("lamp", **there)]
    )  # of another kind: no matter


def test_kinds_of_few_locations_are_more_common_there():
    assert get_popularity(KIND_BY_NAME["tractor"]) > get_popularity(KIND_BY_NAME["cat"])
    assert get_popularity(KIND_BY_NAME["chair"]) == pytest.approx(
        2 * len(KIND_BY_NAME["chair"].locations) ** -0.7
    )


def test_every_kind_that_may_rest_on_top_or_inside_has_something_to_rest_on():
    for rests, hosts in (("top", scene_statistics.SUPPORTERS), ("inside", scene_statistics.CONTAINERS)):
        assert {kind.name for kind in KINDS if rests in kind.placements} <= set(hosts)
