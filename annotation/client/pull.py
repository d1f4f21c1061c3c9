"""`rgqa annotate pull`: fetch what was answered into `annotations/pulled.json`, and never lose any of it.

The file only grows (but for `rgqa annotate erase`): an annotation that was pulled once stays, whatever happens to it on the
server; one that was changed there is added in its new version. See annotation/study/exports.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from annotation.client.credentials import connect
from annotation.client.label_studio import LabelStudioClient
from annotation.client.push import get_project_title
from annotation.client.volunteers import sync_volunteers
from annotation.study.exports import (
    PULLED_FILENAME,
    ExportedUser,
    TaskAnnotation,
    deduplicate,
    make_pseudonym,
    read_pulled,
    to_verdicts,
    write_pulled,
)
from annotation.study.import_annotations import drop_erased, format_summary
from annotation.study.private_files import read_or_create_salt
from annotation.study.roster import read_roster
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import Task


def pull_annotations() -> None:
    """Fetch all annotations, add what is new to pulled.json, and say what to do next.

    Raises:
        UserError: no server, or a damaged file, or answers that contradict it (`write_pulled`; it stays as it was).
    """
    folders, server = DatasetFolders(), connect()
    path = folders.annotations / PULLED_FILENAME
    with lock_folder(folders.study):
        kept = read_pulled(path)
        before = len(kept)
        sync_volunteers(folders, server)
        found = deduplicate(track(iter_annotations(folders, server), "pull", unit="annotation"))
        kept |= drop_erased(folders, found)[0]
        if kept:
            write_pulled(path, kept)
    print(f"pull: {len(kept) - before:,} new annotations, {len(kept):,} in all -> {path}")
    if kept:
        tasks = {task.task_id: task for task in folders.read_records(Task)}
        print(
            "\n".join(
                f"pull: {line}" for line in format_summary(*to_verdicts(kept, tasks, str(path), strict=False))
            )
        )


def iter_annotations(folders: DatasetFolders, server: LabelStudioClient) -> Iterator[TaskAnnotation]:
    """All that was given, skipped ones too, under pseudonyms; one page in memory."""
    roster = {person.email.lower(): person.pseudonym for person in read_roster(folders)}
    known = {number: roster[email] for number, email in server.get_user_emails().items() if email in roster}
    secret = read_or_create_salt(folders)
    for task in server.iter_annotated_tasks(server.find_project(get_project_title(folders))):
        if task.rgqa_task_id:
            for row in task.annotations or ():
                yield (
                    task.rgqa_task_id,
                    msgspec.structs.replace(
                        row, completed_by=resolve_pseudonym(row.completed_by, known, secret)
                    ),
                )


def resolve_pseudonym(
    person: int | str | ExportedUser | None, roster_pseudonyms: Mapping[int, str], salt: str
) -> str:
    """The pseudonym of whoever gave an annotation: the roster's, or for others (the study leader, to try it) one made from their
    number and a salt."""
    number = person.id if isinstance(person, ExportedUser) else person
    return (
        roster_pseudonyms[number]
        if isinstance(number, int) and number in roster_pseudonyms
        else make_pseudonym(number, salt)
    )
