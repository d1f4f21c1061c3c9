import re
import signal
import threading
import time
from pathlib import Path

import pytest
import yaml

from annotation.server import demo as room
from annotation.server import environment
from annotation.server.demo import format_result, run_demo, temporary_project
from pipeline.core.errors import UserError
from tests.annotation.conftest import made_task, write_batch
from tests.annotation.server.conftest import ROOT, DeskClient


@pytest.fixture
def batch(tiny, monkeypatch):
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN", "RGQA_ANNOTATE_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    write_batch(
        [made_task(number, images=23) for number in range(46)]
    )  # one valid and one invalid filter each
    return tiny


def test_its_project_is_a_folder_of_its_own_that_is_gone_afterwards(batch):
    with temporary_project() as home:
        assert Path.cwd() == home != batch
        section = yaml.safe_load((home / "params.yaml").read_text())["tiny"]["annotate"]
        assert (section["training"], section["test"]) == (20, 0)
        assert (home / "data/tiny/interim/batch/tasks.jsonl").exists()
        assert not (home / "data/tiny/study").exists()
    assert Path.cwd() == batch and not home.exists()
    assert (batch / "data/tiny/interim/batch/tasks.jsonl").exists()  # a link was deleted, not what it led to


def test_an_error_leaves_nothing_behind_either(batch):
    with pytest.raises(KeyError), temporary_project() as home:
        raise KeyError
    assert Path.cwd() == batch and not home.exists()


def test_without_tasks_or_with_another_server_it_says_what_to_do(tiny, monkeypatch):
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    with pytest.raises(UserError, match="no tasks yet; run: dvc repro batch"):
        run_demo()
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:1")
    with pytest.raises(UserError, match="unset LABEL_STUDIO_URL"):
        run_demo()


def test_the_result_tells_the_persons_and_the_sets():
    guest, tasks = {"right": 33, "asked": 40, "judged": 5}, {"known": 2, "tasks": 5521, "wanted": 16500}
    assert format_result(guest, tasks) == [
        "demo: you: 33 of 40 known questions as known; 5 real tasks judged",
        "demo: the set: 2 of 5,521 tasks need no more votes; at most 16,500 more are asked",
    ]


@pytest.mark.server
def test_from_its_link_to_the_result(batch, monkeypatch, capsys):
    ensure = environment.ensure_environment
    monkeypatch.setattr(environment, "ensure_environment", lambda: ensure(ROOT / ".venv-label-studio"))
    opened = []

    def guest(link):
        opened.append(link)
        time.sleep(5)  # browsers take their time
        url, _, address = link.partition("/annotate/")
        desk = DeskClient(url, f"/annotate/{address}")
        shown = desk.agree()
        while shown["show"] in ("training", "feedback", "task"):
            if shown["show"] == "feedback":
                shown = desk.step({})
            else:  # in training "valid" for everything; then what is known of "Is there a dog 7?", as others are asked no more
                odd = shown["show"] == "task" and int(shown["second"].rstrip("?").split()[-1]) % 2
                shown = desk.answer(shown, second="invalid" if odd else "valid")

    monkeypatch.setattr(
        room.webbrowser, "open", lambda link: threading.Thread(target=guest, args=[link]).start()
    )
    run_demo(max_seconds=240)
    for end in (signal.SIGHUP, signal.SIGTERM):  # as Ctrl-C, also for who closes the terminal
        assert signal.getsignal(end) is signal.default_int_handler
    said = capsys.readouterr().out
    # "valid" for everything, where each image has one valid and one invalid question
    assert "demo: you: 20 of 40 known questions as known; 5 real tasks judged" in said
    (home,) = re.findall(r"demo: stopped; (\S+) is deleted", said)
    assert not Path(home).exists()
    assert len(opened) == 1
