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
    PSEUDONYM_PATTERN,
    PULLED_FILENAME,
    UNKNOWN_ANNOTATOR,
    AnnotationStore,
    ExportedTask,
    ExportedUser,
    TaskAnnotation,
    deduplicate,
    flatten_tasks,
    get_annotator,
    get_identity,
    make_pseudonym,
    normalize_time,
    read_pulled,
    to_verdicts,
    write_pulled,
)
from annotation.study.private_files import read_or_create_salt
from annotation.study.roster import read_erased, read_roster
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task, Verdict


def import_exports(paths: Sequence[Path]) -> None:
    """Add what is new in some exports to pulled.json, and say what there is now. All of them or, if anything is wrong, none.

    Raises:
        UserError: lists files that are no export of these tasks, answers that the interface does not offer, and answers that
            contradict what was pulled or imported before.
    """
    folders = DatasetFolders()
    path = folders.annotations / PULLED_FILENAME
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    with lock_folder(folders.study):
        kept = read_pulled(path)
        addresses = {person.email.lower(): person.pseudonym for person in read_roster(folders)}
        merged, of_forgotten = drop_erased(
            folders,
            kept
            | pseudonymize(flatten_tasks(read_exports(paths)), kept, addresses, read_or_create_salt(folders)),
        )
        found = to_verdicts(merged, tasks, "import (nothing was written)")
        write_pulled(path, merged)
    print(f"import: {len(merged) - len(kept):,} new annotations, {len(merged):,} in all -> {path}")
    if of_forgotten:
        print(
            f"import: {of_forgotten:,} left out: they are of people who were forgotten (rgqa annotate erase)"
        )
    print("\n".join(f"import: {line}" for line in format_summary(*found)))
    if inside := [str(file) for file in paths if file.resolve().parent == path.parent.resolve()]:
        print(f"import: take out of the folder what is in {PULLED_FILENAME} now: {', '.join(inside)}")


def format_summary(verdicts: Sequence[Verdict], counts: Mapping[str, int]) -> list[str]:
    """What there is now, by kind and person, and what to do next."""
    people = sorted(Counter(verdict.annotator for verdict in verdicts).items())
    return [
        ", ".join(f"{count:,} {kind}" for kind, count in counts.items()),
        "verdicts of " + (", ".join(f"{name} {count:,}" for name, count in people) or "nobody"),
        "next: dvc repro",
    ]


def pseudonymize(
    new: Iterable[TaskAnnotation], existing: AnnotationStore, addresses: Mapping[str, str], salt: str
) -> AnnotationStore:
    """What is new, as it is to stand in pulled.json, people under pseudonyms.

    Args:
        addresses: e-mail, in small letters -> pseudonym. salt: makes those of people whom no roster knows.
    """
    rows = [
        (key, replace(row, completed_by=make_pseudonym(row.completed_by, salt)), _get_email(row.completed_by))
        for key, row in new
    ]
    before = {get_identity(key, row): get_annotator(row) for (key, _), row in existing.items()}
    seen = {
        (get_identity(key, row), normalize_time(row.updated_at), row.answer_text)
        for (key, _), row in existing.items()
    }
    names: dict[str, set[str]] = defaultdict(
        set
    )  # what a person is called here -> whose annotations those are
    for key, row, address in rows:
        name = addresses.get(address) or before.get(get_identity(key, row), "")
        if get_annotator(row) != UNKNOWN_ANNOTATOR and PSEUDONYM_PATTERN.fullmatch(name):
            names[get_annotator(row)].add(name)
    problems = Problems("import (nothing was written)")
    for name, found in sorted(names.items()):
        if len(found) > 1:
            problems.add(
                name, f"one person in the exports, several in {PULLED_FILENAME}: {', '.join(sorted(found))}"
            )
    problems.raise_if_any()
    called = {name: min(found) for name, found in names.items()}
    return deduplicate(
        (key, replace(row, completed_by=called.get(get_annotator(row), get_annotator(row))))
        for key, row, _ in rows
        if (get_identity(key, row), normalize_time(row.updated_at), row.answer_text) not in seen
    )


def _get_email(person: int | str | ExportedUser | None) -> str:
    return (person.email or "").lower() if isinstance(person, ExportedUser) else ""


def drop_erased(folders: DatasetFolders, annotations: AnnotationStore) -> tuple[AnnotationStore, int]:
    """What is kept without the answers of those who were forgotten, and how many these were: no backup brings them back."""
    gone = read_erased(folders)
    left = {key: row for key, row in annotations.items() if get_annotator(row) not in gone}
    return left, len(annotations) - len(left)


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
                raise UserError(f"{format_count(without, 'row')} without the key `task`")
            exported += rows
        except UserError as error:
            wanted = "wanted: Label Studio's export format JSON, with the tasks of push"
            problems.add(str(path), f"{str(error).removeprefix(f'{path}: ')} ({wanted})")
    problems.raise_if_any()
    return exported
