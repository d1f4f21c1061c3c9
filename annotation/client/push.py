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

from annotation.client.annotator_texts import render_guidelines
from annotation.client.consent import build_consent
from annotation.client.credentials import connect
from annotation.client.label_studio import BATCH_SIZE, LabelStudioClient
from annotation.client.labeling_config import build_instructions, build_labeling_config
from annotation.client.volunteers import open_link_file, sync_volunteers
from annotation.study.assignment_params import (
    AnnotateParams,
    read_collect_feedback,
    read_prior_answerable,
    to_task_mapping,
)
from annotation.study.exports import LOCAL_FILES_PREFIX
from annotation.study.private_files import write_private
from annotation.study.qualification_tasks import build_known_tasks
from annotation.study.roster import Annotator, read_roster
from annotation.study.rounds import count_waiting_verdicts
from pipeline.core.errors import UserError, format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import read_json
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import Task

NUM_FIRST_TASKS = 1000  # tasks of which the expected yield is told beside that of all
BrowserTasks = Mapping[str, Mapping[str, str]]  # task id -> what the browser receives


def push_tasks() -> None:
    """Bring project and queue up to date.

    Raises:
        UserError: nothing to push, nobody to judge it, or a server that does not do what it is asked.
    """
    folders, params = DatasetFolders(), load_params("annotate", AnnotateParams)
    with lock_folder(folders.study):
        server = connect()
        tasks, shown = read_batch(folders, params, server.is_managed)
        sync_volunteers(folders, server)
        project = sync_tasks(folders, server, params, tasks, shown)
        if server.is_managed:
            write_private(folders.study / "queue.json", build_queue(folders, params, tasks, shown))
        elif params.image_base_url == "local":
            server.serve_images(project, (folders.source / "images").absolute())
        print_expected_yield(folders, tasks)
    active = sum(person.is_active for person in read_roster(folders))
    report_written(
        "push", f"{format_count(len(tasks), 'task')} for {format_count(active, 'annotator')}", server.url
    )


def read_batch(
    folders: DatasetFolders, params: AnnotateParams, is_managed: bool
) -> tuple[list[Task], BrowserTasks]:
    """The tasks, those of lower blocks first and then by lot, and what the browser receives of each."""
    home = folders.stage_dir("batch")
    tasks = list(folders.read_records(Task))
    if not tasks:
        raise UserError(f"{home}/tasks.jsonl holds no tasks; run: dvc repro")
    rows = read_json(home / "label_studio_tasks.json", list[dict[Literal["data"], dict[str, str]]])
    shown = {row["data"]["task"]: row["data"] for row in rows}
    if shown.keys() != {task.task_id for task in tasks}:
        raise UserError(
            f"{home}: tasks.jsonl and label_studio_tasks.json hold different tasks; run: dvc repro"
        )
    if params.image_base_url != "local" and not is_managed:
        for data in shown.values():
            data["image"] = (
                f"{params.image_base_url.rstrip('/')}/{data['image'].removeprefix(LOCAL_FILES_PREFIX)}"
            )
    return sorted(
        tasks, key=lambda task: (task.priority_block, hash_uniform(str(params.seed), "push", task.task_id))
    ), shown


def sync_tasks(
    folders: DatasetFolders,
    server: LabelStudioClient,
    params: AnnotateParams,
    tasks: Sequence[Task],
    browser_tasks: BrowserTasks,
) -> int:
    """Make the project if there is none, put its settings right, take out what is not wanted and untouched, and put in what is
    missing, in order; return its number.

    Raises:
        UserError: what it holds afterwards is not what it should hold.
    """
    wished = build_project_settings(folders, params)
    project = server.ensure_project(wished)
    if mended := server.repair_settings(project, wished):
        print("push: settings put right:", ", ".join(mended))
    # Of the copies of a task the one with most answers counts, then the oldest.
    held = sorted(server.iter_tasks(project), key=lambda task: (-task.num_annotations, task.id))
    ours = [task for task in held if task.rgqa_task_id]
    counting = {task.rgqa_task_id: task for task in reversed(ours)}
    wanted = {task.task_id for task in tasks}
    gone = [
        task.id for task in ours if task.rgqa_task_id not in wanted or counting[task.rgqa_task_id] is not task
    ]
    taken = server.delete_untouched_tasks(project, gone)
    if strange := len(held) - len(ours):
        print(
            f"push: {format_count(strange, 'task')} not made by this command (by hand?), left as they are",
            file=sys.stderr,
        )
    if gone:
        print(
            f"push: {format_count(taken, 'task')} taken out (copies, or of an earlier batch); {len(gone) - taken:,} stay, as somebody judged them"
        )
    missing = [task.task_id for task in tasks if task.task_id not in counting]
    for start in track(range(0, len(missing), BATCH_SIZE), "push", unit="batch"):
        server.import_tasks(
            project, [{"data": browser_tasks[key]} for key in missing[start : start + BATCH_SIZE]]
        )
    expected, count = len(held) - taken + len(missing), server.count_tasks(project)
    if count != expected:
        raise UserError(
            f"project `{wished['title']}` holds {format_count(count, 'task')} and should hold {expected:,}; somebody else changes it at the "
            "same time, or a part was not taken: run the same command again"
        )
    if missing:
        print(f"push: {format_count(len(missing), 'task')} put in")
    return project


