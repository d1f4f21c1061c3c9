"""Doubted labels of a set go to a Label Studio server, and come back as errata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
import yaml
from msgspec.structs import replace
from PIL import Image

from annotation.client.consent import save_terms
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.study.quality_control import ExcludedAnswer
from annotation.study.roster import write_roster
from pipeline.benchmark.label_errors.annotation_queue import (
    DoubtedSet,
    LabelToJudge,
    compare_with_verdicts,
    count_unsure,
    record_errata,
)
from pipeline.benchmark.label_errors.evidence import SetOptions
from pipeline.benchmark.release.errata import read_errata
from pipeline.cli.doubt import QueueOptions, collect_errata, write_doubt
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    Candidate,
    CollectedCandidate,
    ImageRecord,
    SpareGoldQuestion,
    Task,
    TaskQuestion,
    Verdict,
    VerifierResult,
)
from pipeline.scoring.errata import _read_errata_ids
from tests.annotation.conftest import CONTACT, people
from tests.annotation.fake_label_studio import FakeLabelStudio
from tests.benchmark.label_error_sets import write_pope

Status = Literal["unanswerable", "answerable", "doubtful", "no_votes"]
Decider = Literal["votes", "adjudicator"]
PEOPLE = {7: "ann", 8: "ben", 9: "cyd"}
NUM_ITEMS = 20


def write_images(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.new("RGB", (16, 12), (number, 90, 200)).save(folder / f"{number}.jpg")


def use_dataset(name: str) -> None:
    document = yaml.safe_load(Path("params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump(document | {"dataset": name}))


@pytest.fixture
def doubted(tiny: Path, fake: FakeLabelStudio) -> tuple[FakeLabelStudio, set[str]]:
    """A set in POPE's format with wrong labels, whose most doubted items are annotation tasks of the data set in use."""
    path, wrong = write_pope(tiny)
    write_images(tiny / "images", 100)
    models = [tiny / f"{name}.json" for name in "abc"]
    write_doubt(str(path), models, SetOptions(), queue=QueueOptions(NUM_ITEMS, tiny / "images"))
    use_dataset("pope-doubt")
    write_roster(DatasetFolders(), people(*PEOPLE.values()))
    save_terms(DatasetFolders(), CONTACT)
    fake.people |= {number: f"{name}@example.org" for number, name in PEOPLE.items()}
    return fake, wrong


