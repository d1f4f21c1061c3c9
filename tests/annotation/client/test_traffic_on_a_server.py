"""Kills in the middle, of our own Label Studio and of the commands: nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import requests

from annotation.client.credentials import connect
from annotation.client.pull import pull_annotations
from annotation.client.push import push_tasks
from annotation.server import process
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.conftest import made_task, write_batch
from tests.annotation.server.conftest import PageClient, Studio, as_known, run_inside, served

pytestmark = pytest.mark.server
TASKS = 2_000
PEOPLE = ("ann", "ben", "cyd")
MOMENTS = 10


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with served(tmp_path_factory.mktemp("traffic"), [made_task(n, images=100) for n in range(TASKS)]) as made:
        yield made


@pytest.fixture(autouse=True)
def running(studio: Studio) -> None:
    studio.restart()


def kill() -> None:
    """As by a power cut."""
    server = psutil.Process(process.find_running_server().pid)
    server.kill()
    server.wait(10)


def given(studio: Studio) -> list[tuple[str, int, str]]:
    """Task, person and first choice of every annotation on the server."""
    lines = [
        "from tasks.models import Annotation",
        "rows = Annotation.objects.order_by('pk').values_list('task__data', 'completed_by__email', 'result')",
        "answer = [[data['task'], email, result[0]['value']['choices'][0]] for data, email, result in rows]",
    ]
    return [tuple(row) for row in run_inside(studio, "\n".join(lines))]


class Annotator(threading.Thread):
    """A page that answers until it is stopped. Requests without a reply are repeated, as annotation_page.js does.

    Attributes:
        sent: place -> first choice, of what the server acknowledged.
    """

    def __init__(self, studio: Studio, name: str) -> None:
        super().__init__(daemon=True)
        self.client, self.sent, self.stop = studio.open_page(name), {}, threading.Event()

    def run(self) -> None:
        shown = self.until_replied({})
        while not self.stop.is_set():
            if shown["screen"] == "wait":  # nobody gives more than half of all judgements
                time.sleep(0.3)
                shown = self.until_replied({})
                continue
            # The choice depends on the question only. Votes that differ between people at random would not be trusted.
            number = int(shown["first"].removesuffix("?").split()[-1])
            place, first = shown["assignment"], ("valid", "invalid", "unsure")[number % 3]
            said = {"assignment": place, "first": first, "second": as_known(shown), "seconds": 1}
            shown = self.until_replied({"answer": said})
            self.sent[place] = first

    def until_replied(self, body: Any) -> dict[str, Any]:
        while True:
            try:
                answer = self.client.post(body)
                assert answer.status_code == 200, answer.text
                return answer.json()
            except requests.RequestException:
                time.sleep(0.3)


def test_killed_server_neither_loses_nor_duplicates_answers(studio: Studio) -> None:
    pages = [Annotator(studio, name) for name in PEOPLE]
    for page in pages:
        page.start()
    for moment in range(MOMENTS):
        time.sleep(1 + 0.13 * moment)
        kill()
        studio.restart()
    for page in pages:
        page.stop.set()
        page.join(60)
    found = given(studio)
    assert len(found) == len({row[:2] for row in found})  # one annotation for each person and task
    for name, page in zip(PEOPLE, pages, strict=True):
        own = Counter(first for _, email, first in found if email == f"{name}@rgqa.local")
        assert own == Counter(page.sent.values()) and len(page.sent) > MOMENTS
        lines = [
            "from annotation.server.label_studio_app.models import TaskAssignment",
            "from users.models import User",
            f"user = User.objects.get(email='{name}@rgqa.local').pk",
            "answer = {row.number: row.answer['first'] for row in TaskAssignment.objects.filter(user=user, state='answered')}",
        ]
        assert {int(n): first for n, first in run_inside(studio, "\n".join(lines)).items()} == page.sent
    votes = Counter(key for key, _, _ in found)
    assert max(votes.values()) <= 2  # and what was open before a kill was asked of nobody else beside


def push_process() -> subprocess.Popen[bytes]:
    code = "import annotation.client.push as made\nmade.BATCH_SIZE = 100\nprint('ready', flush=True)\nmade.push_tasks()"
    made = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert made.stdout.readline() == b"ready\n"
    return made


@pytest.mark.parametrize("who", ["command", "server"])
def test_killed_push_is_completed_by_the_next(studio: Studio, who: str) -> None:
    # Ten moments, every other one for each of both.
    for moment in range(("command", "server").index(who), MOMENTS, 2):
        write_batch([made_task(number, images=100) for number in range(TASKS + 1000 * (moment // 2 % 2 + 1))])
        if moment // 2 % 2 == 0:
            write_batch([made_task(number, images=100) for number in range(TASKS)])
            push_tasks()
            write_batch([made_task(number, images=100) for number in range(TASKS + 1000)])
        pushing = push_process()
        time.sleep(0.15 * (moment + 1))
        if who == "command":
            pushing.kill()
        else:
            kill()
        pushing.wait(120)
        if who == "server":
            studio.restart()
    wanted = [f"t{number:04}" for number in range(TASKS + 500)]
    write_batch([made_task(number, images=100) for number in range(TASKS + 500)])
    push_tasks()
    server = connect()
    assert sorted(task.rgqa_task_id for task in server.iter_tasks(server.find_project("RGQA tiny"))) == wanted
    assert sorted(row["key"] for row in json.loads(studio.queue.read_text())["tasks"]) == wanted
    assert studio.open_page("ann").step({})["screen"] == "task"


def test_killed_pull_loses_nothing(studio: Studio) -> None:
    client = studio.open_page("ann")
    client.answer(client.step({}))
    pull_annotations()
    path = DatasetFolders().annotations / "pulled.json"
    for moment in range(MOMENTS):
        client = studio.open_page("ann")
        client.answer(client.step({}))
        before = {row["data"]["task"] for row in read_json(path)}
        code = "print('ready', flush=True)\nfrom annotation.client.pull import pull_annotations\npull_annotations()"
        pulling = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert pulling.stdout.readline() == b"ready\n"
        time.sleep(0.25 * (moment + 1))
        pulling.kill()
        pulling.wait(60)
        assert before <= {row["data"]["task"] for row in read_json(path)}
    pull_annotations()
    numbers = [annotation["id"] for row in read_json(path) for annotation in row["annotations"]]
    assert len(numbers) == len(set(numbers)) == len(given(studio))
    again = path.read_bytes()
    pull_annotations()
    assert path.read_bytes() == again


def test_changed_setting_is_restored(studio: Studio) -> None:
    server = connect()
    found = server.find_project("RGQA tiny")
    ours = server.sdk.projects.get(found).label_config
    server.sdk.projects.update(found, show_collab_predictions=True)
    push_tasks()
    now = server.sdk.projects.get(found)
    assert (now.label_config, now.show_collab_predictions) == (ours, False)


def test_page_opened_before_a_push_continues(studio: Studio) -> None:
    client = studio.open_page("ben")
    shown = client.step({})
    write_batch([made_task(number, images=100) for number in range(TASKS + 600)])
    push_tasks()
    after = client.answer(shown)
    assert after["screen"] == "task" and after["assignment"] == shown["assignment"] + 1
    assert isinstance(client, PageClient)
