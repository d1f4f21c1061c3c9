"""What `serve` says and looks for, with Label Studio's Python played by a few lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from annotation.client.credentials import read_secrets
from annotation.server import accounts, process, serve
from annotation.server.accounts import update_roster
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.paths import DatasetFolders


def test_summary_shows_links_and_password_file(asked: list[dict]) -> None:
    secrets = accounts.ensure_database(Path("python"), 8080)
    update_roster(["ann"], open_link=True)
    text = "\n".join(serve.format_summary(DatasetFolders()))
    (ann,) = read_roster(DatasetFolders())
    for part in (
        accounts.make_link(ann),
        "/annotate/join/",
        secrets.email,
        "data/label-studio/secrets.json",
    ):
        assert part in text
    assert secrets.password not in text and secrets.token not in text


@pytest.mark.parametrize("who", ["named", "volunteers"])
def test_serve_works_for_invited_people_and_volunteers(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], who: str
) -> None:
    done = []
    monkeypatch.setattr("annotation.server.process.start_server", lambda *_: done.append("start"))
    monkeypatch.setattr(serve, "push_tasks", lambda: done.append("push"))
    update_roster(["ann"] if who == "named" else [], open_link=who == "volunteers")
    serve.serve(0)
    assert done == ["start", "push"]
    assert f"/annotate/{'open' if who == 'named' else 'join'}/" in capsys.readouterr().out


def test_second_of_two_serve_commands_finds_the_running_server(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = process.ServerProcess(pid=os.getpid(), start_time=psutil.Process().create_time(), port=8080)
    before = accounts.ensure_database(Path("python"), 8080)
    asked.clear()

    @contextmanager
    def waited(folder: Path) -> Iterator[None]:
        write_json(process.PID_FILE, server)  # as the other one, for which it waited, leaves it
        yield

    monkeypatch.setattr(serve, "lock_folder", waited)
    monkeypatch.setattr(serve, "push_tasks", lambda: None)
    update_roster(["ann"])
    serve.serve(8081)
    assert asked == [] and read_secrets() == before  # the address is that of the server which runs
    assert "running on http://127.0.0.1:8080 (not on port 8081" in capsys.readouterr().out


def test_serve_refuses_if_another_label_studio_is_configured(
    asked: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org")
    with pytest.raises(UserError, match="Unset both to run one here"):
        serve.serve(8080)
    assert asked == []


def test_serve_without_annotators_explains_invite(asked: list[dict]) -> None:
    with pytest.raises(UserError, match="no annotators yet.*rgqa annotate invite NAME ... --contact"):
        serve.serve(8080)
    assert asked == []
