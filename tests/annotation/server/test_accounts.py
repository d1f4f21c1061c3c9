"""On a real server: accounts made once, closed and opened again, and for the owner's eyes alone."""

from __future__ import annotations

import pytest

from annotation.server import accounts
from annotation.server.invite import join, part
from annotation.study.roster import read_roster
from pipeline.core.paths import Folders
from tests.annotation.server.conftest import Studio

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


def test_who_leaves_is_logged_out_and_who_comes_back_has_the_same_account(studio: Studio) -> None:
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
