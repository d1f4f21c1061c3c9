"""An annotator's queue: a project of their own, on our server in an organisation of their own; what lies in it, what was
answered there, and how it is brought to hold what it should.

With an empty roster on another server everybody who can log in there shares one project. A task with an answer, a skip or
a draft is never touched. Whatever ends the work, the next run looks again and does what is left.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import msgspec
from pandas import Categorical, DataFrame

from annotation.client.credentials import connection
from annotation.client.label_studio import BATCH, LabelStudio
from annotation.client.task_screen import instructions, interface
from annotation.study.exports import LOCAL, ExportedTask, Person, pseudonym
from annotation.study.plan import AnnotateParams
from annotation.study.roster import Annotator, read_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Record, Task

# Of the copies of a task the one that comes first here counts.
STATES = ("judged", "begun", "skipped", "open")


class Queue(Record):
    """A project on a server and whose it is; `annotator` None is the one that everybody shares."""

    title: str
    server: LabelStudio
    annotator: Annotator | None = None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.annotator.pseudonym if self.annotator else "everybody"

    @property
    def active(self) -> bool:
        """Whether somebody judges here still."""
        return self.annotator is None or self.annotator.active


def open_queues(folders: Folders, problems: Problems) -> list[Queue]:
    """The queues of all annotators, of those who left too. What keeps some from being reached goes to `problems`.

    Raises:
        UserError: nobody was invited yet and there is no server elsewhere, or no server is known.
    """
    title = f"RGQA {folders.dataset}"
    roster = read_roster(folders)
    if not roster:
        shared = connection()
        if shared.own:
            raise UserError("nobody annotates yet; run: rgqa annotate invite NAME ...")
        return [Queue(title=title, server=shared)]
    servers: dict[str, LabelStudio] = {}  # by token: each is looked at once
    queues = []
    for person in roster:
        with noted(problems):
            opened = connection(person.name)
            server = servers.setdefault(opened.token, opened)
            own = title if server.own else f"{title}: {person.pseudonym}"
            queues.append(Queue(title=own, server=server, annotator=person))
    if not queues:
        problems.raise_if_any()
    return queues


@contextmanager
def noted(problems: Problems, prefix: str = "") -> Iterator[None]:
    """Let one queue fail without the others; what several of them say alike is noted once."""
    try:
        yield
    except UserError as error:
        lines = [prefix + line for line in error.problems]
        problems.lines += [line for line in lines if line not in problems.lines]


def read_batch(folders: Folders, params: AnnotateParams) -> tuple[dict[str, Task], dict[str, dict[str, str]]]:
    """The tasks, and what the browser receives of each, by task id."""
    home = folders.stage("batch")
    tasks = {task.task_id: task for task in folders.rows(Task)}
    if not tasks:
        raise UserError(f"{home}/tasks.jsonl holds no tasks; run: dvc repro")
    rows = read_json(home / "label_studio_tasks.json", list[dict[Literal["data"], dict[str, str]]])
    shown = {row["data"]["task"]: row["data"] for row in rows}
    if shown.keys() != tasks.keys():
        raise UserError(
            f"{home}: tasks.jsonl and label_studio_tasks.json hold different tasks; run: dvc repro"
        )
    if params.pictures != "local":
        for data in shown.values():
            data["image"] = f"{params.pictures.rstrip('/')}/{data['image'].removeprefix(LOCAL)}"
    return tasks, shown


def look(queue: Queue) -> DataFrame:
    """What a queue holds now, a row for each task: its `number` there, its `key` with us ("" if it is none of ours) and its
    `state`, one of STATES. Of the copies of a task the one that counts comes first: where most was done, then the oldest."""
    project = queue.server.project(queue.title)
    drafts = queue.server.drafts(project)
    rows = []
    for task in queue.server.tasks(project):
        marks = (task.total_annotations > 0, task.id in drafts, task.cancelled_annotations > 0, True)
        rows.append((task.id, task.key, STATES[marks.index(True)]))
    held = DataFrame(rows, columns=["number", "key", "state"])
    held["state"] = Categorical(held["state"], STATES, ordered=True)
    return held.sort_values(["state", "number"])


def answers(queue: Queue) -> Iterator[ExportedTask]:
    """The tasks of a queue with all that was given there, skipped ones too, under pseudonyms; one page in memory."""
    project = queue.server.project(queue.title)
    owner = queue.annotator.email.lower() if queue.annotator else None
    owners = {number for number, email in queue.server.people().items() if email == owner}
    for task in queue.server.judged(project):
        if task.key:
            annotations = [
                msgspec.structs.replace(annotation, completed_by=who(annotation.completed_by, queue, owners))
                for annotation in task.annotations or ()
            ]
            yield ExportedTask(data={"task": task.key}, annotations=annotations)


def who(person: int | str | Person | None, queue: Queue, owners: Collection[int]) -> str:
    """The pseudonym of whoever gave an annotation in a queue.

    A queue is its annotator's. Somebody else who judged there (the study leader, to try it) is told apart as far as
    the server knows the annotator's address; an account that was deleted leaves nobody, and that was the annotator.
    """
    number = person.id if isinstance(person, Person) else person
    if queue.annotator and (number is None or not owners or number in owners):
        return queue.annotator.pseudonym
    return pseudonym(number)


def bring(
    queue: Queue,
    held: DataFrame,
    wanted: Sequence[str],
    shown: Mapping[str, Mapping[str, str]],
    params: AnnotateParams,
) -> None:
    """Bring one queue up to date: settings put right, what is not wanted any more out, what is missing in, and counted.

    Args:
        held: what it holds, of this moment.
        wanted: the open tasks that it should hold, in order.
    """
    if held.empty and not wanted:
        return
    server, wished = queue.server, settings(queue, params)
    project = server.ensure_project(wished)
    say = partial(print, f"push: {queue.name}:")
    if mended := server.mend(project, wished):
        say("settings put right:", ", ".join(mended))
    if params.pictures == "local" and not server.own:
        server.serve_pictures(project, (Folders().source / "images").absolute())
    ours = held[held["key"] != ""]
    if strange := len(held) - len(ours):
        say(f"{strange} tasks are not ours (made by hand?); they stay", file=sys.stderr)
    copy, untouched = ours["key"].duplicated(), ours["state"] == "open"
    if twice := ours["key"][copy & (ours["state"] == "judged")].unique().tolist():
        both = "tasks were judged in two copies; both stay, the last verdict counts:"
        say(len(twice), both, ", ".join(twice[:10]), file=sys.stderr)
    gone = ours[untouched & (copy | ~ours["key"].isin(wanted))]
    taken = server.delete(project, gone["number"].tolist())
    if len(gone):
        say(f"{taken:,} open tasks taken out ({(copy & untouched).sum():,} of them copies)")
    there = set(ours["key"])
    missing = [key for key in wanted if key not in there]
    for start in track(range(0, len(missing), BATCH), f"push: {queue.name}", unit="batch"):
        server.put(project, [{"data": shown[key]} for key in missing[start : start + BATCH]])
    expected, count = len(held) - taken + len(missing), server.count(project)
    if count != expected:
        raise UserError(
            f"project `{queue.title}` holds {count:,} tasks and should hold {expected:,}; somebody else changes it at the "
            "same time, or a part was not taken: run the same command again"
        )
    if missing:
        say(f"{len(missing):,} tasks put in")


def settings(queue: Queue, params: AnnotateParams) -> dict[str, Any]:
    """What a queue's project must be like."""
    return {
        "title": queue.title,
        "label_config": interface(),
        "expert_instruction": instructions(Folders().study),
        "show_instruction": True,
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "show_annotation_history": False,
        "show_collab_predictions": False,
        "reveal_preannotations_interactively": False,
        "evaluate_predictions_automatically": False,
        "sampling": "Sequential sampling",  # by number, that is in the order of import, which is the planned one
        "overlap_cohort_percentage": 100,
        "maximum_annotations": 1 if queue.annotator else params.votes,
        "skip_queue": "IGNORE_SKIPPED" if queue.annotator else "REQUEUE_FOR_OTHERS",
    }
