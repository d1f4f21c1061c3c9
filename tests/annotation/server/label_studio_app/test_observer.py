"""An annotator's browser must not be able to tell gold questions and repeats from candidates, on a real server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
import pytest
from PIL import Image

from annotation.client.consent import save_terms
from annotation.client.push import push_tasks
from annotation.server import accounts
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import to_task_mapping
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Candidate, Task
from pipeline.tasks.gold_questions import GoldQuestion
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.task_builder import make_tasks
from tests.annotation.conftest import write_batch
from tests.annotation.server.conftest import PARAMS, Studio
from tests.annotation.server.observer import (
    SIDES,
    build_features,
    build_question_features,
    measure_auroc,
)

# As in the sample: 1,000 of about 5,500 tasks.
NUM_TASKS, NUM_IMAGES, CANDIDATES_PER_IMAGE = 1000, 160, 34
MAX_AUROC = 0.55
WORDS = [
    "plate",
    "tree",
    "cloud",
    "fence",
    "cup",
    "table",
    "man",
    "woman",
    "dog",
    "cat",
    "lamp",
    "street",
    "chair",
    "window",
    "flower",
    "bottle",
    "horse",
    "ball",
    "sign",
    "boat",
    "door",
    "shirt",
    "box",
    "bag",
]
OTHERS = ["red", "blue", "old", "small", "wooden", "green", "long", "white", "gray", "tall"]


def make_study(seed: int = 0) -> list[Task]:
    """Tasks as stage `batch` makes them, of questions whose texts are all from the same distribution."""
    rng, written = Random(seed), set[str]()

    def write() -> str:
        text = compose()
        while text in written:
            text = compose()
        written.add(text)
        return text

    def compose() -> str:
        name, other = rng.sample(WORDS, 2)
        start = rng.choice(
            ["What color is", "Who owns", "Which shape has", "What stands next to", "How large is"]
        )
        return f"{start} the {rng.choice(OTHERS)} {name} beside the {rng.choice(OTHERS)} {other}?"

    images = [f"n{number}" for number in range(NUM_IMAGES)]
    candidates = [
        Candidate(candidate_id=f"c{image}+{n}", subset="pt-hard", image_id=image, question_id=f"{image}q{n}", text=write())
        for image in images
        for n in range(CANDIDATES_PER_IMAGE)
    ]  # fmt: skip
    offers = {
        image: Offer.from_questions(
            GoldQuestion(text=write(), expected_choice=kind, source="own question")
            for kind in ("valid", "invalid")
            for _ in range(8)
        )
        for image in images
    }
    return list(make_tasks(candidates, offers, 0.0, 0.4, seed))


def get_role(task: Task, side: str) -> str:
    return getattr(task, side).role


def has_gold(task: Task) -> bool:
    return "gold" in (task.first.role, task.second.role)


def choose(task: Task, rng: Random) -> dict[str, str]:
    """Right choices for gold questions, and mostly "invalid" for the others."""
    return {
        side: getattr(task, side).expected_choice or ("invalid" if rng.random() < 0.9 else "valid")
        for side in SIDES
    }


def judge(seen: list[Mapping[str, Any]], tasks: list[Task]) -> dict[str, float]:
    """Return target -> AUROC of the observer."""
    _, by_task = build_features(seen)
    shown = tasks[: len(by_task)]
    roles = [get_role(task, side) for task in shown for side in SIDES]
    return {
        "tasks with a gold question": measure_auroc(by_task, [has_gold(task) for task in shown]),
        "gold questions": measure_auroc(build_question_features(seen), [role == "gold" for role in roles]),
        # A text that came before is a repeat or a gold question, and nothing can hide that. `annotation.study.gold_leakage` measures
        # how much it tells. Here the question is whether anything else tells repeats.
        "gold questions and repeats": measure_auroc(
            build_question_features(seen, count_texts=False), [role != "candidate" for role in roles]
        ),
    }


@pytest.fixture(scope="module")
def study() -> list[Task]:
    return make_study()


def test_observer_finds_the_falling_total_that_the_page_once_showed(study: list[Task]) -> None:
    """The page showed "Task 5 of 5509". The total fell after a repeat, because its own task was not needed any more."""
    rules = AssignmentRules(max_votes=3, wave_size=100)
    assigner, rng = AdaptiveAssigner([to_task_mapping(task) for task in study], {}, rules), Random(1)
    by_key, seen, shown = {task.task_id: task for task in study}, list[Mapping[str, Any]](), list[Task]()
    for number in range(400):
        task = by_key[str(assigner.assign_next_task("ann"))]
        content = {"first": task.first.text, "second": task.second.text, "task_number": number}
        total = assigner.get_progress("ann")[1]
        seen.append(
            {"json": content | {"num_tasks": max(number + 1, total)}, "image_bytes": int(task.image_id[1:])}
        )
        shown.append(task)
        assigner.record_answer("ann", task.task_id, **choose(task, rng))
    found = judge(seen, shown)
    # After a repeat whose own task was judged before, the total stays, too.
    assert found["tasks with a gold question"] > 0.9 and found["gold questions"] > 0.7
    hidden = [
        row | {"json": {name: value for name, value in row["json"].items() if name != "num_tasks"}}
        for row in seen
    ]
    assert judge(hidden, shown)["tasks with a gold question"] < 0.6  # 400 tasks: standard error 0.03


@pytest.fixture
def observed(studio: Studio, study: list[Task]) -> Iterator[Studio]:
    """The server with a second data set, which one annotator annotates."""
    params = studio.folder / "params.yaml"
    before = params.read_bytes()
    rules = PARAMS | {"max_votes": 3, "wave_size": 100, "overlap_rate": 0.1}
    params.write_bytes(msgspec.yaml.encode({"dataset": "observed", "observed": {"annotate": rules}}))
    folders, rng = DatasetFolders("observed"), np.random.default_rng(0)
    images = studio.folder / folders.source / "images"
    images.mkdir(parents=True)
    for image_id in {task.image_id for task in study}:
        width, height = rng.integers(8, 80, 2)
        Image.fromarray(rng.integers(0, 255, (height, width, 3), np.uint8)).save(images / f"{image_id}.png")
    write_batch(study)
    save_terms(folders, contact="Lee, lee@example.org")
    accounts.add_members(folders, ["olga"])
    push_tasks()
    try:
        yield studio
    finally:
        (folders.study / "queue.json").unlink()
        params.write_bytes(before)


def watch(studio: Studio, study: list[Task], num_tasks: int) -> tuple[list[Mapping[str, Any]], list[Task]]:
    """Annotate as a browser does, and return what was seen of each task, and the tasks."""
    # Of a handful of pairs, each of the two is the candidate of one task and the repeat of the other.
    by_texts = {(task.first.text, task.second.text): task for task in study}
    assert len(by_texts) > 0.99 * len(study)
    client, rng = studio.open_page("olga"), Random(2)
    client.step({})
    reply = client.post({})
    seconds, seen, shown = 0.0, list[Mapping[str, Any]](), list[Task]()
    for _ in range(num_tasks):
        content = reply.json()
        assert content["screen"] == "task", content
        task = by_texts[content["first"], content["second"]]
        began = time.perf_counter()
        image = client.session.get(studio.url + content["image_url"], timeout=60)
        seen.append(
            {
                "json": content,
                "order of keys": crc32(" ".join(content).encode()) % 1000,
                "bytes without the texts": len(reply.content)
                - len(json.dumps([content[side] for side in SIDES])),
                "bytes": len(reply.content),
                "headers": len(str(sorted(reply.headers))),
                "cookies": len(str(client.session.cookies)),
                "seconds": seconds,
                "image_seconds": time.perf_counter() - began,
                "image_bytes": len(image.content),
                "image_headers": len(str(sorted(image.headers))),
                "image_status": image.status_code,
                "image_mark": int(content["image_url"].partition("?")[2], 16) % 1000,
            }
        )
        shown.append(task)
        answer = {"assignment": content["assignment"], **choose(task, rng), "seconds": 2.5}
        began = time.perf_counter()
        reply = client.post({"answer": answer})
        seconds = time.perf_counter() - began
    return seen, shown


@pytest.mark.server
def test_observer_cannot_tell_gold_questions_and_repeats_from_candidates(
    observed: Studio, study: list[Task]
) -> None:
    seen, shown = watch(observed, study, NUM_TASKS + 1)
    assert 300 < sum(map(has_gold, shown)) < 500
    found = judge(seen, shown)
    if folder := os.environ.get("RGQA_OBSERVER"):
        with open(f"{folder}/observed.json", "w", encoding="utf-8") as file:
            roles = [[get_role(task, side) for side in SIDES] for task in shown]
            json.dump({"seen": seen, "roles": roles, "auroc": found}, file)
    assert {what: auroc for what, auroc in found.items() if auroc > MAX_AUROC} == {}, found
