"""The server's process without a server: pid files, ports."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from annotation.client.credentials import LABEL_STUDIO_DIR
from annotation.server import process
from annotation.server.process import ServerProcess
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from tests.annotation.server.conftest import Studio


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's folder of a project in which nothing runs."""
    monkeypatch.chdir(tmp_path)
    LABEL_STUDIO_DIR.mkdir(parents=True)
    return LABEL_STUDIO_DIR.absolute()


def this_process(created: float = 0.0) -> ServerProcess:
    return ServerProcess(pid=os.getpid(), start_time=psutil.Process().create_time() + created, port=8080)


def test_no_server_without_pid_file(home: Path) -> None:
    assert process.find_running_server() is None


def test_running_process_is_found(home: Path) -> None:
    write_json(home / "server.json", this_process())
    assert process.find_running_server() == this_process()


def test_reused_pid_is_not_our_server(home: Path) -> None:
    # The process of this number began an hour after ours did.
    write_json(home / "server.json", this_process(created=-3600))
    assert process.find_running_server() is None


def test_ended_process_is_not_our_server(home: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    created = psutil.Process(child.pid).create_time()
    child.wait()
    write_json(home / "server.json", ServerProcess(pid=child.pid, start_time=created, port=8080))
    assert process.find_running_server() is None


def test_zombie_process_is_not_our_server(home: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    created = psutil.Process(child.pid).create_time()
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        pass
    write_json(home / "server.json", ServerProcess(pid=child.pid, start_time=created, port=8080))
    assert process.find_running_server() is None
    child.wait()


def test_stop_ends_only_our_process(home: Path) -> None:
    ours, other = (subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2))
    write_json(
        home / "server.json",
        ServerProcess(pid=ours.pid, start_time=psutil.Process(ours.pid).create_time(), port=8080),
    )
    assert process.stop_server()
    assert not psutil.pid_exists(ours.pid) or psutil.Process(ours.pid).status() == psutil.STATUS_ZOMBIE
    assert other.poll() is None
    other.kill()
    other.wait()
    assert not (home / "server.json").exists()
    assert not process.stop_server()


def test_stale_pid_file_stops_nothing(home: Path) -> None:
    write_json(home / "server.json", this_process(created=-3600))
    assert not process.stop_server()  # this test would not come to its end if it did


def test_used_port_is_reported_with_an_alternative() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=rf"port {port} of 127.0.0.1 .*--port 8081"):
            process.ensure_free_port(port)


def test_invalid_port_is_refused() -> None:
    with pytest.raises(UserError, match="port 70000"):
        process.ensure_free_port(70000)


def test_end_of_log_is_shown_if_the_server_fails_to_start(home: Path) -> None:
    broken = home / "python"
    broken.write_text("#!/bin/sh\necho 'no such table: htx_user' >&2\nexit 3\n")
    broken.chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(UserError, match="ended during its start(?s:.)*no such table: htx_user"):
        process.start_server(broken, port)
    assert process.find_running_server() is None


@pytest.mark.parametrize(("killed", "log"), [(True, ""), (False, "No module named 'label_studio'")])
def test_server_without_pid_file_does_not_start(home: Path, killed: bool, log: str) -> None:
    # Our own Python has no Label Studio, so that a server that begins says so. Whoever starts it is killed as it writes server.json.
    start = "process.start_server(Path(sys.executable), process.ensure_free_port(0))"
    kill = "process.write_json = lambda _, server: (print(server.pid, flush=True), os.kill(os.getpid(), 9))"
    script = f"""import os, sys
from pathlib import Path
from annotation.server import process
{kill if killed else ""}
{start}"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (-signal.SIGKILL if killed else 1)
    if killed:
        child = int(done.stdout)
        psutil.wait_procs([psutil.Process(child)] if psutil.pid_exists(child) else [], timeout=60)
        assert not psutil.pid_exists(child)
    said = (home / "server.log").read_text()
    assert (log in said) if log else said == ""


@pytest.mark.server
def test_killed_server_is_detected_and_restarts_with_all_data(studio: Studio) -> None:
    server = process.find_running_server()
    assert server is not None and process.is_healthy(server.url)
    with pytest.raises(UserError, match=f"port {server.port} of 127.0.0.1"):
        process.ensure_free_port(server.port)
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(server.pid)] if psutil.pid_exists(server.pid) else [], timeout=20)
    assert process.find_running_server() is None
    process.start_server(studio.python, server.port)
    assert studio.open_page("ann").step({})["screen"] in ("task", "wait", "thanks")
