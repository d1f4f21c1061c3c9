import pytest

from pipeline.core.errors import Problems
from pipeline.core.records import Step
from pipeline.sources import own_table

HEAD = "question_id,picture,question,answer"


def read(tmp_path, text, name="questions.csv", splits=("val", "test")):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems("x")
    return list(own_table.questions(tmp_path, splits, problems, "test")), problems.lines


def test_a_csv_with_the_four_columns_is_enough(tmp_path):
    rows, problems = read(tmp_path, f'\ufeff{HEAD}\n007,dog.PNG,"What, if anything,\nis it?",a dog\n')
    assert problems == []
    assert (rows[0].question_id, rows[0].picture_id, rows[0].split) == ("007", "dog", "test")
    assert rows[0].text == "What, if anything,\nis it?"
    assert rows[0].program == ()


def test_a_csv_may_carry_split_and_program(tmp_path):
    program = '"[{""operation"": ""select"", ""argument"": ""dog (1)"", ""dependencies"": []}]"'
    rows, problems = read(
        tmp_path,
        f"{HEAD},split,program\n2,a.jpg,What?,x,val,{program}\n1,v1.2,What?,x,,\n3,c,What?,x,train,\n",
    )
    assert problems == []
    assert [(row.question_id, row.picture_id, row.split) for row in rows] == [
        ("1", "v1.2", "test"),
        ("2", "a", "val"),
    ]
    assert rows[1].program == (Step(operation="select", argument="dog (1)"),)


def test_jsonl_does_the_same(tmp_path):
    line = '{"question_id": "1", "picture": "a.jpg", "question": "What?", "answer": "x", "structural": "query"}\n'
    rows, problems = read(tmp_path, line + "\n", "questions.jsonl")
    assert problems == []
    assert (rows[0].picture_id, rows[0].structural) == ("a", "query")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "questions.csv",
            f"{HEAD}\n1,a,What?,x\n1,b,What?,x\n",
            "questions.csv, line 3, question 1: the same id is in questions.csv, line 2",
        ),
        (
            "questions.csv",
            f"{HEAD}\n1,a,What?,\n",
            "questions.csv, line 2: Object missing required field `answer`",
        ),
        (
            "questions.csv",
            f"{HEAD},colour\n1,a,What?,x,red\n",
            "questions.csv, line 2: Object contains unknown field `colour`",
        ),
        (
            "questions.csv",
            f"{HEAD}\n1,a,What, if?,x\n",
            "questions.csv, line 2: Object contains unknown field `(beyond the header)`",
        ),
        (
            "questions.csv",
            f"{HEAD},split\n1,a,What?,x,dev\n",
            "questions.csv, line 2: Invalid enum value 'dev' - at `$.split`",
        ),
        (
            "questions.csv",
            f"{HEAD},program\n1,a,What?,x,select\n",
            "questions.csv, line 2: JSON is malformed: invalid character (byte 0)",
        ),
        (
            "questions.csv",
            f"{HEAD}\n1,a,Où?,x\n".encode("latin-1"),
            "questions.csv: not UTF-8 ('utf-8' codec can't decode byte 0xf9 in position 41: invalid start byte); save the table as UTF-8",
        ),
        (
            "questions.jsonl",
            '{"question_id": 1, "picture": "a", "question": "What?", "answer": "x"}\n',
            "questions.jsonl, line 1: Expected `str`, got `int` - at `$.question_id`; ids are strings, a number loses its leading zeros",
        ),
        ("questions.jsonl", '{"question_id": "1", "pic', "questions.jsonl, line 1: Input data was truncated"),
    ],
)
def test_a_wrong_row_is_told_by_its_line(tmp_path, name, text, message):
    assert read(tmp_path, text, name)[1] == [message]


def test_two_tables_are_one_too_many(tmp_path):
    (tmp_path / "questions.jsonl").write_text("")
    assert read(tmp_path, HEAD)[1] == ["questions.jsonl or questions.csv: expected one of them, there are 2"]
