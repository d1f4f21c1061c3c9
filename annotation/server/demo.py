"""`rgqa annotate demo`: what an annotator does, in five minutes: 20 tasks that tell what was right after each answer, then a few
real ones. In a temporary folder that is deleted at the end; accounts, tasks and answers of the study are not touched."""

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
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task

GUEST_NAME = "guest"
DEMO_PARAMS = {"training": 20, "test": 0, "most_tasks": 5}
POLL_SECONDS = 2  # between two looks
EMPTY_PROGRESS: Mapping[str, int] = dict.fromkeys(("trained", "judged", "of", "right", "asked"), 0)


def run_demo(max_seconds: float = float("inf")) -> None:
    """Start everything, open the guest's session in the browser, and wait until they are done, the time is up, or Ctrl-C.

    Raises:
        UserError: another Label Studio is set, there are no tasks, or the server does not start.
    """
    if os.environ.get("LABEL_STUDIO_URL") or os.environ.get("RGQA_ANNOTATE_DATABASE"):
        raise UserError(
            "unset LABEL_STUDIO_URL and RGQA_ANNOTATE_DATABASE: the demo runs a Label Studio of its own"
        )
    if not DatasetFolders().record_file(Task).exists():
        raise UserError(f"{DatasetFolders().record_file(Task)}: no tasks yet; run: dvc repro batch")
    python = environment.ensure_environment().absolute()
    for end in (signal.SIGHUP, signal.SIGTERM):  # who closes the terminal leaves nothing either
        signal.signal(end, signal.default_int_handler)
    with temporary_project() as home:
        try:
            save_terms(
                DatasetFolders(), "whoever sent you here; this is a demo, and all of it is deleted at the end"
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
    print(f"demo: stopped; {home} is deleted, and nothing of it is left")


@contextlib.contextmanager
def temporary_project() -> Iterator[Path]:
    """A project in a temporary folder, the working directory meanwhile: the data set's tasks and images, and a study of its own."""
    folders, content = DatasetFolders(), params.read_params_file()
    content[folders.dataset].setdefault("annotate", {}).update(DEMO_PARAMS)
    with tempfile.TemporaryDirectory(prefix="rgqa-demo-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / folders.root).mkdir(parents=True)
        for part in (folders.source, folders.root / "interim"):
            (home / part).symlink_to(part.absolute())
        (home / "params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        with contextlib.chdir(home):
            yield home


def read_progress() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What the server tells of the guest, whom it does not know before they open their link, and of the tasks."""
    report = connect().get_report()[DatasetFolders().dataset]
    return next(iter(report["people"]), EMPTY_PROGRESS), report["tasks"]


def wait_for_guest(deadline: float) -> None:
    """Until the guest has done what there is for them."""
    said = None
    while time.monotonic() < deadline:
        guest, _ = read_progress()
        now = f"demo: {guest['trained']} of {DEMO_PARAMS['training']} with feedback, {guest['judged']} of {DEMO_PARAMS['most_tasks']} real ones"
        if now != said:
            print(said := now, flush=True)
        if 0 < guest["of"] <= guest["judged"]:
            return
        time.sleep(POLL_SECONDS)


def format_result(guest: Mapping[str, int], tasks: Mapping[str, int]) -> list[str]:
    """How the guest did, and where the set stands."""
    return [
        f"demo: you: {guest['right']} of {guest['asked']} known questions as known; {guest['judged']} real tasks judged",
        f"demo: the set: {tasks['known']:,} of {tasks['tasks']:,} tasks need no more votes; at most {tasks['wanted']:,} more are asked",
    ]
