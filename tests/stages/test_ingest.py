import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import ImageRecord, Question, SceneGraph, UnusedQuestion
from pipeline.sources.source_folder import NO_ANSWER_REASON, record_converted_file
from pipeline.stages import ingest

TESTDEV = "data/tiny/source/questions1.2/testdev_balanced_questions.json"
IMAGES = Path("data/tiny/source/images")
OUT = Path("data/tiny/interim/ingest")


def change(path: str, edit) -> None:
    value = json.loads(Path(path).read_text())
    edit(value)
    Path(path).write_text(json.dumps(value))


def test_the_tiny_world_comes_in_whole(tiny):
    ingest.main()
    images = list(read_jsonl(OUT / "images.jsonl", ImageRecord))
    questions = list(read_jsonl(OUT / "questions.jsonl", Question))
    scenes = list(read_jsonl(OUT / "scenes.jsonl", SceneGraph))
    assert [image.image_id for image in images] == [f"n10000{i}" for i in range(1, 9)]
    assert {
        (image.width, image.height, image.path.startswith("data/tiny/source/images/")) for image in images
    } == {(448, 336, True)}
    # 40 of testdev, 9 of train and 3 of val, by hand in tests/tiny/make.py
    assert [sum(q.split == split for q in questions) for split in ("testdev", "train", "val")] == [40, 9, 3]
    assert [q.question_id for q in questions] == sorted(q.question_id for q in questions)
    assert [(scene.image_id, scene.is_complete) for scene in scenes] == [
        (key, False)
        for key in sorted(
            [
                "2300001",
                "2300002",
                "2300003",
                "2300004",
                "2300005",
                "2300006",
                "2400001",
                "2400002",
                "2400003",
            ]
        )
    ]
    report = read_json(OUT / "ingest.json")
    assert report["counts"]["testdev"] == {"images": 8, "questions": 40}
    assert report["counts"]["val"]["objects"] == 4 + 4 + 4


def test_the_truth_and_images_of_train_are_not_needed(tiny):
    shutil.rmtree("data/tiny/truth")
    ingest.main()
    assert not list(IMAGES.glob("23*"))


def test_ingesting_twice_gives_the_same_bytes(tiny):
    ingest.main()
    before = {path.name: path.read_bytes() for path in OUT.iterdir()}
    ingest.main()
    assert {path.name: path.read_bytes() for path in OUT.iterdir()} == before


def test_questions_of_the_split_are_paraphrased_where_it_is_asked_for(tiny, set_params):
    ingest.main()
    before = {q.question_id: q for q in read_jsonl(OUT / "questions.jsonl", Question)}
    set_params("ingest", paraphrase=True, seed=7)
    ingest.main()
    after = {q.question_id: q for q in read_jsonl(OUT / "questions.jsonl", Question)}
    changed = {key for key, q in after.items() if q.text != before[key].text}
    assert {after[key].source_text for key in after.keys() - changed} == {""}
    assert all(after[key].source_text == before[key].text for key in changed)
    assert {before[key].split for key in changed} == {"testdev"}  # train and val are there for the vocabulary
    assert read_json(OUT / "ingest.json")["num_paraphrased"] == len(changed) >= 30  # of 40
    assert [(q.program, q.answer) for q in after.values()] == [(q.program, q.answer) for q in before.values()]


