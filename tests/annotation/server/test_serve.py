"""What `rgqa annotate serve` starts: the server's process and the demo."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import yaml

from annotation.client.credentials import LABEL_STUDIO_DIR, read_secrets
from annotation.server import accounts, environment, process, serve
from annotation.server import demo as demo_module
from annotation.server.accounts import update_roster
from annotation.server.demo import format_result, run_demo, temporary_project
from annotation.server.process import ServerProcess
from annotation.study.roster import read_roster
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json
from pipeline.core.paths import DatasetFolders
from tests.annotation.conftest import made_task, write_batch
from tests.annotation.server.conftest import ROOT, PageClient, Studio

# Serve
# What `serve` says and looks for, with Label Studio's Python played by a few lines.


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


# Process
# The server's process without a server: pid files, ports.


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


# Demo


@pytest.fixture
def batch(tiny, monkeypatch):
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN", "RGQA_ANNOTATE_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    write_batch(
        [made_task(number, images=23) for number in range(46)]
    )  # one valid and one invalid gold question each
    return tiny


def test_demo_project_is_a_temporary_folder(batch):
    with temporary_project() as home:
        assert Path.cwd() == home != batch
        section = yaml.safe_load((home / "params.yaml").read_text())["tiny"]["annotate"]
        assert (section["training_tasks"], section["qualification_tasks"]) == (20, 0)
        assert (home / "data/tiny/interim/batch/tasks.jsonl").exists()
        assert not (home / "data/tiny/study").exists()
    assert Path.cwd() == batch and not home.exists()
    assert (batch / "data/tiny/interim/batch/tasks.jsonl").exists()  # a link was deleted, not what it led to


def test_demo_project_is_deleted_after_an_error(batch):
    with pytest.raises(KeyError), temporary_project() as home:
        raise KeyError
    assert Path.cwd() == batch and not home.exists()


def test_demo_needs_tasks_and_no_other_server(tiny, monkeypatch):
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    with pytest.raises(UserError, match="no tasks yet.*dvc repro batch"):
        run_demo()
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:1")
    with pytest.raises(UserError, match="LABEL_STUDIO_URL"):
        run_demo()


def test_result_shows_guest_and_data_set():
    guest = {"num_correct": 33, "num_known_questions": 40, "num_judged": 5}
    tasks = {"num_decided": 2, "num_tasks": 5521, "num_wanted_votes": 16500}
    own, data_set = format_result(guest, tasks)
    assert "33 of 40 gold questions correct" in own and "5 real tasks judged" in own
    assert "2 of 5,521 tasks decided" in data_set and "16,500 more votes" in data_set


@pytest.mark.server
def test_demo_from_link_to_result(batch, monkeypatch, capsys):
    ensure = environment.ensure_environment
    monkeypatch.setattr(environment, "ensure_environment", lambda: ensure(ROOT / ".venv-label-studio"))
    opened = []

    def guest(link):
        opened.append(link)
        time.sleep(5)  # browsers take their time
        url, _, address = link.partition("/annotate/")
        client = PageClient(url, f"/annotate/{address}")
        shown = client.agree()
        while shown["screen"] in ("training", "feedback", "task"):
            if shown["screen"] == "feedback":
                shown = client.step({})
            else:  # in training "valid" for everything; then what is known of "Is there a dog 7?", as others are asked no more
                odd = shown["screen"] == "task" and int(shown["second"].rstrip("?").split()[-1]) % 2
                shown = client.answer(shown, second="invalid" if odd else "valid")

    monkeypatch.setattr(
        demo_module.webbrowser, "open", lambda link: threading.Thread(target=guest, args=[link]).start()
    )
    run_demo(max_seconds=240)
    for end in (signal.SIGHUP, signal.SIGTERM):  # as Ctrl-C, also for who closes the terminal
        assert signal.getsignal(end) is signal.default_int_handler
    said = capsys.readouterr().out
    # "valid" for everything, where each image has one valid and one invalid question
    assert "20 of 40 gold questions correct; 5 real tasks judged" in said
    (home,) = re.findall(r"demo: stopped, and (\S+) is deleted", said)
    assert not Path(home).exists()
    assert len(opened) == 1
