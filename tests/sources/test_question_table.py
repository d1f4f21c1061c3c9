import json

import msgspec
import pandas as pd
import pytest

from pipeline.core.errors import Problems
from pipeline.core.records import Step
from pipeline.sources import question_table

HEAD = "question_id,image,question,answer"


def read(tmp_path, text, name="questions.csv", splits=("val", "test")):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems("x")
    return list(question_table.read_questions(tmp_path, splits, problems, "test")), problems.lines


def test_a_csv_with_the_four_columns_is_enough(tmp_path):
    rows, problems = read(tmp_path, f'\ufeff{HEAD}\n007,dog.PNG,"What, if anything,\nis it?",a dog\n')
    assert problems == []
    assert (rows[0].question_id, rows[0].image_id, rows[0].split) == ("007", "dog", "test")
    assert rows[0].text == "What, if anything,\nis it?"
    assert rows[0].program == ()


def test_a_csv_may_have_split_and_program(tmp_path):
    program = '"[{""operation"": ""select"", ""argument"": ""dog (1)"", ""dependencies"": []}]"'
    rows, problems = read(
        tmp_path,
        f"{HEAD},split,program\n2,a.jpg,What?,x,val,{program}\n1,v1.2,What?,x,,\n3,c,What?,x,train,\n",
    )
    assert problems == []
    assert [(row.question_id, row.image_id, row.split) for row in rows] == [
        ("1", "v1.2", "test"),
        ("2", "a", "val"),
    ]
    assert rows[1].program == (Step(operation="select", argument="dog (1)", dependencies=()),)


def test_columns_that_nobody_knows_are_reported_once_beside_the_faults_of_the_rows(tmp_path):
    rows, problems = read(
        tmp_path, f"{HEAD},colour,size\n1,a,What?,x,red,\n2,a,What?,,red,big\n3,a,Where?,x,,\n"
    )
    assert [row.question_id for row in rows] == ["1", "3"]
    assert problems[0] == "questions.csv, row 3: Object missing required field `answer`"
    assert problems[1].startswith(
        "questions.csv, column colour: unknown column, in 2 rows (the first is row 2)"
    )
    assert problems[2].startswith("questions.csv, column size: unknown column, in 1 row (the first is row 3)")
    # All allowed columns are listed.
    assert "question_id (or questionId, qid, id); image (or picture, " in problems[1]
    assert "program, optional; " in problems[1] and len(problems) == 3


def test_keys_that_nobody_knows_are_reported_once(tmp_path):
    line = '{"question_id": "%d", "image": "a", "question": "What?", "answer": "x", "colour": "red"}\n'
    rows, problems = read(tmp_path, "".join(line % number for number in range(3)), "questions.jsonl")
    assert len(rows) == 3
    (problem,) = problems
    assert problem.startswith(
        "questions.jsonl, column colour: unknown column, in 3 rows (the first is line 1)"
    )


def test_required_columns_that_are_missing_are_reported_together(tmp_path):
    rows, (problem,) = read(tmp_path, "question_id,photo,question\n1,a,What?\n2,a,What?\n")
    assert rows == []
    assert "no column image and no column answer" in problem and "(question_id, photo, question)" in problem


def test_jsonl_does_the_same(tmp_path):
    line = (
        '{"question_id": "1", "image": "a.jpg", "question": "What?", "answer": "x", "structural": "query"}\n'
    )
    rows, problems = read(tmp_path, line + "\n", "questions.jsonl")
    assert problems == []
    assert (rows[0].image_id, rows[0].structural) == ("a", "query")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "questions.csv",
            f"{HEAD}\n1,a,What?,x\n1,b,What?,x\n",
            "questions.csv, row 3, question 1: the same id is in questions.csv, row 2",
        ),
        (
            "questions.csv",
            f"{HEAD}\n1,a,What?,\n",
            "questions.csv, row 2: Object missing required field `answer`",
        ),
        (
            "questions.csv",
            f"{HEAD}\n1,a,What, if?,x\n",
            "questions.csv, row 2: Object contains unknown field `(beyond the header)`",
        ),
        (
            "questions.csv",
            f"{HEAD},split\n1,a,What?,x,dev\n",
            "questions.csv, row 2: Invalid enum value 'dev' - at `$.split`",
        ),
        (
            "questions.csv",
            f"{HEAD},program\n1,a,What?,x,select\n",
            "questions.csv, row 2: JSON is malformed: invalid character (byte 0)",
        ),
        (
            "questions.csv",
            f"{HEAD}\n1,a,Où?,x\n".encode("latin-1"),
            "questions.csv: not UTF-8 text (invalid start byte at byte 39); save it as UTF-8",
        ),
        (
            "questions.jsonl",
            '{"question_id": 1, "image": "a", "question": "What?", "answer": "x"}\n',
            "questions.jsonl, line 1: Expected `str`, got `int` - at `$.question_id`; ids are strings, because numbers lose leading zeros",
        ),
        (
            "questions.jsonl",
            '{"question_id": "1", "image": "a", "question": "What?", "Question": "Who?", "answer": "x"}\n',
            "questions.jsonl, line 1: the key question occurs more than once",
        ),
        ("questions.jsonl", '{"question_id": "1", "pic', "questions.jsonl, line 1: Input data was truncated"),
    ],
)
def test_an_invalid_row_is_reported_with_its_line(tmp_path, name, text, message):
    assert read(tmp_path, text, name)[1] == [message]


