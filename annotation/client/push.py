"""Upload the tasks to the data set's Label Studio project, and write the queue file of our own server, for
`rgqa annotate push`.

An interrupted run can be repeated; the repeated run uploads what is missing. A task with an answer, a skip or
a draft is never changed. On our own server, `study/queue.json` controls which annotator gets which task (see
annotation/server/label_studio_app). Any other Label Studio server gives a task to every annotator until the
task has `annotate.max_votes` verdicts.
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
from annotation.study.answers_table import load_quality_rules
from annotation.study.assignment_params import (
    AnnotateParams,
    count_tasks,
    read_collect_feedback,
    read_priors,
    to_task_mapping,
)
from annotation.study.collect_command import get_collect_command
from annotation.study.exports import LOCAL_FILES_PREFIX
from annotation.study.private_files import write_private
from annotation.study.qualification import MAX_ATTEMPTS
from annotation.study.qualification_tasks import MIN_KIND_PROPORTION, build_known_tasks, find_rare_kind
from annotation.study.roster import Annotator, read_roster
from annotation.study.rounds import count_waiting_verdicts
from pipeline.core.errors import UserError, format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import read_json
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import SpareGoldQuestion, Task

# The expected yield is printed for the first tasks, up to this number, and for all tasks.
NUM_FIRST_TASKS = 1000
# Task id -> the data that the browser receives.
BrowserTasks = Mapping[str, Mapping[str, str]]


def push_tasks() -> None:
    """Update the project and the queue.

    Raises:
        UserError: There are no tasks or no annotators, voting would end too early (`AnnotateParams.check_min_posterior`), or the server
            fails.
    """
    folders, params = DatasetFolders(), load_params("annotate", AnnotateParams)
    params.check_min_posterior(load_quality_rules())
    with lock_folder(folders.study):
        server = connect()
        tasks, browser_tasks = read_batch(folders, params, server.is_managed)
        sync_volunteers(folders, server)
        project = sync_tasks(folders, server, params, tasks, browser_tasks)
        if server.is_managed:
            write_private(folders.study / "queue.json", build_queue(folders, params, tasks, browser_tasks))
        elif params.image_base_url == "local":
            server.serve_images(project, (folders.source / "images").absolute())
        print_expected_yield(folders, tasks)
    num_active = sum(person.is_active for person in read_roster(folders))
    report_written(
        "push", f"{format_count(len(tasks), 'task')} for {format_count(num_active, 'annotator')}", server.url
    )


def read_batch(
    folders: DatasetFolders, params: AnnotateParams, is_managed: bool
) -> tuple[list[Task], BrowserTasks]:
    """Return the tasks, sorted by block and then at random, and the data that the browser receives.

    Raises:
        UserError: There are no tasks, or the two files of stage `batch` do not match.
    """
    batch_dir = folders.stage_dir("batch")
    tasks = list(folders.read_records(Task))
    if not tasks:
        raise UserError(f"there are no tasks: {batch_dir}/tasks.jsonl. Run: dvc repro")
    rows = read_json(batch_dir / "label_studio_tasks.json", list[dict[Literal["data"], dict[str, str]]])
    browser_tasks = {row["data"]["task"]: row["data"] for row in rows}
    if browser_tasks.keys() != {task.task_id for task in tasks}:
        raise UserError(
            f"tasks.jsonl and label_studio_tasks.json have different tasks: {batch_dir}. Run: dvc repro"
        )
    if params.image_base_url != "local" and not is_managed:
        for data in browser_tasks.values():
            data["image"] = (
                f"{params.image_base_url.rstrip('/')}/{data['image'].removeprefix(LOCAL_FILES_PREFIX)}"
            )
    return sorted(
        tasks, key=lambda task: (task.priority_block, hash_uniform(str(params.seed), "push", task.task_id))
    ), browser_tasks


def sync_tasks(
    folders: DatasetFolders,
    server: LabelStudioClient,
    params: AnnotateParams,
    tasks: Sequence[Task],
    browser_tasks: BrowserTasks,
) -> int:
    """Create the project if needed, restore its settings, delete obsolete untouched tasks, and import missing
    tasks in order.

    Args:
        folders: The folders of the data set.
        server: The server.
        params: Section `annotate` of params.yaml.
        tasks: The tasks, in the order in which they are imported.
        browser_tasks: Task id -> the data that the browser receives.

    Returns:
        The number of the project.

    Raises:
        UserError: The project does not have the expected number of tasks afterwards.
    """
    settings = build_project_settings(folders, params)
    project = server.ensure_project(settings)
    if repaired := server.repair_settings(project, settings):
        print("push: settings restored:", ", ".join(repaired))
    # Of several copies of a task, the copy with most answers is kept; of equal ones, the oldest.
    existing = sorted(server.iter_tasks(project), key=lambda task: (-task.num_annotations, task.id))
    ours = [task for task in existing if task.rgqa_task_id]
    kept = {task.rgqa_task_id: task for task in reversed(ours)}
    wanted = {task.task_id for task in tasks}
    obsolete = [
        task.id for task in ours if task.rgqa_task_id not in wanted or kept[task.rgqa_task_id] is not task
    ]
    num_deleted = server.delete_untouched_tasks(project, obsolete)
    if foreign := len(existing) - len(ours):
        print(
            f"push: {format_count(foreign, 'task')} not created by this command (perhaps by hand), left unchanged",
            file=sys.stderr,
        )
    if obsolete:
        print(
            f"push: {format_count(num_deleted, 'task')} deleted (copies, or of an earlier batch); {len(obsolete) - num_deleted:,} kept, because they have answers"
        )
    missing = [task.task_id for task in tasks if task.task_id not in kept]
    for start in track(range(0, len(missing), BATCH_SIZE), "push", unit="batch"):
        server.import_tasks(
            project, [{"data": browser_tasks[key]} for key in missing[start : start + BATCH_SIZE]]
        )
    expected, count = len(existing) - num_deleted + len(missing), server.count_tasks(project)
    if count != expected:
        raise UserError(
            f"project `{settings['title']}` has {format_count(count, 'task')}, but should have {expected:,}. Somebody else is changing it, or "
            "a part was not imported. Run the same command again"
        )
    if missing:
        print(f"push: {format_count(len(missing), 'task')} imported")
    return project


def get_project_title(folders: DatasetFolders) -> str:
    """Return the title of the data set's project."""
    return f"RGQA {folders.dataset}"