@pytest.mark.parametrize(
    ("is_gqa", "converted", "paraphrase", "expected"),
    [
        (True, None, "auto", {"used": True, "auto": True, "public_source": "GQA"}),
        (True, None, False, {"used": False, "auto": False, "public_source": "GQA"}),
        (False, None, "auto", {"used": False, "auto": True, "public_source": ""}),
        (False, None, True, {"used": True, "auto": False, "public_source": ""}),
        (False, "questions.csv", "auto", {"used": True, "auto": True, "public_source": "VQA v2"}),
        # The converted table was moved away, and the user's own table took its place.
        (False, "questions.jsonl", "auto", {"used": False, "auto": True, "public_source": ""}),
    ],
)
def test_auto_paraphrases_public_questions_and_the_report_says_so(
    tiny, set_params, capsys, is_gqa, converted, paraphrase, expected
):
    if not is_gqa:
        shutil.rmtree("data/tiny/source/questions1.2")
        Path("data/tiny/source/questions.csv").write_text(
            "question_id,image,question,answer\n1,n100001,What color is the table?,red\n"
        )
        set_params("ingest", question_splits="auto", subsets=["pt-easy"])
    if converted:
        record_converted_file(Path("data/tiny/source"), converted, "VQA v2")
    set_params("ingest", paraphrase=paraphrase)
    ingest.main()
    report = read_json(OUT / "ingest.json")
    texts = [q.source_text for q in read_jsonl(OUT / "questions.jsonl", Question)]
    assert report["paraphrase"] == expected and any(texts) == expected["used"]
    # The card and the report page show the sentence, but not where nobody asked for paraphrases.
    assert bool(report["wording"]) == (expected["used"] or expected["auto"])
    assert ("ingest.paraphrase: auto" in capsys.readouterr().out) == (expected["used"] and expected["auto"])


def problems_of_ingest() -> list[str]:
    with pytest.raises(UserError) as caught:
        ingest.main()
    assert not OUT.exists() or list(OUT.iterdir()) == []  # nothing half-done is left
    head, *rest = caught.value.problems
    assert head == f"data/tiny/source: {len(rest)} problem{'s' if len(rest) > 1 else ''}"
    return rest


def first(field, value):
    return lambda: change(TESTDEV, lambda rows: rows["00100101"].update({field: value}))


def forward():
    change(TESTDEV, lambda rows: rows["00100101"]["semantic"][1].update(dependencies=[1]))


def drop_image():
    (IMAGES / "n100003.jpg").unlink()


def cut_image():
    data = (IMAGES / "n100003.jpg").read_bytes()
    (IMAGES / "n100003.jpg").write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (first("question", "  "), "question 00100101: the question is empty"),
        (first("answer", ""), "question 00100101: it has no answer"),
        (
            first("imageId", "../../truth/n1"),
            (
                "question 00100101: invalid name of image '../../truth/n1'; only letters, digits, '.', '-' and '_' are allowed"
            ),
        ),
        (
            first("imageId", "n999"),
            "image n999: no such file in images/; 1 question is about it: 00100101",
        ),
        (forward, "question 00100101: step 1 (query) depends on step 1, which is not an earlier step"),
        (
            drop_image,
            "image n100003: no such file in images/; 5 questions are about it: for example 00100301",
        ),
        (cut_image, "image n100003: images/n100003.jpg: damaged: image file is truncated"),
        (
            lambda: (IMAGES / "n100003.jpg").write_bytes(b""),
            "image n100003: images/n100003.jpg: the file is empty",
        ),
        (
            lambda: Path(TESTDEV).write_text("{"),
            "questions1.2/testdev_balanced_questions.json: not valid JSON",
        ),
        (lambda: Path(TESTDEV).write_text("{}"), "split testdev: it has no questions"),
        (
            lambda: change(TESTDEV, lambda rows: rows.update({"a+b": rows.pop("00100101")})),
            "question a+b: invalid id",
        ),
        (
            lambda: Path("data/tiny/source/sceneGraphs/val_sceneGraphs.json").unlink(),
            "sceneGraphs/val_sceneGraphs.json: no such file",
        ),
    ],
)
def test_each_fault_of_the_source_is_reported(tiny, damage, message):
    damage()
    (problem,) = problems_of_ingest()
    assert problem.startswith(message)


def test_all_faults_are_reported_at_once(tiny):
    first("answer", "")()
    first("question", "")()
    drop_image()
    Path("data/tiny/source/sceneGraphs/train_sceneGraphs.json").write_text("[]")
    assert len(problems_of_ingest()) == 4


