"""`rgqa annotate push`: put the planned tasks into the annotators' queues; what is there already stays.

1. Look at what every queue holds; who judged, skipped or began what.
2. Plan (annotation/plan.py) and write `study/plan.jsonl`.
3. Per queue: put the project's settings right, take out open tasks that are not planned there any more and copies
   without an answer, import what is missing in batches, and count.

A task with an answer, a skip or a draft is never touched. Whatever ends the command, the next run looks again and
does what is left.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec

from annotation.another_vote import AnotherVote
from annotation.exports import PULLED, Exported
from annotation.label_studio import BATCH, LabelStudio, Listed, Project
from annotation.plan import AnnotateParams, Assignment, Given, Plan, plan
from annotation.queues import Opener, Queue, Servers, queues, settings
from annotation.roster import read_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, read_jsonl, write_jsonl
from pipeline.core.params import load
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Record, Task, Verdict

LOCAL = "/data/local-files/?d="


class Shown(msgspec.Struct):
    """A line of label_studio_tasks.json: what the browser receives, and nothing else."""

    data: dict[str, str]


class Found(Record):
    """What a queue holds.

    Attributes:
        project: None if there is none yet.
        total: how many tasks it has.
        open: task id -> number of the copy to keep.
        judged, begun, skipped: task ids; these are never touched.
        spare: numbers of open copies of tasks that are there already.
        twice: task ids that were judged in two copies.
        old: numbers of open tasks of another batch.
        strange: how many tasks are none of ours.
    """

    project: Project | None = None
    total: int = 0
    open: dict[str, int] = msgspec.field(default_factory=dict)
    judged: set[str] = msgspec.field(default_factory=set)
    begun: set[str] = msgspec.field(default_factory=set)
    skipped: set[str] = msgspec.field(default_factory=set)
    spare: list[int] = msgspec.field(default_factory=list)
    twice: list[str] = msgspec.field(default_factory=list)
    old: list[int] = msgspec.field(default_factory=list)
    strange: int = 0


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
    found = {queue: look(servers.of(queue), queue, set(shown)) for queue in track(all_queues, "push: looking", unit="queue")}
    if all_queues[0].annotator is None:
        planned = Plan(queues={"everybody": shared_order(tasks, params)}, short={})
    else:
        planned = plan(tasks, read_roster(folders), params, given(folders, found, set(shown)))
        write_jsonl(
            folders.study / "plan.jsonl",
            (Assignment(annotator=name, task_id=key) for name, row in sorted(planned.queues.items()) for key in row),
        )
    problems = Problems("push")
    for line in unreachable:
        problems.add("roster", line)
    for queue in all_queues:
        try:
            bring(servers.of(queue), queue, found[queue], planned.queues.get(queue.name, []), shown, folders, params)
        except UserError as error:
            problems.lines += [f"{queue.name}: {line}" for line in error.problems]
    tell_short(planned, params)
    problems.raise_if_any()
    pushed = sum(len(row) for row in planned.queues.values())
    done("push", f"{pushed:,} open tasks in {len(planned.queues)} queues", ", ".join(sorted({q.connection.url for q in all_queues})))


def batch(folders: Folders, params: AnnotateParams) -> tuple[list[Task], dict[str, Shown]]:
    """The tasks, and what of each is sent: its key, a picture's address and two texts."""
    home = folders.stage("batch")
    tasks = list(read_jsonl(home / "tasks.jsonl", Task))
    if not tasks:
        raise UserError(f"{home}/tasks.jsonl holds no tasks; run: dvc repro")
    shown = {row.data["task"]: row for row in read_json(home / "label_studio_tasks.json", list[Shown])}
    if shown.keys() != {task.task_id for task in tasks}:
        raise UserError(f"{home}: tasks.jsonl and label_studio_tasks.json hold different tasks; run: dvc repro")
    for row in shown.values():
        if params.pictures != "local":
            row.data["image"] = f"{params.pictures.rstrip('/')}/{row.data['image'].removeprefix(LOCAL)}"
    return tasks, shown


