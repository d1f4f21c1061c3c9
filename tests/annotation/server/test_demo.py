import re
import signal
import threading
import time
from pathlib import Path

import pytest
import yaml

from annotation.server import demo as demo_module
from annotation.server import environment
from annotation.server.demo import format_result, run_demo, temporary_project
from pipeline.core.errors import UserError
from tests.annotation.conftest import made_task, write_batch
from tests.annotation.server.conftest import ROOT, PageClient


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
