"""What `invite` says and keeps, with Label Studio's Python played by a few lines; and on a real server: accounts made once,
closed and opened again, and for the owner's eyes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.client.credentials import HOME, read_secrets
from annotation.server import accounts
from annotation.server.accounts import invite
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from tests.annotation.server.conftest import Studio


def test_annotators_join_with_pseudonyms_in_order_and_a_password_and_a_link_each(asked: list[dict]) -> None:
    invite(["zoe", "ann"])
    invite(["ben"])
    assert [(p.name, p.pseudonym, p.email) for p in read_roster(Folders())] == [
        ("zoe", "annotator-01", "zoe@rgqa.local"),
        ("ann", "annotator-02", "ann@rgqa.local"),
        ("ben", "annotator-03", "ben@rgqa.local"),
    ]
    secrets = read_secrets()
    assert secrets.admin.token == "token of the administrator"
    assert len({login.password for login in secrets.annotators.values()}) == 3
    links = {login.link for login in secrets.annotators.values()}
    assert len(links) == 3 and {len(link) for link in links} == {43}  # 32 random bytes in base 64
    assert (HOME / "secrets.json").stat().st_mode & 0o777 == 0o600 and HOME.stat().st_mode & 0o777 == 0o700


def test_an_address_for_volunteers_is_made_once(
    asked: list[dict], capsys: pytest.CaptureFixture[str]
) -> None:
    invite([], link=True)
    invite([], link=True)
    secret = read_secrets().doors["tiny"]
    assert capsys.readouterr().out.count(f"http://127.0.0.1:8080/desk/join/{secret}") == 2


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
    assert asked[-1]["annotators"][0]["password"] == read_secrets().annotators["ann"].password


def test_who_leaves_stays_in_the_roster_and_the_account_is_closed(asked: list[dict]) -> None:
    invite(["ann", "ben"])
    before = read_secrets().annotators["ann"]
    invite(["ann"], leave=True)
    assert [(p.name, p.active) for p in read_roster(Folders())] == [("ann", False), ("ben", True)]
    (wanted,) = asked[-1]["annotators"]
    assert wanted == {
        "email": "ann@rgqa.local",
        "password": before.password,
        "token": "",
        "link": before.link,
        "active": False,
    }
    invite(["ann"])
    assert read_roster(Folders())[0].active and read_secrets().annotators["ann"] == before


def test_every_name_that_cannot_be_is_told_at_once(asked: list[dict]) -> None:
    with pytest.raises(UserError) as error:
        invite(["ann b", "ok", "../x"])
    assert error.value.problems[0] == "invite: 2 problems"
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
def test_accounts_made_twice_are_the_same_and_for_the_owner_alone(studio: Studio) -> None:
    port = int(studio.url.rsplit(":")[-1])
    before = accounts.ensure(studio.python, read_roster(Folders()), port)
    assert accounts.ensure(studio.python, read_roster(Folders()), port) == before == read_secrets()
    home = studio.folder / "data/label-studio"
    for path in (home, home / "secrets.json", home / "server.log", home / ".env"):
        assert path.stat().st_mode & 0o077 == 0, path