def look(server: LabelStudio, queue: Queue, known: set[str]) -> Found:
    """What a queue holds now."""
    project = server.project(queue.title)
    if project is None:
        return Found()
    drafts = server.with_drafts(project)
    copies: dict[str, list[Listed]] = defaultdict(list)
    strange = 0
    for row in server.tasks(project):
        if row.key is None:
            strange += 1
        else:
            copies[row.key].append(row)
    return sorted_out(project, copies, drafts, known, strange)


def sorted_out(
    project: Project, copies: Mapping[str, list[Listed]], drafts: set[int], known: set[str], strange: int = 0
) -> Found:
    """Tell judged, skipped, open, doubled and outdated tasks apart."""
    found = Found(project=project, total=strange + sum(len(rows) for rows in copies.values()), strange=strange)
    for key, rows in copies.items():
        judged = [row for row in rows if row.total_annotations]
        begun = [row for row in rows if not row.total_annotations and row.id in drafts]
        skipped = [row for row in rows if row not in judged and row not in begun and row.cancelled_annotations]
        free = [row.id for row in rows if row not in judged and row not in begun and row not in skipped]
        for row, place in ((judged, found.judged), (begun, found.begun), (skipped, found.skipped)):
            if row:
                place.add(key)
                break
        else:
            if key in known:
                found.open[key] = free.pop(0)
        if len(judged) > 1:
            found.twice.append(key)
        (found.spare if key in known or len(free) < len(rows) else found.old).extend(free)
    return found


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
        held[queue.name] = sorted(row.open, key=lambda key, row=row: row.open[key]) if queue.name in active else []
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
    from annotation.plan import lot

    return sorted((task.task_id for task in tasks), key=lambda key: lot(params.seed, "everybody", key))


def bring(
    server: LabelStudio,
    queue: Queue,
    found: Found,
    wanted: list[str],
    shown: Mapping[str, Shown],
    folders: Folders,
    params: AnnotateParams,
) -> None:
    """Bring one queue up to date."""
    if found.project is None and not wanted:
        return
    wished = settings(folders, queue, params)
    project = found.project or server.made(wished)
    if mended := server.mend(project, wished):
        print(f"push: {queue.name}: settings put right: {', '.join(mended)}")
    if params.pictures == "local" and not server.own:
        server.serve_pictures(project, picture_folders(shown))
    if found.strange:
        print(f"push: {queue.name}: {found.strange} tasks are not ours (made by hand?); they stay", file=sys.stderr)
    if found.twice:
        print(
            f"push: {queue.name}: {len(found.twice)} tasks were judged in two copies; both stay, the last verdict counts: "
            + ", ".join(found.twice[:10]),
            file=sys.stderr,
        )
    here = found.judged | found.begun | found.skipped
    gone = [number for key, number in found.open.items() if key not in set(wanted)] + found.spare + found.old
    taken = server.delete(project, gone) if gone else 0
    if gone:
        print(f"push: {queue.name}: {taken:,} open tasks taken out ({len(found.spare):,} of them copies)")
    missing = [key for key in wanted if key not in found.open and key not in here]
    for start in track(range(0, len(missing), BATCH), f"push: {queue.name}", unit="batch"):
        server.put(project, [msgspec.to_builtins(shown[key]) for key in missing[start : start + BATCH]])
    expected = found.total - taken + len(missing)
    count = server.count(project)
    if count != expected:
        raise UserError(
            f"project `{project.title}` holds {count:,} tasks and should hold {expected:,}; somebody else changes it at the same "
            "time, or a part was not taken: run the same command again"
        )
    if missing:
        print(f"push: {queue.name}: {len(missing):,} tasks put in")


def picture_folders(shown: Mapping[str, Shown]) -> list[Path]:
    """The folders of the pictures on this machine, without those that lie in another of them."""
    folders = sorted({(DATA / row.data["image"].removeprefix(LOCAL)).parent.absolute() for row in shown.values()})
    return [folder for folder in folders if not any(other in folder.parents for other in folders)]


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
