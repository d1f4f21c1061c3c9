"""Import verdicts from Label Studio exports into `annotations/pulled.json`, for `rgqa annotate import`.

JSON exports and export snapshots of Label Studio can be read. pulled.json contains only pseudonyms. A person gets the
pseudonym in the roster if the roster has the e-mail address of the person, or if an annotation of the person
was pulled before. Any other person gets a pseudonym that is made from the Label Studio user ID and a secret salt.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from annotation.study.collect_command import get_collect_command
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
    """Add the new annotations of some exports to pulled.json, and print a summary.

    If there is any problem, nothing is written.

    Args:
        paths: Export files.

    Raises:
        UserError: A file is not an export of these tasks, has answers that the interface does not offer, or
            contradicts earlier annotations in pulled.json. All problems are listed.
    """
    folders = DatasetFolders()
    path = folders.annotations / PULLED_FILENAME
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    with lock_folder(folders.study):
        existing = read_pulled(path)
        addresses = {person.email.lower(): person.pseudonym for person in read_roster(folders)}
        merged, num_erased = drop_erased(
            folders,
            existing
            | pseudonymize(
                flatten_tasks(read_exports(paths)), existing, addresses, read_or_create_salt(folders)
            ),
        )
        found = to_verdicts(merged, tasks, "import (nothing was written)")
        write_pulled(path, merged)
    print(
        f"import: {format_count(len(merged) - len(existing), 'new annotation')}, {len(merged):,} in total -> {path}"
    )
    if num_erased:
        print(
            f"import: {format_count(num_erased, 'annotation')} skipped: their annotators were erased (rgqa annotate erase)"
        )
    print("\n".join(f"import: {line}" for line in format_summary(folders, *found)))
    if inside := [str(file) for file in paths if file.resolve().parent == path.parent.resolve()]:
        print(f"import: Next, move the imported files out of {path.parent}: {', '.join(inside)}")


def format_summary(
    folders: DatasetFolders, verdicts: Sequence[Verdict], counts: Mapping[str, int]
) -> list[str]:
    """Return lines with the number of annotations by kind, the number of verdicts by annotator, and the next
    step.
    """
    people = sorted(Counter(verdict.annotator for verdict in verdicts).items())
    return [
        _format_counts(counts),
        "verdicts: " + (", ".join(f"{name} {count:,}" for name, count in people) or "none"),
        f"Next, run `{get_collect_command(folders, 'dvc repro')}`.",
    ]


def _format_counts(counts: Mapping[str, int]) -> str:
    """Return the number of annotations by kind as text.

    The number of complete annotations is shown with the total, as in "30 of 31".
    """
    # "corrected later" counts former versions, which are not annotations of their own.
    total = sum(count for kind, count in counts.items() if kind != "corrected later")
    return ", ".join(
        f"{count:,} of {format_count(total, 'annotation')} {'answers' if count == 1 else 'answer'} both questions"
        if kind == "complete"
        else f"{count:,} {kind}"
        for kind, count in counts.items()
    )


def pseudonymize(
    new: Iterable[TaskAnnotation], existing: AnnotationStore, addresses: Mapping[str, str], salt: str
) -> AnnotationStore:
    """Return the new annotations with pseudonyms, as they are stored in pulled.json.

    Args:
        new: Annotations of exports.
        existing: The content of pulled.json.
        addresses: E-mail address in lower case -> pseudonym.
        salt: The secret salt for people who are not in the roster.

    Raises:
        UserError: One person of the exports has several pseudonyms in pulled.json.
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
    # Pseudonym made from the account number -> pseudonyms under which annotations of the same person were
    # stored before.
    names: dict[str, set[str]] = defaultdict(set)
    for key, row, address in rows:
        name = addresses.get(address) or before.get(get_identity(key, row), "")
        if get_annotator(row) != UNKNOWN_ANNOTATOR and PSEUDONYM_PATTERN.fullmatch(name):
            names[get_annotator(row)].add(name)
    problems = Problems("import (nothing was written)")
    for name, found in sorted(names.items()):
        if len(found) > 1:
            problems.add(
                name,
                f"one person in the exports has several pseudonyms in {PULLED_FILENAME}: {', '.join(sorted(found))}",
            )
    problems.raise_if_any()
    renamed = {name: min(found) for name, found in names.items()}
    return deduplicate(
        (key, replace(row, completed_by=renamed.get(get_annotator(row), get_annotator(row))))
        for key, row, _ in rows
        if (get_identity(key, row), normalize_time(row.updated_at), row.answer_text) not in seen
    )


def _get_email(person: int | str | ExportedUser | None) -> str:
    return (person.email or "").lower() if isinstance(person, ExportedUser) else ""


def drop_erased(folders: DatasetFolders, annotations: AnnotationStore) -> tuple[AnnotationStore, int]:
    """Remove the annotations of erased annotators, so that importing a backup does not restore them.

    Returns:
        The other annotations, and the number of removed annotations.
    """
    erased = read_erased(folders)
    remaining = {key: row for key, row in annotations.items() if get_annotator(row) not in erased}
    return remaining, len(annotations) - len(remaining)


def read_exports(paths: Iterable[Path]) -> list[ExportedTask]:
    """Read the tasks of some export files.

    Raises:
        UserError: A file is not an export. All problems are listed.
    """
    problems, exported = Problems("exports"), list[ExportedTask]()
    for path in paths:
        try:
            rows = read_json(path, list[ExportedTask])
            if without := sum(not isinstance(row.data.get("task"), str) for row in rows):
                raise UserError(f"{format_count(without, 'row')} without the key `task`")
            exported += rows
        except UserError as error:
            expected = "expected an export in the format JSON, with the tasks of rgqa annotate push"
            problems.add(str(path), f"{str(error).removeprefix(f'{path}: ')} ({expected})")
    problems.raise_if_any()
    return exported
