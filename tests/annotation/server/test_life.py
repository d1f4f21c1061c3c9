"""On a real server: found again, stopped, killed; accounts made once."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from annotation.server import accounts, process
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from tests.annotation.server.conftest import ANSWER, Studio

pytestmark = pytest.mark.server


def test_accounts_made_twice_are_the_same(studio: Studio) -> None:
    again = accounts.ensure(studio.python, read_roster(Folders("tiny")), int(studio.url.rsplit(":")[-1]))
    assert again == studio.secrets


def test_secrets_and_database_are_for_the_owner_alone(studio: Studio) -> None:
    for path in (
        studio.home,
        studio.home / "secrets.json",
        studio.home / "label_studio.sqlite3",
        studio.home / ".env",
    ):
        assert path.stat().st_mode & 0o077 == 0, path


def test_answers_that_come_at_once_are_all_kept(studio: Studio) -> None:
    def answer(turn: int) -> int:
        name = ("ann", "ben")[turn % 2]
        address = f"{studio.url}/api/tasks/{studio.tasks[name][4]}/annotations/"
        return (
            sessions[name].post(address, json={"result": ANSWER, "lead_time": turn}, timeout=120).status_code
        )

    sessions = {name: studio.login(name) for name in ("ann", "ben")}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, range(40))) == [201] * 40
    for first, name in enumerate(("ann", "ben")):
        kept = (
            studio.service(name)
            .get(f"{studio.url}/api/tasks/{studio.tasks[name][4]}/annotations/", timeout=60)
            .json()
        )
        assert sorted(one["lead_time"] for one in kept) == list(range(first, 40, 2))


def test_who_leaves_is_logged_out_and_who_comes_back_has_the_same_account(studio: Studio) -> None:
    from annotation.client.invite import join, part

    folders, port = Folders("tiny"), int(studio.url.rsplit(":")[-1])
    session = studio.login("ben")
    assert session.get(f"{studio.url}/api/current-user/whoami", timeout=60).status_code == 200
    part(folders, ["ben"])
    accounts.ensure(studio.python, read_roster(folders), port)
    assert session.get(f"{studio.url}/api/current-user/whoami", timeout=60).status_code == 401
    assert studio.login("ben").get(f"{studio.url}/api/current-user/whoami", timeout=60).status_code == 401
    assert (
        studio.service("ben")
        .get(f"{studio.url}/api/projects/{studio.projects['ben']}/", timeout=60)
        .status_code
        == 200
    )
    join(folders, ["ben"])
    assert accounts.ensure(studio.python, read_roster(folders), port) == studio.secrets
    assert studio.login("ben").get(f"{studio.url}/api/current-user/whoami", timeout=60).status_code == 200


def test_a_killed_server_is_recognised_and_starts_again_with_everything(studio: Studio) -> None:
    server = process.running()
    assert server is not None and process.healthy(server.url)
    with pytest.raises(UserError, match=f"port {server.port} of 127.0.0.1 cannot be had"):
        process.free(server.port)
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(server.pid)] if psutil.pid_exists(server.pid) else [], timeout=20)
    assert process.running() is None
    process.start(studio.python, server.port)
    assert (
        studio.service("ann")
        .get(f"{studio.url}/api/projects/{studio.projects['ann']}/", timeout=60)
        .status_code
        == 200
    )