def test_an_image_of_another_size_than_its_scene_graph_is_refused(tiny, set_params):
    set_params("ingest", split="val")
    for image_id in ("2400001", "2400002", "2400003"):
        Image.new("RGB", (448, 336 if image_id != "2400002" else 300)).save(IMAGES / f"{image_id}.jpg")
    assert problems_of_ingest() == [
        "image 2400002: images/2400002.jpg is 448 x 300, but its scene graph says 448 x 336"
    ]


def test_relations_without_an_object_are_skipped_and_counted(tiny):
    change(
        "data/tiny/source/sceneGraphs/val_sceneGraphs.json",
        lambda graphs: graphs["2400002"]["objects"]["83"]["relations"].append({"name": "on", "object": "99"}),
    )
    ingest.main()
    report = read_json(OUT / "ingest.json")["counts"]
    assert (report["val"]["relations omitted"], report["train"]["relations omitted"]) == (1, 0)
    assert all(
        to.object_id != "99"
        for scene in read_jsonl(OUT / "scenes.jsonl", SceneGraph)
        for thing in scene.objects
        for to in thing.relations
    )


@pytest.mark.parametrize("answer", ["UQ", "uq.", "Unanswerable", "unsuitable", "N/A", " n/a! ", "ＵＱ"])
def test_a_question_whose_answer_says_that_there_is_none_is_left_out_and_counted(tiny, capsys, answer):
    ingest.main()
    before = read_json(OUT / "ingest.json")["counts"]["testdev"]["questions"]
    first("answer", answer)()
    ingest.main()
    counts = read_json(OUT / "ingest.json")["counts"]["testdev"]
    assert (counts["questions"], counts[f"questions excluded: {NO_ANSWER_REASON}"]) == (before - 1, 1)
    (row,) = read_jsonl(OUT / "unused_questions.jsonl", UnusedQuestion)
    assert (row.question_id, row.answer, row.reason) == ("00100101", answer, NO_ANSWER_REASON)
    assert "00100101" in capsys.readouterr().err
    assert "00100101" not in {row.question_id for row in read_jsonl(OUT / "questions.jsonl", Question)}


def set_graph(change_of):
    """Change the scene graph of 2400002, whose object 83 has a box."""
    change("data/tiny/source/sceneGraphs/val_sceneGraphs.json", lambda graphs: change_of(graphs["2400002"]))


@pytest.mark.parametrize("values", [{"width": 0}, {"height": -3}, {"width": 10**9}])
def test_an_image_without_a_size_is_refused(tiny, values):
    set_graph(lambda graph: graph.update(values))
    (problem,) = problems_of_ingest()
    assert "image 2400002" in problem and next(iter(values)) in problem


@pytest.mark.parametrize("values", [{"w": -1}, {"h": -5}])
def test_a_box_of_a_negative_size_is_refused(tiny, values):
    set_graph(lambda graph: graph["objects"]["83"].update(values))
    (problem,) = problems_of_ingest()
    assert "2400002" in problem and "object 83" in problem and next(iter(values)) in problem


@pytest.mark.parametrize(
    ("box", "expected"),
    [  # the image is 448 x 336
        ((-10, 5, 20, 20), (0, 5, 10, 20)),
        ((440, 330, 50, 50), (440, 330, 8, 6)),
        ((5, 5, 0, 0), (5, 5, 1, 1)),
        ((9000, 9000, 10, 10), (447, 335, 1, 1)),
    ],
)
def test_a_box_is_clipped_to_its_image_and_counted(tiny, box, expected):
    set_graph(lambda graph: graph["objects"]["83"].update(dict(zip("xywh", box, strict=True))))
    ingest.main()
    assert read_json(OUT / "ingest.json")["counts"]["val"]["boxes clipped"] == 1
    scenes = {row.image_id: row for row in read_jsonl(OUT / "scenes.jsonl", SceneGraph)}
    (thing,) = (thing for thing in scenes["2400002"].objects if thing.object_id == "83")
    assert (thing.x, thing.y, thing.w, thing.h) == expected


