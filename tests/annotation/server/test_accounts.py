"""What `invite` says and keeps, with Label Studio's Python played by a few lines; and on a real server: accounts made once,
closed and opened again, and for the owner's eyes alone."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from annotation.client.credentials import LABEL_STUDIO_DIR, read_secrets
from annotation.server import accounts, environment
from annotation.server.accounts import update_roster
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from tests.annotation.server.conftest import ROOT, Studio


def test_people_get_pseudonyms_in_order_and_personal_links(
    asked: list[dict], capsys: pytest.CaptureFixture[str]
) -> None:
    update_roster(["zoe", "ann"])
    assert "Next, run `rgqa annotate serve`" in capsys.readouterr().out and not LABEL_STUDIO_DIR.exists()
    accounts.ensure_database(Path("python"), 8080)
    update_roster(["ben"])
    update_roster(["Dan"], adjudicator=True)
    assert [(p.name, p.pseudonym, p.email) for p in read_roster(DatasetFolders())] == [
        ("zoe", "annotator-01", "zoe@rgqa.local"),
        ("ann", "annotator-02", "ann@rgqa.local"),
        ("ben", "annotator-03", "ben@rgqa.local"),
        ("Dan", "adjudicator-01", "dan@rgqa.local"),
    ]
    said = capsys.readouterr().out
    links = [accounts.make_link(person) for person in read_roster(DatasetFolders())]
    assert links[2] in said and links[3] in said
    assert len(set(links)) == 4 and {len(link) for link in links} == {
        len("http://127.0.0.1:8080/annotate/open/") + 43
    }
    assert (
        LABEL_STUDIO_DIR / "secrets.json"
    ).stat().st_mode & 0o777 == 0o600 and LABEL_STUDIO_DIR.stat().st_mode & 0o777 == 0o700
    assert (LABEL_STUDIO_DIR / ".env").stat().st_mode & 0o777 == 0o600


def test_links_depend_on_the_server_key(asked: list[dict]) -> None:
    accounts.ensure_database(Path("python"), 8080)
    ann = Annotator(name="ann", pseudonym="annotator-01", email="ann@rgqa.local")
    before = accounts.make_link(ann)
    assert accounts.make_link(ann) == before
    (LABEL_STUDIO_DIR / ".env").unlink()
    assert accounts.make_link(ann) != before


def test_roster_changes_hold_the_study_lock(asked: list[dict], monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def reading(folders: DatasetFolders) -> list[Annotator]:
        with (folders.study / ".lock").open("w") as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            pytest.fail("a pull could write the roster now, and one of both changes would be lost")
        held.append(folders)
        return read_roster(folders)

    monkeypatch.setattr(accounts, "read_roster", reading)
    update_roster(["ann"])
    update_roster(["ann"], remove=True)
    assert len(held) == 2


def test_open_link_is_printed_once_sign_up_is_open(
    asked: list[dict], capsys: pytest.CaptureFixture[str]
) -> None:
    accounts.ensure_database(Path("python"), 8080)
    update_roster(["ann"])
    assert "volunteers" not in capsys.readouterr().out
    update_roster([], open_link=True)
    update_roster([])
    first, again = (line for line in capsys.readouterr().out.splitlines() if "/annotate/join/" in line)
    assert first == again


def test_the_same_invitation_twice_changes_nothing(asked: list[dict]) -> None:
    update_roster(["ann"])
    before = read_roster(DatasetFolders())
    update_roster(["ann"])
    assert read_roster(DatasetFolders()) == before


def test_kill_before_secrets_are_written_is_repaired_by_the_next_run(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(accounts, "write_private", killed)
        accounts.ensure_database(Path("python"), 8080)
    assert not (LABEL_STUDIO_DIR / "secrets.json").exists()
    secrets = accounts.ensure_database(Path("python"), 8080)
    assert secrets.token == "token of the administrator"
    accounts.ensure_database(Path("python"), 8081)
    # The account is asked for again, with the password and the token that are kept.
    assert (asked[-1]["password"], asked[-1]["token"]) == (secrets.password, secrets.token)
    assert read_secrets().url == "http://127.0.0.1:8081"


def test_removed_person_stays_in_the_roster_and_can_return(
    asked: list[dict], capsys: pytest.CaptureFixture[str]
) -> None:
    accounts.ensure_database(Path("python"), 8080)
    update_roster(["ann", "ben"])
    capsys.readouterr()
    update_roster(["ann"], remove=True)
    assert [(p.name, p.is_active) for p in read_roster(DatasetFolders())] == [("ann", False), ("ben", True)]
    assert "ann (annotator-01): removed" in capsys.readouterr().out
    update_roster(["ann"])
    assert read_roster(DatasetFolders())[0].is_active


def test_all_invalid_names_are_reported_at_once(asked: list[dict]) -> None:
    with pytest.raises(UserError) as error:
        update_roster(["ann b", "ok", "../x", "annotator-01", "Adjudicator-2", "unknown"])
    assert error.value.problems[0] == "invite: 5 problems"
    assert read_roster(DatasetFolders()) == [] and asked == []


def test_unknown_person_cannot_be_removed(asked: list[dict]) -> None:
    update_roster(["ann"])
    with pytest.raises(UserError, match="not in the roster: zoe. The roster has: ann"):
        update_roster(["zoe"], remove=True)


def test_other_servers_only_change_the_roster(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org")
    update_roster(["ann"])
    assert asked == [] and not LABEL_STUDIO_DIR.exists()
    assert "by hand, with these e-mail addresses" in capsys.readouterr().out


def test_database_errors_are_shown(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RGQA_ANNOTATE_DATABASE", raising=False)
    broken = tiny / "python"
    broken.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(UserError, match="could not create its database:\nconnection refused"):
        accounts.ensure_database(broken, 8080)


@pytest.mark.server
def test_creating_accounts_twice_changes_nothing_and_files_are_private(studio: Studio) -> None:
    port = int(studio.url.rsplit(":")[-1])
    before = accounts.ensure_database(studio.python, port)
    assert accounts.ensure_database(studio.python, port) == before == read_secrets()
    home = studio.folder / "data/label-studio"
    for path in (home, home / "secrets.json", home / "server.log", home / ".env"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.fixture
def label_studio(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Python of Label Studio, for an empty folder with SQLite."""
    monkeypatch.delenv("RGQA_ANNOTATE_DATABASE", raising=False)
    return environment.ensure_environment(ROOT / ".venv-label-studio")


