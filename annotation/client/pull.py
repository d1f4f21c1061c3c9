"""`rgqa annotate pull`: fetch what was answered into `annotations/pulled.json`, and never lose any of it.

The file only grows (but for `rgqa annotate forget`): an annotation that was pulled once stays, whatever happens to it on the
server; one that was changed there is added in its new version. See annotation/study/exports.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from annotation.client.credentials import connection
from annotation.client.label_studio import LabelStudio
from annotation.client.push import title
from annotation.client.volunteers import welcome
from annotation.study.exports import (
    PULLED,
    Given,
    Person,
    keep,
    pseudonym,
    read_pulled,
    verdicts_of,
    write_pulled,
)
from annotation.study.import_annotations import remembered, told
from annotation.study.private_files import salt
from annotation.study.roster import read_roster
from pipeline.core.folder_lock import alone
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Task


def pull() -> None:
    """Fetch all annotations, add what is new to pulled.json, and say what to do next.

    Raises:
        UserError: no server, or a damaged file, or answers that contradict it (`write_pulled`; it stays as it was).
    """
    folders, server = Folders(), connection()
    path = folders.annotations / PULLED
    with alone(folders.study):
        kept = read_pulled(path)
        before = len(kept)
        welcome(folders, server)
        found = keep(track(answers(folders, server), "pull", unit="annotation"))
        kept |= remembered(folders, found)[0]
        if kept:
            write_pulled(path, kept)
    print(f"pull: {len(kept) - before:,} new annotations, {len(kept):,} in all -> {path}")
    if kept:
        tasks = {task.task_id: task for task in folders.rows(Task)}
        print("\n".join(f"pull: {line}" for line in told(*verdicts_of(kept, tasks, str(path), strict=False))))


def answers(folders: Folders, server: LabelStudio) -> Iterator[Given]:
    """All that was given, skipped ones too, under pseudonyms; one page in memory."""
    roster = {person.email.lower(): person.pseudonym for person in read_roster(folders)}
    known = {number: roster[email] for number, email in server.people().items() if email in roster}
    secret = salt(folders)
    for task in server.judged(server.project(title(folders))):
        if task.key:
            for row in task.annotations or ():
                yield (
                    task.key,
                    msgspec.structs.replace(row, completed_by=who(row.completed_by, known, secret)),
                )


def who(person: int | str | Person | None, known: Mapping[int, str], salt: str) -> str:
    """The pseudonym of whoever gave an annotation: the roster's, or for others (the study leader, to try it) one made from their
    number and a salt."""
    number = person.id if isinstance(person, Person) else person
    return known[number] if isinstance(number, int) and number in known else pseudonym(number, salt)
