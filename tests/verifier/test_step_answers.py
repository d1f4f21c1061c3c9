"""Three-valued logic, and answers of several objects."""

from __future__ import annotations

import pytest

from pipeline.language.functional_programs import parse_program
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