def build_project_settings(folders: DatasetFolders, params: AnnotateParams) -> dict[str, Any]:
    """Return the settings of the project in the format of Label Studio's API."""
    return {
        "title": get_project_title(folders),
        "label_config": build_labeling_config(params.choices == "yes-no"),
        "expert_instruction": build_instructions(folders, params.choices == "yes-no"),
        "show_instruction": True,
        "show_skip_button": True,
        "enable_empty_annotation": False,
        "show_annotation_history": False,
        "show_collab_predictions": False,
        "reveal_preannotations_interactively": False,
        "evaluate_predictions_automatically": False,
        # Tasks are assigned by task number, which is the order of import.
        "sampling": "Sequential sampling",
        "overlap_cohort_percentage": 100,
        "maximum_annotations": params.max_votes,
        "skip_queue": "REQUEUE_FOR_OTHERS",
    }


def build_queue(
    folders: DatasetFolders, params: AnnotateParams, tasks: Sequence[Task], browser_tasks: BrowserTasks
) -> dict[str, Any]:
    """Return the content of study/queue.json, which our own server reads."""
    roster = read_active_roster(folders)
    feedback = read_collect_feedback(folders)
    discarded = feedback.find_discarded_tasks(tasks)
    if discarded or feedback.excluded_since:
        names = (
            f"; excluded annotators get no more tasks: {', '.join(sorted(feedback.excluded_since))}"
            if feedback.excluded_since
            else ""
        )
        print(
            f"push: stage collect discarded the gold questions of {format_count(len(discarded), 'task')}{names}"
        )
    if not feedback.simulated and (waiting := count_waiting_verdicts(folders)):
        print(
            f"push: {format_count(waiting, 'verdict is', 'verdicts are')} new or changed since stage collect ran. Run {get_collect_command(folders)}, then push again"
        )
    usable = [task for task in tasks if task.task_id not in discarded]
    sizes = params.resolve_sizes(tasks)
    # Sizes stay the same during a study, unless too few gold questions are left.
    if count_tasks(usable)[1] < sizes.training_tasks + MAX_ATTEMPTS * sizes.qualification_tasks:
        sizes = params.resolve_sizes(usable)._replace(wave_size=sizes.wave_size)
    if auto := [name for name in sizes._fields if getattr(params, name) == "auto"]:
        print(f"push: auto came to {', '.join(f'{name} {getattr(sizes, name):,}' for name in auto)}")
    images = {task.image_id: browser_tasks[task.task_id]["image"] for task in tasks}
    known_tasks = (
        build_known_tasks(
            usable,
            images,
            sizes.training_tasks,
            sizes.qualification_tasks,
            params.seed,
            read_spare_gold_questions(folders),
        )
        if sizes.training_tasks or sizes.qualification_tasks
        else []
    )
    if rare := find_rare_kind(known_tasks):
        print(
            f"push: less than {MIN_KIND_PROPORTION:.0%} of the questions in training and test are {rare}, so they cannot tell whether "
            f"annotators recognise {rare} questions. Add questions to the data, or end a first round (rgqa annotate end-round)",
            file=sys.stderr,
        )
    priors = read_priors(folders)
    return {
        "dataset": folders.dataset,
        "project": get_project_title(folders),
        "rules": msgspec.structs.asdict(params)
        | sizes._asdict()
        | {"min_release_posterior": load_quality_rules().min_posterior},
        **{
            state: {person.email.lower(): person.pseudonym for person in roster if person.is_active == active}
            for state, active in (("annotators", True), ("removed", False))
        },
        "excluded_since": {
            p.email.lower(): feedback.excluded_since[p.pseudonym]
            for p in roster
            if p.pseudonym in feedback.excluded_since
        },
        "is_signup_open": open_link_file(folders).exists(),
        "consent": build_consent(folders),
        "guidelines": render_guidelines(folders.study, params.choices == "yes-no"),
        "known_tasks": known_tasks,
        "tasks": [to_task_mapping(task) for task in tasks],
        "prior_answerable": priors.answerable,
        "decided_by_panel": priors.decided_by_panel,
        "called_valid_by_panel": priors.called_valid_by_panel,
        "discarded_tasks": discarded,
        "doubtful": feedback.doubtful,
    }


