"""Gold questions of a data set that consists of images and plain questions."""

import csv
import difflib
import importlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from annotation.study.qualification import MAX_ATTEMPTS
from annotation.study.qualification_tasks import build_known_tasks, find_rare_kind
from pipeline.candidates.perturbing.perturb_image import parse_image
from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import UNCONFIRMED, Question, Task
from pipeline.core.stage_graph import stage_module
from pipeline.stages.perturb import read_inputs
from pipeline.tasks.absent_object_questions import find_absent_objects
from tests.closure import ROOT
from tests.stages.conftest import export

# Question, answer. Each image has eight questions that name its objects.
QUESTIONS = {
    "street": [
        ("What color is the car in front of the shop?", "red"), ("What is the man in the blue coat holding?", "bag"),
        ("What color is the coat of the woman on the left?", "green"), ("Where is the tall man standing?", "road"),
        ("What is parked behind the red car?", "van"), ("What color is the helmet of the man on the bike?", "white"),
        ("What is written on the sign above the door?", "open"), ("Is the van on the left or on the right?", "left"),
    ],
    "kitchen": [
        ("What color is the cup next to the sink?", "blue"), ("What is lying on the white plate?", "fork"),
        ("What material is the large table made of?", "wood"), ("What is in the small bowl?", "rice"),
        ("What color is the chair near the table?", "brown"), ("What is the woman in the apron cutting?", "bread"),
        ("Is the lamp above the table on or off?", "on"), ("What shape is the clock on the wall?", "round"),
    ],
    "meadow": [
        ("What color is the horse under the tree?", "brown"), ("What is the small dog chasing?", "puppy"),
        ("What is the girl in the red dress feeding?", "horse"), ("What color is the hat of the girl?", "yellow"),
        ("What is lying next to the basket?", "blanket"), ("How many birds are above the tree?", "3"),
        ("What is the boy with the stick doing?", "running"), ("What color is the bench behind the girl?", "green"),
    ],
    "harbor": [
        ("What color is the boat next to the pier?", "white"), ("What is the man on the boat holding?", "rope"),
        ("What color is the flag on the tower?", "red"), ("What is the woman in the black jacket looking at?", "boat"),
        ("What is on top of the barrel?", "net"), ("What color is the jacket of the man?", "orange"),
        ("What material is the barrel made of?", "metal"), ("Where is the large bird sitting?", "pole"),
    ],
    "office": [
        ("What color is the chair behind the desk?", "black"), ("What is lying on the desk?", "keyboard"),
        ("What is the man with the glasses reading?", "book"), ("What color is the mug next to the book?", "red"),
        ("What is in the woman's hand?", "phone"), ("What color is the shirt of the man?", "white"),
        ("What is hanging on the wall behind the man?", "picture"), ("Is the window open or closed?", "closed"),
    ],
}  # fmt: skip
STAGES = (
    "ingest",
    "vocabulary",
    "embed",
    "rank",
    "tag",
    "perturb",
    "screen",
    "similarity",
    "estimate",
    "batch",
)


