"""`rgqa annotate push`: put every task once into the data set's project, and tell our own server what its queue needs to know.

Whatever ends it, the next run looks again and does what is left. A task with an answer, a skip or a draft is never touched.
On our own server `study/queue.json` says what is asked of whom (see annotation/server/studio); on any other, Label Studio asks
everybody for every task until it has `annotate.votes` verdicts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from annotation.client.annotator_texts import guide
from annotation.client.consent import consent_of
from annotation.client.credentials import connection
from annotation.client.label_studio import BATCH, LabelStudio
from annotation.client.labeling_config import instructions, interface
from annotation.client.volunteers import door, welcome
from annotation.study.assignment_params import AnnotateParams, as_asked, estimates, from_collect
from annotation.study.exports import LOCAL
from annotation.study.private_files import write_private
from annotation.study.qualification_tasks import known_tasks
from annotation.study.roster import Annotator, read_roster
from annotation.study.rounds import waiting_verdicts
from pipeline.core.errors import UserError, counted
from pipeline.core.folder_lock import alone
from pipeline.core.json_files import read_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.randomness import lot
from pipeline.core.records import Task

FIRST = 1000  # tasks of which the expected yield is told beside that of all
Shown = Mapping[str, Mapping[str, str]]  # task id -> what the browser receives


def push() -> None:
    """Bring project and queue up to date.

    Raises:
        UserError: nothing to push, nobody to judge it, or a server that does not do what it is asked.
    """
    folders, params = Folders(), load("annotate", AnnotateParams)
    with alone(folders.study):
        server = connection()
        tasks, shown = read_batch(folders, params, server.own)
        welcome(folders, server)
        project = bring(folders, server, params, tasks, shown)
        if server.own:
            write_private(folders.study / "queue.json", queue(folders, params, tasks, shown))
        elif params.pictures == "local":
            server.serve_pictures(project, (folders.source / "images").absolute())
        tell_yield(folders, tasks)
    active = sum(person.active for person in read_roster(folders))
    done("push", f"{counted(len(tasks), 'task')} for {counted(active, 'annotator')}", server.url)


def read_batch(folders: Folders, params: AnnotateParams, own: bool) -> tuple[list[Task], Shown]:
    """The tasks, those of lower blocks first and then by lot, and what the browser receives of each."""
    home = folders.stage("batch")
    tasks = list(folders.rows(Task))
    if not tasks:
        raise UserError(f"{home}/tasks.jsonl holds no tasks; run: dvc repro")
    rows = read_json(home / "label_studio_tasks.json", list[dict[Literal["data"], dict[str, str]]])
    shown = {row["data"]["task"]: row["data"] for row in rows}
    if shown.keys() != {task.task_id for task in tasks}:
        raise UserError(
            f"{home}: tasks.jsonl and label_studio_tasks.json hold different tasks; run: dvc repro"
        )
    if params.pictures != "local" and not own:
        for data in shown.values():
            data["image"] = f"{params.pictures.rstrip('/')}/{data['image'].removeprefix(LOCAL)}"
    return sorted(tasks, key=lambda task: (task.block, lot(str(params.seed), "push", task.task_id))), shown


def bring(
    folders: Folders, server: LabelStudio, params: AnnotateParams, tasks: Sequence[Task], shown: Shown
) -> int:
    """Make the project if there is none, put its settings right, take out what is not wanted and untouched, and put in what is
    missing, in order; return its number.

    Raises:
        UserError: what it holds afterwards is not what it should hold.
    """
    wished = settings(folders, params)
    project = server.ensure_project(wished)
    if mended := server.mend(project, wished):
        print("push: settings put right:", ", ".join(mended))
    # Of the copies of a task the one with most answers counts, then the oldest.
    held = sorted(server.tasks(project), key=lambda task: (-task.given, task.id))
    ours = [task for task in held if task.key]
    counting = {task.key: task for task in reversed(ours)}
    wanted = {task.task_id for task in tasks}
    gone = [task.id for task in ours if task.key not in wanted or counting[task.key] is not task]
    taken = server.delete(project, gone)
    if strange := len(held) - len(ours):
        print(
            f"push: {counted(strange, 'task')} not made by this command (by hand?), left as they are",
            file=sys.stderr,
        )
    if gone:
        print(
            f"push: {counted(taken, 'task')} taken out (copies, or of an earlier batch); {len(gone) - taken:,} stay, as somebody judged them"
        )
    missing = [task.task_id for task in tasks if task.task_id not in counting]
    for start in track(range(0, len(missing), BATCH), "push", unit="batch"):
        server.put(project, [{"data": shown[key]} for key in missing[start : start + BATCH]])
    expected, count = len(held) - taken + len(missing), server.count(project)
    if count != expected:
        raise UserError(
            f"project `{wished['title']}` holds {counted(count, 'task')} and should hold {expected:,}; somebody else changes it at the "
            "same time, or a part was not taken: run the same command again"
        )
    if missing:
        print(f"push: {counted(len(missing), 'task')} put in")
    return project


def title(folders: Folders) -> str:
    """What the data set's project is called."""
    return f"RGQA {folders.dataset}"