@pytest.mark.server
def test_start_after_a_kill_during_the_first_migration_works(label_studio: Path) -> None:
    script = f"from pathlib import Path\nfrom annotation.server import accounts\naccounts.ensure_database(Path({str(label_studio)!r}), 8123)"
    killed = subprocess.Popen([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(ROOT)})
    database = LABEL_STUDIO_DIR / "label_studio.sqlite3"
    # The first migrations are done. The process that migrates goes on without the one that is killed.
    while killed.poll() is None and not (database.exists() and database.stat().st_size > 100_000):
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    assert accounts.ensure_database(label_studio, 8123).token
    assert accounts.ensure_database(label_studio, 8123).token


@pytest.mark.server
@pytest.mark.parametrize("num_answers", [0, 1])
def test_half_made_database_is_made_again_unless_it_has_answers(label_studio: Path, num_answers: int) -> None:
    # Left over from a kill: tables whose migrations are not recorded.
    LABEL_STUDIO_DIR.mkdir(parents=True)
    path = LABEL_STUDIO_DIR / "label_studio.sqlite3"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE project (id INTEGER)")
        base.execute("CREATE TABLE task_completion (id INTEGER)")
        base.executemany("INSERT INTO task_completion VALUES (?)", [(1,)] * num_answers)
    if num_answers:
        with pytest.raises(UserError, match="already exists"):
            accounts.ensure_database(label_studio, 8123)
        with closing(sqlite3.connect(path)) as base:
            assert base.execute("SELECT count(*) FROM task_completion").fetchone() == (1,)
        assert not [*LABEL_STUDIO_DIR.glob("half-made-*")]
    else:
        assert accounts.ensure_database(label_studio, 8123).token
        assert len([*LABEL_STUDIO_DIR.glob("half-made-*.sqlite3")]) == 1
