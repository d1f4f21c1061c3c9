"""Fetch the annotations on the server into `annotations/pulled.json`, for `rgqa annotate pull`.

Annotations are only added to the file; only `rgqa annotate erase` removes annotations. An annotation that was
pulled once is kept, even if it is deleted on the server. If an annotation is changed on the server, the new
version is added. See annotation/study/exports.py.
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
from pipeline.core.errors import format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import Task


def pull_annotations() -> None:
    """Fetch all annotations, add the new ones to pulled.json, and print a summary with the next step.

    Raises:
        UserError: There is no server, the file is damaged, or answers contradict the file. The file is not
            changed then.
    """
    folders, server = DatasetFolders(), connect()
    path = folders.annotations / PULLED_FILENAME
    with lock_folder(folders.study):
        annotations = read_pulled(path)
        num_before = len(annotations)
        sync_volunteers(folders, server)
        found = deduplicate(track(iter_annotations(folders, server), "pull", unit="annotation"))
        annotations |= drop_erased(folders, found)[0]
        if annotations:
            write_pulled(path, annotations)
    print(
        f"pull: {format_count(len(annotations) - num_before, 'new annotation')}, {len(annotations):,} in total -> {path}"
    )
    if annotations:
        tasks = {task.task_id: task for task in folders.read_records(Task)}
        print(
            "\n".join(
                f"pull: {line}"
                for line in format_summary(folders, *to_verdicts(annotations, tasks, str(path), strict=False))
            )
        )


def iter_annotations(folders: DatasetFolders, server: LabelStudioClient) -> Iterator[TaskAnnotation]:
    """Yield all annotations on the server under pseudonyms, including skipped annotations.

    Only one page of annotations at a time is in memory.
    """
    roster = {person.email.lower(): person.pseudonym for person in read_roster(folders)}
    pseudonyms = {
        number: roster[email] for number, email in server.get_user_emails().items() if email in roster
    }
    salt = read_or_create_salt(folders)
    for task in server.iter_annotated_tasks(server.find_project(get_project_title(folders))):
        if task.rgqa_task_id:
            for row in task.annotations or ():
                yield (
                    task.rgqa_task_id,
                    msgspec.structs.replace(
                        row, completed_by=resolve_pseudonym(row.completed_by, pseudonyms, salt)
                    ),
                )


def resolve_pseudonym(
    person: int | str | ExportedUser | None, roster_pseudonyms: Mapping[int, str], salt: str
) -> str:
    """Return the pseudonym of an annotator.

    Args:
        person: The value of `completed_by` in the annotation.
        roster_pseudonyms: Account number -> pseudonym in the roster.
        salt: The secret salt for people who are not in the roster, such as the study leader.
    """
    number = person.id if isinstance(person, ExportedUser) else person
    return (
        roster_pseudonyms[number]
        if isinstance(number, int) and number in roster_pseudonyms
        else make_pseudonym(number, salt)
    )
