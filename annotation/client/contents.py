"""What lies in one queue of a server, what was answered there, and how it is brought to hold what it should.

A task with an answer, a skip or a draft is never touched. Whatever ends the work, the next run looks again and does
what is left.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from annotation.client.label_studio import BATCH, QueuedTask
from annotation.client.queues import Queue
from annotation.client.task_screen import instructions, interface
from annotation.study.exports import ExportedTask, Person, pseudonym
from annotation.study.plan import AnnotateParams
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, read_jsonl
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import track
from pipeline.core.records import Record, Task

LOCAL = "/data/local-files/?d="
State = Literal["judged", "begun", "skipped", "open"]
TaskData = dict[str, str]  # what the browser receives of a task: its key, a picture's address and two texts


class Contents(Record):
    """What a queue holds.

    Attributes:
        project: its number; None if there is none yet.
        total: how many tasks it has.
        open: task id -> number of the copy to keep.
        touched: task id -> what somebody did; these are never touched.
        copies: numbers of open tasks that are there already.
        outdated: numbers of open tasks of another batch.
        judged_twice: task ids that were judged in two copies.
        strange: how many tasks are none of ours.
    """

    project: int | None = None
    total: int = 0
    open: dict[str, int] = msgspec.field(default_factory=dict)
    touched: dict[str, State] = msgspec.field(default_factory=dict)
    copies: list[int] = msgspec.field(default_factory=list)
    outdated: list[int] = msgspec.field(default_factory=list)
    judged_twice: list[str] = msgspec.field(default_factory=list)
    strange: int = 0


def read_batch(folders: Folders, params: AnnotateParams) -> tuple[dict[str, Task], dict[str, TaskData]]:
    """The tasks, and what the browser receives of each, by task id."""
    home = folders.stage("batch")
    tasks = {task.task_id: task for task in read_jsonl(home / "tasks.jsonl", Task)}
    if not tasks:
        raise UserError(f"{home}/tasks.jsonl holds no tasks; run: dvc repro")
    rows = read_json(home / "label_studio_tasks.json", list[dict[Literal["data"], TaskData]])
    shown = {row["data"]["task"]: row["data"] for row in rows}
    if shown.keys() != tasks.keys():
        raise UserError(
            f"{home}: tasks.jsonl and label_studio_tasks.json hold different tasks; run: dvc repro"
        )
    if params.pictures != "local":
        for data in shown.values():
            data["image"] = f"{params.pictures.rstrip('/')}/{data['image'].removeprefix(LOCAL)}"
    return tasks, shown


def look(queue: Queue, known: Collection[str]) -> Contents:
    """What a queue holds now: judged, begun, skipped, open, doubled and outdated tasks told apart."""
    project = queue.server.project(queue.title)
    if project is None:
        return Contents()
    drafts = queue.server.drafts(project)
    numbers: dict[str, dict[State, list[int]]] = defaultdict(lambda: defaultdict(list))
    total = strange = 0
    for task in queue.server.tasks(project):
        total += 1
        if task.key is None:
            strange += 1
        else:
            numbers[task.key][_state(task, drafts)].append(task.id)
    contents = Contents(project=project, total=total, strange=strange)
    for key, states in numbers.items():
        unread = states.pop("open", [])
        if states:
            contents.touched[key] = next(state for state in ("judged", "begun", "skipped") if state in states)
        elif key in known:
            contents.open[key] = unread.pop(0)
        (contents.copies if states or key in known else contents.outdated).extend(unread)
        if len(states.get("judged", ())) > 1:
            contents.judged_twice.append(key)
    return contents


def _state(task: QueuedTask, drafts: Collection[int]) -> State:
    if task.total_annotations:
        return "judged"
    if task.id in drafts:
        return "begun"
    return "skipped" if task.cancelled_annotations else "open"


def answers(queue: Queue) -> Iterator[ExportedTask]:
    """The tasks of a queue with all that was given there, skipped ones too, under pseudonyms; one page in memory."""
    project = queue.server.project(queue.title)
    if project is None:
        return
    owner = queue.annotator.email.lower() if queue.annotator else None
    owners = {number for number, email in queue.server.people().items() if email == owner}
    for task in queue.server.judged(project):
        if task.key is not None:
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
    contents: Contents,
    wanted: Sequence[str],
    shown: Mapping[str, TaskData],
    params: AnnotateParams,
) -> None:
    """Bring one queue up to date: settings put right, what is not wanted any more out, what is missing in, and counted.

    Args:
        contents: what it holds, of this moment.
        wanted: the open tasks that it should hold, in order.
    """
    if contents.project is None and not wanted:
        return
    server, wished = queue.server, settings(queue, params)
    project = contents.project or server.ensure_project(wished)
    say = partial(print, f"push: {queue.name}:")
    if mended := server.mend(project, wished):
        say("settings put right:", ", ".join(mended))
    if params.pictures == "local" and not server.own:
        server.serve_pictures(project, picture_folders(shown))
    if contents.strange:
        say(f"{contents.strange} tasks are not ours (made by hand?); they stay", file=sys.stderr)
    if twice := contents.judged_twice:
        both = "tasks were judged in two copies; both stay, the last verdict counts:"
        say(len(twice), both, ", ".join(twice[:10]), file=sys.stderr)
    planned = set(wanted)
    unplanned = [number for key, number in contents.open.items() if key not in planned]
    gone = unplanned + contents.copies + contents.outdated
    taken = server.delete(project, gone)
    if gone:
        say(f"{taken:,} open tasks taken out ({len(contents.copies):,} of them copies)")
    missing = [key for key in wanted if key not in contents.open and key not in contents.touched]
    for start in track(range(0, len(missing), BATCH), f"push: {queue.name}", unit="batch"):
        server.put(project, [{"data": shown[key]} for key in missing[start : start + BATCH]])
    expected, count = contents.total - taken + len(missing), server.count(project)
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
        "expert_instruction": instructions(Folders()),
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


def picture_folders(shown: Mapping[str, TaskData]) -> list[Path]:
    """The folders of the pictures on this machine, without those that lie in another of them."""
    folders = {(DATA / data["image"].removeprefix(LOCAL)).parent.absolute() for data in shown.values()}
    return sorted(folder for folder in folders if not folders & set(folder.parents))
