"""GQA's files."""

import json
from collections import Counter

import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.core.records import Relation, SceneObject, Step
from pipeline.sources import gqa_files
from pipeline.sources.training_questions import TrainingQuestion, read_training_questions

# GQA files


QUESTION = {
    "semantic": [
        {"operation": "select", "dependencies": [], "argument": "furniture (17)"},
        {"operation": "query", "dependencies": [0], "argument": "name"},
    ],
    "entailed": ["00200001"],
    "equivalent": ["00200000"],
    "question": "What is it?",
    "imageId": "n54424",
    "isBalanced": True,
    "groups": {"global": None, "local": "12q-furniture"},
    "answer": "couch",
    "semanticStr": "select: furniture (17)->query: name [0]",
    "annotations": {"answer": {"0": "17"}, "question": {"2:4": "17"}, "fullAnswer": {}},
    "types": {"detailed": "categoryThat", "semantic": "cat", "structural": "query"},
    "fullAnswer": "It is a couch.",
}
SCENE = {
    "width": 640,
    "height": 480,
    "objects": {
        "681267": {
            "name": "banana",
            "h": 34,
            "w": 64,
            "x": 248,
            "y": 55,
            "attributes": ["small", "yellow"],
            "relations": [{"object": "681262", "name": "to the left of"}],
        },
        "681262": {"name": "spot", "h": 16, "w": 26, "x": 245, "y": 165, "attributes": [], "relations": []},
    },
}


def write(tmp_path, **files):
    for name, value in files.items():
        path = tmp_path / name.replace("__", "/").replace("questions12", "questions1.2")
        path = path.with_name(path.name + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))


def questions(tmp_path, splits=("val",), which="balanced"):
    problems = Problems("x")
    return list(gqa_files.read_questions(tmp_path, splits, problems, which)), problems.lines


def test_a_question_keeps_its_leading_zeros_and_every_field(tmp_path):
    write(tmp_path, questions12__val_balanced_questions={"00200000": QUESTION})
    (row,), problems = questions(tmp_path)
    assert problems == []
    assert (row.question_id, row.image_id, row.split, row.answer) == ("00200000", "n54424", "val", "couch")
    assert row.program == (
        Step(operation="select", argument="furniture (17)", dependencies=()),
        Step(operation="query", argument="name", dependencies=(0,)),
    )
    assert (row.structural, row.semantic, row.detailed) == ("query", "cat", "categoryThat")
    assert (row.group_global, row.group_local, row.annotations) == ("", "12q-furniture", {"2:4": "17"})
    assert (row.entailed, row.equivalent, row.full_answer) == (("00200001",), ("00200000",), "It is a couch.")


def test_questions_of_all_splits_are_sorted_by_id(tmp_path):
    write(
        tmp_path,
        questions12__val_balanced_questions={"9": QUESTION, "10": QUESTION},
        questions12__testdev_balanced_questions={"011": QUESTION},
    )
    rows, _ = questions(tmp_path, ("testdev", "val"))
    assert [(row.question_id, row.split) for row in rows] == [("011", "testdev"), ("10", "val"), ("9", "val")]


def test_all_questions_of_train_are_several_files_in_a_folder(tmp_path):
    write(
        tmp_path,
        questions12__train_all_questions__train_all_questions_0={"2": QUESTION},
        questions12__train_all_questions__train_all_questions_1={"1": QUESTION},
    )
    rows, problems = questions(tmp_path, ("train",), "all")
    assert [row.question_id for row in rows] == ["1", "2"]
    assert problems == []


def without(key):
    return {name: value for name, value in QUESTION.items() if name != key}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            QUESTION | {"imageId": 54424},
            "Expected `str`, got `int` - at `$.imageId`; ids are strings, because numbers lose leading zeros",
        ),
        (
            QUESTION | {"entailed": [7]},
            "Expected `str`, got `int` - at `$.entailed[0]`; ids are strings, because numbers lose leading zeros",
        ),
        (without("question"), "Object missing required field `question`"),
        (without("semantic"), "Object missing required field `semantic`"),
        (QUESTION | {"semantics": []}, "Object contains unknown field `semantics`"),
        (
            QUESTION | {"types": QUESTION["types"] | {"kind": "x"}},
            "Object contains unknown field `kind` - at `$.types`",
        ),
        (
            QUESTION | {"semantic": [{"operation": "select", "argument": "x", "dependencies": ["0"]}]},
            "Expected `int`, got `str` - at `$.semantic[0].dependencies[0]`",
        ),
        ("What is it?", "Expected `object`, got `str`"),
    ],
)
def test_an_invalid_row_is_reported_with_file_and_id(tmp_path, row, message):
    write(tmp_path, questions12__val_balanced_questions={"1": row, "2": QUESTION})
    rows, problems = questions(tmp_path)
    assert problems == [f"questions1.2/val_balanced_questions.json, question 1: {message}"]
    assert [row.question_id for row in rows] == ["2"]


def test_the_same_id_in_two_splits_is_reported(tmp_path):
    write(
        tmp_path,
        questions12__val_balanced_questions={"1": QUESTION},
        questions12__testdev_balanced_questions={"1": QUESTION},
    )
    assert questions(tmp_path, ("testdev", "val"))[1] == [
        "questions1.2/val_balanced_questions.json, question 1: the same id is in questions1.2/testdev_balanced_questions.json"
    ]


