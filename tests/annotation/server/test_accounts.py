"""What `invite` says and keeps, with Label Studio's Python played by a few lines; and on a real server: accounts made once,
closed and opened again, and for the owner's eyes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.client.credentials import HOME, read_secrets
from annotation.client.task_screen import HOTKEYS
from annotation.server import accounts
from annotation.server.accounts import invite, join, part
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from tests.annotation.server.conftest import Studio


def test_annotators_join_with_pseudonyms_in_order_and_an_account_each(asked: list[dict]) -> None:
    invite(["zoe", "ann"], share=2)
    invite(["ben"])
    assert [(p.name, p.pseudonym, p.email, p.share) for p in read_roster(Folders())] == [
        ("zoe", "annotator-01", "zoe@rgqa.local", 2.0),
        ("ann", "annotator-02", "ann@rgqa.local", 2.0),
        ("ben", "annotator-03", "ben@rgqa.local", 1.0),
    ]
    secrets = read_secrets()
    assert {name: login.token for name, login in secrets.annotators.items()} == {
        name: f"token of {name}@rgqa.local" for name in ("zoe", "ann", "ben")
    }
    assert len({login.password for login in secrets.annotators.values()}) == 3
    assert (HOME / "secrets.json").stat().st_mode & 0o777 == 0o600 and HOME.stat().st_mode & 0o777 == 0o700


def test_the_same_invitation_twice_changes_nothing(asked: list[dict]) -> None:
    invite(["ann"])
    before = (read_roster(Folders()), read_secrets())
    invite(["ann"])
    assert (read_roster(Folders()), read_secrets()) == before


def test_a_kill_before_the_secrets_are_written_is_mended_by_the_next_run(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(accounts, "write_secrets", killed)
        invite(["ann"])
    assert not (HOME / "secrets.json").exists()
    invite(["ann"])
    assert [person.pseudonym for person in read_roster(Folders())] == ["annotator-01"]
    # The account is asked for again, with the password that is kept.
    assert asked[-1]["annotators"]["ann"]["password"] == read_secrets().annotators["ann"].password


def test_who_leaves_stays_in_the_roster_and_the_account_is_closed(asked: list[dict]) -> None:
    invite(["ann", "ben"])
    password = read_secrets().annotators["ann"].password
    invite(["ann"], leave=True)
    assert [(p.name, p.active) for p in read_roster(Folders())] == [("ann", False), ("ben", True)]
    assert asked[-1]["annotators"] == {
        "ann": {
            "email": "ann@rgqa.local",
            "password": password,
            "token": "token of ann@rgqa.local",
            "active": False,
            "hotkeys": HOTKEYS,
        }
    }
    invite(["ann"])
    assert read_roster(Folders())[0].active and read_secrets().annotators["ann"].password == password


def test_every_name_that_cannot_be_is_told_at_once(asked: list[dict]) -> None:
    with pytest.raises(UserError) as error:
        invite(["ann b", "ok", "../x"], share=0)
    assert error.value.problems[0] == "invite: 3 problems"
    assert read_roster(Folders()) == [] and asked == []


def test_who_is_not_there_cannot_leave(asked: list[dict]) -> None:
    invite(["ann"])
    with pytest.raises(UserError, match="not in the roster: zoe; there are ann"):
        invite(["zoe"], leave=True)


def test_on_a_foreign_server_only_the_roster_changes(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org")
    invite(["ann"])
    assert asked == [] and not HOME.exists()
    assert "made there by hand" in capsys.readouterr().out


def test_secrets_of_another_data_sets_annotators_stay(asked: list[dict]) -> None:
    invite(["ann"])
    (Folders().study / "roster.json").unlink()
    invite(["ben"])
    assert sorted(read_secrets().annotators) == ["ann", "ben"]


def test_why_accounts_cannot_be_made_is_shown(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RGQA_ANNOTATE_DATABASE", raising=False)
    broken = tiny / "python"
    broken.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(UserError, match="could not make the accounts:\nconnection refused"):
        accounts.ensure(broken, [], 8080)


@pytest.mark.server
def test_accounts_made_twice_are_the_same(studio: Studio) -> None:
    again = accounts.ensure(studio.python, read_roster(Folders("tiny")), int(studio.url.rsplit(":")[-1]))
    assert again == studio.secrets


@pytest.mark.server
def test_secrets_and_database_are_for_the_owner_alone(studio: Studio) -> None:
    for path in (
        studio.home,
        studio.home / "secrets.json",
        studio.home / "label_studio.sqlite3",
        studio.home / ".env",
    ):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.server
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