ROWS = [
    {"question_id": "007", "image": "dog.PNG", "question": "What?", "answer": "NA", "split": None},
    {"question_id": "1.0", "image": "b", "question": "Which?", "answer": "None", "split": "val"},
]


def table(folder, ending, rows):
    """Write the same rows in each format."""
    path, frame = folder / f"questions.{ending}", pd.DataFrame(rows)
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "xlsx":
        frame.to_excel(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_table(folder, ending, rows):
    table(folder, ending, rows)
    problems = Problems("x")
    return list(question_table.read_questions(folder, ("val", "test"), problems, "test")), problems.lines


ENDINGS = ["csv", "jsonl", "xlsx", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_all_formats_give_the_same_questions(tmp_path, ending):
    rows, problems = read_table(tmp_path, ending, ROWS)
    assert problems == []
    assert [(row.question_id, row.image_id, row.answer, row.split) for row in rows] == [
        ("007", "dog", "NA", "test"),
        ("1.0", "b", "None", "val"),
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_all_formats_report_the_same_problems_by_row(tmp_path, ending):
    wrong = [ROWS[0], ROWS[1] | {"answer": None}, ROWS[1] | {"split": "dev"}, ROWS[0] | {"image": "c"}]
    # The header is row 1 of a spreadsheet. JSON Lines and Parquet have no header.
    where, first = (
        f"questions.{ending}, {'line' if ending == 'jsonl' else 'row'}",
        int(ending in ("csv", "xlsx")) + 1,
    )
    assert read_table(tmp_path, ending, wrong)[1] == [
        f"{where} {first + 1}: Object missing required field `answer`",
        f"{where} {first + 2}: Invalid enum value 'dev' - at `$.split`",
        f"{where} {first + 3}, question 007: the same id is in {where} {first}",
    ]


@pytest.mark.parametrize("ending", ["jsonl", "xlsx", "parquet"])
@pytest.mark.parametrize(("number", "kind"), [(7, "int"), (7.5, "float")])
def test_numbers_are_refused_as_ids_and_answers(tmp_path, ending, number, kind):
    rows = [ROWS[0] | {"question_id": number}]
    assert read_table(tmp_path, ending, rows)[1][0].endswith(
        f"Expected `str`, got `{kind}` - at `$.question_id`; ids are strings, because numbers lose leading zeros"
    )


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_program_may_be_a_list_or_a_text(tmp_path, ending):
    step = {"operation": "select", "argument": "dog (1)", "dependencies": []}
    second = {"operation": "query", "argument": "name", "dependencies": [0]}
    for program in ([step, second], json.dumps([step, second])):
        (row,), problems = read_table(tmp_path, ending, [ROWS[0] | {"program": program}])
        assert problems == []
        assert row.program == (
            Step(operation="select", argument="dog (1)", dependencies=()),
            Step(operation="query", argument="name", dependencies=(0,)),
        )


def test_empty_rows_are_skipped_but_counted(tmp_path):
    rows, problems = read(tmp_path, f"{HEAD}\n\n1,a,What?,x\n,,,\n2,b,What?,\n")
    assert [row.question_id for row in rows] == ["1"]
    assert problems == ["questions.csv, row 5: Object missing required field `answer`"]


def test_a_workbook_of_two_filled_sheets_is_refused(tmp_path):
    with pd.ExcelWriter(tmp_path / "questions.xlsx") as book:
        for name in ("one", "two"):
            pd.DataFrame(ROWS).to_excel(book, sheet_name=name, index=False)
        pd.DataFrame().to_excel(book, sheet_name="empty", index=False)
    problems = Problems("x")
    assert list(question_table.read_questions(tmp_path, ("val", "test"), problems, "test")) == []
    assert problems.lines == [
        "questions.xlsx: several sheets are filled (one, two); keep the one with the table"
    ]


@pytest.mark.parametrize(
    ("ending", "content"),
    [("csv", b"")]
    + [(ending, text) for ending in ("xlsx", "parquet") for text in (b"", b"<html>404</html>")],
)
def test_files_that_are_no_tables_are_reported_with_their_name(tmp_path, ending, content):
    rows, problems = read(tmp_path, content, f"questions.{ending}")
    assert rows == []
    assert len(problems) == 1 and problems[0].startswith(f"questions.{ending}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{HEAD}\n1,a,"What"ever,x\n', "questions.csv: not a table (row 2: ',' expected after '\"')"),
        (f'{HEAD}\n1,a,"What,x\n', "questions.csv: not a table (row 2: unexpected end of data)"),
        (
            f"{HEAD},answer\n1,a,What?,x,y\n",
            "questions.csv: the header has answer more than once",
        ),
    ],
)
def test_a_damaged_csv_is_reported(tmp_path, text, message):
    assert read(tmp_path, text) == ([], [message])


def test_two_tables_are_refused(tmp_path):
    (tmp_path / "questions.jsonl").write_text("")
    assert read(tmp_path, HEAD)[1] == [
        "questions.jsonl or questions.csv or questions.xlsx or questions.parquet: expected one of these files, found 2"
    ]


def test_rows_with_surplus_cells_are_reported_and_the_others_are_read(tmp_path):
    rows, problems = read(tmp_path, f"{HEAD}\n1,a,What?,x,y,z\n2,b,What?,x\n3,c,What?,x,y\n")
    fault = "Object contains unknown field `(beyond the header)`"
    assert problems == [f"questions.csv, row 2: {fault}", f"questions.csv, row 4: {fault}"]
    assert [row.question_id for row in rows] == ["2"]


def test_excels_separator_line_and_column_aliases_are_recognized(tmp_path):
    text = "sep=;\r\nID;Image ID;Question;Answer\r\n007;dog.png;What?;a dog\r\n"
    (row,), problems = read(tmp_path, text)
    assert problems == []
    assert (row.question_id, row.image_id, row.text, row.answer) == ("007", "dog", "What?", "a dog")
    utf_16 = text.replace("sep=;\r\n", "").replace(";", "\t").encode("utf-16")
    assert [row.question_id for row in read(tmp_path, utf_16)[0]] == ["007"]


@pytest.mark.parametrize("cell", [True, pd.Timestamp("2024-03-01"), "=1+1"])
def test_answers_that_a_spreadsheet_converted_are_refused(tmp_path, cell):
    rows, problems = read_table(tmp_path, "xlsx", [ROWS[0] | {"answer": cell}, ROWS[1]])
    assert [row.question_id for row in rows] == ["1.0"]
    assert len(problems) == 1 and problems[0].startswith("questions.xlsx, row 2: answer is ")


@pytest.mark.parametrize(
    "text",
    ["Welche Farbe hat die Tasse?", "¿De qué color es la taza?", "Quelle est la couleur de la tasse ?", "杯子是什么颜色的？", "Wat is de kleur?"],
)  # fmt: skip
def test_questions_in_another_language_are_one_problem(tmp_path, text):
    rows = "".join(f'{index},a.jpg,"{text}",x\n' for index in range(8))
    _, problems = read(tmp_path, f"{HEAD}\n{rows}")
    assert len(problems) == 1 and "8 of 8 questions are not in English" in problems[0] and text in problems[0]


def test_a_few_foreign_questions_are_allowed(tmp_path):
    rows = "".join(f"{index},a.jpg,What is this?,x\n" for index in range(6)) + "7,a.jpg,Welche Farbe?,rot\n"
    assert read(tmp_path, f"{HEAD}\n{rows}")[1] == []


def test_a_workbook_with_damaged_compressed_data_is_one_message(tmp_path):
    rows = [(str(index), "a.jpg", f"What is {index}?", "x") for index in range(50)]
    pd.DataFrame(rows, columns=HEAD.split(",")).to_excel(tmp_path / "good.xlsx", index=False)
    data = bytearray((tmp_path / "good.xlsx").read_bytes())
    name = data.index(b"xl/worksheets/sheet1.xml")
    start = name + len(b"xl/worksheets/sheet1.xml")
    # A deflate block of the reserved type 3 is invalid (RFC 1951, section 3.2.3).
    data[start] = 0b111
    _, problems = read(tmp_path, bytes(data), "questions.xlsx")
    assert len(problems) == 1 and "not an Excel workbook" in problems[0]


def test_a_table_may_name_the_model_that_drafted_a_row(tmp_path):
    rows, problems = read(tmp_path, f"{HEAD},drafted_by\n1,a,What?,x,net\n2,a,Where?,x,\n")
    assert problems == []
    assert [row.drafted_by or "" for row in rows] == ["net", ""]
    # Rows without the mark are written as before, so that their stages need not run again.
    assert b"drafted_by" not in msgspec.json.encode(rows[1])
