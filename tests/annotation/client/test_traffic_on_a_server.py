"""Push, status and pull against our own Label Studio: kills in the middle, copies, edits by hand."""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from annotation.client.label_studio import LabelStudio
from annotation.client.pull import pull
from annotation.client.push import push
from annotation.client.queues import queues
from annotation.client.secrets import Connection, connection, read_secrets
from annotation.client.status import status
from annotation.server import accounts, environment, process
from annotation.study.roster import read_roster, write_roster
from pipeline.core.errors import UserError
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


def killing(path: str, number: int, seconds: float) -> Callable[[Connection], LabelStudio]:
    """Opens servers like `LabelStudio`; so long after the request of that number to that path was sent, the server's
    process is killed, as by a power cut."""
    server, sent = psutil.Process(process.running().pid), []

    def kill() -> None:
        server.kill()
        server.wait(10)

    class Killing(LabelStudio):
        def _ask(self, method: str, address: str, *rest: Any, **more: Any) -> Any:
            sent.append(address)
            if address.endswith(path) and sum(other.endswith(path) for other in sent) == number:
                timer = threading.Timer(seconds, kill)
                timer.start()
                try:
                    return super()._ask(method, address, *rest, **more)
                finally:
                    timer.join()
            return super()._ask(method, address, *rest, **more)

    return Killing


def held() -> dict[str, list[str]]:
    """Pseudonym -> keys in their queue."""
    found = {}
    for queue in queues(Folders())[0]:
        server = LabelStudio(queue.connection)
        found[queue.name] = [task.key for task in server.tasks(server.project(queue.title))]
    return found


def whole(found: dict[str, list[str]]) -> bool:
    """Whether every task is in two queues, once in each."""
    return all(len(row) == len(set(row)) for row in found.values()) and Counter(
        key for row in found.values() for key in row
    ) == dict.fromkeys((f"t{number:04}" for number in range(TASKS)), 2)


def answered(name: str, tasks: int, first: str = "valid") -> list[int]:
    """Answers through the API, as the service account; the numbers of the tasks."""
    server = LabelStudio(connection(name))
    project = server.project("RGQA tiny")
    numbers = [task.id for task in server.tasks(project) if not task.total_annotations][:tasks]
    result = [
        {"from_name": question, "to_name": "image", "type": "choices", "value": {"choices": [choice]}}
        for question, choice in (("first", first), ("second", "valid"))
    ]
    for number in numbers:
        server._ask("POST", f"api/tasks/{number}/annotations/", body={"result": result, "lead_time": 2.0})
    return numbers


@pytest.mark.parametrize("seconds", [0, 0.02, 0.1])
def test_a_push_during_which_the_server_is_killed_is_finished_by_the_next(project, monkeypatch, seconds):
    monkeypatch.setattr("annotation.client.contents.BATCH", 100)
    for name in ("ann", "ben", "cyd"):  # from nothing each time
        server = LabelStudio(connection(name))
        if found := server.project("RGQA tiny"):
            server._ask("DELETE", f"api/projects/{found.id}/")
    with pytest.raises(UserError) as caught:
        push(killing("/import", 9, seconds))
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
    server = LabelStudio(connection("ann"))
    found = server.project("RGQA tiny")
    rows = list(server.tasks(found))
    server.put(found, [{"data": row.data} for row in rows[:30]])
    assert server.delete(found, [row.id for row in rows[100:140]]) == 40
    push()
    assert whole(held())


def test_a_label_that_was_renamed_by_hand_is_put_right(project):
    push()
    server = LabelStudio(connection("ben"))
    found = server.project("RGQA tiny")
    ours = server._ask("GET", f"api/projects/{found.id}/")["label_config"]
    server._ask(
        "PATCH",
        f"api/projects/{found.id}/",
        body={"label_config": ours.replace('value="valid"', 'value="okay"')},
    )
    push()
    assert server._ask("GET", f"api/projects/{found.id}/")["label_config"] == ours


def test_answers_and_drafts_are_never_deleted(project):
    push()
    server = LabelStudio(connection("cyd"))
    found = server.project("RGQA tiny")
    judged = answered("cyd", 2)
    begun = next(task.id for task in server.tasks(found) if task.id not in judged)
    server._ask("POST", f"api/tasks/{begun}/drafts", body={"result": []})
    everything = [task.id for task in server.tasks(found)][:20]
    assert server.delete(found, everything) == len(set(everything) - {*judged, begun})
    assert {*judged, begun} <= {task.id for task in server.tasks(found)}
    push()
    assert whole(held())


def test_a_pull_during_which_the_server_is_killed_loses_nothing_and_the_next_gets_everything(
    project, monkeypatch
):
    monkeypatch.setattr("annotation.client.label_studio.PAGE", 5)
    push()
    for name in ("ann", "ben", "cyd"):
        answered(name, 40)
    pull()
    path = Folders().annotations / "pulled.json"
    before = path.read_bytes()
    answered("ann", 20)
    with pytest.raises(UserError):
        pull(killing("api/tasks/", 6, 0.01))
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
