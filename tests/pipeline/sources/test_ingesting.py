import json

import msgspec
import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.core.records import Question, Relation, Scene, SceneObject, Step
from pipeline.sources.ingesting import IngestParams, SourceFolder, faults, format_of, without_dangling

SOUND = Question(question_id="1", picture_id="n1", split="val", text="What?", answer="dog")
PARAMS = IngestParams(split="val", question_splits=("val",), graph_splits=())


def changed(**fields):
    return msgspec.structs.replace(SOUND, **fields)


@pytest.mark.parametrize(
    ("question", "reasons"),
    [
        (SOUND, []),
        (changed(program=(Step(operation="select", argument="x"),)), []),
        (changed(question_id="a/b"), ["the id may hold letters, digits, '.', '-' and '_' only"]),
        (changed(text=" ", answer="\n"), ["the question is empty", "it has no answer"]),
        (
            changed(program=(Step(operation="query", argument="name", dependencies=(0,)),)),
            ["step 0 (query) depends on step 0, which does not come before it"],
        ),
        (
            changed(program=(Step(operation="query", argument="name", dependencies=(-1,)),)),
            ["step 0 (query) depends on step -1, which does not come before it"],
        ),
    ],
)
def test_a_question_is_unusable_for_reasons_that_are_all_told(question, reasons):
    assert faults(question) == reasons


def test_the_format_goes_by_what_lies_there_unless_it_is_said(tmp_path):
    with pytest.raises(UserError, match=r"neither GQA's files .* nor a table .*questions\.parquet"):
        format_of(tmp_path, "auto")
    (tmp_path / "questions.xlsx").touch()
    assert format_of(tmp_path, "auto") == "table"
    (tmp_path / "questions1.2").mkdir()
    assert format_of(tmp_path, "auto") == "gqa"
    assert format_of(tmp_path, "table") == "table"


def thing(object_id, *to):
    relations = tuple(Relation(name="on", object_id=other) for other in to)
    return SceneObject(object_id=object_id, name="dog", x=0, y=0, w=1, h=1, relations=relations)


def test_a_relation_to_no_object_of_the_scene_goes_and_the_others_stay():
    scene = Scene(
        picture_id="1", split="val", width=9, height=9, objects=(thing("1", "2", "9"), thing("2", "1"))
    )
    assert without_dangling(scene).objects == (thing("1", "2"), thing("2", "1"))


@pytest.fixture
def source(tmp_path):
    """Two questions of val about a picture of 4 x 3, and one of train."""
    (tmp_path / "images").mkdir()
    Image.new("RGB", (4, 3)).save(tmp_path / "images/a.png")
    rows = [("2", "val"), ("1", "val"), ("3", "train")]
    lines = [
        {"question_id": key, "picture": "a.png", "question": "What?", "answer": "dog", "split": split}
        for key, split in rows
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def test_the_pictures_are_those_that_the_questions_of_the_split_ask_for(source):
    folder = SourceFolder(
        source, IngestParams(split="val", question_splits=("val", "train"), graph_splits=("val",))
    )
    assert [question.question_id for question in folder.questions()] == ["1", "2", "3"]
    assert folder.wanted == {"a": ["1", "2"]}
    assert list(folder.unbalanced()) == list(folder.scenes()) == []  # a table may do without graphs
    (picture,) = folder.pictures()
    assert (picture.picture_id, picture.width, picture.height, picture.split) == ("a", 4, 3, "val")
    report = folder.report()
    assert report.counts == {"val": {"questions": 2, "pictures": 1}, "train": {"questions": 1}}
    assert report.format == "table"


def test_a_split_without_questions_is_told(source):
    folder = SourceFolder(source, IngestParams(split="test", question_splits=("test",), graph_splits=()))
    assert list(folder.questions()) == list(folder.pictures()) == []
    with pytest.raises(UserError, match="split test: there is no question of it"):
        folder.report()


def test_what_is_wrong_with_questions_and_pictures_comes_in_one_message(source):
    (source / "images/a.png").write_bytes(b"")
    (source / "questions.jsonl").write_text(
        '{"question_id": "1", "picture": "a", "question": "What?", "answer": ""}'
    )
    folder = SourceFolder(source, PARAMS)
    assert len(list(folder.questions())) == 1 and list(folder.pictures()) == []
    with pytest.raises(UserError) as caught:
        folder.report()
    assert caught.value.problems[1:] == [
        "question 1: it has no answer",
        "picture a: images/a.png: the file is empty",
    ]
