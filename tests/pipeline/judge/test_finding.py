"""Steps that find things, one by one: what is certain, what may be, and what voids the question."""

import pytest

from pipeline.judge.finding import THE_SCENE, called, filter_, relate, select
from pipeline.judge.values import Void
from pipeline.programs.operations import parse
from tests.notation import facts, steps

WORLD = ("table 1: red", "table 2", "cup 3: blue; on 1")


def find(step, program, known):
    """What the steps of a program up to one find; the last one is not run."""
    operations = parse(steps(program))
    results = []
    for operation, run in zip(operations, step, strict=False):
        results.append(run(operation, [results[i] for i in operation.inputs], operations, known))
    return results[-1]


def ids(things):
    return [thing.object_id for thing in things]


@pytest.mark.parametrize(("complete", "maybe"), [(True, []), (False, ["2"])])
def test_a_filter_keeps_what_is_so_and_perhaps_what_may_be(complete, maybe):
    kept = find(
        (select, filter_),
        "select: table (1)->filter color: red [0]->query: name [1]",
        facts(*WORLD, complete=complete),
    )
    assert (ids(kept.sure), ids(kept.maybe)) == (["1"], maybe)


@pytest.mark.parametrize(
    ("program", "category"),
    [
        ("select: lamp (1)->query: color [0]", "missing object"),
        ("select: cup (3)->filter color: red [0]->query: name [1]", "wrong attribute"),
    ],
)
def test_what_certainly_finds_none_voids_the_question(program, category):
    with pytest.raises(Void) as void:
        find((select, filter_), program, facts(*WORLD))
    assert void.value.category == category


def test_a_relation_finds_the_named_thing_on_its_side():
    on = "select: table (1)->relate: cup,on,s (3) [0]->query: color [1]"
    assert ids(find((select, relate), on, facts(*WORLD)).sure) == ["3"]
    under = "select: cup (3)->relate: table,on,o (1) [0]->query: color [1]"
    assert ids(find((select, relate), under, facts(*WORLD)).sure) == ["1"]
    with pytest.raises(Void, match=r"no cup \(table on it\)"):
        find((select, relate), "select: table (1)->relate: cup,on,o (3) [0]->query: color [1]", facts(*WORLD))


def test_the_scene_is_a_thing_of_its_own():
    assert find((select,), "select: scene->query: place [0]", facts(*WORLD)).sure == (THE_SCENE,)


def test_a_category_may_be_what_is_asked_for():
    animal, dog = facts("animal 1", "dog 2", complete=False).things
    assert called(animal, "dog", facts(complete=False)) is None
    assert called(dog, "animal", facts(complete=False)) is True
    assert called(dog, "cat", facts(complete=False)) is False
