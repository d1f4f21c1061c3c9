import pytest

from pipeline.core.errors import UserError
from pipeline.core.records import Question, Step
from pipeline.ranking.admissible import question_table


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


def test_the_table_numbers_questions_by_id_and_knows_what_each_picture_was_asked():
    # Picture a is asked x (twice, under two ids) and an existence question e; picture b is asked y and x.
    rows = [
        question("3", "b", "y"),
        question("1", "a", "x"),
        question("2", "b", "x"),
        question("0", "a", "e", "exist"),
        question("4", "a", "x"),
        question("9", "other", "z"),
    ]
    table = question_table(rows, ["a", "b"], ["e", "x", "y"])
    assert [q.question_id for q in table.questions] == ["1", "2", "3", "4"]
    assert table.text_rows.tolist() == [1, 1, 2, 1]
    assert table.picture_rows.tolist() == [0, 1, 1, 0]
    assert [table.of_text[table.text_start[t] : table.text_start[t + 1]].tolist() for t in range(3)] == [
        [],
        [0, 1, 3],
        [2],
    ]
    assert [table.asked[table.asked_start[p] : table.asked_start[p + 1]].tolist() for p in range(2)] == [
        [0, 1],
        [1, 2],
    ]
    assert table.existence == 1
    # For a: only y (x is its own text, also under b's id). For b: nothing.
    assert table.admissible().tolist() == [1, 0]


def test_texts_that_were_not_embedded_are_all_named():
    with pytest.raises(UserError) as caught:
        question_table(
            [question("1", text="x"), question("2", text="y"), question("3", text="z")], ["a"], ["y"]
        )
    assert len(caught.value.problems) == 3  # the heading and two texts
    assert caught.value.problems[1].startswith("1: ") and caught.value.problems[2].startswith("3: ")
