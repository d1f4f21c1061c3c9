import pytest

from pipeline.perturbing.middle import leave_the_middle
from pipeline.perturbing.rewriting import edited, rewrite
from tests.notation import steps
from tests.pipeline.perturbing.in_memory import case_of

MIDDLE = [  # question, type of position, the number drawn, the question out of the middle; "" if it stays
    (
        "What color is the cup in the middle of the photo?",
        "hposition",
        0.2,
        "What color is the cup on the left of the photo?",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "hposition",
        0.7,
        "What color is the cup on the right of the photo?",
    ),
    ("What color is the cup in the middle?", "vposition", 0.2, "What color is the cup at the top?"),
    # "in the left PART"; GQA says "in the top OF the photo"
    (
        "What color is the cup in the middle part?",
        "hposition",
        0.2,
        "What color is the cup in the left part?",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "vposition",
        0.7,
        "What color is the cup in the bottom of the photo?",
    ),
]


@pytest.mark.parametrize("text, position, random, expected", MIDDLE)
def test_what_is_in_the_middle_goes_to_an_edge(text, position, random, expected):
    semantic = f"select: cup (1)->filter {position}: middle [0]->query: color [1]"
    case = case_of(text, semantic, random=random)
    swaps = leave_the_middle(case)
    assert rewrite(case.sentence, swaps) == expected
    edge = edited(steps(semantic), case.program, swaps)[1].argument
    assert edge in expected


def test_a_middle_that_is_asked_for_or_denied_stays():
    asked = case_of("Is the cup in the middle?", "select: cup (1)->verify hposition: middle [0]")
    denied = case_of(
        "What color is the cup that is not in the middle?",
        "select: cup (1)->filter hposition: not(middle) [0]->query: color [1]",
    )
    assert leave_the_middle(asked) == leave_the_middle(denied) == []
