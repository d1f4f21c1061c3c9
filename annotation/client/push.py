"""`rgqa annotate push`: put the planned tasks into the annotators' queues; what is there already stays.

1. Look at what every queue holds (annotation/client/contents.py); who judged, skipped or began what.
2. With `annotate.qualification`, see who passed it (annotation/client/qualify.py): only they get real tasks.
3. Plan (annotation/study/plan.py) and write `study/plan.jsonl`.
4. Bring every queue to hold what is planned.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import msgspec

from annotation.client.contents import Contents, bring, look, read_batch
from annotation.client.qualify import qualify
from annotation.client.queues import Queue, noted, open_queues
from annotation.study.another_vote import AnotherVote
from annotation.study.exports import PULLED, ExportedTask
from annotation.study.plan import AnnotateParams, Assignment, StudyState, WorkPlan, lot, plan
from annotation.study.roster import read_roster
from pipeline.core.errors import Problems
from pipeline.core.files import read_json, read_jsonl, write_jsonl
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Verdict


class _Excluded(msgspec.Struct):
    excluded: bool = False


class _Collected(msgspec.Struct):
    """What is read of collect.json."""

    simulated: bool
    annotators: dict[str, _Excluded] = msgspec.field(default_factory=dict)


def push() -> None:
    """Plan and bring every queue up to date.

    Raises:
        UserError: nothing to push, no server, or a queue that could not be brought up to date (the others were).
    """
    folders, params, problems = Folders(), load("annotate", AnnotateParams), Problems("push")
    tasks, shown = read_batch(folders, params)
    queues = open_queues(folders, problems)
    contents = {queue: look(queue, shown) for queue in track(queues, "push: looking", unit="queue")}
    if queues[0].annotator is None:
        order = sorted(tasks, key=lambda key: lot(params.seed, "everybody", key))
        planned = WorkPlan(queues={queues[0].name: order}, short={})
    else:
        waiting = qualify(queues, list(tasks.values()), shown, params) if params.qualification else set()
        given = given_already(folders, contents, tasks, waiting)
        planned = plan(list(tasks.values()), read_roster(folders), params, given)
        assignments = (
            Assignment(annotator=name, task_id=key)
            for name, keys in sorted(planned.queues.items())
            for key in keys
        )
        write_jsonl(folders.study / "plan.jsonl", assignments)
    for queue in queues:
        with noted(problems, f"{queue.name}: "):
            bring(queue, contents[queue], planned.queues.get(queue.name, []), shown, params)
    tell_short(planned, params)
    problems.raise_if_any()
    pushed = sum(map(len, planned.queues.values()))
    urls = ", ".join(sorted({queue.server.url for queue in queues}))
    done("push", f"{pushed:,} open tasks in {len(planned.queues)} queues", urls)


def given_already(
    folders: Folders, contents: Mapping[Queue, Contents], known: Collection[str], waiting: Collection[str]
) -> StudyState:
    """What is given already: by the servers, by the last plan, and by verdicts that were pulled before.

    Args:
        known: the ids of the batch's tasks.
        waiting: annotators who get no tasks yet.
    """
    judged: dict[str, set[str]] = defaultdict(set)
    skipped: dict[str, set[str]] = defaultdict(set)
    held: dict[str, list[str]] = {}
    for queue, content in contents.items():
        # What somebody who left has begun is nobody's; what they judged stays a vote.
        places = {"judged": judged, "skipped": skipped} | ({"begun": judged} if queue.active else {})
        for key, state in content.touched.items():
            if key in known and state in places:
                places[state][key].add(queue.name)
        held[queue.name] = sorted(content.open, key=content.open.__getitem__) if queue.active else []
    path = folders.study / "plan.jsonl"
    for line in read_jsonl(path, Assignment) if path.exists() else ():
        if line.annotator in held and line.task_id in known:
            held[line.annotator].append(line.task_id)
    path = folders.annotations / PULLED
    for exported in read_json(path, list[ExportedTask]) if path.exists() else ():
        for annotation in exported.annotations:
            if not annotation.was_cancelled and isinstance(annotation.completed_by, str):
                judged[exported.data.get("task", "")].add(annotation.completed_by)
    wanted, excluded = from_collect(folders)
    return StudyState(
        judged={key: names for key, names in judged.items() if key in known},
        skipped=dict(skipped),
        held={name: list(dict.fromkeys(keys)) for name, keys in held.items()},
        wanted=wanted,
        excluded=excluded.union(waiting),
    )


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
    excluded = frozenset(name for name, person in report.annotators.items() if person.excluded)
    if wanted or excluded:
        who = f"; excluded, and without tasks now: {', '.join(sorted(excluded))}" if excluded else ""
        print(f"push: by the last dvc repro {len(wanted):,} tasks need another vote{who}")
    return wanted, excluded


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
