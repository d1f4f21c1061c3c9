"""One attempt at a scene: its objects and what they rest on."""

import numpy as np
import pytest

from research.synthetic_world.layout import is_valid_layout
from research.synthetic_world.ontology import INDOORS, KIND_BY_NAME, KINDS, WEATHERS
from research.synthetic_world.scene_plan import ScenePlanner
from research.synthetic_world.scene_statistics import CONTAINERS, SUPPORTERS, UNIQUE_KINDS


@pytest.fixture(scope="module")
def plans():
    """Return two filled plans for every kind that can be featured."""
    made = []
    for number, kind in enumerate([*KINDS, *KINDS]):
        plan = ScenePlanner(np.random.default_rng(number), kind)
        plan.fill()
        made.append(plan)
    return made


def test_the_location_is_one_of_the_featured_kind(plans):
    assert all(plan.location in plan.featured.locations for plan in plans)
    assert all((plan.weather == "") == (plan.location in INDOORS) for plan in plans)
    assert {plan.weather for plan in plans} == {"", *WEATHERS}


def test_it_never_snows_on_the_beach(plans):
    assert not [plan for plan in plans if plan.location == "beach" and plan.weather == "snowy"]


def test_the_featured_kind_comes_into_most_plans(plans):
    # If an object does not fit, another plan is tried (scenes.generate_scene).
    there = sum(any(thing.kind == plan.featured.name for thing in plan.objects) for plan in plans)
    assert there > 0.7 * len(plans)


def test_a_plan_fits_and_is_no_fuller_than_wanted(plans):
    for plan in plans:
        assert is_valid_layout(plan.objects)
        assert 8 <= plan.target_count <= 12
        assert len({thing.object_id for thing in plan.objects}) == len(plan.objects)


def test_hosts_are_there_and_carry_what_they_can(plans):
    for plan in plans:
        by_id = {thing.object_id: thing for thing in plan.objects}
        for thing in plan.objects:
            host = by_id[thing.host] if thing.host else None
            match thing.placement:
                case "top" if KIND_BY_NAME[thing.kind].category != "person":
                    assert host.kind in SUPPORTERS[thing.kind]
                case "inside":
                    assert host.kind in CONTAINERS[thing.kind] and host.state not in ("closed", "empty")
                case "hand" | "head" | "body" | "legs":
                    assert KIND_BY_NAME[host.kind].category == "person"
                case "wall" | "sky":
                    assert host is None


def test_nothing_hangs_on_a_wall_outdoors_or_flies_indoors(plans):
    for plan in plans:
        assert not [t for t in plan.objects if t.placement == ("sky" if plan.location in INDOORS else "wall")]


def test_of_some_kinds_one_is_enough_and_in_the_sky_are_two_at_most(plans):
    for plan in plans:
        kinds = [thing.kind for thing in plan.objects]
        assert all(kinds.count(name) <= 1 for name in UNIQUE_KINDS)
        assert sum(thing.placement == "sky" for thing in plan.objects) <= 2


def test_one_generator_gives_one_plan():
    first, second = (ScenePlanner(np.random.default_rng(5), KIND_BY_NAME["dog"]) for _ in range(2))
    first.fill()
    second.fill()
    assert first.objects == second.objects and first.objects