def run_stages(*stages):
    for stage in stages:
        importlib.import_module(stage_module(stage, ROOT)).main()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A data set of plain questions with annotation tasks. The tests only read it."""
    folder = tmp_path_factory.mktemp("plain")
    source = folder / "data/plain/source"
    (source / "images").mkdir(parents=True)
    (folder / "data/plain/annotations").mkdir()
    for name in QUESTIONS:
        Image.fromarray(np.full((32, 32, 3), len(name), np.uint8)).save(source / f"images/{name}.png")
    with (source / "questions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question_id", "image", "question", "answer"])
        for name, rows in QUESTIONS.items():
            writer.writerows([f"{name}-{i}", name, *row] for i, row in enumerate(rows))
    section = {stage: {} for stage in (*STAGES, "annotate", "collect")} | {
        "ingest": {"subsets": ["pt-easy", "pt-hard"]}
    }
    (folder / "params.yaml").write_text(
        yaml.safe_dump({"dataset": "plain", "version": "0.1.0", "plain": section})
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_stages(*STAGES)
    return folder


@pytest.fixture
def tasks(project, monkeypatch):
    monkeypatch.chdir(project)
    return list(read_jsonl(Path("data/plain/interim/batch/tasks.jsonl"), Task))


def gold_of(tasks):
    return [(task.image_id, row) for task in tasks for row in (task.first, task.second) if row.role == "gold"]


def test_at_least_35_percent_of_the_gold_questions_are_of_each_kind(tasks):
    counts = Counter(row.expected_choice for _, row in gold_of(tasks))
    assert counts.total() >= 15
    assert min(counts["valid"], counts["invalid"]) >= 0.35 * counts.total()
    report = read_json(Path("data/plain/interim/batch/batch.json"))
    assert (report["gold_valid"], report["gold_invalid"]) == (counts["valid"], counts["invalid"])


def test_at_least_35_percent_of_training_and_test_are_of_each_kind(tasks):
    # Five images allow one training task and two attempts of two tasks.
    known = build_known_tasks(tasks, dict.fromkeys(QUESTIONS, ""), 1, 2, 0)
    assert len(known) == 1 + MAX_ATTEMPTS * 2
    for start, size in ((0, 1), (1, 2), (3, 2)):
        assert find_rare_kind(known[start : start + size]) == ""
    assert all(row[side]["unconfirmed"] for row in known for side in ("first", "second"))


def test_all_gold_questions_but_certain_templates_must_be_confirmed(tasks):
    for _, row in gold_of(tasks):
        is_certain = row.gold_source == "template" and row.expected_choice == "valid"
        assert is_certain or row.gold_source.endswith(UNCONFIRMED)
        if row.expected_choice == "invalid":
            assert row.gold_explanation.startswith("no ")


def test_unanswerable_gold_questions_resemble_questions_of_the_data(tasks):
    own = [text for rows in QUESTIONS.values() for text, _ in rows]
    for _, row in gold_of(tasks):
        if row.gold_source == f"absent object{UNCONFIRMED}":
            words = row.text.split()
            # One name (of at most three words) and its article are replaced, or none.
            changes = [
                [
                    each
                    for each in difflib.SequenceMatcher(None, text.split(), words).get_opcodes()
                    if each[0] != "equal"
                ]
                for text in own
            ]
            assert min(len(each) for each in changes) <= 2


# What the questions and answers name, assert or imply: synonyms and kinds are not absent either.
@pytest.mark.parametrize(
    ("image", "shown"),
    [
        ("street", ["bike", "bicycle", "motorcycle", "bus", "train", "dog", "umbrella", "fire hydrant"]),
        ("kitchen", ["sink", "apron", "pizza", "cake", "teapot", "oven", "refrigerator", "vase"]),
        ("meadow", ["horse", "pony", "dog", "puppy", "cow", "elephant", "bear", "kite", "tent", "palm tree"]),
        ("harbor", ["boat", "ship", "canoe", "yacht", "parrot"]),
        ("office", ["keyboard", "laptop", "vase"]),
    ],
)
def test_objects_that_may_be_shown_are_not_taken_for_absent(project, monkeypatch, image, shown):
    monkeypatch.chdir(project)
    inputs = read_inputs(DatasetFolders(), PerturbParams(balance_words=False))
    table = inputs.replacements.object_table
    absent = find_absent_objects(parse_image(inputs, image), inputs.replacements)
    taken = {table.names[row] for row in np.flatnonzero(absent.probabilities)}
    assert len(taken) >= 10
    assert taken.isdisjoint(shown)
    # Nor is what CLIP finds similar.
    some = sorted(taken)[0]
    similar = find_absent_objects(parse_image(inputs, image), inputs.replacements, [f"Is the {some} red?"])
    assert some not in {table.names[row] for row in np.flatnonzero(similar.probabilities)}


def test_absent_objects_are_found_among_conspicuous_things_only(project, monkeypatch):
    monkeypatch.chdir(project)
    inputs = read_inputs(DatasetFolders(), PerturbParams(balance_words=False))
    table = inputs.replacements.object_table
    for image in QUESTIONS:
        absent = find_absent_objects(parse_image(inputs, image), inputs.replacements)
        taken = {table.names[row] for row in np.flatnonzero(absent.probabilities)}
        assert taken.isdisjoint(
            ["person", "man", "shirt", "shoe", "wall", "sky", "wheel", "shadow", "window"]
        )


def test_same_seed_gives_the_same_tasks(tasks):
    before = Path("data/plain/interim/batch/tasks.jsonl").read_bytes()
    run_stages("batch")
    assert Path("data/plain/interim/batch/tasks.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("choice", "kind"), [("valid", "always valid"), ("invalid", "always invalid")], ids=["valid", "invalid"]
)
def test_one_of_three_who_always_answers_the_same_is_excluded(tasks, choice, kind):
    answers = {1: lambda question: choice}
    exported = export(
        tasks,
        lambda who, question: answers.get(who, lambda q: q.expected_choice or "invalid")(question),
    )
    Path("data/plain/annotations/pulled.json").write_text(json.dumps(exported))
    run_stages("collect")
    report = read_json(Path("data/plain/interim/collect/collect.json"))
    assert [name for name, row in report["annotators"].items() if row["excluded"]] == ["annotator-01"]
    statuses = Counter()
    for each in report["gold_agreement"].values():
        statuses.update(each)
    assert statuses.keys() == {"confirmed"}
    assert report["questions_to_check"] == []


def test_question_that_two_of_three_find_underspecified_is_reported_to_the_owner(tasks):
    image, doubtful = next((image, row) for image, row in gold_of(tasks) if row.gold_source.startswith("own"))
    exported = export(
        tasks,
        lambda who, question: (
            "invalid" if who < 3 and question.text == doubtful.text else question.expected_choice or "invalid"
        ),
    )
    Path("data/plain/annotations/pulled.json").write_text(json.dumps(exported))
    run_stages("collect")
    report = read_json(Path("data/plain/interim/collect/collect.json"))
    assert report["questions_to_check"] == [f"{image}: {doubtful.text}"]
    assert any("find 1 question of the source underspecified" in warning for warning in report["warnings"])
    assert not any(row["excluded"] for row in report["annotators"].values())


def test_questions_have_derived_programs(tasks):
    rows = list(read_jsonl(Path("data/plain/interim/ingest/questions.jsonl"), Question))
    assert sum(row.program_from_text for row in rows) > 0.8 * len(rows)
