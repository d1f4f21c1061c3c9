"""Whether one answer follows from another. Programs are in GQA's notation."""

import pytest

from pipeline.core.records import Step
from pipeline.language.functional_programs import parse_program
from research.synthetic_world.entailment import explain_non_entailment
from research.synthetic_world.question_checks import LEXICON


def answered(program, answer):
    steps = []
    for step in program.split("->"):
        operation, _, rest = step.partition(": ")
        argument, _, inputs = rest.partition(" [")
        steps.append(
            Step(
                operation=operation,
                argument=argument,
                dependencies=tuple(int(i) for i in inputs.rstrip("]").split(",") if i),
            )
        )
    return parse_program(tuple(steps)), answer


RED_CUP = ("select: cup (1)->query: color [0]", "red")
IS_RED = "select: cup (1)->verify color: red [0]"
IS_BLUE = "select: cup (1)->verify color: blue [0]"
LEFT = ("select: table (2)->verify rel: cup,to the left of,s (1) [0]", "yes")


@pytest.mark.parametrize(
    ("known", "other", "follows"),
    [
        (RED_CUP, (IS_RED, "yes"), True),
        (RED_CUP, (IS_BLUE, "no"), True),  # red objects are never blue in this world
        (RED_CUP, (IS_BLUE, "yes"), False),
        (RED_CUP, ("select: cup (1)->query: material [0]", "wood"), False),
        (RED_CUP, ("select: cup (3)->query: color [0]", "red"), False),  # another cup
        (
            RED_CUP,
            ("select: cup (1)->filter material: wood [0]->query: color [1]", "red"),
            True,
        ),  # the same cup
        ((IS_RED, "yes"), RED_CUP, True),
        ((IS_BLUE, "no"), RED_CUP, False),
        (LEFT, ("select: cup (1)->verify rel: table,to the right of,s (2) [0]", "yes"), True),
        (LEFT, ("select: table (2)->verify rel: cup,to the right of,s (1) [0]", "no"), True),
        (LEFT, ("select: table (2)->verify rel: cup,on,s (1) [0]", "no"), False),
        (LEFT, ("select: table (2)->choose rel: cup,to the left of|to the right of,s (1) [0]", "left"), True),
        (RED_CUP, ("select: cup (1)->exist: ? [0]", "yes"), True),
        (
            ("select: cup (-)->exist: ? [0]", "no"),
            ("select: cup (-)->filter color: red [0]->exist: ? [1]", "no"),
            True,
        ),
    ],
)
def test_what_follows_from_an_answer(known, other, follows):
    assert (explain_non_entailment(answered(*known), answered(*other), LEXICON) == "") is follows


def test_options_in_another_order_are_the_same_question():
    one = ("select: cup (1)->choose color: red|blue [0]", "red")
    other = ("select: cup (1)->choose color: blue|red [0]", "red")
    assert explain_non_entailment(answered(*one), answered(*other), LEXICON) == ""


def test_what_does_not_follow_is_said_why():
    assert explain_non_entailment(answered(*RED_CUP), answered(IS_BLUE, "yes"), LEXICON) != ""
