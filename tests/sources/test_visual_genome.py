"""Visual Genome's files, and large JSON files."""

import json
from collections import Counter

import msgspec
import pytest

from pipeline.core.errors import Problems, UserError
from pipeline.core.records import Relation, SceneGraph, SceneObject
from pipeline.sources import gqa_files, visual_genome
from pipeline.sources.gqa_files import GqaObject, GqaRelation, GqaSceneGraph
from pipeline.sources.large_json import read_members

# Visual genome


GRAPH = {
    "image_id": 2407890,
    "objects": [
        {
            "synsets": ["tree.n.01"],
            "h": 557,
            "object_id": 1058549,
            "merged_object_ids": [],
            "names": ["trees"],
            "w": 799,
            "y": 0,
            "x": 0,
        },
        {
            "synsets": ["sidewalk.n.01"],
            "h": 290,
            "object_id": 1058534,
            "merged_object_ids": [5046],
            "names": [" Side  Walk"],
            "w": 722,
            "y": 308,
            "x": 78,
            "attributes": ["Grey", "grey ", ""],
        },
    ],
    "relationships": [
        {
            "predicate": "ON",
            "object_id": 5046,
            "relationship_id": 15927,
            "synsets": ["along.r.01"],
            "subject_id": 1058549,
        },
        {
            "predicate": "on",
            "object_id": 1058534,
            "relationship_id": 15928,
            "synsets": [],
            "subject_id": 1058549,
        },
    ],
}
IMAGE = {
    "width": 800,
    "url": "https://x/2407890.jpg",
    "height": 600,
    "image_id": 2407890,
    "coco_id": None,
    "flickr_id": None,
}


def files(tmp_path, graphs=(GRAPH,), images=(IMAGE,), attributes=None):
    for name, rows in (("g.json", graphs), ("p.json", images), ("a.json", attributes)):
        if rows is not None:
            (tmp_path / name).write_text(json.dumps(list(rows)))
    return tmp_path / "g.json", tmp_path / "p.json"


def read(tmp_path, **rows):
    problems, left_out = Problems("x"), Counter()
    extra = tmp_path / "a.json" if "attributes" in rows else None
    graphs = list(visual_genome.read_scene_graphs(*files(tmp_path, **rows), problems, left_out, extra))
    return graphs, problems.lines, left_out


def test_names_are_normalized_and_objects_merged(tmp_path):
    ((image_id, graph),), problems, left_out = read(tmp_path)
    assert (image_id, problems, left_out) == ("2407890", [], Counter())
    on_the_walk = GqaRelation(name="on", object="1058534")
    tree = GqaObject(name="trees", x=0, y=0, w=799, h=557, attributes=(), relations=(on_the_walk,))
    walk = GqaObject(name="side walk", x=78, y=308, w=722, h=290, attributes=("grey",), relations=())
    assert graph == GqaSceneGraph(width=800, height=600, objects={"1058549": tree, "1058534": walk})


def test_attributes_may_be_in_another_file(tmp_path):
    rows = [
        {
            "image_id": 2407890,
            "attributes": [
                {"object_id": 1058549, "names": ["trees"], "attributes": ["Sparse"]},
                {"object_id": 5046, "attributes": ["long"]},
            ],
        }
    ]
    ((_, graph),), _, _ = read(tmp_path, attributes=rows)
    assert [thing.attributes for thing in graph.objects.values()] == [("sparse",), ("grey", "long")]


def test_omitted_content_is_counted(tmp_path):
    bare = GRAPH["objects"][0] | {"names": [" "]}
    ((_, graph),), problems, left_out = read(
        tmp_path, graphs=[GRAPH | {"objects": [bare, GRAPH["objects"][1]]}]
    )
    assert len(graph.objects) == 1 and problems == []
    assert +left_out == {
        "objects without a name omitted": 1,
        "relations without a name or an object omitted": 2,
    }


def test_all_problems_are_reported(tmp_path):
    broken = GRAPH | {"objects": [{"object_id": "7"}]}
    _, problems, _ = read(tmp_path, graphs=[GRAPH, GRAPH, GRAPH | {"image_id": 5}, broken])
    assert problems == [
        "g.json, graph 1: image 2407890 is in the file twice",
        "g.json, graph 2: image 5 is not in p.json",
        "g.json, graph 3: Expected `int`, got `str` - at `$.objects[0].object_id`",
    ]


@pytest.mark.parametrize("text", ["", '[{"image_id": 1', "{}"])
def test_a_damaged_file_is_reported(tmp_path, text):
    graphs, images = files(tmp_path)
    graphs.write_text(text)
    with pytest.raises(UserError, match=r"g\.json: empty, truncated, or not a list"):
        list(visual_genome.read_scene_graphs(graphs, images, Problems("x"), Counter()))


