"""The folder of a data set's sources and its images."""

import hashlib
import json

import msgspec
import pytest
from PIL import Image
from typer.testing import CliRunner

from pipeline.cli.main import app
from pipeline.core.errors import Problems, UserError
from pipeline.core.records import Question, Step
from pipeline.sources.image_files import inspect_image, is_valid_id, list_images
from pipeline.sources.source_folder import (
    IngestParams,
    SourceFolder,
    detect_format,
    find_question_errors,
    resolve_new_source_file,
)

# Source folder


SOUND = Question(question_id="1", image_id="n1", split="val", text="What?", answer="dog")
PARAMS = IngestParams(split="val", question_splits=("val",), graph_splits=())


def changed(**fields):
    return msgspec.structs.replace(SOUND, **fields)


@pytest.mark.parametrize(
    ("question", "reasons"),
    [
        (SOUND, []),
        (changed(program=(Step(operation="select", argument="x", dependencies=()),)), []),
        (changed(question_id="a/b"), ["invalid id; only letters, digits, '.', '-' and '_' are allowed"]),
        (changed(text=" ", answer="\n"), ["the question is empty", "it has no answer"]),
        (
            changed(program=(Step(operation="query", argument="name", dependencies=(0,)),)),
            ["step 0 (query) depends on step 0, which is not an earlier step"],
        ),
        (
            changed(program=(Step(operation="query", argument="name", dependencies=(-1,)),)),
            ["step 0 (query) depends on step -1, which is not an earlier step"],
        ),
    ],
)
def test_all_problems_of_a_question_are_reported(question, reasons):
    assert find_question_errors(question) == reasons


def test_the_format_is_detected_unless_it_is_given(tmp_path):
    with pytest.raises(UserError, match=r"neither GQA's files .* nor a table .*questions\.parquet"):
        detect_format(tmp_path, "auto")
    (tmp_path / "questions.xlsx").touch()
    assert detect_format(tmp_path, "auto") == "table"
    (tmp_path / "questions1.2").mkdir()
    assert detect_format(tmp_path, "auto") == "gqa"
    assert detect_format(tmp_path, "table") == "table"


@pytest.fixture
def source(tmp_path):
    """A source with two questions of val about an image of 4 x 3 pixels, and one of train."""
    (tmp_path / "images").mkdir()
    Image.new("RGB", (4, 3)).save(tmp_path / "images/a.png")
    rows = [("2", "val"), ("1", "val"), ("3", "train")]
    lines = [
        {"question_id": key, "image": "a.png", "question": "What?", "answer": "dog", "split": split}
        for key, split in rows
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def test_the_images_are_those_of_the_questions_of_the_split(source):
    folder = SourceFolder(
        source, IngestParams(split="val", question_splits=("val", "train"), graph_splits=("val",))
    )
    assert [question.question_id for question in folder.read_questions()] == ["1", "2", "3"]
    assert folder.questions_by_image == {"a": ["1", "2"]}
    assert list(folder.read_unbalanced_questions()) == list(folder.read_scene_graphs()) == []
    (image,) = folder.read_images()
    assert (image.image_id, image.width, image.height, image.split) == ("a", 4, 3, "val")
    report = folder.make_report()
    assert report.counts == {"val": {"questions": 2, "images": 1}, "train": {"questions": 1}}
    assert report.format == "table"


def test_a_split_without_questions_is_reported(source):
    folder = SourceFolder(source, IngestParams(split="test", question_splits=("test",), graph_splits=()))
    assert list(folder.read_questions()) == list(folder.read_images()) == []
    with pytest.raises(UserError, match="split test: it has no questions"):
        folder.make_report()


def test_problems_of_questions_and_images_are_reported_together(source):
    (source / "images/a.png").write_bytes(b"")
    (source / "questions.jsonl").write_text(
        '{"question_id": "1", "image": "a", "question": "What?", "answer": ""}'
    )
    folder = SourceFolder(source, PARAMS)
    assert len(list(folder.read_questions())) == 1 and list(folder.read_images()) == []
    with pytest.raises(UserError) as caught:
        folder.make_report()
    assert caught.value.problems[1:] == [
        "question 1: it has no answer",
        "image a: images/a.png: the file is empty",
    ]


@pytest.fixture
def birds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data/birds/source"
    folder.mkdir(parents=True)
    return folder


def test_a_new_file_is_in_the_source_folder(birds):
    assert resolve_new_source_file("birds", "a/b.json").absolute() == birds / "a/b.json"


def test_an_unknown_data_set_is_refused(birds):
    with pytest.raises(UserError, match="data/bees/source: .*rgqa init bees"):
        resolve_new_source_file("bees", "a.json")


@pytest.mark.parametrize("kind", ["vqa", "visual-genome"])
def test_another_split_is_refused(birds, kind):
    result = CliRunner().invoke(
        app, ["convert", kind, "a.json", "b.json", "--dataset", "birds", "--split", "dev"]
    )
    assert result.exit_code != 0
    assert result.exit_code == 2 and "--split" in result.output and "dev" in result.output
    assert list(birds.iterdir()) == []


def test_an_existing_file_is_not_replaced(birds):
    (birds / "a.json").touch()
    with pytest.raises(UserError, match="a.json: already exists; move it away"):
        resolve_new_source_file("birds", "a.json")


# Image files


def test_an_intact_image_has_a_size_and_a_digest(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (20, 10)).save(path)
    assert inspect_image(path) == (20, 10, hashlib.sha256(path.read_bytes()).hexdigest())


def damaged(kind: str, path):
    Image.effect_noise((200, 200), 50).convert("RGB").save(path)
    data = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "text": b"<html>404</html>",
            "cut": data[: len(data) // 2],
            "garbled": data[: len(data) // 2] + bytes(300) + data[len(data) // 2 + 300 :],
        }[kind]
    )


@pytest.mark.parametrize(
    ("kind", "ending", "message"),
    [
        ("empty", "jpg", "the file is empty"),
        ("text", "jpg", "not a JPEG, PNG, WebP, GIF, BMP or AVIF image, but a web page"),
        ("cut", "jpg", "damaged: image file is truncated"),
        ("cut", "png", "damaged: image file is truncated"),
        ("garbled", "png", "damaged: "),
    ],
)
def test_damage_after_an_intact_header_is_found(tmp_path, kind, ending, message):
    path = tmp_path / f"a.{ending}"
    damaged(kind, path)
    with pytest.raises(ValueError) as caught:
        inspect_image(path)
    assert str(caught.value).startswith(message)


def test_an_image_is_listed_under_its_name_without_suffix(tmp_path):
    for name in ("n1.jpg", "v1.2.PNG", "notes.txt", "x.gif", "x.jpg"):
        (tmp_path / name).touch()
    problems = Problems("x")
    assert sorted(list_images(tmp_path, problems)) == ["n1", "v1.2", "x"]
    assert problems.lines == [f"{tmp_path.name}/x.jpg: x.gif has the same id; keep one of them"]


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("n460556", True),
        ("COCO_val-2014.7", True),
        ("../n1", False),
        ("a/b", False),
        ("a b", False),
        ("", False),
        ("..", False),
        ("a+b", False),
        ("n1\n", False),
    ],
)
def test_ids_can_be_part_of_file_names(text, sound):
    assert is_valid_id(text) is sound
