"""What lies in one queue of a server, and how it is brought to hold what it should.

A task with an answer, a skip or a draft is never touched. Whatever ends the work, the next run looks again and does
what is left.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec

from annotation.client.label_studio import BATCH, LabelStudio, Listed, Project
from annotation.client.queues import Queue, settings
from annotation.study.plan import AnnotateParams
from pipeline.core.errors import UserError
from pipeline.core.paths import DATA, Folders
from pipeline.core.progress import track
from pipeline.core.records import Record

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
    found = Found(
        project=project, total=strange + sum(len(rows) for rows in copies.values()), strange=strange
    )
    for key, rows in copies.items():
        judged = [row for row in rows if row.total_annotations]
        begun = [row for row in rows if not row.total_annotations and row.id in drafts]
        skipped = [
            row for row in rows if row not in judged and row not in begun and row.cancelled_annotations
        ]
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
        print(
            f"push: {queue.name}: {found.strange} tasks are not ours (made by hand?); they stay",
            file=sys.stderr,
        )
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
    folders = sorted(
        {(DATA / row.data["image"].removeprefix(LOCAL)).parent.absolute() for row in shown.values()}
    )
    return [folder for folder in folders if not any(other in folder.parents for other in folders)]
