"""Counts of what is seen in graphs, and in what questions say."""

from pipeline.counting.seen import Sightings
from tests.notation import facts, scene

THINGS = ("table 1: wood", "cup 2: red, small; on 1", "cup 3: red")


def counts(seen):
    return (seen.names, seen.attributes, seen.subject_of, seen.object_of, seen.places, seen.weathers)


EXPECTED = (
    {"table": 1, "cup": 2},
    {"table": {"wood": 1}, "cup": {"red": 2, "small": 1}},
    {"cup": {"on": 1}},
    {"table": {"on": 1}},
    {"kitchen": 1},
    {},
)


def test_a_graph_is_counted_by_the_names_of_its_things():
    seen = Sightings()
    seen.add_scene(scene(*THINGS))
    assert counts(seen) == EXPECTED


def test_facts_are_counted_like_the_graph_that_they_are_of():
    seen = Sightings()
    seen.add_facts(facts(*THINGS))
    assert counts(seen) == EXPECTED


def test_a_thing_without_a_name_is_not_counted_nor_are_its_relations():
    known = facts(*THINGS)
    nameless = next(thing for thing in known.things if thing.object_id == "1")
    nameless.label, nameless.names = "", ()
    seen = Sightings()
    seen.add_facts(known)
    assert seen.names == {"cup": 2}
    assert not seen.subject_of and not seen.object_of and "table" not in seen.attributes
