"""Single steps on incomplete scenes: selections, presupposition failures, possible answers and doubts.

Complete scenes are in test_verification.
"""

import pytest

from pipeline.language.functional_programs import parse_program
from pipeline.verifier.program_steps import SCENE_OBJECT, execute_filter, execute_relate, execute_select
from pipeline.verifier.step_answers import PresuppositionFailure
from pipeline.verifier.verification import execute_program
from tests.notation import facts, steps

OPEN = facts("table 1: red", "cup 2: blue; on 1", "cup 3; to the left of 1", complete=False, place="beach")
WORLD = ("table 1: red", "table 2", "cup 3: blue; on 1")


def find(step, program, known):
    """Return the selection of the last of some steps at the start of a program."""
    operations = parse_program(steps(program))
    results = []
    for operation, run in zip(operations, step, strict=False):
        results.append(run(operation, [results[i] for i in operation.inputs], operations, known))
    return results[-1]


def ids(objects):
    return [obj.object_id for obj in objects]


@pytest.mark.parametrize(("complete", "maybe"), [(True, []), (False, ["2"])])
def test_a_filter_keeps_certain_and_possible_objects(complete, maybe):
    kept = find(
        (execute_select, execute_filter),
        "select: table (1)->filter color: red [0]->query: name [1]",
        facts(*WORLD, complete=complete),
    )
    assert (ids(kept.certain), ids(obj for obj, _ in kept.possible)) == (["1"], maybe)


@pytest.mark.parametrize(
    ("program", "category"),
    [
        ("select: lamp (1)->query: color [0]", "missing object"),
        ("select: cup (3)->filter color: red [0]->query: name [1]", "wrong attribute"),
    ],
)
def test_an_empty_selection_is_a_presupposition_failure(program, category):
    with pytest.raises(PresuppositionFailure) as failure:
        find((execute_select, execute_filter), program, facts(*WORLD))
    assert failure.value.category == category


def test_a_relation_selects_the_named_object_in_its_role():
    on = "select: table (1)->relate: cup,on,s (3) [0]->query: color [1]"
    assert ids(find((execute_select, execute_relate), on, facts(*WORLD)).certain) == ["3"]
    under = "select: cup (3)->relate: table,on,o (1) [0]->query: color [1]"
    assert ids(find((execute_select, execute_relate), under, facts(*WORLD)).certain) == ["1"]
    with pytest.raises(PresuppositionFailure, match=r"no cup \(table on it\)"):
        find(
            (execute_select, execute_relate),
            "select: table (1)->relate: cup,on,o (3) [0]->query: color [1]",
            facts(*WORLD),
        )


def test_the_scene_is_selected_as_a_special_object():
    assert find((execute_select,), "select: scene->query: place [0]", facts(*WORLD)).certain == (
        SCENE_OBJECT,
    )


def test_a_category_may_be_a_more_specific_object():
    known = facts("animal 1", "dog 2", complete=False)
    animal, dog = known.objects
    assert known.evaluate_name(animal, "dog") is None
    assert known.evaluate_name(dog, "animal") is True
    assert known.evaluate_name(dog, "cat") is False


@pytest.mark.parametrize(
    ("program", "possible"),
    [
        # exist: certain, possible
        ("select: cup (2)->exist: ? [0]", ("yes",)),
        ("select: lamp (-)->exist: ? [0]", ("yes", "no")),
        # verify: yes or no is correct for a single object
        ("select: table (1)->verify material: wood [0]", ("yes", "no")),
        ("select: table (1)->verify color: blue [0]", ("no",)),
        # choose: a false option is no possible answer
        ("select: table (1)->choose color: blue|red [0]", ("red",)),
        ("select: table (1)->choose: blue|heavy [0]", ("heavy",)),
        # query
        ("select: table (1)->query: color [0]", ("red",)),
        ("select: table (1)->query: material [0]", ()),
        ("select: scene->query: place [0]", ("beach",)),
        # compare: scene graphs do not say which object is older
        ("select: table (1)->select: cup (2)->choose older: ? [0, 1]", ()),
        # same, different: by the known values of both
        ("select: table (1)->select: cup (2)->same color:  [0, 1]", ("yes", "no")),
    ],
)
def test_possible_answers(program, possible):
    assert execute_program(parse_program(steps(program)), OPEN).possible_answers == possible


@pytest.mark.parametrize(
    ("program", "doubt"),
    [
        ("select: table (1)->verify rel: lamp,on,s (7) [0]", "nothing is known of any lamp"),
        (
            "select: table (1)->verify rel: table,near,s (1) [0]",
            "the program does not say what table is near",
        ),
        ("select: table (1)->choose rel: lamp,on|under,s (7) [0]", "nothing is known of any lamp"),
        ("select: scene->verify weather: sunny [0]", "it is not known whether"),
        ("select: table (1)->same: color [0]", "it is not known how many are meant by 'table'"),
        (
            "select: table (1)->select: cup (2)->choose older: ? [0, 1]",
            "it is not known which of the two is older",
        ),
    ],
)
def test_a_doubt_explains_what_is_not_known(program, doubt):
    outcome = execute_program(
        parse_program(steps(program)), facts("table 1: red", "cup 2", complete=False, place="")
    )
    assert outcome.answerability == "unknown" and outcome.detail.startswith(doubt)