def test_wrong_labels_of_another_set_become_errata_after_people_judged(
    doubted: tuple[FakeLabelStudio, set[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    fake, wrong = doubted
    folders = DatasetFolders()
    rows = {
        str(row["question_id"]): row for row in map(json.loads, Path("pope.json").read_text().splitlines())
    }
    # The truth: the label, unless it was turned over.
    truth = {
        (row["image"], row["text"]): "valid" if (row["label"] == "yes") != (key in wrong) else "invalid"
        for key, row in rows.items()
    }
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    assert len(tasks) == NUM_ITEMS
    push_tasks()
    pushed = fake.in_project("RGQA pope-doubt")
    assert {row["data"]["task"] for row in pushed} == tasks.keys()
    for row in pushed:
        # Neither label nor probability is shown, and image names are hashes.
        assert row["data"].keys() == {"task", "image", "first", "second"}
        assert row["data"]["image"].startswith("/data/local-files/?d=pope-doubt/source/images/")
        task = tasks[row["data"]["task"]]
        assert (row["data"]["first"], row["data"]["second"]) == (task.first.text, task.second.text)
        for person in PEOPLE:
            first, second = (truth[task.image_id, question.text] for question in (task.first, task.second))
            fake.annotate(row, first, second, person)
    pull_annotations()
    assert capsys.readouterr().out.endswith("pull: Next, run `rgqa errata collect`.\n")
    collect_errata()
    said = capsys.readouterr().out
    errata = read_json(folders.errata / "errata.json")
    asked = {
        question.candidate_id
        for task in tasks.values()
        for question in (task.first, task.second)
        if question.role == "candidate"
    }
    assert {row["item_id"] for row in errata} == wrong & asked
    assert len(wrong & asked) >= 0.8 * len(wrong)
    for row in errata:
        label = rows[row["item_id"]]["label"]
        answer = "no" if label == "yes" else "yes"
        assert row["reason"] == f"labelled {label}, but the answer is {answer}, by 3 of 3 annotators"
    num_wrong = len(wrong & asked)
    assert (
        f"of 20 doubted labels, {num_wrong} wrong, {20 - num_wrong} right, 0 undecided, 0 not judged" in said
    )
    # The file is one that `rgqa score --exclude-errata FILE` reads, and a second run adds nothing.
    assert _read_errata_ids(folders.errata / "errata.json", "") == wrong & asked
    collect_errata()
    assert "0 new of" in capsys.readouterr().out and read_json(folders.errata / "errata.json") == errata


def write_release(home: Path) -> tuple[Path, dict[str, bool], set[str]]:
    """Write a release of the tiny project, and return it with the true labels (True: unanswerable) and the ids of the wrong ones."""
    path, wrong = write_pope(home)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    release = home / "data/release/tiny/1.2.0"
    (release / "rgqa").mkdir(parents=True)
    # "yes" becomes "has an answer".
    items = [
        {
            "img_id": row["image"].removesuffix(".jpg"),
            "question_id": str(row["question_id"]),
            "sent": row["text"],
            "label": {"red": 1.0} if row["label"] == "yes" else {"UQ": 1.0},
        }
        for row in rows
    ]
    (release / "rgqa/pt-hard.json").write_text(json.dumps(items))
    write_json(release / "params.json", {"dataset": "tiny", "version": "1.2.0"})
    for name in "abc":
        answers = json.loads((home / f"{name}.json").read_text())
        confident = [
            {
                "questionId": row["question_id"],
                "prediction": "red",
                "confidence": float(row["prediction"] == "yes"),
            }
            for row in answers
        ]
        (home / f"{name}.json").write_text(json.dumps(confident))
    truth = {row["question_id"]: ("UQ" in row["label"]) != (row["question_id"] in wrong) for row in items}
    write_images(home / "data/tiny/source/images", 100)
    images = [
        ImageRecord(
            image_id=f"{n}",
            split="testdev",
            path=f"data/tiny/source/images/{n}.jpg",
            width=16,
            height=12,
            sha256="",
        )
        for n in range(100)
    ]
    write_jsonl(DatasetFolders("tiny").record_file(ImageRecord), images)
    return release, truth, wrong


def test_wrong_labels_of_a_release_become_its_errata(tiny: Path, fake: FakeLabelStudio) -> None:
    release, truth, wrong = write_release(tiny)
    write_doubt(str(release), [tiny / f"{name}.json" for name in "abc"], queue=QueueOptions(NUM_ITEMS))
    use_dataset("tiny-doubt")
    write_roster(DatasetFolders(), people(*PEOPLE.values()))
    save_terms(DatasetFolders(), CONTACT)
    fake.people |= {number: f"{name}@example.org" for number, name in PEOPLE.items()}
    push_tasks()
    assert '<Choice value="valid" hotkey="1"/>' in fake.project("RGQA tiny-doubt")["label_config"]
    tasks = {task.task_id: task for task in DatasetFolders().read_records(Task)}
    ids = {
        (row["img_id"], row["sent"]): row["question_id"]
        for row in json.loads((release / "rgqa/pt-hard.json").read_text())
    }
    for row in fake.in_project("RGQA tiny-doubt"):
        task = tasks[row["data"]["task"]]
        first, second = (
            "invalid" if truth[ids[task.image_id, question.text]] else "valid"
            for question in (task.first, task.second)
        )
        for person in PEOPLE:
            fake.annotate(row, first, second, person)
    pull_annotations()
    collect_errata()
    # The errata are those of the data set whose release it is, for the version that was examined.
    errata = read_errata(DatasetFolders("tiny"))
    assert not DatasetFolders().errata.joinpath("errata.json").exists()
    assert {row.item_id for row in errata} <= wrong and len(errata) >= 0.8 * len(wrong)
    assert {row.version for row in errata} == {"1.2.0"}
    for row in errata:
        said = (
            "UQ, but the question has an"
            if row.item_id in wrong and not truth[row.item_id]
            else "AQ, but the question has no"
        )
        assert row.reason == f"labelled {said} answer, by 3 of 3 annotators"


def candidate(
    key: str, status: Status, valid: int, invalid: int, decided_by: Decider = "votes"
) -> CollectedCandidate:
    return CollectedCandidate(
        candidate=Candidate(candidate_id=key, subset="pt-hard", image_id="n", question_id=key, text="?"),
        verifier_result=VerifierResult(answerability="unknown"),
        status=status,
        votes_invalid=invalid,
        votes_valid=valid,
        votes_excluded=0,
        verdict_ids=(),
        simulated=False,
        decided_by=decided_by,
    )


@pytest.mark.parametrize(
    ("label", "status", "unsure", "decided_by", "outcome"),
    [
        ("AQ", "answerable", 0, "votes", "right"),
        ("AQ", "unanswerable", 0, "votes", "wrong"),
        ("UQ", "answerable", 0, "votes", "wrong"),
        ("UQ", "unanswerable", 0, "votes", "right"),
        ("UQ", "doubtful", 0, "votes", "undecided"),
        ("UQ", "no_votes", 0, "votes", "not judged"),
        # Three people said valid or unsure: with two unsure ones, fewer said valid than were unsure.
        ("UQ", "answerable", 1, "votes", "wrong"),
        ("UQ", "answerable", 2, "votes", "undecided"),
        ("UQ", "answerable", 2, "adjudicator", "wrong"),
        # Who is unsure never speaks for "invalid".
        ("AQ", "unanswerable", 2, "votes", "wrong"),
    ],
)
def test_verdicts_are_compared_with_labels(
    label: str, status: Status, unsure: int, decided_by: Decider, outcome: str
) -> None:
    item = LabelToJudge(
        item_id="1", label=label, confirmed_by="invalid" if label == "UQ" else "valid", probability=0.5
    )
    doubted = DoubtedSet(source="s", dataset="d", version="1.0.0", label_names=("AQ", "UQ"), items=(item,))
    row = candidate("1", status, valid=3, invalid=2, decided_by=decided_by)
    found = compare_with_verdicts(doubted, [row], {"1": unsure})
    assert found.counts == dict.fromkeys(("wrong", "right", "undecided", "not judged"), 0) | {outcome: 1}
    assert [row.item_id for row in found.errata] == ["1"] * (outcome == "wrong")


def test_people_who_are_excluded_are_not_counted_as_unsure(
    doubted: tuple[FakeLabelStudio, set[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two people answer as the truth is. The third one is unsure about every candidate, and always fails the gold questions."""
    fake, wrong = doubted
    folders = DatasetFolders()
    rows = list(map(json.loads, Path("pope.json").read_text().splitlines()))
    truth = {
        (row["image"], row["text"]): "valid"
        if (row["label"] == "yes") != (str(row["question_id"]) in wrong)
        else "invalid"
        for row in rows
    }
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    opposite = {"valid": "invalid", "invalid": "valid"}
    push_tasks()
    for row in fake.in_project("RGQA pope-doubt"):
        task = tasks[row["data"]["task"]]
        questions = (task.first, task.second)
        right = [truth[task.image_id, question.text] for question in questions]
        for person in (7, 8):
            fake.annotate(row, *right, person)
        careless = [
            opposite[choice] if question.role == "gold" else "unsure"
            for question, choice in zip(questions, right, strict=True)
        ]
        fake.annotate(row, *careless, 9)
    pull_annotations()
    collect_errata()
    said = capsys.readouterr().out
    quality = read_json(folders.stage_dir("collect") / "quality.json")
    assert [row["name"] for row in quality["annotators"] if row["exclusion_reasons"]] == ["annotator-03"]
    asked = {row["item_id"] for row in read_json(folders.stage_dir("batch") / "doubted.json")["items"]}
    # If the excluded votes counted, a label "no" with the truth "yes" would be undecided: two people said yes, and one was unsure.
    kinds = {row["label"] for row in rows if str(row["question_id"]) in wrong & asked}
    assert "no" in kinds
    num_wrong = len(wrong & asked)
    assert f"{num_wrong} wrong, {NUM_ITEMS - num_wrong} right, 0 undecided, 0 not judged" in said
    reasons = {row["reason"].rpartition(", ")[2] for row in read_json(folders.errata / "errata.json")}
    assert reasons == {"by 2 of 2 annotators"}


def test_only_the_excluded_answer_of_a_verdict_is_left_out() -> None:
    """A verdict has two answers. The second one does not count, because the same person had judged that candidate before."""
    first, second = (
        TaskQuestion(key=key, text="?", role=role, candidate_id=key)
        for key, role in (("a", "candidate"), ("b", "repeat"))
    )
    asked = Task(task_id="t", image_id="n", subset="pt-hard", first=first, second=second)
    said = Verdict(verdict_id="v", task_id="t", annotator="p", first="unsure", second="unsure")
    excluded = ExcludedAnswer(
        verdict_id="v", task_id="t", candidate_id="b", annotator="p", reason="duplicate"
    )
    assert count_unsure([asked], [said], [excluded]) == {"a": 1}


def test_simulated_verdicts_are_no_errata(tiny: Path) -> None:
    folders = DatasetFolders()
    doubted = DoubtedSet(source="s", dataset="", version="", label_names=("AQ", "UQ"), items=())
    write_json(folders.stage_dir("batch") / "doubted.json", doubted)
    row = replace(candidate("1", "answerable", 3, 0), simulated=True)
    write_jsonl(folders.record_file(CollectedCandidate), [row])
    with pytest.raises(UserError, match="the verdicts are simulated"):
        record_errata(folders)


def test_the_page_of_a_set_with_yes_and_no_asks_for_yes_and_no(
    doubted: tuple[FakeLabelStudio, set[str]],
) -> None:
    fake, _ = doubted
    push_tasks()
    project = fake.project("RGQA pope-doubt")
    assert '<Choice value="yes" alias="valid" hotkey="1"/>' in project["label_config"]
    assert '<Choice value="no" alias="invalid" hotkey="9"/>' in project["label_config"]
    assert "_reason" not in project["label_config"].partition("<View className")[2]
    assert "Yes or no?" in project["expert_instruction"]


def test_gold_questions_are_undoubted_items_of_the_same_image(
    doubted: tuple[FakeLabelStudio, set[str]],
) -> None:
    folders = DatasetFolders()
    rows = [json.loads(line) for line in Path("pope.json").read_text().splitlines()]
    labels = {(row["image"], row["text"]): "valid" if row["label"] == "yes" else "invalid" for row in rows}
    questions = [
        (task.image_id, question)
        for task in folders.read_records(Task)
        for question in (task.first, task.second)
        if question.role == "gold"
    ]
    assert len(questions) > NUM_ITEMS / 4
    questions += [(row.image_id, row.question) for row in folders.read_records(SpareGoldQuestion)]
    for image, question in questions:
        assert question.expected_choice == labels[image, question.text]
        assert question.gold_source == "undoubted label, to be confirmed"
    doubted_items = {
        row["item_id"] for row in read_json(folders.stage_dir("batch") / "doubted.json")["items"]
    }
    assert not doubted_items & {question.question_id for _, question in questions}


def test_another_queue_is_refused_and_the_same_one_is_not(doubted: tuple[FakeLabelStudio, set[str]]) -> None:
    files = [path for path in sorted(DatasetFolders().root.rglob("*")) if path.is_file()]
    before = [path.read_bytes() for path in files]
    path = Path("pope.json").absolute()
    models = [path.with_name(f"{name}.json") for name in "abc"]
    write_doubt(str(path), models, queue=QueueOptions(NUM_ITEMS, Path("images")))
    assert [path.read_bytes() for path in files] == before
    with pytest.raises(UserError, match="another queue exists already"):
        write_doubt(str(path), models, queue=QueueOptions(NUM_ITEMS - 1, Path("images")))
    assert [path.read_bytes() for path in files] == before


def test_items_without_an_image_are_counted_and_not_asked(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = write_pope(tiny)
    write_images(tiny / "images", 50)
    models = [tiny / f"{name}.json" for name in "abc"]
    write_doubt(str(path), models, queue=QueueOptions(6, tiny / "images"))
    assert "more doubted items are not asked, because the image is not known" in capsys.readouterr().out
    tasks = list(DatasetFolders("pope-doubt").read_records(Task))
    # Images 50.jpg to 99.jpg do not exist.
    assert len(tasks) == 6 and all(int(task.image_id.removesuffix(".jpg")) < 50 for task in tasks)


def test_images_of_coco_are_found_by_their_numbers(tiny: Path) -> None:
    """VQA v2 says image 57, whose file is COCO_val2014_000000000057.jpg."""
    path, _ = write_pope(tiny)
    path.write_text(path.read_text().replace('.jpg"', '"'))
    write_images(tiny / "images", 100)
    for file in (tiny / "images").glob("*.jpg"):
        file.rename(file.with_name(f"COCO_val2014_{int(file.stem):012}.jpg"))
    models = [tiny / f"{name}.json" for name in "abc"]
    write_doubt(str(path), models, queue=QueueOptions(6, tiny / "images"))
    tasks = list(DatasetFolders("pope-doubt").read_records(Task))
    assert len(tasks) == 6
    for row in DatasetFolders("pope-doubt").read_records(ImageRecord):
        with Image.open(row.path) as image:
            red = image.convert("RGB").getpixel((0, 0))
        # `write_images` draws the number in the red channel. JPEG may change it a little.
        assert isinstance(red, tuple) and abs(red[0] - int(row.image_id)) <= 3


@pytest.mark.parametrize(
    ("images", "message"),
    [(None, "--images FOLDER"), ("nowhere", "no such folder"), ("empty", "has the image of no item")],
)
def test_missing_images_are_one_message(tiny: Path, images: str | None, message: str) -> None:
    path, _ = write_pope(tiny)
    (tiny / "empty").mkdir()
    with pytest.raises(UserError, match=message):
        write_doubt(str(path), [tiny / "a.json"], queue=QueueOptions(10, tiny / images if images else None))
    assert not Path("data/pope-doubt").exists()


def test_errata_need_a_data_set_with_doubted_labels(tiny: Path) -> None:
    with pytest.raises(UserError, match="has no doubted labels"):
        collect_errata()