def scenes(tmp_path, complete=False):
    problems = Problems("x")
    return list(
        gqa_files.read_scene_graphs(tmp_path / "sceneGraphs", ("val",), problems, complete)
    ), problems.lines


def test_a_scene_graph_keeps_objects_boxes_and_the_direction_of_relations(tmp_path):
    write(
        tmp_path, sceneGraphs__val_sceneGraphs={"2407890": SCENE | {"location": "kitchen", "weather": None}}
    )
    (scene,), problems = scenes(tmp_path)
    assert problems == []
    assert (scene.width, scene.height, scene.location, scene.weather, scene.is_complete) == (
        640,
        480,
        "kitchen",
        "",
        False,
    )
    assert scene.objects[0] == SceneObject(
        object_id="681267",
        name="banana",
        x=248,
        y=55,
        w=64,
        h=34,
        attributes=("small", "yellow"),
        relations=(Relation(name="to the left of", object_id="681262"),),
    )


def test_relations_to_missing_objects_are_omitted_and_counted(tmp_path):
    banana, spot = SCENE["objects"].values()
    two = banana | {"relations": [*banana["relations"], {"object": "9", "name": "on"}]}
    write(
        tmp_path,
        sceneGraphs__val_sceneGraphs={"1": SCENE | {"objects": {"681267": two, "681262": spot}}, "2": SCENE},
    )
    left_out = Counter()
    found = gqa_files.read_scene_graphs(
        tmp_path / "sceneGraphs", ("val",), Problems("x"), omitted_counts=left_out
    )
    (first, _), (second, _) = (scene.objects for scene in found)
    assert first == second
    assert left_out["val", "relations omitted"] == 1


def test_the_truth_is_marked_complete(tmp_path):
    write(tmp_path, sceneGraphs__val_sceneGraphs={"2407890": SCENE})
    assert scenes(tmp_path, complete=True)[0][0].is_complete


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps({"5": SCENE | {"objects": {"1": {"name": "x"}}}}),
            "Object missing required field `x` - at `$.objects[...]`",
        ),
        (
            json.dumps({"5": SCENE})
            .replace('"681262"}', "681262}")
            .replace('"681262", "name"', '681262, "name"'),
            "Expected `str`, got `int` - at `$.objects[...].relations[0].object`; ids are strings, because numbers lose leading zeros",
        ),
        (json.dumps({"5": SCENE | {"wheather": "sunny"}}), "Object contains unknown field `wheather`"),
        (
            json.dumps({"5": SCENE}).replace('"681262": {', '"681267": {'),
            "the key 681267 occurs more than once",
        ),
    ],
)
def test_a_damaged_scene_graph_is_reported_with_its_image(tmp_path, text, message):
    write(tmp_path, sceneGraphs__val_sceneGraphs=text)
    assert scenes(tmp_path)[1] == [f"sceneGraphs/val_sceneGraphs.json, image 5: {message}"]


def test_true_graphs_of_all_splits_are_returned_by_image(tmp_path):
    write(tmp_path, truth__val_sceneGraphs={"n1": SCENE}, truth__train_sceneGraphs={"n2": SCENE})
    found = gqa_files.read_true_scene_graphs(tmp_path / "truth", ["val", "train", "val"])
    assert {image_id: (scene.split, scene.is_complete) for image_id, scene in found.items()} == {
        "n1": ("val", True),
        "n2": ("train", True),
    }


def test_all_problems_of_true_graphs_are_reported_together(tmp_path):
    write(tmp_path, truth__val_sceneGraphs={"n1": SCENE | {"width": "wide"}})
    with pytest.raises(UserError) as caught:
        gqa_files.read_true_scene_graphs(tmp_path / "truth", ["val", "testdev"])
    message = str(caught.value)
    assert (
        "truth/testdev_sceneGraphs.json: no such file" in message
        and "val_sceneGraphs.json, image n1" in message
    )
    assert "collect.simulate: false" in message


# Training questions
# Training questions are read one by one.


def row(image="n1", **changes):
    return {"imageId": image, "question": "Is it red?", "answer": "yes", "isBalanced": True, **changes}


def test_files_and_folders_are_read_and_other_fields_are_skipped(tmp_path):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "1.json").write_text(json.dumps({"02": row("n2")}))
    (tmp_path / "all" / "0.json").write_text(json.dumps({"01": row(entailed=["x"])}))
    found = [*read_training_questions(tmp_path / "all")]
    assert found == [TrainingQuestion("n1", "Is it red?", "yes"), TrainingQuestion("n2", "Is it red?", "yes")]
    assert [*read_training_questions(tmp_path / "all" / "1.json")] == found[1:]


def test_all_problems_are_reported_at_the_end(tmp_path):
    path = tmp_path / "train.json"
    path.write_text(json.dumps({"1": row(), "2": row(answer=3), "3": {"imageId": "n1"}}))
    found = read_training_questions(path)
    assert next(found).text == "Is it red?"
    with pytest.raises(UserError, match=r"2 problems\n.*question 2: .*\n.*question 3: "):
        next(found)


@pytest.mark.parametrize(
    ("content", "message"), [("{}", "none; expected"), ("[1", "not valid|expected"), ("", "empty")]
)
def test_files_without_questions_are_refused(content, message, tmp_path):
    path = tmp_path / "train.json"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        list(read_training_questions(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        list(read_training_questions(tmp_path / "train.json"))
