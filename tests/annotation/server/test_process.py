"""The server's process without a server: pid files, ports, databases, what Label Studio's Python sees."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from annotation.server import process
from annotation.server.process import Server
from pipeline.core.errors import UserError
from pipeline.core.files import write_json

POSTGRES = "postgresql://rgqa:p%40ss@db.example.org:5433/study"


def this_process(created: float = 0.0) -> Server:
    return Server(pid=os.getpid(), created=psutil.Process().create_time() + created, port=8080)


def test_without_a_pid_file_nothing_runs(tmp_path: Path) -> None:
    assert process.running(tmp_path) is None


def test_a_live_process_is_found(tmp_path: Path) -> None:
    write_json(tmp_path / "server.json", this_process())
    assert process.running(tmp_path) == this_process()


def test_a_pid_that_was_used_again_is_not_our_server(tmp_path: Path) -> None:
    # The process of this number began an hour after ours did.
    write_json(tmp_path / "server.json", this_process(created=-3600))
    assert process.running(tmp_path) is None


def test_a_dead_process_is_not_our_server(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    created = psutil.Process(child.pid).create_time()
    child.wait()
    write_json(tmp_path / "server.json", Server(pid=child.pid, created=created, port=8080))
    assert process.running(tmp_path) is None


def test_a_process_that_ended_but_was_not_collected_is_not_our_server(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    created = psutil.Process(child.pid).create_time()
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        pass
    write_json(tmp_path / "server.json", Server(pid=child.pid, created=created, port=8080))
    assert process.running(tmp_path) is None
    child.wait()


def test_stop_ends_our_process_and_no_other(tmp_path: Path) -> None:
    ours, other = (subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2))
    write_json(
        tmp_path / "server.json",
        Server(pid=ours.pid, created=psutil.Process(ours.pid).create_time(), port=8080),
    )
    assert process.stop(tmp_path)
    assert not psutil.pid_exists(ours.pid) or psutil.Process(ours.pid).status() == psutil.STATUS_ZOMBIE
    assert other.poll() is None
    other.kill()
    other.wait()
    assert not (tmp_path / "server.json").exists()
    assert not process.stop(tmp_path)


def test_a_stale_pid_file_stops_nothing(tmp_path: Path) -> None:
    write_json(tmp_path / "server.json", this_process(created=-3600))
    assert not process.stop(tmp_path)  # this test would not come to its end if it did


def test_a_taken_port_is_named_with_a_way_out() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=rf"port {port} of 127.0.0.1 cannot be had .*--port 8081"):
            process.free(port)


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match="port 70000"):
        process.free(70000)


def test_the_end_of_the_log_is_shown_when_the_server_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such table: htx_user' >&2\nexit 3\n")
    broken.chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(UserError, match="ended while it started(?s:.)*no such table: htx_user"):
        process.start(broken, port, tmp_path)
    assert process.running(tmp_path) is None


def test_a_question_that_fails_shows_what_was_said(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(UserError, match=r"could not do it \(accounts\)(?s:.)*connection refused"):
        process.ask(broken, "accounts", b"{}", tmp_path)


def test_of_a_traceback_the_message_alone_is_shown() -> None:
    said = 'warning: x\nTraceback (most recent call last):\n  File "a.py", line 1\n    f()\nOperationalError: password wrong\nfor user "rgqa"\n'
    assert process.reason(said) == ["OperationalError: password wrong", 'for user "rgqa"']
    assert process.reason("no python here") == ["no python here"]


def test_names_that_label_studio_would_take_for_its_own_are_kept_from_it(tmp_path: Path) -> None:
    outside = {
        "PATH": "/bin",
        "HOST": "example.org",
        "DEBUG": "1",
        "USERNAME": "me",
        "LABEL_STUDIO_HOST": "x",
        "PYTHONPATH": "/elsewhere",
    }
    seen = process.environment(outside, tmp_path, tmp_path / "data")
    assert seen["PATH"] == "/bin"
    assert not {"HOST", "DEBUG", "USERNAME", "LABEL_STUDIO_HOST"} & set(seen)
    assert seen["PYTHONPATH"] == str(Path(__file__).parents[3])
    assert (seen["LABEL_STUDIO_BASE_DATA_DIR"], seen["RGQA_DATA"]) == (str(tmp_path), str(tmp_path / "data"))


def test_sqlite_unless_another_database_is_named() -> None:
    assert process.database({}) == {"DJANGO_DB": "sqlite"}
    assert process.database({"RGQA_ANNOTATE_DATABASE": POSTGRES}) == {
        "DJANGO_DB": "default",
        "POSTGRE_HOST": "db.example.org",
        "POSTGRE_PORT": "5433",
        "POSTGRE_USER": "rgqa",
        "POSTGRE_PASSWORD": "p@ss",
        "POSTGRE_NAME": "study",
    }


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:p@h/n",
        "postgresql://h/n",
        "postgresql://u@h",
        "postgresql://u@h:port/n",
        "study",
        "postgresql:///n",
    ],
)
def test_a_database_that_is_written_wrongly_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="expected postgresql://user:password@host:port/name"):
        process.database({"RGQA_ANNOTATE_DATABASE": address})


def test_a_study_stays_in_its_database(tmp_path: Path) -> None:
    process.keep_database({"RGQA_ANNOTATE_DATABASE": POSTGRES}, tmp_path)
    process.keep_database({"RGQA_ANNOTATE_DATABASE": POSTGRES}, tmp_path)
    with pytest.raises(
        UserError,
        match="lie in postgresql://db.example.org:5433/study, but RGQA_ANNOTATE_DATABASE names sqlite",
    ):
        process.keep_database({}, tmp_path)
    assert "p@ss" not in (tmp_path / "database.txt").read_text()


def test_only_one_command_at_a_time(tmp_path: Path) -> None:
    code = f"from pathlib import Path; from annotation.server.process import alone\nwith alone(Path({str(tmp_path)!r})): print('in')"
    with process.alone(tmp_path):
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert other.stderr is not None and other.stdout is not None
        assert "waiting for another" in other.stderr.readline()
        assert other.poll() is None
    assert other.communicate(timeout=30)[0] == "in\n"
