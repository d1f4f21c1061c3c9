import pytest

from pipeline.perturbing.demands import Demands, demands, wants_kin
from pipeline.perturbing.slots import object_slots
from pipeline.programs.operations import parse
from tests.notation import steps
from tests.pipeline.perturbing.in_memory import case_of

SAID = [  # program, the step that names the thing, what is said of it
    (
        "select: cup (1)->filter color: red [0]->query: material [1]",
        0,
        Demands(attributes=(("red",),), types=("material",)),
    ),
    ("select: cup (1)->filter color: not(red) [0]->query: name [1]", 0, Demands(types=("color",))),
    ("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]", 0, Demands(relations=(("on", "o"),))),
    (
        "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
        1,
        Demands(relations=(("on", "s"),), types=("color",)),
    ),
    ("select: door (1)->choose : open|closed [0]", 0, Demands(attributes=(("open", "closed"),))),
    (
        "select: cup (1)->filter hposition: left [0]->query: name [1]",
        0,
        Demands(),
    ),  # anything may be on the left
]


@pytest.mark.parametrize("semantic, step, expected", SAID)
def test_what_takes_a_things_place_should_be_as_the_question_says(semantic, step, expected):
    assert demands(parse(steps(semantic)), step) == expected


KIN = [  # question, program, whether only its own kind takes the place of the first thing
    ("What color is the girl's hair?", "select: girl (1)->relate: hair,of,s (2) [0]->query: color [1]", True),
    ("Is the dog older than the cat?", "select: dog (1)->select: cat (2)->choose older: ? [0, 1]", True),
    ("Is the man Asian?", "select: man (1)->verify race: Asian [0]", True),
    ("What is the man wearing?", "select: man (1)->relate: _,wearing,o (2) [0]->query: name [1]", False),
]


@pytest.mark.parametrize("text, semantic, kin", KIN)
def test_an_owner_of_parts_and_what_is_compared_give_way_to_their_own_kind(text, semantic, kin):
    case = case_of(text, semantic)
    slots, _ = object_slots(case.program, case.sentence)
    assert wants_kin(case.sentence, case.program, slots[0]) is kin
