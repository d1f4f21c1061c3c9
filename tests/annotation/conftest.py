"""A project with annotation tasks and annotators, and a small Label Studio to push them to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.client.consent import save_terms
from annotation.client.credentials import SECRETS_FILE, Secrets
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, write_roster
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Task, TaskQuestion
from pipeline.tasks.task_builder import to_label_studio_task
from tests.annotation.fake_label_studio import TOKEN, FakeLabelStudio

CONTACT = "Lee, lee@example.org"
SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")


def made_task(number: int, images: int = 5) -> Task:
    """Return task `t0007` for 7. The gold question comes second; its expected choice is "valid" for even numbers."""
    return Task(
        task_id=f"t{number:04}",
        image_id=f"n{number % images}",
        subset=SUBSETS[number % len(SUBSETS)],
        first=TaskQuestion(
            key=f"a{number}", text=f"What color is cup {number}?", role="candidate", candidate_id=f"c{number}"
        ),
        second=TaskQuestion(
            key=f"b{number}",
            text=f"Is there a dog {number}?",
            role="gold",
            expected_choice="invalid" if number % 2 else "valid",
            gold_source="template",
        ),
    )


def people(*names: str) -> list[Annotator]:
    """Return a roster of annotators."""
    return [
        Annotator(
            name=name,
            pseudonym=f"annotator-{number:02}",
            email=f"{name}@example.org",
        )
        for number, name in enumerate(names, 1)
    ]


def write_batch(tasks: list[Task]) -> None:
    """Write the tasks as stage `batch` does."""
    home = DatasetFolders().stage_dir("batch")
    write_jsonl(home / "tasks.jsonl", tasks)
    images = {task.image_id: f"{DatasetFolders().source}/images/{task.image_id}.png" for task in tasks}
    rows = [
        to_label_studio_task(
            task,
            ImageRecord(
                image_id=task.image_id,
                path=images[task.image_id],
                width=8,
                height=8,
                split="testdev",
                sha256="",
            ),
        )
        for task in tasks
    ]
    write_json(home / "label_studio_tasks.json", rows)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLabelStudio]:
    server = FakeLabelStudio()
    monkeypatch.setenv("LABEL_STUDIO_URL", server.url)
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", TOKEN)
    yield server
    server.close()


@pytest.fixture
def study(tiny: Path, fake: FakeLabelStudio) -> FakeLabelStudio:
    """The tiny project with 40 tasks and three annotators; nothing is pushed yet."""
    write_batch([made_task(number) for number in range(40)])
    write_roster(DatasetFolders(), people("ann", "ben", "cyd"))
    save_terms(DatasetFolders(), CONTACT)
    return fake


@pytest.fixture
def own(study: FakeLabelStudio, monkeypatch: pytest.MonkeyPatch) -> FakeLabelStudio:
    """The same server, as if `rgqa annotate serve` ran it."""
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"):
        monkeypatch.delenv(name)
    write_private(SECRETS_FILE, Secrets(url=study.url, email="admin@rgqa.local", password="p", token=TOKEN))
    study.report = {"tiny": {"annotators": [], "tasks": {}, "assignment_states": {}}}
    return study
