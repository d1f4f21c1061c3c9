import json

import pytest
from PIL import Image

from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import Question
from pipeline.sources import vqa_files
from pipeline.sources.question_table import TableRow
from pipeline.sources.source_folder import read_converted_files
from pipeline.stages import ingest


def asked(question_id=262148000, image_id=262148, text="Where is he looking?"):
    return {"image_id": image_id, "question": text, "question_id": question_id}


def annotated(
    question_id=262148000, image_id=262148, answers=("down",) * 10, chosen="down", kind="where is the"
):
    ten = [
        {"answer": text, "answer_confidence": "yes", "answer_id": at} for at, text in enumerate(answers, 1)
    ]
    row = {
        "question_id": question_id,
        "image_id": image_id,
        "question_type": kind,
        "answer_type": "other",
        "answers": ten,
    }
    return row | ({"multiple_choice_answer": chosen} if chosen else {})


def files(tmp_path, rows, annotations, **more):
    head = {
        "info": {"version": "2.0"},
        "license": {},
        "data_subtype": "val2014",
        "task_type": "Open-Ended",
    } | more
    (tmp_path / "q.json").write_text(json.dumps(head | {"questions": rows}))
    (tmp_path / "a.json").write_text(json.dumps(head | {"annotations": annotations}))
    return tmp_path / "q.json", tmp_path / "a.json"


def read(tmp_path, rows, annotations, **options):
    problems = Problems("x")
    return list(
        vqa_files.read_questions(*files(tmp_path, rows, annotations), "val", problems, **options)
    ), problems.lines


def test_a_question_has_the_coco_name_of_its_image_and_the_most_common_answer(tmp_path):
    (row,), problems = read(tmp_path, [asked()], [annotated()])
    assert problems == []
    assert row == TableRow(
        question_id="262148000",
        image="COCO_val2014_000000262148",
        text="Where is he looking?",
        answer="down",
        split="val",
        detailed="where is the",
    )


def test_image_names_can_have_another_prefix(tmp_path):
    (row,), _ = read(tmp_path, [asked()], [annotated()], prefix="", digits=1)
    assert row.image == "262148"


@pytest.mark.parametrize(
    ("answers", "chosen", "answer"),
    [
        (["red"] * 6 + ["blue"] * 4, "red", "red"),
        (["red"] * 5 + ["blue"] * 5, "red", "red"),
        (
            ["red"] * 5 + ["blue"] * 5,
            "",
            "blue",
        ),
        (["red"] * 2 + ["blue"] * 1, "blue", "red"),
        ([], "red", "red"),
    ],
)
def test_the_answer_is_the_most_common_one(tmp_path, answers, chosen, answer):
    (row,), _ = read(tmp_path, [asked()], [annotated(answers=answers, chosen=chosen)])
    assert row.answer == answer


def test_rows_are_sorted_by_id(tmp_path):
    rows, _ = read(tmp_path, [asked(9), asked(10)], [annotated(9), annotated(10)])
    assert [row.question_id for row in rows] == ["10", "9"]


def test_all_inconsistencies_are_reported(tmp_path):
    _, problems = read(
        tmp_path,
        [asked(1), asked(2), asked(3), asked(3), asked(4)],
        [
            annotated(1, image_id=7),
            annotated(3),
            annotated(4, answers=[], chosen=""),
            annotated(5),
            annotated(5),
        ],
    )
    assert sorted(problems) == [
        "a.json, question 5: annotated more than once",
        "a.json, question 5: it is not in q.json",
        "q.json, question 1: image 262148, but 7 in a.json",
        "q.json, question 2: it has no annotation in a.json, or occurs twice",
        "q.json, question 3: it has no annotation in a.json, or occurs twice",
        "q.json, question 4: no answer in a.json",
    ]


def test_ingest_reads_the_converted_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = files(
        tmp_path, [asked(), asked(262148001, text="Is it red?")], [annotated(), annotated(262148001)]
    )
    with pytest.raises(UserError, match="no such folder; run: rgqa init vqa"):
        vqa_files.convert_questions(*found, "vqa", "val")
    (tmp_path / "data/vqa/source/images").mkdir(parents=True)
    said = vqa_files.convert_questions(*found, "vqa", "val")
    assert "2 questions" in said and "1 image (COCO_val2014_000000262148.jpg, ...)" in said
    Image.new("RGB", (20, 10)).save(tmp_path / "data/vqa/source/images/COCO_val2014_000000262148.jpg")
    (tmp_path / "params.yaml").write_text("dataset: vqa\nvqa:\n  ingest: {split: val, subsets: [pt-easy]}\n")
    ingest.main()
    assert read_json("data/vqa/interim/ingest/ingest.json")["paraphrase"] == {
        "used": True,
        "auto": True,
        "public_source": "VQA v2",
    }
    rows = list(read_jsonl("data/vqa/interim/ingest/questions.jsonl", Question))
    assert [(row.question_id, row.text) for row in rows] == [
        ("262148000", "Where is he looking?"),
        ("262148001", "Is it red?"),
    ]
    with pytest.raises(UserError, match="already exists; move it away"):
        vqa_files.convert_questions(*found, "vqa", "val")


def test_a_list_of_converted_files_that_was_damaged_is_reported(tmp_path):
    (tmp_path / "converted.json").write_text('["questions.jsonl"]')
    with pytest.raises(UserError, match=r"converted\.json"):
        read_converted_files(tmp_path)


def test_files_without_questions_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/vqa/source").mkdir(parents=True)
    with pytest.raises(UserError, match="it has no questions"):
        vqa_files.convert_questions(*files(tmp_path, [], []), "vqa", "val")
    assert list((tmp_path / "data/vqa/source").iterdir()) == []


def test_a_file_of_another_format_is_reported(tmp_path):
    (tmp_path / "q.json").write_text('{"questions": [{"question_id": "1"}]}')
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(UserError, match=r"q\.json: unexpected content: .*question_id"):
        list(vqa_files.read_questions(tmp_path / "q.json", tmp_path / "a.json", "val", Problems("x")))


@pytest.mark.parametrize(
    ("question", "options", "said"),
    [
        (asked(), {"dataset": "../x"}, r"'../x': invalid name of a data set"),
        (asked(), {"prefix": "../../"}, r"prefix '../../': only letters"),
        (asked(image_id=-1), {}, r"q\.json: unexpected content: Expected `int` >= 0 .*image_id"),
        (asked(-1), {}, r"q\.json: unexpected content: Expected `int` >= 0 .*question_id"),
    ],
)
def test_paths_outside_the_folder_are_refused(tmp_path, monkeypatch, question, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/vqa/source").mkdir(parents=True)
    (tmp_path / "x/source").mkdir(parents=True)
    with pytest.raises(UserError, match=said):
        vqa_files.convert_questions(
            *files(tmp_path, [question], [annotated()]), **({"dataset": "vqa", "split": "val"} | options)
        )
    assert not list(tmp_path.rglob("questions.jsonl"))