def test_own_images_and_questions_come_in_from_a_table(tiny, set_params):
    shutil.rmtree("data/tiny/source/questions1.2")
    Path("data/tiny/source/questions.csv").write_text(
        "question_id,image,question,answer\n2,mine.png,What is it?,a dog\n1,n100001.jpg,What color is the table?,red\n"
    )
    Image.new("RGB", (5, 5)).save(IMAGES / "mine.png")
    # Two images are too few for the CLIP subsets.
    set_params("ingest", split="test", question_splits=["test"], subsets=["pt-easy", "pt-hard"])
    ingest.main()
    assert [p.path for p in read_jsonl(OUT / "images.jsonl", ImageRecord)] == [
        "data/tiny/source/images/mine.png",
        "data/tiny/source/images/n100001.jpg",
    ]
    assert [(q.question_id, q.split) for q in read_jsonl(OUT / "questions.jsonl", Question)] == [
        ("1", "test"),
        ("2", "test"),
    ]
    assert read_json(OUT / "ingest.json")["format"] == "table"


def test_a_missing_or_empty_image_folder_is_reported_in_one_line(tiny):
    for path in IMAGES.iterdir():
        path.unlink()
    assert problems_of_ingest() == ["images/: no image in it, but questions need 8"]
    IMAGES.rmdir()
    assert problems_of_ingest() == ["images/: no such folder; put the images there"]


def test_a_source_that_no_reader_knows_is_refused(tiny):
    shutil.rmtree("data/tiny/source")
    with pytest.raises(UserError, match="neither GQA's files"):
        ingest.main()


def test_the_split_of_the_benchmark_must_be_read(tiny, set_params):
    set_params("ingest", question_splits=["val"])
    with pytest.raises(UserError, match="question_splits lacks 'testdev'"):
        ingest.main()


def test_unbalanced_questions_are_read_for_what_they_tell_and_never_asked(tiny, set_params):
    source = json.loads(Path(TESTDEV).read_text())
    one = next(iter(source.values()))
    more = source | {"extra1": one | {"isBalanced": False}, "extra2": one | {"imageId": "elsewhere"}}
    Path(TESTDEV.replace("_balanced_", "_all_")).write_text(json.dumps(more))

    def told() -> list[str]:
        ingest.main()
        return [q.question_id for q in read_jsonl(OUT / "unbalanced.jsonl", Question)]

    assert told() == ["extra1"]  # of the images asked about, and not among those asked
    asked = [q.question_id for q in read_jsonl(OUT / "questions.jsonl", Question)]
    assert "extra1" not in asked and len(asked) == 52
    assert read_json(OUT / "ingest.json")["counts"]["testdev"]["unbalanced questions"] == 1
    set_params("ingest", question_set="all")  # then all are asked (and the images of all wanted)
    more.pop("extra2")
    for split in ("testdev", "train", "val"):
        path = TESTDEV.replace("testdev", split)
        Path(path.replace("_balanced_", "_all_")).write_text(
            json.dumps(more) if split == "testdev" else Path(path).read_text()
        )
    assert told() == []


def test_without_a_file_of_unbalanced_questions_there_are_none(tiny):
    ingest.main()
    assert (OUT / "unbalanced.jsonl").read_text() == ""


def test_the_marks_of_full_answers_come_in(tiny):
    source = json.loads(Path(TESTDEV).read_text())
    key = next(iter(source))
    source[key]["annotations"] = {"question": {}, "answer": {}, "fullAnswer": {"1": "7"}}
    Path(TESTDEV).write_text(json.dumps(source))
    ingest.main()
    found = {q.question_id: q for q in read_jsonl(OUT / "questions.jsonl", Question)}
    assert found[key].full_answer_annotations == {"1": "7"}
