"""`rgqa annotate panel` on tasks of the sample, answered by the simulated vision model (`rgqa sample serve --as vlm`)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from annotation.panel.panel import PanelOptions, run_panel
from annotation.panel.prompts import make_prompt, read_choices
from annotation.study.panel_priors import add_panel
from annotation.study.panel_verdicts import read_panel
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Task, TaskQuestion
from research.synthetic_world.model_server import FaultInjection, run_in_thread
from research.synthetic_world.vision_model import VisionErrors, load_vision_model
from tests.annotation.conftest import write_batch

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "data/sample"
NUM_TASKS = 60


def get_first_object(question):
    """Return the first object that a GQA question is about, for example "dog" of "select: dog (12)->query: color [0]"."""
    return question["semantic"][0]["argument"].rpartition(" (")[0]


def get_program_size(entry):
    """Return the number of steps of a question's program."""
    return len(entry[1]["semantic"])


@pytest.fixture
def sample_tasks(tiny):
    """Tasks about the images of the sample, in a project of their own; only files that git holds are read.

    Each has two questions about an object: one of the image and, as the gold question, another one of the image ("valid") or one of
    another image about an object that this image does not have ("invalid").
    """
    asked = json.loads((SAMPLE / "source/questions1.2/testdev_balanced_questions.json").read_bytes())
    scenes = json.loads((SAMPLE / "truth/testdev_sceneGraphs.json").read_bytes())
    names = {key: {thing["name"] for thing in scene["objects"].values()} for key, scene in scenes.items()}
    own = {}
    for key, question in sorted(asked.items()):
        if get_first_object(question) not in ("", "scene"):
            own.setdefault(question["imageId"], []).append((key, question))
    tasks = []
    for number, (image_id, questions) in enumerate(list(own.items())[:NUM_TASKS]):
        others = (
            pair
            for other, pairs in list(own.items())[number + 1 :]
            for pair in pairs
            if get_first_object(pair[1]) in names[other] - names[image_id]
            # "Is there a dog?" has an answer at every image.
            and not any(step["operation"] == "exist" for step in pair[1]["semantic"])
        )
        (first, shown), (gold, gold_question) = (
            questions[0],
            next(others) if number % 3 == 0 else min(questions[1:], key=get_program_size),
        )
        tasks.append(
            Task(
                task_id=f"t{number:04}",
                image_id=image_id,
                subset="clip-hard",
                first=TaskQuestion(
                    key=first, text=shown["question"], role="candidate", candidate_id=f"c{number}"
                ),
                second=TaskQuestion(
                    key=gold,
                    text=gold_question["question"],
                    role="gold",
                    expected_choice="valid" if number % 3 else "invalid",
                    gold_source="other_image",
                ),
            )
        )
    write_batch(tasks)
    images = [
        ImageRecord(
            image_id=task.image_id,
            path=str(SAMPLE / f"source/images/{task.image_id}.jpg"),
            width=scenes[task.image_id]["width"],
            height=scenes[task.image_id]["height"],
            split="testdev",
            sha256="",
        )
        for task in tasks
    ]
    write_jsonl(DatasetFolders().record_file(ImageRecord), images)
    return tasks


def open_model(**errors):
    return load_vision_model(SAMPLE / "source/images", SAMPLE / "truth", VisionErrors(**errors))


@pytest.fixture(scope="module")
def faultless():
    return open_model()


def read_verdicts():
    return read_panel(DatasetFolders().annotations / "panel.jsonl")


def read_record():
    (path,) = (DatasetFolders().study / "panel").glob("vlm-*/panel.json")
    return json.loads(path.read_text())


def count_gold(tasks, verdicts):
    """Count (expected choice, choice) on the gold questions."""
    by_id = {task.task_id: task for task in tasks}
    return Counter(
        (question.expected_choice, choice)
        for row in verdicts
        for question, choice in (
            (by_id[row.task_id].first, row.first),
            (by_id[row.task_id].second, row.second),
        )
        if question.role == "gold"
    )