def settings(folders: Folders, params: AnnotateParams) -> dict[str, Any]:
    """What the project must be like."""
    return {
        "title": title(folders),
        "label_config": interface(),
        "expert_instruction": instructions(folders),
        "show_instruction": True,
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "show_annotation_history": False,
        "show_collab_predictions": False,
        "reveal_preannotations_interactively": False,
        "evaluate_predictions_automatically": False,
        "sampling": "Sequential sampling",  # by number, that is in the order of import
        "overlap_cohort_percentage": 100,
        "maximum_annotations": params.votes,
        "skip_queue": "REQUEUE_FOR_OTHERS",
    }


def queue(folders: Folders, params: AnnotateParams, tasks: Sequence[Task], shown: Shown) -> dict[str, Any]:
    """What our own server needs to know (study/queue.json)."""
    roster = people_of(folders)
    said = from_collect(folders)
    discarded = said.fallen_tasks(tasks)
    if discarded or said.excluded:
        names = (
            f"; excluded annotators get no more tasks: {', '.join(sorted(said.excluded))}"
            if said.excluded
            else ""
        )
        print(
            f"push: the last dvc repro discarded filter questions of {counted(len(discarded), 'task')}{names}"
        )
    if not said.simulated and (waiting := waiting_verdicts(folders)):
        print(
            f"push: stage collect has not read {counted(waiting, 'verdict')} as pulled; run dvc repro collect, then push again"
        )
    wanted = params.training or params.test
    sound = [task for task in tasks if task.task_id not in discarded]
    images = {task.picture_id: shown[task.task_id]["image"] for task in tasks}
    return {
        "data_set": folders.dataset,
        "project": title(folders),
        "rules": msgspec.structs.asdict(params),
        **{
            state: {person.email.lower(): person.pseudonym for person in roster if person.active == active}
            for state, active in (("people", True), ("left", False))
        },
        "excluded": {
            p.email.lower(): said.excluded[p.pseudonym] for p in roster if p.pseudonym in said.excluded
        },
        "volunteers": door(folders).exists(),
        "consent": consent_of(folders),
        "guide": guide(folders.study),
        "known": known_tasks(sound, images, params.training, params.test, params.seed) if wanted else [],
        "tasks": [as_asked(task) for task in tasks],
        "answerable": estimates(folders),
        "fallen": discarded,
        "doubtful": said.doubtful,
    }


def people_of(folders: Folders) -> list[Annotator]:
    """The roster; UserError if nobody annotates and nobody may come."""
    roster = read_roster(folders)
    if not (door(folders).exists() or any(person.active for person in roster)):
        who = 'invite NAME ... --contact "who can be asked, with an address"'
        raise UserError(f"nobody annotates yet; run: rgqa annotate {who}")
    return roster


def tell_yield(folders: Folders, tasks: Sequence[Task]) -> None:
    """Say how many unanswerable questions the tasks should give, and the first of them, before people are asked."""
    answerable = estimates(folders)
    asked = [one for task in tasks for one in (task.first, task.second) if one.role == "candidate"]
    sure = [1 - answerable[one.candidate_id] for one in asked if one.candidate_id in answerable]
    if not sure:
        return
    calibrated = read_json(folders.stage("estimate") / "estimate.json", dict)["fitted"]["calibrated"]
    for many in sorted({min(FIRST, len(sure)), len(sure)}):
        print(
            f"push: {'' if many == len(sure) else 'the first '}{counted(many, 'task')} should give about {sum(sure[:many]):,.0f} unanswerable"
            f" questions, less those on which votes differ{'' if calibrated else '; not calibrated here: no scene graphs'}"
        )