def get_project_title(folders: DatasetFolders) -> str:
    """What the data set's project is called."""
    return f"RGQA {folders.dataset}"


def build_project_settings(folders: DatasetFolders, params: AnnotateParams) -> dict[str, Any]:
    """What the project must be like."""
    return {
        "title": get_project_title(folders),
        "label_config": build_labeling_config(),
        "expert_instruction": build_instructions(folders),
        "show_instruction": True,
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "show_annotation_history": False,
        "show_collab_predictions": False,
        "reveal_preannotations_interactively": False,
        "evaluate_predictions_automatically": False,
        "sampling": "Sequential sampling",  # by number, that is in the order of import
        "overlap_cohort_percentage": 100,
        "maximum_annotations": params.max_votes,
        "skip_queue": "REQUEUE_FOR_OTHERS",
    }


def build_queue(
    folders: DatasetFolders, params: AnnotateParams, tasks: Sequence[Task], browser_tasks: BrowserTasks
) -> dict[str, Any]:
    """What our own server needs to know (study/queue.json)."""
    roster = read_active_roster(folders)
    said = read_collect_feedback(folders)
    discarded = said.find_discarded_tasks(tasks)
    if discarded or said.excluded_since:
        names = (
            f"; excluded annotators get no more tasks: {', '.join(sorted(said.excluded_since))}"
            if said.excluded_since
            else ""
        )
        print(
            f"push: the last dvc repro discarded filter questions of {format_count(len(discarded), 'task')}{names}"
        )
    if not said.simulated and (waiting := count_waiting_verdicts(folders)):
        print(
            f"push: stage collect has not read {format_count(waiting, 'verdict')} as pulled; run dvc repro collect, then push again"
        )
    wanted = params.training_tasks or params.qualification_tasks
    sound = [task for task in tasks if task.task_id not in discarded]
    images = {task.image_id: browser_tasks[task.task_id]["image"] for task in tasks}
    return {
        "data_set": folders.dataset,
        "project": get_project_title(folders),
        "rules": msgspec.structs.asdict(params),
        **{
            state: {person.email.lower(): person.pseudonym for person in roster if person.is_active == active}
            for state, active in (("people", True), ("left", False))
        },
        "excluded": {
            p.email.lower(): said.excluded_since[p.pseudonym]
            for p in roster
            if p.pseudonym in said.excluded_since
        },
        "volunteers": open_link_file(folders).exists(),
        "consent": build_consent(folders),
        "guide": render_guidelines(folders.study),
        "known": build_known_tasks(
            sound, images, params.training_tasks, params.qualification_tasks, params.seed
        )
        if wanted
        else [],
        "tasks": [to_task_mapping(task) for task in tasks],
        "answerable": read_prior_answerable(folders),
        "fallen": discarded,
        "doubtful": said.doubtful,
    }


def read_active_roster(folders: DatasetFolders) -> list[Annotator]:
    """The roster; UserError if nobody annotates and nobody may come."""
    roster = read_roster(folders)
    if not (open_link_file(folders).exists() or any(person.is_active for person in roster)):
        who = 'invite NAME ... --contact "who can be asked, with an address"'
        raise UserError(f"nobody annotates yet; run: rgqa annotate {who}")
    return roster


def print_expected_yield(folders: DatasetFolders, tasks: Sequence[Task]) -> None:
    """Say how many unanswerable questions the tasks should give, and the first of them, before people are asked."""
    answerable = read_prior_answerable(folders)
    asked = [one for task in tasks for one in (task.first, task.second) if one.role == "candidate"]
    sure = [1 - answerable[one.candidate_id] for one in asked if one.candidate_id in answerable]
    if not sure:
        return
    calibrated = read_json(folders.stage_dir("estimate") / "estimate.json", dict)["fitted"]["calibrated"]
    for many in sorted({min(NUM_FIRST_TASKS, len(sure)), len(sure)}):
        print(
            f"push: {'' if many == len(sure) else 'the first '}{format_count(many, 'task')} should give about {sum(sure[:many]):,.0f} unanswerable"
            f" questions, less those on which votes differ{'' if calibrated else '; not calibrated here: no scene graphs'}"
        )
