"""Try the annotation page in five minutes, for `rgqa annotate demo`: 20 tasks with feedback, then a few tasks
without feedback.

The demo runs in a temporary folder that is deleted at the end. Accounts, tasks and answers of the study are
not changed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from annotation.client.consent import save_terms
from annotation.client.credentials import connect
from annotation.client.push import push_tasks
from annotation.server import accounts, environment, process
from pipeline.core import params
from pipeline.core.errors import UserError, format_count
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task

GUEST_NAME = "guest"
DEMO_PARAMS = {"training_tasks": 20, "qualification_tasks": 0, "max_tasks_per_annotator": 5}
# Seconds between two progress checks.
POLL_SECONDS = 2
# Progress of the guest before the guest opens the link.
EMPTY_PROGRESS: Mapping[str, int] = dict.fromkeys(
    ("num_training_answered", "num_judged", "max_tasks", "num_correct", "num_known_questions"), 0
)


def run_demo(max_seconds: float = float("inf")) -> None:
    """Start the server, open the guest's link in the browser, and wait until the guest is done, the time is
    up, or Ctrl-C.

    Args:
        max_seconds: Time after which the demo ends.

    Raises:
        UserError: Another Label Studio is configured, there are no tasks, or the server does not start.
    """
    if os.environ.get("LABEL_STUDIO_URL") or os.environ.get("RGQA_ANNOTATE_DATABASE"):
        raise UserError(
            "LABEL_STUDIO_URL or RGQA_ANNOTATE_DATABASE is set, but the demo runs its own Label Studio. Unset both of them"
        )
    if not DatasetFolders().record_file(Task).exists():
        raise UserError(f"there are no tasks yet: {DatasetFolders().record_file(Task)}. Run: dvc repro batch")
    python = environment.ensure_environment().absolute()
    # Signals become exceptions, so that the temporary folder is also deleted when the terminal is closed.
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with temporary_project() as home:
        try:
            save_terms(
                DatasetFolders(),
                "the person who invited you; this is a demo, and all of it is deleted at the end",
            )
            (guest,) = accounts.add_members(DatasetFolders(), [GUEST_NAME])
            accounts.ensure_database(python, port := process.ensure_free_port(0))
            process.start_server(python, port)
            push_tasks()
            link = accounts.make_link(guest)
            print(f"\ndemo: open {link}\ndemo: Ctrl-C ends it", flush=True)
            webbrowser.open(link)
            with contextlib.suppress(KeyboardInterrupt):
                wait_for_guest(time.monotonic() + max_seconds)
            print("\n".join(format_result(*read_progress())))
        finally:
            process.stop_server()
    print(f"demo: stopped, and {home} is deleted")


@contextlib.contextmanager
def temporary_project() -> Iterator[Path]:
    """Make a temporary project the working directory.

    The project has its own study, and links to the tasks and images.
    """
    folders, content = DatasetFolders(), params.read_params_file()
    content[folders.dataset].setdefault("annotate", {}).update(DEMO_PARAMS)
    with tempfile.TemporaryDirectory(prefix="rgqa-demo-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / folders.root).mkdir(parents=True)
        for folder in (folders.source, folders.root / "interim"):
            (home / folder).symlink_to(folder.absolute())
        (home / "params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        with contextlib.chdir(home):
            yield home


def read_progress() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the progress of the guest and of the tasks."""
    report = connect().get_report()[DatasetFolders().dataset]
    return next(iter(report["annotators"]), EMPTY_PROGRESS), report["tasks"]


def wait_for_guest(deadline: float) -> None:
    """Print the progress until the guest has done all tasks or the deadline (`time.monotonic`) is reached."""
    printed = None
    while time.monotonic() < deadline:
        guest, _ = read_progress()
        line = (
            f"demo: {guest['num_training_answered']} of {DEMO_PARAMS['training_tasks']} tasks with feedback, "
            f"{guest['num_judged']} of {DEMO_PARAMS['max_tasks_per_annotator']} real tasks"
        )
        if line != printed:
            print(printed := line, flush=True)
        if 0 < guest["max_tasks"] <= guest["num_judged"]:
            return
        time.sleep(POLL_SECONDS)


def format_result(guest: Mapping[str, int], tasks: Mapping[str, int]) -> list[str]:
    """Return lines on the guest's answers and the progress of the tasks."""
    return [
        f"demo: your answers: {guest['num_correct']} of {guest['num_known_questions']} gold questions correct; "
        f"{format_count(guest['num_judged'], 'real task')} judged",
        f"demo: data set: {tasks['num_decided']:,} of {format_count(tasks['num_tasks'], 'task')} decided; at most "
        f"{format_count(tasks['num_wanted_votes'], 'more vote')} needed",
    ]
