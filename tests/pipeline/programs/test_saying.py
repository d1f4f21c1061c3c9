import pytest

from pipeline.programs.operations import parse
from pipeline.programs.saying import clause, name_of, phrase
from tests.notation import steps


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("select: cup (1)->query: color [0]", "cup"),
        ("select: _ (1)->query: color [0]", "object"),
        ("select: cup (1)->filter color: red [0]->query: size [1]", "red cup"),
        ("select: cup (1)->filter color: not(red) [0]->query: size [1]", "not red cup"),
        (
            "select: table (1)->filter color: red [0]->relate: cup,on,s (2) [1]->query: size [2]",
            "cup on red table",
        ),
        ("select: man (1)->relate: hat,wearing,o (2) [0]->query: color [1]", "hat (man wearing it)"),
    ],
)
def test_what_a_program_asks_of_is_said_in_words(program, words):
    operations = parse(steps(program))
    assert phrase(operations, operations[-1].inputs[0]) == words


def test_a_clause_takes_any_of_the_relations_that_are_offered():
    program = parse(steps("select: table (1)->choose rel: cup,on|under,s (2) [0]"))
    assert name_of(program[1]) == "cup"
    assert [clause(program, program[1], value) for value in program[1].values] == [
        "cup on table",
        "cup under table",
    ]