def read_spare_gold_questions(folders: DatasetFolders) -> list[SpareGoldQuestion]:
    """Return the gold questions that no task contains; none if an earlier version made the tasks."""
    path = folders.record_file(SpareGoldQuestion)
    return list(folders.read_records(SpareGoldQuestion)) if path.exists() else []


def read_active_roster(folders: DatasetFolders) -> list[Annotator]:
    """Return the roster.

    Raises:
        UserError: There are no active annotators, and the sign-up for volunteers is not open.
    """
    roster = read_roster(folders)
    if not (open_link_file(folders).exists() or any(person.is_active for person in roster)):
        command = 'rgqa annotate invite NAME ... --contact "Ann Lee, ann@example.org"'
        raise UserError(f"there are no annotators yet. Run: {command}")
    return roster


def print_expected_yield(folders: DatasetFolders, tasks: Sequence[Task]) -> None:
    """Print how many unanswerable questions are expected from the first tasks and from all tasks."""
    answerable = read_priors(folders).answerable
    candidates = [row for task in tasks for row in (task.first, task.second) if row.role == "candidate"]
    probabilities = [1 - answerable[row.candidate_id] for row in candidates if row.candidate_id in answerable]
    if not probabilities:
        return
    calibrated = read_json(folders.stage_dir("estimate") / "estimate.json", dict)["fitted"]["calibrated"]
    for count in sorted({min(NUM_FIRST_TASKS, len(probabilities)), len(probabilities)}):
        print(
            f"push: {'' if count == len(probabilities) else 'the first '}{format_count(count, 'task')} should yield about "
            f"{sum(probabilities[:count]):,.0f} unanswerable questions, minus those on which votes differ"
            f"{'' if calibrated else ' (by stated base rates, because there are no scene graphs)'}"
        )
