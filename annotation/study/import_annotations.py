"""`rgqa annotate import`: verdicts from exports of any Label Studio into `annotations/pulled.json`, checked first.

Read are its format JSON and snapshots. People appear in pulled.json under pseudonyms alone: the roster's where it knows their address, or where an
annotation of theirs was pulled before; else one made from their number and a secret salt.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from annotation.study.exports import (
    PSEUDONYM,
    PULLED,
    UNKNOWN,
    ExportedTask,
    Given,
    Kept,
    Person,
    identity,
    keep,
    pairs,
    person_of,
    pseudonym,
    read_pulled,
    same_time,
    verdicts_of,
    write_pulled,
)
from annotation.study.private_files import salt
from annotation.study.roster import forgotten, read_roster
from pipeline.core.errors import Problems, UserError, counted
from pipeline.core.folder_lock import alone
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders
from pipeline.core.records import Task, Verdict


def import_exports(paths: Sequence[Path]) -> None:
    """Add what is new in some exports to pulled.json, and say what there is now. All of them or, if anything is wrong, none.

    Raises:
        UserError: lists files that are no export of these tasks, answers that the interface does not offer, and answers that
            contradict what was pulled or imported before.
    """
    folders = Folders()
    path = folders.annotations / PULLED
    tasks = {task.task_id: task for task in folders.rows(Task)}
    with alone(folders.study):
        kept = read_pulled(path)
        addresses = {person.email.lower(): person.pseudonym for person in read_roster(folders)}
        merged, of_forgotten = remembered(
            folders, kept | pseudonymised(pairs(read_exports(paths)), kept, addresses, salt(folders))
        )
        found = verdicts_of(merged, tasks, "import (nothing was written)")
        write_pulled(path, merged)
    print(f"import: {len(merged) - len(kept):,} new annotations, {len(merged):,} in all -> {path}")
    if of_forgotten:
        print(
            f"import: {of_forgotten:,} left out: they are of people who were forgotten (rgqa annotate forget)"
        )
    print("\n".join(f"import: {line}" for line in told(*found)))
    if inside := [str(file) for file in paths if file.resolve().parent == path.parent.resolve()]:
        print(f"import: take out of the folder what is in {PULLED} now: {', '.join(inside)}")


def told(verdicts: Sequence[Verdict], counts: Mapping[str, int]) -> list[str]:
    """What there is now, by kind and person, and what to do next."""
    people = sorted(Counter(verdict.annotator for verdict in verdicts).items())
    return [
        ", ".join(f"{count:,} {kind}" for kind, count in counts.items()),
        "verdicts of " + (", ".join(f"{name} {count:,}" for name, count in people) or "nobody"),
        "next: dvc repro",
    ]


def pseudonymised(given: Iterable[Given], kept: Kept, addresses: Mapping[str, str], salt: str) -> Kept:
    """What is new, as it is to stand in pulled.json, people under pseudonyms.

    Args:
        addresses: e-mail, in small letters -> pseudonym. salt: makes those of people whom no roster knows.
    """
    rows = [
        (key, replace(row, completed_by=pseudonym(row.completed_by, salt)), _address(row.completed_by))
        for key, row in given
    ]
    before = {identity(key, row): person_of(row) for (key, _), row in kept.items()}
    seen = {(identity(key, row), same_time(row.updated_at), row.says) for (key, _), row in kept.items()}
    names: dict[str, set[str]] = defaultdict(
        set
    )  # what a person is called here -> whose annotations those are
    for key, row, address in rows:
        name = addresses.get(address) or before.get(identity(key, row), "")
        if person_of(row) != UNKNOWN and PSEUDONYM.fullmatch(name):
            names[person_of(row)].add(name)
    problems = Problems("import (nothing was written)")
    for name, found in sorted(names.items()):
        if len(found) > 1:
            problems.add(name, f"one person in the exports, several in {PULLED}: {', '.join(sorted(found))}")
    problems.raise_if_any()
    called = {name: min(found) for name, found in names.items()}
    return keep(
        (key, replace(row, completed_by=called.get(person_of(row), person_of(row))))
        for key, row, _ in rows
        if (identity(key, row), same_time(row.updated_at), row.says) not in seen
    )


def _address(person: int | str | Person | None) -> str:
    return (person.email or "").lower() if isinstance(person, Person) else ""


def remembered(folders: Folders, kept: Kept) -> tuple[Kept, int]:
    """What is kept without the answers of those who were forgotten, and how many these were: no backup brings them back."""
    gone = forgotten(folders)
    left = {key: row for key, row in kept.items() if person_of(row) not in gone}
    return left, len(kept) - len(left)


def read_exports(paths: Iterable[Path]) -> list[ExportedTask]:
    """The rows of some export files.

    Raises:
        UserError: lists those that are none.
    """
    problems, exported = Problems("exports"), list[ExportedTask]()
    for path in paths:
        try:
            rows = read_json(path, list[ExportedTask])
            if without := sum(not isinstance(row.data.get("task"), str) for row in rows):
                raise UserError(f"{counted(without, 'row')} without the key `task`")
            exported += rows
        except UserError as error:
            wanted = "wanted: Label Studio's export format JSON, with the tasks of push"
            problems.add(str(path), f"{str(error).removeprefix(f'{path}: ')} ({wanted})")
    problems.raise_if_any()
    return exported
