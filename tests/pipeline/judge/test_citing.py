"""The facts that bear on a question, in words, with the questions that state them."""

from __future__ import annotations

import pytest

from pipeline.judge.citing import cite
from pipeline.judge.reconstruct import reconstruct
from tests.notation import LEXICON, answered_question, steps

GRAPH = reconstruct(
    [
        answered_question("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]", "red", "q1"),
        answered_question("select: cup (2)->query: size [0]", "small", "q2"),
        answered_question("select: umbrella (-)->exist: ? [0]", "no", "q3"),
        answered_question("select: table (1)->relate: hat,on,s (-) [0]->exist: ? [1]", "no", "q4"),
        answered_question("select: scene->query: place [0]", "kitchen", "q5"),
        answered_question("select: animal (3)->query: name [0]", "dog", "q6"),
        answered_question("select: cup (2)->verify color: blue [0]", "no", "q7"),
    ],
    LEXICON,
)


@pytest.mark.parametrize(
    ("program", "facts"),
    [
        (
            "select: cup (9)->query: color [0]",
            [
                "2 is called cup (q1 q2 q7)",
                "cup (2): color red (q1)",
                "cup (2): not color blue (q7)",
                "the cup, said as of the only one (q2 q7)",
            ],
        ),
        (
            "select: table (9)->relate: cup,on,s (8) [0]->query: size [1]",
            [
                "1 is called table (q1 q4)",
                "2 is called cup (q1 q2 q7)",
                "cup (2): on table (1) (q1)",
                "cup (2): size small (q2)",
                "the cup, said as of the only one (q2 q7)",
            ],
        ),
        (
            "select: table (9)->relate: hat,on,s (8) [0]->query: size [1]",
            ["1 is called table (q1 q4)", "no hat on table (1) (q4)"],
        ),
        (
            "select: table (9)->relate: _,on,s (8) [0]->query: name [1]",
            ["1 is called table (q1 q4)", "2 is called cup (q1 q2 q7)", "cup (2): on table (1) (q1)"],
        ),
        ("select: umbrella (9)->query: color [0]", ["no umbrella in the picture (q3)"]),
        ("select: scene->query: weather [0]", ["place: kitchen (q5)"]),
        ("select: cat (9)->query: color [0]", ["the animal, said as of the only one of its kind (q6)"]),
        ("select: lamp (9)->query: color [0]", []),
    ],
)
def test_only_what_concerns_the_question_is_cited(program, facts):
    assert [
        f"{row.fact} ({' '.join(row.questions)})" for row in cite(steps(program), GRAPH, LEXICON)
    ] == facts


def test_what_only_the_question_itself_states_can_be_left_out():
    assert [
        row.fact for row in cite(steps("select: umbrella (9)->query: color [0]"), GRAPH, LEXICON, {"q3"})
    ] == []
    assert [
        row.questions
        for row in cite(steps("select: cup (9)->query: color [0]"), GRAPH, LEXICON, {"q1", "q2"})
    ] == [("q7",)] * 3


def test_without_a_program_nothing_is_cited():
    assert cite((), GRAPH, LEXICON) == []
