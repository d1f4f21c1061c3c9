"""`rgqa annotate push`: put the planned tasks into the annotators' queues; what is there already stays.

1. Look at what every queue holds (annotation/contents.py); who judged, skipped or began what.
2. With `annotate.qualification`, see who passed it (annotation/client/qualify.py): only they get real tasks.
3. Plan (annotation/study/plan.py) and write `study/plan.jsonl`.
4. Per queue: put the project's settings right, take out open tasks that are not planned there any more and copies
   without an answer, import what is missing in batches, and count.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from annotation.client.contents import LOCAL, Found, Shown, bring, look
from annotation.client.label_studio import LabelStudio
from annotation.client.qualify import qualify
from annotation.client.queues import Opener, Queue, Servers, queues
from annotation.study.another_vote import AnotherVote
from annotation.study.exports import PULLED, Exported
from annotation.study.plan import AnnotateParams, Assignment, Given, Plan, plan
from annotation.study.roster import read_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, read_jsonl, write_jsonl
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Task, Verdict


class _Excluded(msgspec.Struct):
    excluded: bool = False


class _Collected(msgspec.Struct):
    """What is read of collect.json."""

    simulated: bool
    annotators: dict[str, _Excluded] = msgspec.field(default_factory=dict)


def push(opener: Opener = LabelStudio) -> None:
    """Plan and bring every queue up to date.

    Raises:
        UserError: nothing to push, no server, or a queue that could not be brought up to date (the others were).
    """
    folders = Folders()
    params = load("annotate", AnnotateParams)
    tasks, shown = batch(folders, params)
    all_queues, unreachable = queues(folders)
    servers = Servers(opener)
    found = {
        queue: look(servers.of(queue), queue, set(shown))
        for queue in track(all_queues, "push: looking", unit="queue")
    }
    if all_queues[0].annotator is None:
        planned = Plan(queues={"everybody": shared_order(tasks, params)}, short={})
    else:
        out = qualify(servers, all_queues, tasks, shown, folders, params)
        roster = [
            msgspec.structs.replace(person, active=person.active and person.pseudonym not in out)
            for person in read_roster(folders)
        ]
        planned = plan(tasks, roster, params, given(folders, found, set(shown)))
        write_jsonl(
            folders.study / "plan.jsonl",
            (
                Assignment(annotator=name, task_id=key)
                for name, row in sorted(planned.queues.items())
                for key in row
            ),
        )
    problems = Problems("push")
    for line in unreachable:
        problems.add("roster", line)
    for queue in all_queues:
        try:
            bring(
                servers.of(queue),
                queue,
                found[queue],
                planned.queues.get(queue.name, []),
                shown,
                folders,
                params,
            )
        except UserError as error:
            problems.lines += [f"{queue.name}: {line}" for line in error.problems]
    tell_short(planned, params)
    problems.raise_if_any()
    pushed = sum(len(row) for row in planned.queues.values())
    done(
        "push",
        f"{pushed:,} open tasks in {len(planned.queues)} queues",
        ", ".join(sorted({q.connection.url for q in all_queues})),
    )


def batch(folders: Folders, params: AnnotateParams) -> tuple[list[Task], dict[str, Shown]]:
    """The tasks, and what of each is sent: its key, a picture's address and two texts."""
    home = folders.stage("batch")
    tasks = list(read_jsonl(home / "tasks.jsonl", Task))
    if not tasks:
        raise UserError(f"{home}/tasks.jsonl holds no tasks; run: dvc repro")
    shown = {row.data["task"]: row for row in read_json(home / "label_studio_tasks.json", list[Shown])}
    if shown.keys() != {task.task_id for task in tasks}:
        raise UserError(
            f"{home}: tasks.jsonl and label_studio_tasks.json hold different tasks; run: dvc repro"
        )
    for row in shown.values():
        if params.pictures != "local":
            row.data["image"] = f"{params.pictures.rstrip('/')}/{row.data['image'].removeprefix(LOCAL)}"
    return tasks, shown


def given(folders: Folders, found: Mapping[Queue, Found], known: set[str]) -> Given:
    """What is given already: by the servers, by the last plan, and by verdicts that were pulled before."""
    active = {queue.name for queue in found if queue.annotator and queue.annotator.active}
    judged: dict[str, set[str]] = defaultdict(set)
    skipped: dict[str, set[str]] = defaultdict(set)
    held: dict[str, list[str]] = {}
    for queue, row in found.items():
        for key in (row.judged | row.begun if queue.name in active else row.judged) & known:
            judged[key].add(queue.name)
        for key in row.skipped & known:
            skipped[key].add(queue.name)
        held[queue.name] = (
            sorted(row.open, key=lambda key, row=row: row.open[key]) if queue.name in active else []
        )
    path = folders.study / "plan.jsonl"
    for line in read_jsonl(path, Assignment) if path.exists() else ():
        if line.annotator in held and line.task_id in known:
            held[line.annotator].append(line.task_id)
    for exported in pulled(folders):
        if (key := exported.data.get("task")) in known:
            for annotation in exported.annotations:
                if not annotation.was_cancelled and isinstance(annotation.completed_by, str):
                    judged[key].add(annotation.completed_by)
    wanted, out = from_collect(folders)
    return Given(
        judged=dict(judged),
        skipped=dict(skipped),
        held={name: list(dict.fromkeys(row)) for name, row in held.items()},
        wanted=wanted,
        excluded=out,
    )


def pulled(folders: Folders) -> list[Exported]:
    path = folders.annotations / PULLED
    return read_json(path, list[Exported]) if path.exists() else []


def from_collect(folders: Folders) -> tuple[dict[str, int], frozenset[str]]:
    """What the last run of stage `collect` asks for: task id -> verdicts wanted in all, and who is excluded."""
    home = folders.stage("collect")
    if not (home / "another_vote.json").exists():
        return {}, frozenset()
    report = read_json(home / "collect.json", _Collected)
    if report.simulated:
        return {}, frozenset()
    had = Counter(verdict.task_id for verdict in read_jsonl(home / "verdicts.jsonl", Verdict))
    more = read_json(home / "another_vote.json", list[AnotherVote])
    wanted = {row.task_id: had[row.task_id] + row.votes_wanted - row.votes_counted for row in more}
    out = frozenset(name for name, row in report.annotators.items() if row.excluded)
    if wanted or out:
        who = f"; excluded, and without tasks now: {', '.join(sorted(out))}" if out else ""
        print(f"push: by the last dvc repro {len(wanted):,} tasks need another vote{who}")
    return wanted, out


def shared_order(tasks: list[Task], params: AnnotateParams) -> list[str]:
    """All tasks in random order, for the queue that everybody shares."""
    from annotation.study.plan import lot

    return sorted((task.task_id for task in tasks), key=lambda key: lot(params.seed, "everybody", key))


def tell_short(planned: Plan, params: AnnotateParams) -> None:
    """Say which votes nobody can give."""
    if planned.short:
        people = len(planned.queues)
        kinds = Counter(planned.short.values())
        lines = ", ".join(f"{count:,} tasks lack {lack}" for lack, count in sorted(kinds.items()))
        limit = f", each of at most {params.most_tasks} tasks" if params.most_tasks else ""
        print(
            f"push: {sum(planned.short.values()):,} votes cannot be planned ({lines}): annotate.votes is {params.votes}, and "
            f"{people} annotators are active{limit}; invite more, or ask for less",
            file=sys.stderr,
        )
