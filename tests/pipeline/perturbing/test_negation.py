"""A denied look becomes a stated one, and one that nothing else excludes is denied; the program says the same."""

import pytest

from pipeline.perturbing.negation import affirm, deny
from pipeline.perturbing.rewriting import edited, rewrite
from pipeline.programs.operations import parse
from tests.notation import steps
from tests.pipeline.perturbing.in_memory import case_of

CASES = [  # how, question, program, text after it, what the filter then says ("" and no swap: stays)
    (
        affirm,
        "What is the cup that is not red on?",
        "select: cup (1)->filter color: not(red) [0]->relate: _,on,o (2) [1]->query: name [2]",
        "What is the cup that is red on?",
        "red",
    ),
    (
        affirm,
        "Which kind of food isn't sliced?",
        "select: food (1)->filter: not(sliced) [0]->query: name [1]",
        "Which kind of food is sliced?",
        "sliced",
    ),
    (
        affirm,
        "Are the chairs that aren't wooden small?",
        "select: chairs (1)->filter material: not(wood) [0]->verify size: small [1]",
        "Are the chairs that are wooden small?",
        "wood",
    ),
    (
        affirm,
        "Is there a cup that is not red?",
        "select: cup (1)->filter color: not(red) [0]->exist: ? [1]",
        "",
        "",
    ),
    (
        affirm,
        "Is the cup that is red large?",
        "select: cup (1)->filter color: red [0]->verify size: large [1]",
        "",
        "",
    ),
    (
        deny,
        "What is the man that is posing wearing?",
        "select: man (1)->filter activity: posing [0]->relate: _,wearing,o (2) [1]->query: name [2]",
        "What is the man that is not posing wearing?",
        "not(posing)",
    ),
    (
        deny,
        "What is the posing man wearing?",
        "select: man (1)->filter activity: posing [0]->relate: _,wearing,o (2) [1]->query: name [2]",
        "",
        "",
    ),
    (
        deny,
        "What is the man that is not posing wearing?",
        "select: man (1)->filter activity: not(posing) [0]->relate: _,wearing,o (2) [1]->query: name [2]",
        "",
        "",
    ),
    # "What clothing is not hanging?" nearly always has an answer; race is not to be told by looks
    (
        deny,
        "What kind of laundry is hanging?",
        "select: laundry (1)->filter: hanging [0]->query: name [1]",
        "",
        "",
    ),
    (
        deny,
        "Is the man that is Asian tall?",
        "select: man (1)->filter race: asian [0]->verify height: tall [1]",
        "",
        "",
    ),
    (deny, "Is red the cup?", "select: cup (1)->filter color: red [0]->verify size: large [1]", "", ""),
]


@pytest.mark.parametrize("how, text, semantic, expected, said", CASES)
def test_not_is_taken_away_and_put_in(how, text, semantic, expected, said):
    case = case_of(text, semantic)
    swaps = how(case)
    assert (rewrite(case.sentence, swaps) if swaps else "") == expected
    if swaps:
        changed = edited(steps(semantic), case.program, swaps)
        assert changed[1].argument == said
        assert parse(changed)[1].negated is said.startswith("not")
