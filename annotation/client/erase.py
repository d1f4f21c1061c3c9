"""Delete all data of one annotator, and verify that nothing is left, for `rgqa annotate erase`.

On the server, the account, the answers, the drafts and the assignments are deleted. On this machine, in every
data set that the person annotated, the pulled answers and the entries in the roster and in study/queue.json
are deleted. Files that stages and releases made from the answers are not deleted, but listed, together with
DVC's cache and the commands that clear them. study/erased.json keeps the pseudonym and the time of deletion,
so that nobody else gets the pseudonym. An interrupted run can be repeated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from mmap import ACCESS_READ, mmap
from pathlib import Path

from annotation.client.credentials import LABEL_STUDIO_DIR, connect
from annotation.client.label_studio import LabelStudioClient
from annotation.client.push import get_project_title
from annotation.client.volunteers import sync_volunteers
from annotation.study.exports import (
    PSEUDONYM_PATTERN,
    PULLED_FILENAME,
    get_identity,
    read_pulled,
    write_pulled,
)
from annotation.study.log_redaction import redact_file
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, collect_used_pseudonyms, read_erased, read_roster, write_roster
from pipeline.core.errors import UserError, format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import content_hash, read_json, write_json
from pipeline.core.paths import DATA_DIR, DatasetFolders

DVC_CACHE, SQLITE_FILENAME = Path(".dvc/cache"), "label_studio.sqlite3"


def erase_annotator(name: str) -> None:
    """Delete all data of one annotator, here and on the server, and verify that nothing is left.

    Args:
        name: The name in the roster; or the pseudonym of a person who is not in the roster, because the
            answers were imported.

    Raises:
        UserError: The name is unknown, no server answers, or some data is left.
    """
    server = connect()
    with lock_folder(DatasetFolders().study):
        sync_volunteers(DatasetFolders(), server, also=name)
        roster = {person.name: person for person in read_roster(DatasetFolders())}
        others = collect_used_pseudonyms(DatasetFolders()) - {person.pseudonym for person in roster.values()}
        if name not in roster and name in others and PSEUDONYM_PATTERN.fullmatch(name):
            print(f"erase: {name} is not in the roster. Delete their data on {server.url} by hand")
            erase_in_studies([(DatasetFolders(), Annotator(name=name, pseudonym=name, email=name))])
            return
    if name not in roster:
        raise UserError(f"not in the roster: {name}. The roster has: {', '.join(roster) or 'nobody'}")
    email = roster[name].email
    # The current data set comes last. As long as its roster has the entry, an interrupted run can be
    # repeated.
    found = {path.parts[1] for path in DATA_DIR.glob("*/study/roster.json")}
    datasets = sorted(found, key=lambda dataset: (dataset == DatasetFolders().dataset, dataset))
    rosters = [(own, read_roster(own)) for own in map(DatasetFolders, datasets)]
    studies = [(own, person) for own, people in rosters for person in people if person.email == email]
    with ExitStack() as stack:
        for own, _ in studies:
            # The lock prevents that other commands write back data that they read before the deletion.
            stack.enter_context(lock_folder(own.study))
        print(f"erase: {name}: deleted on {server.url}: {erase_on_server(server, email, studies)}")
        if not (LABEL_STUDIO_DIR / SQLITE_FILENAME).exists():
            print(f"erase: the database of {server.url} is not a file here, so it is not searched")
        erase_in_studies(studies)
    redact_logs()


def redact_logs() -> None:
    """Overwrite links, tokens and cookies in the logs of the server. Earlier versions logged links."""
    num_secrets = sum(redact_file(path) for path in sorted(LABEL_STUDIO_DIR.glob("server.log*")))
    if num_secrets:
        print(
            f"erase: {format_count(num_secrets, 'secret')} of links and logins overwritten in the log of the server"
        )


def erase_on_server(
    server: LabelStudioClient, email: str, studies: list[tuple[DatasetFolders, Annotator]]
) -> str:
    """Delete all data of one annotator on the server. Return a description of what was deleted."""
    if server.is_managed:
        deleted = server.erase_annotator(email)
        return ", ".join(format_count(count, what.removesuffix("s")) for what, count in deleted.items())
    count = sum(
        server.delete_annotations(server.find_project(get_project_title(own)), email) for own, _ in studies
    )
    has_account = email.lower() in server.get_user_emails().values()
    account = "delete the account there by hand" if has_account else f"there is no account for {email}"
    return f"{format_count(count, 'annotation')} ({account})"


def erase_in_studies(studies: list[tuple[DatasetFolders, Annotator]]) -> None:
    """Delete an annotator's data in the files of some data sets, list derived files, and verify that nothing
    is left.
    """
    verdicts = {key for folders, person in studies for key in erase_annotations(folders, person)}
    report_derived(studies, verdicts)
    verify_erased(studies)


def erase_annotations(folders: DatasetFolders, person: Annotator) -> set[str]:
    """Delete the data of an annotator in the files of one data set. Return the ids of the deleted verdicts.

    The entry in the roster is deleted last.
    """
    erased = read_erased(folders) | {person.pseudonym: datetime.now(UTC).isoformat(timespec="seconds")}
    write_json(folders.study / "erased.json", erased)
    path = folders.annotations / PULLED_FILENAME
    pulled = read_pulled(path)
    # Other versions of an annotation may have another pseudonym, if they were pulled before the person was in
    # the roster or after the account was deleted. They have the same identity.
    own = {get_identity(key[0], row) for key, row in pulled.items() if row.completed_by == person.pseudonym}
    theirs = {key for key, row in pulled.items() if get_identity(key[0], row) in own}
    if theirs and theirs == pulled.keys():
        path.unlink()
    elif theirs:
        write_pulled(path, {key: row for key, row in pulled.items() if key not in theirs})
    print(f"erase: {path}: {format_count(len(theirs), 'answer')} deleted")
    queue, email = folders.study / "queue.json", person.email.lower()
    if queue.exists():
        content = read_json(queue, dict)
        for name in ("annotators", "removed", "excluded_since"):
            content[name] = {other: value for other, value in content[name].items() if other != email}
        write_private(queue, content)
    write_roster(folders, [other for other in read_roster(folders) if other.email != person.email])
    return {content_hash("verdict", task_id, person.pseudonym) for task_id, _ in theirs}


def report_derived(studies: list[tuple[DatasetFolders, Annotator]], verdict_ids: set[str]) -> None:
    """List the files made from the answers, and print the commands that clear them."""
    pseudonyms = [_pseudonym_pattern(person) for _, person in studies]
    patterns = [*pseudonyms, *(key.encode() for key in sorted(verdict_ids))]
    output_dirs = [
        folder
        for own, _ in studies
        for folder in (own.stage_dir("collect"), DATA_DIR / "release" / own.dataset)
    ]
    derived = [path for folder in output_dirs for path in list_files(folder) if contains_any(path, patterns)]
    cached = [path for path in list_files(DVC_CACHE) if contains_any(path, pseudonyms)]
    print("".join(f"erase: made from their answers: {path}\n" for path in derived), end="")
    if derived:
        print(
            "erase: Next, run `dvc repro`, which makes these files again without the answers. Delete older releases by hand"
        )
    if cached:
        print(
            f"erase: DVC's cache has {format_count(len(cached), 'file')} with the pseudonym. After dvc repro, clear them with: "
            "dvc gc --workspace --force   (if they were pushed, also with --cloud)"
        )
    if not (derived or cached):
        print("erase: 0 files of stages, releases and DVC's cache contain their answers")
    print("erase: copies that were published or stored elsewhere cannot be deleted from here")


def verify_erased(studies: list[tuple[DatasetFolders, Annotator]]) -> None:
    """Search the files of the server and the studies for the e-mail address, the name and the pseudonym.

    Raises:
        UserError: Files still contain the address, the name or the pseudonym. All such files are listed.
    """
    person = studies[-1][1]
    # Two kinds of matches do not count: "joann@rgqa.local" contains "ann@rgqa.local", and a name such as
    # "email" can be a key in a file.
    known = {other.email for folders, _ in studies for other in read_roster(folders)}
    longer = [email.removesuffix(person.email) for email in known if email.endswith(person.email)]
    guard = b"".join(rb"(?<!%b)" % re.escape(start.encode()) for start in sorted(longer) if start)
    words = [guard + re.escape(person.email.encode())]
    words.append(rb'"%b"(?!\s*:)' % re.escape(person.name.encode()))
    searches = [(LABEL_STUDIO_DIR, words[:1])]
    for folders, own in studies:
        searches += [
            (folder, [*words, _pseudonym_pattern(own)]) for folder in (folders.study, folders.annotations)
        ]
    searched = [(path, patterns) for folder, patterns in searches for path in list_files(folder)]
    left = [
        str(path)
        for path, patterns in searched
        if path.name != "erased.json" and contains_any(path, patterns)
    ]
    what = f'{person.email}, "{person.name}" or {", ".join(own.pseudonym for _, own in studies)}'
    if left:
        first = f"{len(left)} of {format_count(len(searched), 'file')} still contain {what}. Check and delete them:"
        raise UserError([first, *left])
    print(f"erase: {format_count(len(searched), 'file')} searched: 0 contain {what}")


def list_files(root: Path) -> Iterator[Path]:
    yield from sorted(path for path in root.rglob("*") if path.is_file())


def contains_any(path: Path, patterns: Iterable[bytes]) -> bool:
    """Return whether the bytes of a file match a pattern.

    The file is memory-mapped, because a database can be large.
    """
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return False
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return re.search(b"|".join(patterns), content) is not None
    # The server creates and deletes temporary files.
    except FileNotFoundError:
        return False


def _pseudonym_pattern(person: Annotator) -> bytes:
    """Return a pattern for the pseudonym that does not match the beginning of a longer pseudonym."""
    return re.escape(person.pseudonym.encode()) + rb"(?![0-9a-f])"
