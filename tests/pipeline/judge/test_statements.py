"""What one program with its answer states: the facts that it presupposes, and those that it asks for."""

import pytest

from pipeline.judge.statements import Statement, named, of_program, scene_is
from pipeline.programs.operations import parse
from tests.notation import steps

TABLE, CUP = Statement("name", "1", value="table"), Statement("name", "2", value="cup")
ON = Statement("relation", "2", value="on", other="1")
THERE = "select: table (1)->relate: cup,on,s (2) [0]->exist: ? [1]"


@pytest.mark.parametrize(
    ("program", "answer", "expected"),
    [
        # presupposed: a table, a cup on it; asked: its colour
        (
            "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
            "red",
            [TABLE, CUP, ON, Statement("name", "2"), Statement("attribute", "2", "color", "red")],
        ),
        # asked of "the table" without more: there is one, or all are alike
        (
            "select: table (1)->query: color [0]",
            "red",
            [
                TABLE,
                Statement("alone", value="table"),
                Statement("name", "1"),
                Statement("attribute", "1", "color", "red"),
            ],
        ),
        (THERE, "yes", [TABLE, CUP, ON]),
        (THERE, "no", [TABLE, CUP, Statement("relation", "2", value="on", other="1", holds=False)]),
        (
            THERE.replace("(2)", "(-)"),
            "no",
            [TABLE, Statement("none", "1", value="cup,on,s")],
        ),
        # "no" to two claims at once tells of neither
        (
            "select: table (1)->relate: cup,on,s (2) [0]->filter color: red [1]->exist: ? [2]",
            "no",
            [TABLE, CUP],
        ),
        ("select: dogs (-)->exist: ? [0]", "no", [Statement("absent", value="dog")]),
        # each side of a true "and", of a false "or"; nothing of a false "and"
        (
            "select: cup (2)->verify color: red [0]->verify size: big [0]->and:  [1, 2]",
            "no",
            [CUP, Statement("alone", value="cup")],
        ),
        ("select: scene->query: place [0]", "park", [scene_is("place", "park")]),
        ("select: scene->verify location: indoors [0]", "no", [scene_is("location", "outdoors")]),
        ("select: scene->verify weather: sunny [0]", "no", [scene_is("weather", "sunny", False)]),
    ],
)
def test_an_answered_question_states(program, answer, expected):
    assert list(of_program(parse(steps(program)), answer)) == expected


def test_an_option_that_is_not_chosen_is_denied():
    chosen = list(of_program(parse(steps("select: cup (2)->choose color: red|blue [0]")), "blue"))
    looks = {statement.value: statement.holds for statement in chosen if statement.kind == "attribute"}
    assert looks == {"red": False, "blue": True}


@pytest.mark.parametrize(
    ("name", "known"), [("she", "person"), ("this", ""), ("scene", ""), ("lamp", "lamp")]
)
def test_a_pronoun_names_a_person_or_nothing(name, known):
    assert list(named(name, ("7",))) == [Statement("name", "7", value=known)]


def test_a_room_is_a_place():
    assert scene_is("room", "kitchen") == scene_is("place", "kitchen") == scene_is("", "kitchen")
