"""Push, status and pull against our own Label Studio: kills in the middle, copies, edits by hand."""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from annotation.client.credentials import connection, read_secrets
from annotation.client.pull import pull
from annotation.client.push import push
from annotation.client.queues import open_queues
from annotation.client.status import status
from annotation.server import accounts, environment, process
from annotation.study.roster import read_roster, write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from tests.annotation.conftest import made_task, people, write_batch
from tests.closure import ROOT

pytestmark = pytest.mark.server
TASKS = 2_000


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project folder with a running server of its own and three annotators; the working directory of these tests."""
    folder, before = tmp_path_factory.mktemp("study"), Path.cwd()
    (folder / "params.yaml").write_bytes((ROOT / "tests/tiny/params.yaml").read_bytes())
    os.chdir(folder)
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        write_roster(Folders(), people("ann", "ben", "cyd"))
        write_batch([made_task(number, pictures=100) for number in range(TASKS)])
        accounts.ensure(studio_python(), read_roster(Folders()), port)
        process.start(studio_python(), port)
        yield folder
    finally:
        process.stop()
        os.chdir(before)


@pytest.fixture(autouse=True)
def running(project: Path) -> None:
    restart()


def studio_python() -> Path:
    return environment.ensure(ROOT / environment.ENVIRONMENT)


def restart() -> None:
    """Start the server again if it was killed; what listened on its port goes with it."""
    if process.running() is None:
        process.start(studio_python(), int(read_secrets().url.rsplit(":", 1)[1]))


@contextmanager
def killing(path: str, number: int, seconds: float) -> Iterator[None]:
    """So long after the request of that number to that path was sent, the server's process is killed, as by a power cut."""
    server, sent, request = psutil.Process(process.running().pid), [], httpx.Client.request

    def kill() -> None:
        server.kill()
        server.wait(10)

    def watched(client: httpx.Client, method: str, url: str, **more: Any) -> httpx.Response:
        sent.append(url)
        timer = threading.Timer(seconds, kill)
        if url.endswith(path) and sum(other.endswith(path) for other in sent) == number:
            timer.start()
        try:
            return request(client, method=method, url=url, **more)
        finally:
            if timer.ident:
                timer.join()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.Client, "request", watched)
        yield


def held() -> dict[str, list[str]]:
    """Pseudonym -> keys in their queue."""
    return {
        queue.name: [task.key for task in queue.server.tasks(queue.server.project(queue.title))]
        for queue in open_queues(Folders(), Problems("test"))
    }


def whole(found: dict[str, list[str]]) -> bool:
    """Whether every task is in two queues, once in each."""
    return all(len(row) == len(set(row)) for row in found.values()) and Counter(
        key for row in found.values() for key in row
    ) == dict.fromkeys((f"t{number:04}" for number in range(TASKS)), 2)


def answered(name: str, tasks: int, first: str = "valid") -> list[int]:
    """Answers through the API, as the service account; the numbers of the tasks."""
    server = connection(name)
    project = server.project("RGQA tiny")
    numbers = [task.id for task in server.tasks(project) if not task.total_annotations][:tasks]
    result = [
        {"from_name": question, "to_name": "image", "type": "choices", "value": {"choices": [choice]}}
        for question, choice in (("first", first), ("second", "valid"))
    ]
    for number in numbers:
        server.sdk.annotations.create(number, result=result, lead_time=2.0)
    return numbers


@pytest.mark.parametrize("seconds", [0, 0.02, 0.1])
def test_a_push_during_which_the_server_is_killed_is_finished_by_the_next(project, monkeypatch, seconds):
    monkeypatch.setattr("annotation.client.queues.BATCH", 100)
    for name in ("ann", "ben", "cyd"):  # from nothing each time
        server = connection(name)
        if found := server.project("RGQA tiny"):
            server.sdk.projects.delete(found)
    with killing("/import", 9, seconds), pytest.raises(UserError) as caught:
        push()
    assert any(words in str(caught.value) for words in ("broke off", "no server answers"))
    restart()
    push()
    assert whole(held())


def test_a_second_push_changes_nothing(project):
    push()
    before = held()
    push()
    assert held() == before and whole(before)


def test_what_was_deleted_and_copied_by_hand_is_mended(project):
    push()
    server = connection("ann")
    found = server.project("RGQA tiny")
    rows = list(server.tasks(found))
    server.put(found, [{"data": row.data} for row in rows[:30]])
    assert server.delete(found, [row.id for row in rows[100:140]]) == 40
    push()
    assert whole(held())


def test_a_label_that_was_renamed_by_hand_is_put_right(project):
    push()
    server = connection("ben")
    found = server.project("RGQA tiny")
    ours = server.sdk.projects.get(found).label_config
    server.sdk.projects.update(found, label_config=ours.replace('value="valid"', 'value="okay"'))
    push()
    assert server.sdk.projects.get(found).label_config == ours


def test_answers_and_drafts_are_never_deleted(project):
    push()
    server = connection("cyd")
    found = server.project("RGQA tiny")
    judged = answered("cyd", 2)
    begun = next(task.id for task in server.tasks(found) if task.id not in judged)
    http = server.sdk._client_wrapper.httpx_client  # the SDK has no drafts
    assert http.request(f"api/tasks/{begun}/drafts", method="POST", json={"result": []}).status_code == 201
    everything = [task.id for task in server.tasks(found)][:20]
    assert server.delete(found, everything) == len(set(everything) - {*judged, begun})
    assert {*judged, begun} <= {task.id for task in server.tasks(found)}
    push()
    assert whole(held())


def test_a_pull_during_which_the_server_is_killed_loses_nothing_and_the_next_gets_everything(
    project, monkeypatch
):
    push()
    for name in ("ann", "ben", "cyd"):
        answered(name, 40)
    pull()
    path = Folders().annotations / "pulled.json"
    before = path.read_bytes()
    answered("ann", 20)
    with monkeypatch.context() as patch, killing("api/tasks/", 6, 0.01), pytest.raises(UserError):
        patch.setattr("annotation.client.label_studio.PAGE", 5)
        pull()
    kept = {row["data"]["task"] for row in read_json(path)}
    restart()
    pull()
    found = read_json(path)
    numbers = [annotation["id"] for row in found for annotation in row["annotations"]]
    assert kept <= {row["data"]["task"] for row in found}
    assert len(numbers) == len(set(numbers)) >= 140
    assert len(before) < path.stat().st_size
    again = path.read_bytes()
    pull()
    assert path.read_bytes() == again
    status()
