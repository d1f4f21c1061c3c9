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

from annotation.client.consent import keep_terms
from annotation.client.credentials import connection
from annotation.client.push import push
from annotation.server import accounts, environment, process
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders
from pipeline.core.records import Task

GUEST = "guest"
TASKS = {"training": 20, "test": 0, "most_tasks": 5}
SECONDS = 2  # between two looks
NOBODY: Mapping[str, int] = dict.fromkeys(("trained", "judged", "of", "right", "asked"), 0)


def demo(seconds: float = float("inf")) -> None:
    """Start everything, open the guest's session in the browser, and wait until they are done, the time is up, or Ctrl-C.

    Raises:
        UserError: another Label Studio is set, there are no tasks, or the server does not start.
    """
    if os.environ.get("LABEL_STUDIO_URL") or os.environ.get("RGQA_ANNOTATE_DATABASE"):
        raise UserError(
            "unset LABEL_STUDIO_URL and RGQA_ANNOTATE_DATABASE: the demo runs a Label Studio of its own"
        )
    if not Folders().file(Task).exists():
        raise UserError(f"{Folders().file(Task)}: no tasks yet; run: dvc repro batch")
    python = environment.ensure().absolute()
    for end in (signal.SIGHUP, signal.SIGTERM):  # who closes the terminal leaves nothing either
        signal.signal(end, signal.default_int_handler)
    with project() as home:
        try:
            keep_terms(
                Folders(), "whoever sent you here; this is a demo, and all of it is deleted at the end"
            )
            (guest,) = accounts.join(Folders(), [GUEST])
            accounts.ensure(python, port := process.ensure_free(0))
            process.start(python, port)
            push()
            link = accounts.link(guest)
            print(f"\ndemo: open {link}\ndemo: Ctrl-C ends it", flush=True)
            webbrowser.open(link)
            with contextlib.suppress(KeyboardInterrupt):
                wait(time.monotonic() + seconds)
            print("\n".join(result(*look())))
        finally:
            process.stop()
    print(f"demo: stopped; {home} is deleted, and nothing of it is left")


@contextlib.contextmanager
def project() -> Iterator[Path]:
    """A project in a temporary folder, the working directory meanwhile: the data set's tasks and pictures, and a study of its own."""
    folders, content = Folders(), params.document()
    content[folders.dataset].setdefault("annotate", {}).update(TASKS)
    with tempfile.TemporaryDirectory(prefix="rgqa-demo-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / folders.home).mkdir(parents=True)
        for part in (folders.source, folders.home / "interim"):
            (home / part).symlink_to(part.absolute())
        (home / "params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        with contextlib.chdir(home):
            yield home


def look() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What the server tells of the guest, whom it does not know before they open their link, and of the tasks."""
    report = connection().report()[Folders().dataset]
    return next(iter(report["people"]), NOBODY), report["tasks"]


def wait(end: float) -> None:
    """Until the guest has done what there is for them."""
    said = None
    while time.monotonic() < end:
        guest, _ = look()
        now = f"demo: {guest['trained']} of {TASKS['training']} with feedback, {guest['judged']} of {TASKS['most_tasks']} real ones"
        if now != said:
            print(said := now, flush=True)
        if 0 < guest["of"] <= guest["judged"]:
            return
        time.sleep(SECONDS)


def result(guest: Mapping[str, int], tasks: Mapping[str, int]) -> list[str]:
    """How the guest did, and where the set stands."""
    return [
        f"demo: you: {guest['right']} of {guest['asked']} known questions as known; {guest['judged']} real tasks judged",
        f"demo: the set: {tasks['known']:,} of {tasks['tasks']:,} tasks need no more votes; at most {tasks['wanted']:,} more are asked",
    ]