def test_the_converted_file_is_read_as_a_file_of_gqa(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "data/vg/source"
    source.mkdir(parents=True)
    said = visual_genome.convert_scene_graphs(
        *files(tmp_path, graphs=[GRAPH, GRAPH | {"image_id": 5}], images=[IMAGE, IMAGE | {"image_id": 5}]),
        "vg",
        "train",
    )
    assert said == "2 scene graphs -> data/vg/source/sceneGraphs/train_sceneGraphs.json"
    problems = Problems("x")
    scenes = list(gqa_files.read_scene_graphs(source / "sceneGraphs", ("train",), problems))
    assert problems.lines == []
    assert [scene.image_id for scene in scenes] == ["2407890", "5"]
    tree = SceneObject(
        object_id="1058549",
        name="trees",
        x=0,
        y=0,
        w=799,
        h=557,
        relations=(Relation(name="on", object_id="1058534"),),
    )
    walk = SceneObject(object_id="1058534", name="side walk", x=78, y=308, w=722, h=290, attributes=("grey",))
    assert scenes[0] == SceneGraph(
        image_id="2407890", split="train", width=800, height=600, objects=(tree, walk)
    )
    with pytest.raises(UserError, match="already exists"):
        visual_genome.convert_scene_graphs(*files(tmp_path), "vg", "train")


def test_nothing_is_written_if_there_are_problems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/vg/source").mkdir(parents=True)
    with pytest.raises(UserError, match="g.json: 1 problem"):
        visual_genome.convert_scene_graphs(*files(tmp_path, images=[]), "vg", "train")
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == []


def test_equal_objects_are_merged_and_different_ones_with_the_same_id_omitted(tmp_path):
    tree, walk = GRAPH["objects"]
    ((_, graph),), problems, left_out = read(tmp_path, graphs=[GRAPH | {"objects": [tree, tree, walk]}])
    assert ([*graph.objects], problems, +left_out) == (["1058549", "1058534"], [], Counter())
    ((_, graph),), problems, left_out = read(
        tmp_path, graphs=[GRAPH | {"objects": [tree, tree | {"x": 7}, walk]}]
    )
    assert ([*graph.objects], problems) == (["1058534"], [])
    assert left_out["different objects with the same id omitted"] == 2


def test_images_without_width_and_invalid_attributes_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"p\.json: unexpected content: Expected `int` >= 1 .*width"):
        read(tmp_path, images=[IMAGE | {"width": 0}])
    with pytest.raises(UserError, match=r"a\.json: empty, truncated, or not a list of attributes"):
        read(tmp_path, attributes=[1])


def test_different_rows_of_the_same_image_are_reported(tmp_path):
    rows = [{"image_id": 2407890, "attributes": []}, {"image_id": 2407890, "attributes": [{"object_id": 1}]}]
    _, problems, _ = read(tmp_path, images=[IMAGE, IMAGE | {"width": 7}], attributes=rows)
    assert [problem.split(":")[0] for problem in problems] == [
        "p.json, image 2407890",
        "a.json, image 2407890",
    ]
    _, problems, _ = read(tmp_path, images=[IMAGE, IMAGE])
    assert problems == []


def test_a_duplicate_key_is_reported(tmp_path):
    graphs, images = files(tmp_path)
    graphs.write_text(graphs.read_text().replace('"x": 0', '"x": 0, "x": 5', 1))
    problems = Problems("x")
    list(visual_genome.read_scene_graphs(graphs, images, problems, Counter()))
    assert problems.lines == ["g.json, graph 0: the key x occurs more than once"]


@pytest.mark.parametrize(
    ("box", "told", "boxes"), [({"w": -4}, 1, 0), ({"x": -9}, 0, 1), ({"h": 0}, 0, 1), ({"x": 5000}, 0, 1)]
)
def test_boxes_are_checked_as_in_files_of_gqa(tmp_path, box, told, boxes):
    tree, walk = GRAPH["objects"]
    _, problems, left_out = read(tmp_path, graphs=[GRAPH | {"objects": [tree | box, walk]}])
    assert (len(problems), left_out["boxes clipped to their image"]) == (told, boxes)


# Large JSON


def read_large_json(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems("x")
    return read_members(path, "file.json", problems), problems.lines


def test_members_are_read_undecoded(tmp_path):
    found, problems = read_large_json(tmp_path / "a.json", ' {"b" : {"x": [1, "}{\\""]}, "a": 2 } ')
    assert problems == []
    assert {key: msgspec.json.decode(raw) for key, raw in found.items()} == {"b": {"x": [1, '}{"']}, "a": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"7": {}, "8": {}, "7": {}, "9": 1, "9": 2}',
            "file.json: the id 7 occurs more than once|file.json: the id 9 occurs more than once",
        ),
        ("", "file.json: the file is empty; download it again"),
        (
            '{"7": {"question": "What',
            "file.json: not valid JSON (Input data was truncated); the file may be truncated, download it again",
        ),
        (
            '{"7": {}} trailing',
            "file.json: not valid JSON (JSON is malformed: trailing characters (byte 11)); the file may be truncated, download it again",
        ),
        (
            "<html>not found</html>",
            "file.json: not valid JSON (JSON is malformed: invalid character (byte 0)); the file may be truncated, download it again",
        ),
        ("[1, 2]", "file.json: expected one JSON object with ids as keys: Expected `object`, got `array`"),
    ],
)
def test_a_damaged_file_is_reported_with_its_name(tmp_path, text, message):
    found, problems = read_large_json(tmp_path / "a.json", text)
    assert "|".join(problems) == message
    assert len(found) == (3 if "occurs" in message else 0)


def test_a_missing_file_and_a_folder_are_reported(tmp_path):
    problems = Problems("x")
    assert (
        read_members(tmp_path / "no.json", "no.json", problems)
        == read_members(tmp_path, "folder", problems)
        == {}
    )
    assert problems.lines == [
        "no.json: no such file; put it there, or remove its split from `ingest` in params.yaml",
        "folder: a folder where a file was expected",
    ]
