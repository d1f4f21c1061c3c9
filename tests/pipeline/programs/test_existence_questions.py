import pytest

from pipeline.core.records import Question, Step
from pipeline.programs.existence_questions import is_existence


def question(question_id="1", picture_id="a", text="What color is the cup?", detailed="", steps=()):
    program = tuple(
        Step(operation=operation, argument="", dependencies=dependencies) for operation, dependencies in steps
    )
    return Question(
        question_id=question_id,
        picture_id=picture_id,
        split="testdev",
        text=text,
        answer="x",
        detailed=detailed,
        program=program,
    )


@pytest.mark.parametrize(
    ("detailed", "steps", "expected"),
    [
        ("existRelSC", (("select", ()), ("exist", (0,))), True),  # the type alone is enough
        ("", (("select", ()), ("exist", (0,))), True),
        ("", (("select", ()), ("exist", (0,)), ("select", ()), ("exist", (2,)), ("or", (1, 3))), True),
        ("", (("select", ()), ("exist", (0,)), ("select", ()), ("exist", (2,)), ("and", (1, 3))), True),
        (
            "verifyAttrsC",
            (("select", ()), ("verify color", (0,)), ("verify size", (0,)), ("and", (1, 2))),
            False,
        ),
        (
            "",
            (("select", ()), ("exist", (0,)), ("verify size", (0,)), ("and", (1, 2))),
            False,
        ),  # one side presupposes
        ("relVerify", (("select", ()), ("verify rel", (0,))), False),
        ("", (("select", ()), ("query", (0,))), False),
    ],
)
def test_existence_is_told_by_the_type_or_the_end_of_the_program(detailed, steps, expected):
    assert is_existence(question(detailed=detailed, steps=steps)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is there a dog?", True),
        ("Are there any cats in the photo?", True),
        ("Do you see forks?", True),
        ("Is the dog there?", False),
        ("What is there?", False),
    ],
)
def test_without_type_and_program_the_first_words_tell_existence(text, expected):
    assert is_existence(question(text=text)) is expected
    assert not is_existence(question(text=text, detailed="query", steps=(("select", ()), ("query", (0,)))))
