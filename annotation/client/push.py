"""`rgqa annotate push`: put the planned tasks into the annotators' queues; what is there already stays.

1. Look at what every queue holds (annotation/client/queues.py); who judged, skipped or began what.
2. With `annotate.qualification`, everybody first gets a project of tasks whose verdicts are known, whose title is the
   queue's with ": qualification" behind; its answers are never pulled. Only those who passed it get real tasks.
3. Plan (annotation/study/plan.py) and write `study/plan.jsonl`.
4. Bring every queue to hold what is planned.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

import msgspec
from pandas import DataFrame

from annotation.client.queues import Queue, answers, bring, look, noted, open_queues, read_batch
from annotation.study.exports import PULLED, ExportedTask, verdicts_of
from annotation.study.plan import AnnotateParams, Assignment, StudyState, WorkPlan, lot, plan
from annotation.study.qualification import qualification, score
from annotation.study.quality_figures import Quality
from annotation.study.roster import read_roster
from annotation.study.votes import AnotherVote
from pipeline.core.errors import Problems
from pipeline.core.files import read_json, read_jsonl, write_jsonl
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Estimate, Task, Verdict

FIRST = 1000  # tasks of which the expected yield is told beside that of all


def push() -> None:
    """Plan and bring every queue up to date.

    Raises:
        UserError: nothing to push, no server, or a queue that could not be brought up to date (the others were).
    """
    folders, params, problems = Folders(), load("annotate", AnnotateParams), Problems("push")
    tasks, shown = read_batch(folders, params)
    queues = open_queues(folders, problems)
    held = {queue: look(queue) for queue in track(queues, "push: looking", unit="queue")}
    if queues[0].annotator is None:
        order = sorted(tasks, key=lambda key: (tasks[key].block, lot(params.seed, "everybody", key)))
        planned = WorkPlan(queues={queues[0].name: order}, short={})
    else:
        waiting = qualify(queues, list(tasks.values()), shown, params) if params.qualification else set()
        given = given_already(folders, held, waiting)
        planned = plan(list(tasks.values()), read_roster(folders), params, given)
        assignments = (
            Assignment(annotator=name, task_id=key)
            for name, keys in sorted(planned.queues.items())
            for key in keys
        )
        write_jsonl(folders.study / "plan.jsonl", assignments)
    tell_yield(folders, tasks, planned)
    for queue in queues:
        with noted(problems, f"{queue.name}: "):
            bring(queue, held[queue], planned.queues.get(queue.name, []), shown, params)
    tell_short(planned, params)
    problems.raise_if_any()
    pushed = sum(map(len, planned.queues.values()))
    urls = ", ".join(sorted({queue.server.url for queue in queues}))
    done("push", f"{pushed:,} open tasks in {len(planned.queues)} queues", urls)


def qualify(
    queues: Sequence[Queue],
    tasks: Sequence[Task],
    shown: Mapping[str, Mapping[str, str]],
    params: AnnotateParams,
) -> set[str]:
    """Bring the round of known tasks to everybody who is active; the names of those who have not passed it.

    Raises:
        UserError: there are not so many tasks with known answers, or a server fails.
    """
    known = {task.task_id: task for task in qualification(tasks, params.qualification, params.seed)}
    image = {task.picture_id: shown[task.task_id]["image"] for task in tasks}
    data = {
        key: {
            "task": key,
            "image": image[task.picture_id],
            "first": task.first.text,
            "second": task.second.text,
        }
        for key, task in known.items()
    }
    waiting = set()
    for queue in queues:
        if queue.active:
            qualifying = msgspec.structs.replace(queue, title=f"{queue.title}: qualification")
            bring(qualifying, look(qualifying), list(data), data, params)
            verdicts, _ = verdicts_of(answers(qualifying), known)
            reached = score(known, verdicts, queue.name)
            through = reached.passed(params.qualification_share)
            if not through:
                waiting.add(queue.name)
            said = f"{'passed' if through else 'not passed'}, {reached.right} of {reached.asked} questions as known"
            if reached.answered < reached.asked:
                said = f"{reached.answered} of {reached.asked} questions answered; real tasks come by a later push"
            print(f"push: {queue.name}: qualification: {said}")
    return waiting


def given_already(folders: Folders, found: Mapping[Queue, DataFrame], waiting: Collection[str]) -> StudyState:
    """What is given already: by the servers, by the last plan, and by verdicts that were pulled before.

    Args:
        found: what each queue holds.
        waiting: annotators who get no tasks yet.
    """
    judged: dict[str, set[str]] = defaultdict(set)
    skipped: dict[str, set[str]] = defaultdict(set)
    held: dict[str, list[str]] = {}
    for queue, tasks in found.items():
        # What somebody who left has begun is nobody's; what they judged stays a vote.
        places = {"judged": judged, "skipped": skipped} | ({"begun": judged} if queue.active else {})
        for key, state in zip(tasks["key"], tasks["state"], strict=True):
            if state in places:
                places[state][key].add(queue.name)
        held[queue.name] = tasks["key"][tasks["state"] == "open"].tolist() if queue.active else []
    path = folders.study / "plan.jsonl"
    for line in read_jsonl(path, Assignment) if path.exists() else ():
        if line.annotator in held:
            held[line.annotator].append(line.task_id)
    path = folders.annotations / PULLED
    for exported in read_json(path, list[ExportedTask]) if path.exists() else ():
        for annotation in exported.annotations:
            if not annotation.was_cancelled and isinstance(annotation.completed_by, str):
                judged[exported.data.get("task", "")].add(annotation.completed_by)
    wanted, excluded = from_collect(folders)
    return StudyState(
        judged=judged,
        skipped=skipped,
        held={name: list(dict.fromkeys(keys)) for name, keys in held.items()},
        wanted=wanted,
        excluded=excluded.union(waiting),
    )


def from_collect(folders: Folders) -> tuple[dict[str, int], frozenset[str]]:
    """What the last run of stage `collect` asks for: task id -> verdicts wanted in all, and who is excluded."""
    home = folders.stage("collect")
    if not (home / "another_vote.json").exists():
        return {}, frozenset()
    report = read_json(home / "quality.json", Quality)
    if report.simulated:
        return {}, frozenset()
    had = Counter(verdict.task_id for verdict in folders.rows(Verdict))
    more = read_json(home / "another_vote.json", list[AnotherVote])
    wanted = {row.task_id: had[row.task_id] + row.votes_wanted - row.votes_counted for row in more}
    excluded = frozenset(person.name for person in report.annotators if person.excluded)
    if wanted or excluded:
        who = f"; excluded, and without tasks now: {', '.join(sorted(excluded))}" if excluded else ""
        print(f"push: by the last dvc repro {len(wanted):,} tasks need another vote{who}")
    return wanted, excluded


def tell_yield(folders: Folders, tasks: Mapping[str, Task], planned: WorkPlan) -> None:
    """Say how many unanswerable questions the planned tasks should give, and the first of them, before people are asked."""
    if not folders.file(Estimate).exists():
        return
    answerable = {row.candidate_id: row.answerable for row in folders.rows(Estimate)}
    keys = sorted(
        {key for queue in planned.queues.values() for key in queue}, key=lambda key: tasks[key].block
    )
    asked = [one for key in keys for one in (tasks[key].first, tasks[key].second) if one.role == "candidate"]
    sure = [1 - answerable[one.candidate_id] for one in asked if one.candidate_id in answerable]
    calibrated = read_json(folders.stage("estimate") / "estimate.json", dict)["fitted"]["calibrated"]
    for many in sorted({min(FIRST, len(sure)), len(sure)} - {0}):
        print(
            f"push: {'' if many == len(sure) else 'the first '}{many:,} tasks should give about {sum(sure[:many]):,.0f} unanswerable"
            f" questions, less those on which votes differ{'' if calibrated else '; not calibrated here: no scene graphs'}"
        )


def tell_short(planned: WorkPlan, params: AnnotateParams) -> None:
    """Say which votes nobody can give."""
    if planned.short:
        kinds = sorted(Counter(planned.short.values()).items())
        lines = ", ".join(f"{count:,} tasks lack {lack}" for lack, count in kinds)
        limit = f", each of at most {params.most_tasks} tasks" if params.most_tasks else ""
        print(
            f"push: {sum(planned.short.values()):,} votes cannot be planned ({lines}): annotate.votes is {params.votes}, and "
            f"{len(planned.queues)} annotators are active{limit}; invite more, or ask for less",
            file=sys.stderr,
        )
