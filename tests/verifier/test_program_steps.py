"""Single steps of programs on incomplete scenes, and their answers."""

from __future__ import annotations

import pytest

from pipeline.language.functional_programs import parse_program
from pipeline.verifier.program_steps import SCENE_OBJECT, execute_filter, execute_relate, execute_select
from pipeline.verifier.step_answers import (
    PresuppositionFailure,
    aggregate_options,
    aggregate_truths,
    aggregate_values,
    any_true,
    negate_if,
)
from pipeline.verifier.verification import execute_program
from tests.notation import facts, steps

# Program steps
# Single steps on incomplete scenes: selections, presupposition failures, possible answers and doubts.
#
# Complete scenes are in test_verification.


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


# Step answers
# Three-valued logic, and answers of several objects.


# Kleene's tables. An incomplete scene makes "the apple is red" and "the apple is small" true, false or
# unknown.
COLOR = {True: "red", False: "green", None: ""}
SIZE = {True: "small", False: "large", None: ""}
SAID = {True: "yes", False: "no", None: ""}
AND = {
    (True, True): True,
    (True, False): False,
    (True, None): None,
    (False, True): False,
    (False, False): False,
    (False, None): False,
    (None, True): None,
    (None, False): False,
    (None, None): None,
}
OR = {
    (True, True): True,
    (True, False): True,
    (True, None): True,
    (False, True): True,
    (False, False): False,
    (False, None): None,
    (None, True): True,
    (None, False): None,
    (None, None): None,
}


@pytest.mark.parametrize("verb", ["and", "or"])
@pytest.mark.parametrize(("a", "b"), list(AND))
def test_and_and_or_follow_kleene(verb, a, b):
    known = facts(f"apple 1: {COLOR[a]}, {SIZE[b]}", complete=False)
    program = f"select: apple (1)->verify color: red [0]->verify size: small [0]->{verb}:  [1, 2]"
    result = execute_program(parse_program(steps(program)), known)
    expected = (AND if verb == "and" else OR)[a, b]
    # The apple exists, so there is an answer.
    assert result.answerability == "answerable"
    assert result.answers == (() if expected is None else (SAID[expected],))
    assert result.possible_answers == (("yes", "no") if expected is None else (SAID[expected],))


@pytest.mark.parametrize(("truth", "opposite"), [(True, False), (False, True), (None, None)])
def test_negation_keeps_unknown_values(truth, opposite):
    assert negate_if(True, truth) is opposite
    assert negate_if(False, truth) is truth


@pytest.mark.parametrize(
    ("truths", "result"),
    [
        ([], False),
        ([False, False], False),
        ([False, None], None),
        ([None, True], True),
        ([False, True], True),
    ],
)
def test_one_true_is_enough_for_any(truths, result):
    assert any_true(truths) is result


@pytest.mark.parametrize(("truths", "right"), [([True], ("yes",)), ([False, False], ("no",)), ([None], ())])
def test_equal_truths_give_one_answer(truths, right):
    assert aggregate_truths(truths, "it").correct_answers == right
    assert not aggregate_truths(truths, "it").doubt


def test_different_truths_give_no_answer():
    with pytest.raises(PresuppositionFailure) as failure:
        aggregate_truths([True, None, False], "it")
    assert (failure.value.category, failure.value.answers) == ("underspecified", ("no", "yes"))
    assert aggregate_truths([True, None], "it").doubt


@pytest.mark.parametrize(
    ("values", "closed", "result"),
    [
        (["red"], True, "red"),
        (["red", "red"], True, "red"),
        (["red", "blue"], True, "underspecified"),
        (["red", ""], True, "underspecified"),
        (["", ""], True, "no valid answer"),
        # An unlisted value may be anything, but two listed values differ.
        (["red"], False, "red"),
        (["red", ""], False, "doubt"),
        ([""], False, "doubt"),
        (["red", "blue"], False, "underspecified"),
        (["red+blue"], False, "doubt"),
        (["red+blue"], True, "underspecified"),
        ([], True, "doubt"),
    ],
)
def test_a_value_of_all_objects_is_the_answer(values, closed, result):
    sets = [frozenset(value.split("+")) - {""} for value in values]
    try:
        answer = aggregate_values(sets, "color", is_complete=closed)
    except PresuppositionFailure as failure:
        assert failure.category == result
    else:
        assert (answer.correct_answers or ("doubt" if answer.doubt else "",))[0] == result


@pytest.mark.parametrize(
    ("cases", "result"),
    [
        ([(True, False)], "a"),
        ([(False, True), (False, True)], "b"),
        ([(False, False)], "no valid answer"),
        ([(True, True)], "no valid answer"),
        ([(True, False), (False, True)], "underspecified"),
        ([(True, False), (False, False)], "underspecified"),
        ([(True, None)], "doubt"),
        ([(None, False)], "doubt"),
        ([(True, False), (None, False)], "doubt"),
        ([], "doubt"),
    ],
)
def test_exactly_one_option_must_be_true_for_all(cases, result):
    try:
        answer = aggregate_options([dict(zip("ab", case, strict=True)) for case in cases], "ab", "it")
    except PresuppositionFailure as failure:
        assert failure.category == result
    else:
        assert (answer.correct_answers or ("doubt" if answer.doubt else "",))[0] == result


def test_two_true_options_are_no_valid_choice():
    with pytest.raises(PresuppositionFailure, match="both"):
        aggregate_options([{"a": True, "b": True, "c": None}], "abc", "it")


def test_an_option_that_is_ruled_out_is_not_possible():
    assert aggregate_options([{"a": None, "b": False}], ("a", "b"), "it").possible_answers == ("a",)