def test_the_panel_judges_what_it_sees(sample_tasks, faultless):
    with run_in_thread(faultless) as server:
        run_panel(PanelOptions("vlm", server.url))
    verdicts = read_verdicts()
    assert len(verdicts) == NUM_TASKS
    counts = count_gold(sample_tasks, verdicts)
    invalid, valid = (
        sum(number for (expected, _), number in counts.items() if expected == kind)
        for kind in ("invalid", "valid")
    )
    # Programs are derived from the text, so some questions that have an answer seem to have none.
    assert counts["invalid", "invalid"] / invalid > 0.95
    assert (counts["valid", "valid"] + counts["valid", "unsure"]) / valid > 0.6
    assert {row.first_reason for row in verdicts} > {"", "missing object"}
    (voter,) = add_panel(sample_tasks, verdicts, {}, {}, 0, 0.1).voters
    assert min(voter.sensitivity.values()) > min(voter.specificity.values()) > 0.5


def test_a_model_that_misses_objects_calls_more_questions_invalid(sample_tasks):
    found = []
    for rate in (0.0, 0.4):
        model = open_model(miss_rate=rate)
        verdicts = []
        for task in sample_tasks:
            text = make_prompt("Guide", task.first.text, task.second.text)
            verdicts.append(
                read_choices(model._judge(task.image_id, (task.first.text, task.second.text), text))
            )
        found.append(sum((row.first == "invalid") + (row.second == "invalid") for row in verdicts))
    assert found[1] > found[0] + 3


def test_each_prompt_is_a_look_of_its_own(sample_tasks):
    model = open_model(miss_rate=0.4, persistence=0.0)
    replies = [
        {
            model._judge(task.image_id, (task.first.text, task.second.text), f"look {number}")
            for number in range(20)
        }
        for task in sample_tasks[:10]
    ]
    assert sum(len(looks) > 1 for looks in replies) >= 5


def test_broken_replies_are_counted_in_one_message(sample_tasks, capsys):
    with run_in_thread(open_model(json_fault_rate=1.0)) as server:
        run_panel(PanelOptions("vlm", server.url))
    record = read_record()
    faults = sum(record["faults"].values())
    # Half of the replies are truncated, and some of these have lost only a reason. The others have text around them.
    assert 10 <= faults <= 40
    assert len(read_verdicts()) == NUM_TASKS - faults
    assert capsys.readouterr().err.count("without a verdict") == 1


def test_a_slow_server_that_often_fails_is_asked_again(sample_tasks, faultless, monkeypatch, capsys):
    monkeypatch.setattr("pipeline.inference.request_pool.MAX_RETRIES", 0)
    with run_in_thread(faultless) as server:
        run_panel(PanelOptions("vlm", server.url, max_tasks=5))
        server.faults = FaultInjection(delay_seconds=0.05, failure_rate=0.3)
        try:
            run_panel(PanelOptions("vlm", server.url))
        except UserError as error:
            # The probe before the first request can fail, too.
            assert len(error.problems) == 1
        first = len(read_verdicts())
        assert first < NUM_TASKS
        asked = server.requests
        server.faults = FaultInjection()
        run_panel(PanelOptions("vlm", server.url))
        probes = 5
        assert server.requests - asked <= NUM_TASKS - first + probes
    assert len(read_verdicts()) == NUM_TASKS
    assert capsys.readouterr().err.count("Run the same command") <= 1


CALL = "from annotation.panel.panel import *; import sys; run_panel(PanelOptions('vlm', sys.argv[1], max_connections=2))"


def test_killed_in_the_middle_it_pays_no_answered_request_again(sample_tasks, faultless):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    folder = DatasetFolders().study / "panel"

    def count_rows():
        return sum(len(path.read_text().splitlines()) for path in folder.glob("*/answers.jsonl"))

    with run_in_thread(faultless, faults=FaultInjection(delay_seconds=0.1)) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", CALL, server.url], env=environment, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 120
        while process.poll() is None and count_rows() < 15 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        saved, asked = count_rows(), server.requests
        assert 15 <= saved < NUM_TASKS
        server.faults = FaultInjection()
        run_panel(PanelOptions("vlm", server.url))
        probes = 5
        assert server.requests - asked <= NUM_TASKS - saved + probes
    assert len(read_verdicts()) == NUM_TASKS
    assert count_rows() == NUM_TASKS
